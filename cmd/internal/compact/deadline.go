package compact

import (
	"time"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

// With a deadline, a run has a commit id for each slice, of which each gets
// half of the time that is left: so they are few.
const mostSlices = 64

// mostLeave bounds what is left of --max-duration for the commit that is under
// way when the time is up, and for deleting what was dropped.
const mostLeave = 5 * time.Second

// deadline is what --max-duration says, counted from now, or nil. The caller
// stops it when it has ended before.
func deadline(s *program.Session) (d *compactor.Deadline, stop func(), err error) {
	text := s.Flags.String("max-duration")
	if text == "" {
		return nil, func() {}, nil
	}
	most, err := manifest.ParseDuration(text)
	if err != nil {
		return nil, nil, program.Usagef("--max-duration: %w", err)
	}
	if most <= 0 {
		return nil, nil, program.Usagef("--max-duration %s leaves no time; use 90s, 15m, or forever", text)
	}
	if most == manifest.Forever {
		return nil, func() {}, nil
	}
	work := time.Duration(most) - min(time.Duration(most)/10, mostLeave)
	end := time.Now().Add(work)
	up := make(chan struct{})
	timer := time.AfterFunc(work, func() { close(up) })
	return &compactor.Deadline{
		Left: func() time.Duration { return time.Until(end) },
		Up:   up,
	}, func() { timer.Stop() }, nil
}

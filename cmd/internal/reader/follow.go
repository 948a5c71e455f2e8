package reader

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

func intervalFlag() cli.Flag {
	return &cli.StringFlag{Name: "interval", Value: "1s", Usage: "how often --follow looks for more"}
}

// interval is the value of --interval.
func interval(s *program.Session) (time.Duration, error) {
	d, err := duration(s, "interval")
	if err == nil && d < 10*time.Millisecond {
		err = program.Usagef("--interval is %s, want at least 10ms", d)
	}
	return d, err
}

// duration is the value of a flag that takes one.
func duration(s *program.Session, flag string) (time.Duration, error) {
	d, err := time.ParseDuration(s.Flags.String(flag))
	if err != nil || d < 0 {
		return 0, program.Usagef("--%s: %q is no duration (want 1s, 5m, 24h)", flag, s.Flags.String(flag))
	}
	return d, nil
}

// waiting is how a follower waits: what it has printed is seen before.
func waiting(s *program.Session, o readerlib.Options, p *messagePrinter) (func(context.Context) error, error) {
	switch every, err := interval(s); {
	case err != nil:
		return nil, err
	case o.Version != readerlib.Newest():
		return nil, program.Usagef("--follow is about the newest version, not an earlier one")
	case p.arrow != nil:
		return nil, program.Usagef("an Arrow file has an end; follow with -o json or -o csv")
	default:
		return func(ctx context.Context) error {
			if err := s.Out.Flush(); err != nil {
				return err
			}
			return pause(ctx, every)
		}, nil
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

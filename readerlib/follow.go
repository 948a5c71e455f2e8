package readerlib

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrTrimmed says that originals were trimmed before a follower has read them.
var ErrTrimmed = errors.New("trimmed before it was read")

// Follow yields the messages after the place, as Messages does, and at the end
// of the snapshot calls wait; when that returns nil it refreshes and goes on.
// So each message that is committed is yielded once, and in order, whatever is
// compacted, trimmed and collected meanwhile. It ends with the error of wait,
// which may be the end of ctx, or of a break.
//
// A follower of the raw view that is so slow that messages are trimmed before
// it has come to them is told ErrTrimmed, and can be followed on from there. A
// follower of the compacted view gets what compaction has left of what it has
// not read.
//
// Each turn costs a LIST and, where there is a new version, what reading costs.
// The reader has to be one of the newest version.
func (r *Reader) Follow(ctx context.Context, wait func(context.Context) error) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		read := r.skipTrimmed(r.place) // all through it was yielded, or was never there
		for {
			expired := false
			for m, err := range r.Messages(ctx) {
				if expired = errors.Is(err, ErrSnapshotExpired); expired {
					break
				}
				if !yield(m, err) || err != nil {
					return
				}
				read = m.Position
			}
			if !expired {
				read = later(read, r.end())
				if err := wait(ctx); err != nil {
					yield(segments.Message{}, err)
					return
				}
			}
			moved, err := r.Refresh(ctx)
			if expired && !moved && err == nil {
				// Of the newest version nothing is ever collected.
				err = fmt.Errorf("follow %q: version %d: %w", r.topic.Name(), r.snap.manifest.Version, ErrSnapshotExpired)
			}
			if trimmed := r.skipTrimmed(read); err == nil && trimmed != read {
				err = fmt.Errorf("follow %q: entries after %s through %s: %w", r.topic.Name(), read, r.snap.manifest.RetainedAfter, ErrTrimmed)
			}
			if err != nil {
				yield(segments.Message{}, err)
				return
			}
		}
	}
}

// skipTrimmed is p or, where the view begins after p, what comes before it.
func (r *Reader) skipTrimmed(p segments.Position) segments.Position {
	if r.options.View != Raw {
		return p
	}
	return later(p, endOf(r.snap.manifest.RetainedAfter))
}

func later(p, q segments.Position) segments.Position {
	if p.Before(q) {
		return q
	}
	return p
}

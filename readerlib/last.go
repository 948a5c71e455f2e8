package readerlib

import (
	"context"
	"fmt"
	"slices"

	"github.com/ledgerfold/ledgerfold/segments"
)

// HasMessageAvailable reports whether Next would return a message: it is true
// exactly when the snapshot has a message after the place. It costs what
// LastMessageID costs.
func (r *Reader) HasMessageAvailable(ctx context.Context) (bool, error) {
	last, err := r.LastMessageID(ctx)
	return err == nil && last.After(r.place), err
}

// LastMessageID is the position of the last message of the view, with its
// batch index, or None if the view is empty. It does not depend on the place.
//
// It is found from the end, and kept for as long as the snapshot is: opening
// the last segment, and at most one read of the headers of a block where that
// segment's last message cannot be told from its head. Where the end of the
// view is hidden (markers, aborted messages, an open transaction), headers are
// read backwards until a message shows.
func (r *Reader) LastMessageID(ctx context.Context) (segments.Position, error) {
	if !r.last.Valid {
		last, err := r.snap.lastOf(ctx, r.list)
		if err != nil {
			return segments.None, fmt.Errorf("find last message of %q: %w", r.topic.Name(), err)
		}
		r.last = segments.Some(last)
	}
	return r.last.V, nil
}

func (s *snapshot) lastOf(ctx context.Context, v view) (segments.Position, error) {
	for _, st := range slices.Backward(v) {
		o, err := s.open(ctx, st)
		if err != nil {
			return segments.None, err
		}
		if last, err := o.lastShown(ctx); err != nil || !last.IsNone() {
			return last, err
		}
	}
	return segments.None, nil
}

// lastShown is the position of the last row that the stretch shows, or None.
// Blocks are asked from the last one back, in steps that double, so that a
// long hidden tail costs few reads and a short one few bytes.
func (o *opened) lastShown(ctx context.Context) (segments.Position, error) {
	blocks := o.blocksAfter(segments.None)
	for step := 1; len(blocks) > 0; step *= 2 {
		if last := o.file.Blocks()[blocks[len(blocks)-1]]; o.surelyLast(last) {
			return last.Last, nil
		}
		cut := max(0, len(blocks)-step)
		found := segments.None
		for r, err := range o.scan(ctx, blocks[cut:], segments.Headers) {
			if err != nil {
				return segments.None, err
			}
			for i := range r.rows.Len() {
				if r.shows(i) {
					found = r.rows.Position(i)
				}
			}
		}
		if !found.IsNone() {
			return found, nil
		}
		blocks = blocks[:cut]
	}
	return segments.None, nil
}

// surelyLast reports whether the last row of b is shown, as far as can be told
// from the head.
func (o *opened) surelyLast(b segments.Block) bool {
	n := o.file.Info().Counts
	return n.Commits+n.Aborts == 0 && o.surely(b.FirstRow+b.Rows-1, b)
}

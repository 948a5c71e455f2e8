package readerlib

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Get returns the message that holds the value of key in the compacted view,
// whichever view the reader reads, under the reader's isolation. It reports
// false if there is none: no message of the key is visible, or the one that
// counts is a tombstone. The last message counts, or with order=event_time the
// one with the greatest event time, a missing one being the oldest and ties
// going to the later position. The message is the caller's to keep. The place
// plays no part.
//
// Segments are asked from the newest to the oldest, until the first that knows
// the key (with order=event_time, all that may hold a newer event). A segment
// that does not know it costs one ranged read of its key index, the one that
// does also one block; the first time, each costs its head too.
func (r *Reader) Get(ctx context.Context, key []byte) (segments.Message, bool, error) {
	m, err := r.get(ctx, key)
	return m.V, m.Valid, err
}

// GetMany is Get for several keys; the answers are in the order of keys,
// missing where Get reports false. Segments are opened once for all of them.
func (r *Reader) GetMany(ctx context.Context, keys [][]byte) ([]segments.Null[segments.Message], error) {
	found := make([]segments.Null[segments.Message], len(keys))
	for i, key := range keys {
		var err error
		if found[i], err = r.get(ctx, key); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (r *Reader) get(ctx context.Context, key []byte) (segments.Null[segments.Message], error) {
	m, err := r.snap.winner(ctx, r.folded, key)
	if err != nil {
		return m, fmt.Errorf("get key of %q: %w", r.topic.Name(), err)
	}
	if m.V.Kind == segments.KindTombstone {
		return segments.Null[segments.Message]{}, nil
	}
	return m, nil
}

// winner is the message of v that counts for key; it may be a tombstone. A
// null key has none: messages without key do not share one.
func (s *snapshot) winner(ctx context.Context, v view, key []byte) (best segments.Null[segments.Message], err error) {
	if key == nil {
		return best, nil
	}
	byEvent := s.manifest.Settings.EventTimeOrder
	digest := s.topic.Hasher().Digest(key)
	for _, st := range slices.Backward(v) {
		// What comes now lies before best, so only a greater event time beats it.
		if best.Valid && compareEvents(st.segment.Info.MaxEvent, best.V.EventTime) <= 0 {
			continue
		}
		o, err := s.open(ctx, st)
		if err != nil {
			return best, err
		}
		for m, err := range o.lookup(ctx, digest) {
			if err != nil {
				return best, err
			}
			if !bytes.Equal(m.Key, key) {
				continue
			}
			if !byEvent {
				return segments.Some(m.Clone()), nil
			}
			if !best.Valid || compareEvents(m.EventTime, best.V.EventTime) > 0 {
				best = segments.Some(m.Clone())
			}
		}
	}
	return best, nil
}

// compareEvents orders event times; a missing one is the oldest.
func compareEvents(a, b segments.Null[segments.Millis]) int {
	switch {
	case a.Valid && b.Valid:
		return cmp.Compare(a.V, b.V)
	case a.Valid:
		return 1
	case b.Valid:
		return -1
	}
	return 0
}

// lookup yields the messages that the stretch shows under a key digest, the
// last one first. Whole blocks are fetched, one read each, as they are needed.
func (o *opened) lookup(ctx context.Context, d segments.Digest) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		groups, err := o.candidates(ctx, d)
		if err != nil {
			yield(segments.Message{}, err)
			return
		}
		for _, rows := range slices.Backward(groups) {
			messages, err := o.gather(ctx, rows)
			if err != nil {
				yield(segments.Message{}, err)
				return
			}
			for _, m := range slices.Backward(messages) {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

// holds reports whether the stretch shows any message under a key digest. It
// reads no block where the key index and the head settle it.
func (o *opened) holds(ctx context.Context, d segments.Digest) (bool, error) {
	groups, err := o.candidates(ctx, d)
	if err != nil {
		return false, err
	}
	for _, rows := range slices.Backward(groups) {
		if o.surely(rows[0], o.blockOf(rows[0])) {
			return true, nil
		}
		if messages, err := o.gather(ctx, rows); err != nil || len(messages) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// candidates lists the rows that the key index names for a digest and that may
// be shown, block by block.
func (o *opened) candidates(ctx context.Context, d segments.Digest) ([][]uint32, error) {
	rows, err := o.file.Lookup(ctx, d)
	if err != nil {
		return nil, expired(err)
	}
	var groups [][]uint32
	block := segments.Block{}
	for _, row := range rows {
		if o.folded && o.dead.Contains(row) {
			continue
		}
		b := o.blockOf(row)
		switch {
		case !o.mayShow(b):
		case len(groups) > 0 && b == block:
			last := len(groups) - 1
			groups[last] = append(groups[last], row)
		default:
			groups, block = append(groups, []uint32{row}), b
		}
	}
	return groups, nil
}

// gather reads rows that are not dead, and keeps those that are shown.
func (o *opened) gather(ctx context.Context, rows []uint32) ([]segments.Message, error) {
	var shown []segments.Message
	for m, err := range o.file.Gather(ctx, roaring.BitmapOf(rows...)) {
		if err != nil {
			return nil, expired(err)
		}
		if o.clip.Contains(m.Position) && !o.hides(m.Kind, m.Txn) {
			shown = append(shown, m)
		}
	}
	return shown, nil
}

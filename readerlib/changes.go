package readerlib

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Change is one difference between two versions of a compacted view: a message
// that is new, or a key that is gone.
type Change struct {
	// Message is the new message, a tombstone perhaps. Of a key that is gone it
	// has Key, and Position is where its value was.
	Message segments.Message
	Deleted bool
}

// Changes yields what a reader of the compacted view at version from has to
// learn to be at version to, under ReadCommitted: first the messages that only
// to's view has, in order of position; then, by the position of the value they
// had, the keys of which to's view shows no message any more. Whoever applies
// them to the state at from (a value sets its key, a tombstone or a Deleted
// removes it) has the state at to, whatever was compacted away in between.
//
// from after to is ErrBadRange. A version that is gone is
// manifest.ErrVersionNotFound, one whose objects are gone ErrSnapshotExpired.
// Messages share memory as those of Reader.Messages do.
//
// The first part costs what reading the new messages costs. The second reads
// the headers of blocks in which a row of from's view died, and for each key
// met there what a Get costs that finds nothing. In memory it keeps 16 bytes
// and a position for each key that was written or whose row died.
func Changes(ctx context.Context, t *manifest.Topic, from, to manifest.Version) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if from > to {
			yield(Change{}, fmt.Errorf("changes from version %d to %d: %w", from, to, ErrBadRange))
			return
		}
		d := diff{}
		var err error
		if d.old, d.was, err = d.load(ctx, t, from); err == nil {
			d.new, d.is, err = d.load(ctx, t, to)
		}
		if err != nil {
			yield(Change{}, fmt.Errorf("changes of %q: %w", t.Name(), err))
			return
		}
		d.verdicts = map[segments.Digest]segments.Position{}
		for _, part := range []iter.Seq2[Change, error]{d.written(ctx), d.gone(ctx)} {
			for c, err := range part {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

// diff compares the compacted views of two versions.
type diff struct {
	old, new *snapshot
	was, is  view

	// verdicts says of a key where its value was in the old view if it is to be
	// reported as gone, or None if it is not.
	verdicts map[segments.Digest]segments.Position
}

func (d *diff) load(ctx context.Context, t *manifest.Topic, v manifest.Version) (*snapshot, view, error) {
	s, err := loadSnapshot(ctx, t, Numbered(v))
	if err != nil {
		return nil, nil, err
	}
	return s, s.view(Compacted, ReadCommitted), nil
}

// written yields the messages that only the new view has. They are those after
// the old max read position: before that, the old view has every message that
// was not dead yet at its horizon, and what is dead stays dead.
func (d *diff) written(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		after := endOf(d.old.manifest.MaxRead)
		for m, err := range d.new.messages(ctx, d.is, after, segments.All) {
			if err == nil && m.Key != nil {
				d.verdicts[d.digest(m.Key)] = segments.None
			}
			if !yield(Change{Message: m}, err) || err != nil {
				return
			}
		}
	}
}

// gone yields the keys that have a value in the old view and no message in the
// new one. Such a key has lost the row that held its value, so it is enough to
// look at the rows of the old view that died since.
func (d *diff) gone(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for _, st := range d.was {
			for r, err := range d.suspects(ctx, st) {
				if err != nil {
					yield(Change{}, err)
					return
				}
				for i := range r.rows.Len() {
					key := r.rows.Key(i)
					if key == nil || !r.shows(i) || r.rows.Kind(i) != segments.KindMessage {
						continue
					}
					at, err := d.verdict(ctx, key)
					if err != nil {
						yield(Change{}, err)
						return
					}
					if at != r.rows.Position(i) {
						continue
					}
					if !yield(Change{Message: segments.Message{Position: at, Key: slices.Clone(key)}, Deleted: true}, nil) {
						return
					}
				}
			}
		}
	}
}

// suspects yields the blocks of an old stretch in which a row may have died.
func (d *diff) suspects(ctx context.Context, st stretch) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		if !st.folded {
			// The new view still has all that lies after its own horizon.
			st.clip = st.clip.Clip(segments.Range{After: segments.None, Through: d.new.manifest.Horizon})
			if st.clip.IsEmpty() {
				return
			}
		}
		o, err := d.old.open(ctx, st)
		if err != nil {
			yield(run{}, err)
			return
		}
		blocks := o.blocksAfter(segments.None)
		if kept := d.kept(st); kept != nil {
			dead, err := d.new.topic.DeadRows(ctx, kept)
			if err != nil {
				yield(run{}, expired(err))
				return
			}
			dead.AndNot(o.dead)
			blocks = slices.DeleteFunc(blocks, func(n int) bool { return !touches(dead, o.file.Blocks()[n]) })
		}
		for r, err := range o.scan(ctx, blocks, segments.Headers) {
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// kept is the segment of an old folded stretch as the new version has it, or
// nil if it has it no more.
func (d *diff) kept(st stretch) *manifest.Segment {
	if !st.folded {
		return nil
	}
	for i, s := range d.new.manifest.Compacted {
		if s.Object == st.segment.Object {
			return &d.new.manifest.Compacted[i]
		}
	}
	return nil
}

func touches(rows *roaring.Bitmap, b segments.Block) bool {
	from := uint64(b.FirstRow)
	return rows.CardinalityInRange(from, from+uint64(b.Rows)) > 0
}

// verdict finds out about a key, once.
func (d *diff) verdict(ctx context.Context, key []byte) (segments.Position, error) {
	digest := d.digest(key)
	if at, ok := d.verdicts[digest]; ok {
		return at, nil
	}
	at := segments.None
	holds, err := d.new.holds(ctx, d.is, digest)
	if err == nil && !holds {
		var had segments.Null[segments.Message]
		if had, err = d.old.winner(ctx, d.was, key); had.Valid && had.V.Kind == segments.KindMessage {
			at = had.V.Position
		}
	}
	if err != nil {
		return segments.None, err
	}
	d.verdicts[digest] = at
	return at, nil
}

func (d *diff) digest(key []byte) segments.Digest { return d.new.topic.Hasher().Digest(key) }

// holds reports whether v has any message under a key digest.
func (s *snapshot) holds(ctx context.Context, v view, digest segments.Digest) (bool, error) {
	for _, st := range slices.Backward(v) {
		o, err := s.open(ctx, st)
		if err != nil {
			return false, err
		}
		if holds, err := o.holds(ctx, digest); err != nil || holds {
			return holds, err
		}
	}
	return false, nil
}

package compactor

import (
	"context"
	"fmt"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Adopted counts the originals whose files a run took over as they are, so
// that none of their payload was read or written.
type Adopted struct {
	Segments int64 `json:"segments"`
	Rows     int64 `json:"rows"`  // that are shown
	Bytes    int64 `json:"bytes"` // of the files
}

// part is a stretch of what a run folds, and becomes compacted segments in one
// way: the rows that are left of it are written, or it is one original that is
// adopted.
//
//	originals   | 9 of 10 dead | 7 of 10 | 3 of 10 | 1 of 10 |
//	parts       (        written         | adopted | adopted ]
type part struct {
	covers segments.Range
	pieces []piece // to be written
	adopts *source // or nil
	left   *roaring.Bitmap
}

// adopts reports whether an original stays where it is, and a compacted
// segment names its file with what is dead of it: if reclaim would let such a
// segment be, because it is neither wasteful nor small, and if the original
// lies in r whole. Of one that straddles an end of r the run knows only some
// rows. There is one at each end at most, so copying it costs little.
func (s *source) adopts(left *roaring.Bitmap, r segments.Range, settings manifest.Settings) bool {
	seg := s.segment
	live := int64(left.GetCardinality())
	as := stretchOf(seg, live)
	return live > 0 && seg.Range.Clip(r) == seg.Range &&
		!as.isWaste(settings.MaxDeadShare) && as.tier(settings.SegmentBytes) < 0
}

// parts cuts r, a share of what the fold was about, at the originals that are
// adopted.
func (f *folded) parts(r segments.Range, settings manifest.Settings, pieceBytes int64) []part {
	var list []part
	rest := part{covers: segments.Range{After: r.After, Through: r.After}}
	end := func() {
		if !rest.covers.IsEmpty() {
			list = append(list, rest)
		}
	}
	for i, s := range f.sources {
		inside := s.segment.Range.Clip(r)
		if s.older || inside.IsEmpty() {
			continue
		}
		through := inside.Through
		if s.adopts(f.left[i], r, settings) {
			end()
			list = append(list, part{covers: s.segment.Range, adopts: s, left: f.left[i]})
			rest = part{covers: segments.Range{After: through, Through: through}}
			continue
		}
		rest.covers.Through = through
		rest.pieces = append(rest.pieces, s.pieces(f.left[i], pieceBytes)...)
	}
	end()
	return list
}

// made is what the parts of a fold have become.
type made struct {
	list    []manifest.Segment
	rows    int64 // that are shown
	adopted Adopted
}

// join adds what the next parts have become.
func (m *made) join(next *made) {
	m.list = append(m.list, next.list...)
	m.rows += next.rows
	m.adopted.add(next.adopted)
}

// make makes the compacted segments of parts, in order. Those that are written
// have a shape in common, but for what they cover.
func (o *outputs) make(ctx context.Context, parts []part, s shape) (*made, error) {
	all := new(made)
	puts, putting := errgroup.WithContext(ctx)
	puts.SetLimit(o.policy.Parallel)
	err := func() error {
		for _, p := range parts {
			if p.adopts != nil {
				if err := o.adopt(putting, p, s.since, all, puts); err != nil {
					return err
				}
				continue
			}
			s.covers = p.covers
			w, err := o.write(putting, p.pieces, s)
			if err != nil {
				return err
			}
			all.list = append(all.list, w.list...)
			all.rows += w.rows
		}
		return nil
	}()
	// As with write: the error of a put is the cause of others.
	if putErr := puts.Wait(); putErr != nil {
		return nil, putErr
	}
	return all, err
}

// adopt makes a compacted segment of an original, and begins to put its dead
// rows: those that lost their key, and those that were never to be shown. So a
// reader needs to know nothing of its markers and transactions.
func (o *outputs) adopt(ctx context.Context, p part, since time.Time, all *made, puts *errgroup.Group) error {
	s := *p.adopts.segment
	s.Adopted, s.CompactedAt = true, since
	s.LiveTombstones = int64(p.left.AndCardinality(p.adopts.tombstones))
	dead := roaring.New()
	dead.AddRange(0, p.adopts.rows())
	dead.AndNot(p.left)
	if !dead.IsEmpty() {
		named, body, err := o.store.dead(dead)
		if err != nil {
			return fmt.Errorf("write dead rows of %s: %w", s.Object, err)
		}
		s.Dead = &named
		puts.Go(func() error { return o.store.put(ctx, named.Object, body) })
	}
	all.list = append(all.list, s)
	all.rows += s.LiveRows()
	all.adopted.add(Adopted{1, s.LiveRows(), s.Info.Bytes})
	o.tell.tell(TookOver{Object: s.Object, Range: s.Range, Rows: s.LiveRows(), Bytes: s.Info.Bytes})
	return nil
}

func (a *Adopted) add(b Adopted) {
	a.Segments += b.Segments
	a.Rows += b.Rows
	a.Bytes += b.Bytes
}

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

// reclaim rewrites compacted segments of m where that pays (see reclaimable),
// after a fold and in the same commit: what has just died of them is left out,
// and they get no new bitmap. A run that has nothing to fold and nothing to
// expire makes no version, and so reclaims nothing. What b has no time for is
// left to a later run.
func reclaim(ctx context.Context, t *manifest.Topic, m *manifest.Manifest, f *folded, o *outputs, b *bounds) ([]manifest.Reclaim, error) {
	f.rewritten = make(map[string]bool)
	list := stretches(m.Compacted, f)
	var reclaims []manifest.Reclaim
	for _, s := range reclaimable(list, m.Settings.MaxDeadShare, m.Settings.SegmentBytes) {
		if _, _, size := sum(list[s.from:s.to]); b != nil {
			if b.work+2*size > b.spend && size > 0 {
				continue
			}
			b.work += 2 * size
		}
		r, err := rewrite(ctx, t, m.Compacted[s.from:s.to], list[s.from:s.to], m.Settings.SegmentBytes, f, o)
		if err != nil {
			return nil, fmt.Errorf("reclaim: %w", err)
		}
		reclaims = append(reclaims, *r)
	}
	return reclaims, nil
}

// stretches is what a compacted tier will be after fold f; before one, with f
// nil, what it is.
func stretches(tier []manifest.Segment, f *folded) []stretch {
	list := make([]stretch, len(tier))
	for i := range tier {
		seg := &tier[i]
		live, tombstones := seg.LiveRows(), seg.LiveTombstones
		if f != nil {
			if from, died := f.of(seg.Object); from != nil {
				live -= int64(died.GetCardinality())
				tombstones -= int64(from.tombstones.AndCardinality(died))
			}
		}
		list[i] = stretchOf(seg, live)
		list[i].tombstones, list[i].since = tombstones, seg.CompactedAt
	}
	return list
}

// stretchOf is a segment of which so many rows are live.
func stretchOf(s *manifest.Segment, live int64) stretch {
	size := s.RowBytes
	if size == 0 {
		size = s.Info.Bytes // written by a program that did not tell
	}
	of := stretch{rows: s.Info.Counts.Rows(), live: live}
	if of.rows > 0 {
		of.size = int64(float64(size) / float64(of.rows) * float64(live))
	}
	return of
}

// rewrite puts what is left of neighbouring segments into new ones.
func rewrite(ctx context.Context, t *manifest.Topic, tier []manifest.Segment, list []stretch, segmentBytes int64, f *folded, o *outputs) (*manifest.Reclaim, error) {
	sources, err := sourcesOf(ctx, t, tier, list, f, o.policy)
	if err != nil {
		return nil, err
	}
	r := new(manifest.Reclaim)
	told := Reclaimed{}
	var pieces []piece
	for i := range tier {
		seg := &tier[i]
		r.Inputs = append(r.Inputs, manifest.Reclaimed{Range: seg.Range, Object: seg.Object, Dead: seg.Dead})
		if seg.Object == "" {
			continue
		}
		f.rewritten[seg.Object] = true
		_, died := f.of(seg.Object)
		r.Died += int64(died.GetCardinality())
		told.Inputs++
		told.Dead += list[i].rows - list[i].live
		if s := sources[i]; s != nil {
			left := roaring.New()
			left.AddRange(0, s.rows())
			left.AndNot(s.out)
			left.AndNot(died)
			pieces = append(pieces, s.pieces(left, o.policy.PieceBytes)...)
		}
	}
	w, err := o.write(ctx, pieces, shapeOf(tier, list, segmentBytes))
	if err != nil {
		return nil, err
	}
	r.Outputs = w.list
	if _, live, _ := sum(list); w.rows != live {
		return nil, fmt.Errorf("%w: %s has %d live rows, but %d were written", manifest.ErrInvariant, w.covers, live, w.rows)
	}
	told.Range, told.Rows = w.covers, w.rows
	if w.rows > 0 {
		told.Outputs = len(w.list)
	}
	o.tell.tell(told)
	return r, nil
}

// sourcesOf opens those of neighbouring segments that have a row left, unless
// the fold has opened them.
func sourcesOf(ctx context.Context, t *manifest.Topic, tier []manifest.Segment, list []stretch, f *folded, policy Policy) ([]*source, error) {
	sources := make([]*source, len(tier))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(policy.Parallel)
	for i := range tier {
		if list[i].live == 0 {
			continue
		}
		if sources[i], _ = f.of(tier[i].Object); sources[i] != nil {
			continue
		}
		s := &source{segment: &tier[i], older: true}
		sources[i] = s
		g.Go(func() error {
			if err := openOlder(ctx, t, s); err != nil {
				return fmt.Errorf("read %s: %w", s.segment.Object, err)
			}
			return nil
		})
	}
	return sources, g.Wait()
}

// shapeOf is the shape of the segments that take the place of others. Their
// tombstones are all of one time; where there are none, the time says nothing.
func shapeOf(tier []manifest.Segment, list []stretch, segmentBytes int64) shape {
	s := shape{
		covers: segments.Range{After: tier[0].Range.After, Through: tier[len(tier)-1].Range.Through},
		bytes:  segmentBytes,
	}
	var newest time.Time
	for i := range tier {
		s.from = append(s.from, &tier[i])
		if list[i].tombstones > 0 {
			s.since = list[i].since
		}
		if list[i].since.After(newest) {
			newest = list[i].since
		}
	}
	if s.since.IsZero() {
		s.since = newest
	}
	_, _, size := sum(list)
	if n := ceil(size, segmentBytes); n > 1 {
		s.even, s.evenly = ceil(size, n), int(n-1)
	}
	return s
}

package compactor

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// joinWrites joins neighbouring write tasks when it is known what is left of
// their originals, so that a run makes segments of the size that the topic
// wants, and no stretch of which nothing is left is by itself: what a segment
// covers stands in the segment, and is decided before it is written.
func joinWrites(p *Plan, f *folded, segmentBytes int64) []Task {
	type weight struct {
		rows  int64
		bytes int64 // about
	}
	weights := make(map[string]weight)
	for i, s := range f.sources {
		if !s.older {
			left := int64(f.left[i].GetCardinality())
			share := float64(left) / float64(s.rows())
			weights[s.segment.Object] = weight{left, int64(share * float64(s.segment.Info.Bytes))}
		}
	}
	var joined []Task
	var have weight // of the last joined one
	for _, t := range p.Tasks {
		if t.Kind != TaskWrite {
			continue
		}
		var w weight
		for _, object := range t.Inputs {
			w.rows += weights[object].rows
			w.bytes += weights[object].bytes
		}
		if last := len(joined) - 1; last >= 0 && (w.rows == 0 || have.rows == 0 || have.bytes+w.bytes <= segmentBytes) {
			joined[last].Range.Through = t.Range.Through
			joined[last].Inputs = append(joined[last].Inputs[:len(joined[last].Inputs):len(joined[last].Inputs)], t.Inputs...)
			have.rows += w.rows
			have.bytes += w.bytes
			continue
		}
		joined = append(joined, t)
		have = w
	}
	return joined
}

// outputs makes the compacted segments of a run. One segment is being filled
// and one is being put at a time.
type outputs struct {
	store  *shelf
	hasher segments.Hasher
	plan   *Plan
	topic  manifest.Settings
	writer segments.WriterSettings
	tell   *teller

	list []manifest.Segment
	rows int64 // of list
}

// write does the write tasks, which together cover the plan's range.
func (o *outputs) write(ctx context.Context, f *folded, tasks []Task) error {
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(1)
	var err error
	for _, t := range tasks {
		if err = o.do(ctx, f, t, puts); err != nil {
			break
		}
	}
	// An error of a put ends ctx, and with that the reading: it is the cause.
	if putErr := puts.Wait(); putErr != nil {
		return putErr
	}
	return err
}

// do does one write task: the rows that are left of its originals, in position
// order, in segments that cover its range.
//
//	range     (a                                                     b]
//	rows          x  x  x:0 x:1    |    x     x  x         x
//	segments  (a          x]       |    (x                           b]
//
// A segment is sealed at the end of an entry, and only when there is a row to
// begin the next one with, so there is none without rows.
func (o *outputs) do(ctx context.Context, f *folded, t Task, puts *errgroup.Group) error {
	var originals []*manifest.Segment
	var last segments.Position // entry of the row before
	after := t.Range.After
	w := segments.NewWriter(o.writer, o.hasher)
	named := set(t.Inputs)
	for i, s := range f.sources {
		if s.older || !named[s.segment.Object] {
			continue
		}
		originals = append(originals, s.segment)
		for m, err := range s.file.Gather(ctx, f.left[i]) {
			if err != nil {
				return fmt.Errorf("read %s: %w", s.segment.Object, err)
			}
			entry := m.Position.EntryPosition()
			if w.Bytes() >= o.topic.SegmentBytes && entry != last {
				if err := o.seal(ctx, w, segments.Range{After: after, Through: last}, originals, puts); err != nil {
					return err
				}
				after = last
				w = segments.NewWriter(o.writer, o.hasher)
			}
			if err := w.Append(&m); err != nil {
				return fmt.Errorf("fold %s: %w", s.segment.Object, err)
			}
			last = entry
		}
	}
	rest := segments.Range{After: after, Through: t.Range.Through}
	if w.Rows() == 0 {
		// Nothing is left of the whole plan's range, or the task would have
		// been joined to a neighbour.
		o.list = append(o.list, manifest.Segment{
			Range:       rest,
			Info:        segments.Info{Ledgers: extents(originals, rest)},
			CompactedAt: o.plan.Now,
		})
		return nil
	}
	return o.seal(ctx, w, rest, originals, puts)
}

// seal ends a segment and begins to put it.
func (o *outputs) seal(ctx context.Context, w *segments.Writer, r segments.Range, originals []*manifest.Segment, puts *errgroup.Group) error {
	sealed, err := w.Seal(r)
	if err != nil {
		return fmt.Errorf("seal %s: %w", r, err)
	}
	// A segment answers for all it covers, so what it knows of ledgers is what
	// the originals held, not only what is left.
	sealed.Info.Ledgers = extents(originals, r)
	data, index := o.store.segmentKeys()
	o.list = append(o.list, manifest.Segment{
		Range:          r,
		Object:         data,
		Index:          index,
		Info:           sealed.Info,
		LiveTombstones: sealed.Info.Counts.Tombstones,
		CompactedAt:    o.plan.Now,
	})
	o.rows += sealed.Info.Counts.Rows()
	puts.Go(func() error {
		if err := o.store.put(ctx, data, sealed.Data); err != nil {
			return err
		}
		if err := o.store.put(ctx, index, sealed.Index); err != nil {
			return err
		}
		o.tell.tell(Written{Object: data, Range: r, Rows: sealed.Info.Counts.Rows(), Bytes: sealed.Info.Bytes})
		return nil
	})
	return nil
}

// extents lists what originals hold of ledgers in r. Where r begins or ends
// within a ledger its extent is clipped; its newest publish time stays that of
// the whole, which is never too old.
func extents(originals []*manifest.Segment, r segments.Range) []segments.Ledger {
	var list []segments.Ledger
	for _, s := range originals {
		for _, l := range s.Info.Ledgers {
			l, any := clip(l, r)
			if !any {
				continue
			}
			if n := len(list); n > 0 && list[n-1].Ledger == l.Ledger {
				list[n-1].Last = l.Last
				list[n-1].MaxPublish = max(list[n-1].MaxPublish, l.MaxPublish)
				continue
			}
			list = append(list, l)
		}
	}
	return list
}

// clip is the part of l that lies in r, if any does.
func clip(l segments.Ledger, r segments.Range) (segments.Ledger, bool) {
	if r.After.Ledger > l.Ledger || r.Through.Ledger < l.Ledger {
		return l, false
	}
	if r.After.Ledger == l.Ledger {
		l.First = max(l.First, r.After.Entry+1)
	}
	if r.Through.Ledger == l.Ledger {
		l.Last = min(l.Last, r.Through.Entry)
	}
	return l, l.First <= l.Last
}

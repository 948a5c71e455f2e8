package compactor

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// outputs makes the compacted segments of a run. One segment is being filled
// and one is being put at a time.
type outputs struct {
	store    *shelf
	hasher   segments.Hasher
	plan     *Plan
	settings manifest.Settings
	writer   segments.WriterSettings
	tell     *teller

	originals []*manifest.Segment
	list      []manifest.Segment
	rows      int64 // of list
}

// write does the write tasks of a plan. In one process they are one task: what
// would be too small an end of one goes on with the beginning of the next, and
// no stretch of which nothing is left is by itself.
//
//	range     (H                                                    H']
//	rows          x  x  x:0 x:1    |    x     x  x         x
//	segments  (H          x]       |    (x                          H']
//
// A segment is sealed at the end of an entry, and only when there is a row to
// begin the next one with, so there is none without rows, and what it covers,
// which stands in the segment, is known before it is written.
func (o *outputs) write(ctx context.Context, f *folded, policy Policy) error {
	for _, s := range f.sources {
		if !s.older {
			o.originals = append(o.originals, s.segment)
		}
	}
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(1)
	err := o.fill(ctx, gather(ctx, f.pieces(policy.PieceBytes), policy.Parallel), puts)
	// An error of a put ends ctx, and with that the reading: it is the cause.
	if putErr := puts.Wait(); putErr != nil {
		return putErr
	}
	return err
}

func (o *outputs) fill(ctx context.Context, rows iter.Seq2[segments.Message, error], puts *errgroup.Group) error {
	rest := o.plan.Range()
	if rest.IsEmpty() {
		return nil
	}
	var last segments.Position // entry of the row before
	w := segments.NewWriter(o.writer, o.hasher)
	for m, err := range rows {
		if err != nil {
			return err
		}
		entry := m.Position.EntryPosition()
		if w.Bytes() >= o.settings.SegmentBytes && entry != last {
			if err := o.seal(ctx, w, segments.Range{After: rest.After, Through: last}, puts); err != nil {
				return err
			}
			rest.After = last
			w = segments.NewWriter(o.writer, o.hasher)
		}
		if err := w.Append(&m); err != nil {
			return fmt.Errorf("fold %s: %w", o.plan.Range(), err)
		}
		last = entry
	}
	if w.Rows() > 0 {
		return o.seal(ctx, w, rest, puts)
	}
	o.list = append(o.list, manifest.Segment{
		Range:       rest,
		Info:        segments.Info{Ledgers: extents(o.originals, rest)},
		CompactedAt: o.plan.Now,
	})
	return nil
}

// seal ends a segment and begins to put it.
func (o *outputs) seal(ctx context.Context, w *segments.Writer, r segments.Range, puts *errgroup.Group) error {
	sealed, err := w.Seal(r)
	if err != nil {
		return fmt.Errorf("seal %s: %w", r, err)
	}
	// A segment answers for all it covers, so what it knows of ledgers is what
	// the originals held, not only what is left.
	sealed.Info.Ledgers = extents(o.originals, r)
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

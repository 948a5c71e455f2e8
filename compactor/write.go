package compactor

import (
	"context"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// outputs makes compacted segments. One segment is being filled and one is
// being put at a time.
type outputs struct {
	store  *shelf
	hasher segments.Hasher
	writer segments.WriterSettings
	policy Policy
	tell   *teller
}

// shape is what the segments that a stream of rows goes to have in common.
type shape struct {
	covers segments.Range      // what they tile
	from   []*manifest.Segment // where the rows come from; they tell of the ledgers
	since  time.Time           // CompactedAt

	// A segment is sealed from so many bytes on, or from even bytes, but that
	// only for the first evenly ones. So what is a little more than a segment
	// makes two of half the size, and not one and a crumb.
	bytes, even int64
	evenly      int
}

// written are the segments that a stream of rows has gone to.
type written struct {
	shape
	list []manifest.Segment
	rows int64
}

// write puts the rows of pieces into segments, in position order. It is one
// stream: what would be too small an end goes on with the beginning of the
// next, and no stretch of which nothing is left is by itself.
//
//	range     (H                                                    H']
//	rows          x  x  x:0 x:1    |    x     x  x         x
//	segments  (H          x]       |    (x                          H']
//
// A segment is sealed at the end of an entry, and only when there is a row to
// begin the next one with, so there is none without rows, and what it covers,
// which stands in the segment, is known before it is written.
func (o *outputs) write(ctx context.Context, list []piece, s shape) (*written, error) {
	w := &written{shape: s}
	if s.covers.IsEmpty() {
		return w, nil
	}
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(1)
	err := o.fill(ctx, gather(ctx, list, o.policy.Parallel), w, puts)
	// An error of a put ends ctx, and with that the reading: it is the cause.
	if putErr := puts.Wait(); putErr != nil {
		return nil, putErr
	}
	return w, err
}

func (o *outputs) fill(ctx context.Context, rows iter.Seq2[segments.Message, error], to *written, puts *errgroup.Group) error {
	rest := to.covers
	var last segments.Position // entry of the row before
	w := segments.NewWriter(o.writer, o.hasher)
	for m, err := range rows {
		if err != nil {
			return err
		}
		entry := m.Position.EntryPosition()
		if to.isFull(w.Bytes()) && entry != last {
			if err := o.seal(ctx, w, segments.Range{After: rest.After, Through: last}, to, puts); err != nil {
				return err
			}
			rest.After = last
			w = segments.NewWriter(o.writer, o.hasher)
		}
		if err := w.Append(&m); err != nil {
			return fmt.Errorf("write %s: %w", to.covers, err)
		}
		last = entry
	}
	if w.Rows() > 0 {
		return o.seal(ctx, w, rest, to, puts)
	}
	to.list = append(to.list, manifest.Segment{
		Range:       rest,
		Info:        segments.Info{Ledgers: extents(to.from, rest)},
		CompactedAt: to.since,
	})
	return nil
}

// isFull reports whether the next segment is to be sealed at so many bytes.
func (w *written) isFull(bytes int64) bool {
	return bytes >= w.bytes || bytes >= w.even && len(w.list) < w.evenly
}

// seal ends a segment and begins to put it.
func (o *outputs) seal(ctx context.Context, w *segments.Writer, r segments.Range, to *written, puts *errgroup.Group) error {
	size := w.Bytes()
	sealed, err := w.Seal(r)
	if err != nil {
		return fmt.Errorf("seal %s: %w", r, err)
	}
	// A segment answers for all it covers, so what it knows of ledgers is what
	// its sources held, not only what is left.
	sealed.Info.Ledgers = extents(to.from, r)
	data, index := o.store.segmentKeys()
	to.list = append(to.list, manifest.Segment{
		Range:          r,
		Object:         data,
		Index:          index,
		Info:           sealed.Info,
		RowBytes:       size,
		LiveTombstones: sealed.Info.Counts.Tombstones,
		CompactedAt:    to.since,
	})
	to.rows += sealed.Info.Counts.Rows()
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

// extents lists what some segments hold of ledgers in r. Where r begins or ends
// within a ledger its extent is clipped; its newest publish time stays that of
// the whole, which is never too old.
func extents(list []*manifest.Segment, r segments.Range) []segments.Ledger {
	var found []segments.Ledger
	for _, s := range list {
		for _, l := range s.Info.Ledgers {
			l, any := clip(l, r)
			if !any {
				continue
			}
			if n := len(found); n > 0 && found[n-1].Ledger == l.Ledger {
				found[n-1].Last = l.Last
				found[n-1].MaxPublish = max(found[n-1].MaxPublish, l.MaxPublish)
				continue
			}
			found = append(found, l)
		}
	}
	return found
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

package compactor

import (
	"context"
	"fmt"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// source is a segment that takes part in a fold, with what must be known of
// its rows before any winner is chosen. The sets are compressed bitmaps, at
// most an eighth of a byte for each row.
type source struct {
	segment *manifest.Segment
	file    *segments.File
	older   bool // a compacted segment, not a dirty original

	// out are the rows that take no part: of an older segment the dead ones;
	// of an original those outside the plan's range, the markers, and those of
	// aborted transactions. They are looked at before winners are chosen, so
	// they never supersede anything.
	out *roaring.Bitmap

	// Of the others: tombstones, and (of originals) messages without key.
	tombstones *roaring.Bitmap
	keyless    *roaring.Bitmap

	// events are the event times of an original's rows, by row, where the
	// topic is folded by event time: 8 bytes for each dirty row.
	events []int64

	in, markers, aborted int64 // rows of an original in the plan's range, and some among them
}

// rows is the number of rows of the segment, out or not.
func (s *source) rows() uint64 { return uint64(s.segment.Info.Counts.Rows()) }

// noEvent is the event time of a row without one: it is older than any.
const noEvent = math.MinInt64

// olderOf lists the compacted segments that plan p of m has to open.
func olderOf(m *manifest.Manifest, p *Plan) []*manifest.Segment {
	if p.From != p.To {
		return live(m.Compacted)
	}
	var expire []*manifest.Segment
	named := set(p.Expire)
	for _, s := range live(m.Compacted) {
		if named[s.Object] {
			expire = append(expire, s)
		}
	}
	return expire
}

func set(names []string) map[string]bool {
	in := make(map[string]bool, len(names))
	for _, name := range names {
		in[name] = true
	}
	return in
}

// openSources opens the segments that plan p of m is about, in the order of
// their positions, and reads what a fold must know of their rows.
func openSources(ctx context.Context, t *manifest.Topic, m *manifest.Manifest, p *Plan, policy Policy, tell *teller) ([]*source, error) {
	txns, err := txnfilter.Decode(m.Transactions)
	if err != nil {
		return nil, fmt.Errorf("read the transactions of version %d: %w", m.Version, err)
	}
	var sources []*source
	for _, s := range olderOf(m, p) {
		sources = append(sources, &source{segment: s, older: true})
	}
	for _, s := range overlapping(m.Originals, p.Range()) {
		sources = append(sources, &source{segment: s})
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(policy.Parallel)
	for _, s := range sources {
		g.Go(func() error {
			open := func() error { return openOriginal(gctx, t, s, p.Range(), m.Settings, &txns, tell) }
			if s.older {
				open = func() error { return openOlder(gctx, t, s) }
			}
			if err := open(); err != nil {
				return fmt.Errorf("read %s: %w", s.segment.Object, err)
			}
			return nil
		})
	}
	return sources, g.Wait()
}

func openOlder(ctx context.Context, t *manifest.Topic, s *source) (err error) {
	if s.file, err = t.OpenSegment(ctx, s.segment); err != nil {
		return err
	}
	if s.out, err = t.DeadRows(ctx, s.segment); err != nil {
		return err
	}
	s.tombstones = roaring.New()
	if s.segment.LiveTombstones > 0 {
		if s.tombstones, err = s.file.Tombstones(ctx); err != nil {
			return err
		}
		s.tombstones.AndNot(s.out)
	}
	return nil
}

func openOriginal(ctx context.Context, t *manifest.Topic, s *source, r segments.Range, settings manifest.Settings, txns *txnfilter.State, tell *teller) (err error) {
	if s.file, err = t.OpenSegment(ctx, s.segment); err != nil {
		return err
	}
	s.out, s.keyless = roaring.New(), roaring.New()
	if needsHeaders(s.segment, settings, r) {
		err = s.scan(ctx, r, settings, txns)
	} else {
		s.in = s.segment.Info.Counts.Rows()
		s.tombstones, err = s.file.Tombstones(ctx)
	}
	if err != nil {
		return err
	}
	tell.tell(Scanned{Object: s.segment.Object, Rows: s.in})
	return nil
}

// needsHeaders reports whether the counts of an original do not tell enough of
// its rows. Most originals lie in the range whole and hold nothing but keyed
// messages and tombstones, which the key index knows.
func needsHeaders(s *manifest.Segment, settings manifest.Settings, r segments.Range) bool {
	c := s.Info.Counts
	return settings.EventTimeOrder || s.Range.Clip(r) != s.Range ||
		c.Commits+c.Aborts+c.InTxn+c.Keyless > 0
}

// scan reads the header columns of an original, block by block, and sorts its
// rows into the sets.
func (s *source) scan(ctx context.Context, r segments.Range, settings manifest.Settings, txns *txnfilter.State) error {
	s.tombstones = roaring.New()
	if settings.EventTimeOrder {
		s.events = make([]int64, s.rows())
	}
	var inside []int
	for b, block := range s.file.Blocks() {
		last, first := block.Last.EntryPosition(), block.First.EntryPosition()
		if !last.After(r.After) || first.After(r.Through) {
			s.out.AddRange(uint64(block.FirstRow), uint64(block.FirstRow)+uint64(block.Rows))
			continue
		}
		inside = append(inside, b)
	}
	for rows, err := range s.file.Scan(ctx, inside, segments.Headers) {
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			if err := s.sort(rows, i, r, txns); err != nil {
				return err
			}
		}
	}
	s.out.RunOptimize()
	return nil
}

// sort puts row i of rows where it belongs.
func (s *source) sort(rows *segments.Rows, i int, r segments.Range, txns *txnfilter.State) error {
	row := rows.First() + uint32(i)
	if !r.Contains(rows.Position(i)) {
		s.out.Add(row)
		return nil
	}
	s.in++
	kind := rows.Kind(i)
	if kind.IsMarker() {
		s.markers++
		s.out.Add(row)
		return nil
	}
	if txn := rows.Txn(i); txn.Valid {
		// Nothing in the range can be open, or the horizon would have stopped
		// before it. Folding it all the same could delete data for good, so it
		// is worth the question.
		if txns.IsOpen(txn.V) {
			return fmt.Errorf("%w: %s is of transaction %s, which is open", manifest.ErrInvariant, rows.Position(i), txn.V)
		}
		if txns.IsAborted(txn.V) {
			s.aborted++
			s.out.Add(row)
			return nil
		}
	}
	switch {
	case kind == segments.KindTombstone:
		s.tombstones.Add(row)
	case rows.Key(i) == nil:
		s.keyless.Add(row)
	}
	if s.events != nil {
		s.events[row] = noEvent
		if e := rows.EventTime(i); e.Valid {
			s.events[row] = int64(e.V)
		}
	}
	return nil
}

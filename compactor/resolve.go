package compactor

import (
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/segments"
)

// verdict is what resolving a range of digests found: the rows of each source
// that lost their key, and how many of them lost it to what.
type verdict struct {
	losers []rowSet // by source
	dirty  losses
	older  losses
}

// rowSet is a set of rows of one segment: a bit for each of its rows, from the
// first one on that is added. Losers come in the order of digests, which is none
// for rows, and that is what compressed bitmaps are slow at.
type rowSet struct {
	rows uint64
	bits []uint64 // nil: none
}

func (s *rowSet) add(row uint32) {
	if s.bits == nil {
		s.bits = make([]uint64, (s.rows+63)/64)
	}
	s.bits[row/64] |= 1 << (row % 64)
}

func (s *rowSet) or(t rowSet) {
	if s.bits == nil {
		s.bits = t.bits
		return
	}
	for i, bits := range t.bits {
		s.bits[i] |= bits
	}
}

// bitmap is the set as a compressed bitmap of its own.
func (s *rowSet) bitmap() *roaring.Bitmap { return roaring.FromDense(s.bits, true) }

// losses counts losers by the final winner of their key.
type losses struct {
	Superseded int64 `json:"superseded"` // by a value
	Deleted    int64 `json:"deleted"`    // by a tombstone
}

func newVerdict(sources []*source) *verdict {
	v := &verdict{losers: make([]rowSet, len(sources))}
	for i, s := range sources {
		v.losers[i].rows = s.rows()
	}
	return v
}

// add joins the verdict on other digests to v, which may take its memory.
func (v *verdict) add(w *verdict) {
	for i, losers := range w.losers {
		v.losers[i].or(losers)
	}
	v.dirty.Superseded += w.dirty.Superseded
	v.dirty.Deleted += w.dirty.Deleted
	v.older.Superseded += w.older.Superseded
	v.older.Deleted += w.older.Deleted
}

// resolve does a resolve task.
//
// By position one merge is enough. By event time the merge goes twice over the
// indexes, because the event times of older rows are in nobody's index: the
// first time finds the older rows that a dirty one contests, and their event
// times are read between the two, from the header columns of just the blocks
// that hold them.
func resolve(ctx context.Context, sources []*source, r segments.DigestRange, byEventTime bool) (*verdict, error) {
	b := &ballot{sources: sources, verdict: newVerdict(sources)}
	if byEventTime {
		c := newContested(sources)
		if err := merge(ctx, sources, r, c); err != nil {
			return nil, err
		}
		if err := c.readEvents(ctx); err != nil {
			return nil, err
		}
		b.event = c.event
	}
	if err := merge(ctx, sources, r, b); err != nil {
		return nil, err
	}
	return b.verdict, nil
}

// ballot is the contest that decides: of each key the candidate with the
// greatest position wins, or the one with the greatest (event time, position).
type ballot struct {
	sources []*source
	event   func(candidate) int64 // nil: position alone decides
	verdict *verdict
}

func (b *ballot) enter(s *seat, c candidate) {
	var event int64
	if b.event != nil {
		event = b.event(c)
	}
	if !s.taken {
		s.best, s.event, s.taken = c, event, true
		return
	}
	loser := c
	if event > s.event || event == s.event && c.after(s.best) {
		loser = s.best
		s.best, s.event = c, event
	}
	b.verdict.losers[loser.place].add(loser.row)
	if b.sources[loser.place].older {
		s.older++
	} else {
		s.dirty++
	}
}

func (b *ballot) decide(s *seat) {
	if s.dirty+s.older == 0 {
		return
	}
	dirty, older := &b.verdict.dirty.Superseded, &b.verdict.older.Superseded
	if b.sources[s.best.place].tombstones.Contains(s.best.row) {
		dirty, older = &b.verdict.dirty.Deleted, &b.verdict.older.Deleted
	}
	*dirty += s.dirty
	*older += s.older
}

// after reports whether c has the greater position: sources tile the topic in
// order, and the rows of one are in order.
func (c candidate) after(d candidate) bool {
	return c.place > d.place || c.place == d.place && c.row > d.row
}

// contested is the contest that only finds the older rows whose event times
// matter. It holds 12 bytes for each such row, of which there are no more than
// keys of the dirty originals in its range of digests.
type contested struct {
	sources []*source
	sets    []*roaring.Bitmap // of older sources
	rows    [][]uint32        // the same, when the set is complete
	events  [][]int64         // of rows
}

func newContested(sources []*source) *contested {
	c := &contested{
		sources: sources,
		sets:    make([]*roaring.Bitmap, len(sources)),
		rows:    make([][]uint32, len(sources)),
		events:  make([][]int64, len(sources)),
	}
	for i := range c.sets {
		c.sets[i] = roaring.New()
	}
	return c
}

func (c *contested) enter(_ *seat, row candidate) {
	if c.sources[row.place].older {
		c.sets[row.place].Add(row.row)
	}
}

func (c *contested) decide(*seat) {}

// readEvents reads the event times of all contested rows.
func (c *contested) readEvents(ctx context.Context) error {
	for place, set := range c.sets {
		if set.IsEmpty() {
			continue
		}
		c.rows[place] = set.ToArray()
		c.sets[place] = nil
		events, err := eventTimes(ctx, c.sources[place].file, c.rows[place])
		if err != nil {
			return fmt.Errorf("read event times of %s: %w", c.sources[place].segment.Object, err)
		}
		c.events[place] = events
	}
	return nil
}

// eventTimes reads the event times of rows, which go up.
func eventTimes(ctx context.Context, file *segments.File, rows []uint32) ([]int64, error) {
	var blocks []int
	next := 0 // of rows
	for b, block := range file.Blocks() {
		first := next
		for next < len(rows) && rows[next] < block.FirstRow+block.Rows {
			next++
		}
		if next > first {
			blocks = append(blocks, b)
		}
	}
	events := make([]int64, 0, len(rows))
	for block, err := range file.Scan(ctx, blocks, segments.Headers) {
		if err != nil {
			return nil, err
		}
		end := block.First() + uint32(block.Len())
		for len(events) < len(rows) && rows[len(events)] < end {
			event := int64(noEvent)
			if e := block.EventTime(int(rows[len(events)] - block.First())); e.Valid {
				event = int64(e.V)
			}
			events = append(events, event)
		}
	}
	if len(events) != len(rows) {
		return nil, fmt.Errorf("%d rows are beyond its blocks", len(rows)-len(events))
	}
	return events, nil
}

// event is the event time of a candidate.
func (c *contested) event(row candidate) int64 {
	if s := c.sources[row.place]; !s.older {
		return s.events[row.row]
	}
	return c.events[row.place][indexOf(c.rows[row.place], row.row)]
}

// indexOf is the place of row in rows, which go up and hold it.
func indexOf(rows []uint32, row uint32) int {
	i, _ := slices.BinarySearch(rows, row)
	return i
}

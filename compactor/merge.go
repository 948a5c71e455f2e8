package compactor

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/ledgerfold/ledgerfold/segments"
)

// A candidate is a row that may win its key.
type candidate struct {
	place int // of its segment among the sources, which is position order
	row   uint32
}

// contest hears the candidates of many keys.
type contest interface {
	// enter adds a candidate to the contest of a key. Those of one segment come
	// in position order; segments come in any order.
	enter(s *seat, c candidate)
	// decide is called after the last candidate of a key.
	decide(s *seat)
}

// bucketEntries is about how many dirty entries are looked at together: so few
// that their seats stay in the cache of a processor.
const bucketEntries = 4096

// merge holds a contest for each digest of r that a dirty original has a
// candidate for. Keys that only older segments know stay as they are, so their
// entries just go by.
//
// The key indexes are read as streams, of which a read each is in memory. They
// go side by side from bucket to bucket, a stretch of digests: first the dirty
// ones take the seats of their keys, then the older ones look whether there is
// a seat for theirs. Since digests are spread evenly, their own bits find the
// seat.
//
//	            bucket 0     bucket 1
//	dirty      [d1 d1 d4  |  d7 ...    ]     each takes a seat
//	           [d1 d2     |  d6 ...    ]
//	older      [d1 d2 d3  |  d7 d8 ... ]     each looks for one: d3 and d8 go by
//
// Nothing here grows with the number of keys, nor with the number of rows of
// one key.
func merge(ctx context.Context, sources []*source, r segments.DigestRange, c contest) (err error) {
	var dirty, older []*stream
	defer func() {
		for _, s := range append(dirty, older...) {
			s.stop()
		}
	}()
	var entries int64
	for place, s := range sources {
		next, stop := iter.Pull2(s.file.Pages(ctx, r))
		added := &stream{source: s, place: place, all: s.out.IsEmpty(), next: next, stop: stop}
		if s.older {
			older = append(older, added)
			continue
		}
		dirty = append(dirty, added)
		entries += s.file.MostEntries(r)
	}
	t := newTable()
	for through := range buckets(r, uint64(ceil(entries, bucketEntries))) {
		for _, s := range dirty {
			err := s.each(through, func(hi, lo uint64, row uint32) {
				if s.takesPart(row) {
					c.enter(t.take(hi, lo), candidate{s.place, row})
				}
			})
			if err != nil {
				return err
			}
		}
		if len(t.seats) == 0 {
			continue // the older ones come up later, or never
		}
		for _, s := range older {
			err := s.each(through, func(hi, lo uint64, row uint32) {
				if seat := t.find(hi, lo); seat != nil && s.takesPart(row) {
					c.enter(seat, candidate{s.place, row})
				}
			})
			if err != nil {
				return err
			}
		}
		for i := range t.seats {
			c.decide(&t.seats[i])
		}
		t.clear()
	}
	return nil
}

// buckets yields the first words of the last digests of n buckets that are
// together r, in order.
func buckets(r segments.DigestRange, n uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		from, through := binary.BigEndian.Uint64(r.From[:8]), binary.BigEndian.Uint64(r.Through[:8])
		for i := uint64(1); i < n; i++ {
			hi, lo := bits.Mul64(through-from, i)
			end, _ := bits.Div64(hi, lo, n)
			if !yield(from + end) {
				return
			}
		}
		yield(math.MaxUint64)
	}
}

// stream is what is left of one key index.
type stream struct {
	*source
	place int
	all   bool // every row takes part
	page  segments.IndexPage
	at    int // the next entry of the page
	next  func() (segments.IndexPage, error, bool)
	stop  func()
}

// takesPart reports whether a row can win or lose.
func (s *stream) takesPart(row uint32) bool { return s.all || !s.out.Contains(row) }

// each calls visit with the entries whose digests begin with a word up to
// through.
func (s *stream) each(through uint64, visit func(hi, lo uint64, row uint32)) error {
	for {
		for n := s.page.Len(); s.at < n; s.at++ {
			hi, lo := s.page.Digest(s.at)
			if hi > through {
				return nil
			}
			visit(hi, lo, s.page.Row(s.at))
		}
		page, err, ok := s.next()
		switch {
		case err != nil:
			return fmt.Errorf("read the key index of %s: %w", s.segment.Object, err)
		case !ok:
			return nil
		}
		s.page, s.at = page, 0
	}
}

// seat is what a contest keeps of one key.
type seat struct {
	hi, lo uint64 // the digest
	n      int    // seats of a bucket are counted from 0

	best         candidate
	event        int64 // of best
	dirty, older int64 // losers
	taken        bool  // there is a best one
}

// table is the seats of a bucket, found by digest: open addressing, where the
// digest's last bits are the hash.
type table struct {
	seats []seat
	slots []uint32 // 1 and more: of a seat, counted from 1; their number is a power of two
}

func newTable() *table { return &table{slots: make([]uint32, 4*bucketEntries)} }

// find is the seat of a digest, or nil.
func (t *table) find(hi, lo uint64) *seat {
	for at := lo; ; at++ {
		n := t.slots[at&uint64(len(t.slots)-1)]
		if n == 0 {
			return nil
		}
		if s := &t.seats[n-1]; s.lo == lo && s.hi == hi {
			return s
		}
	}
}

// take is the seat of a digest, a new one if it has none. It is valid until the
// next take.
func (t *table) take(hi, lo uint64) *seat {
	if s := t.find(hi, lo); s != nil {
		return s
	}
	if 2*len(t.seats) >= len(t.slots) {
		t.slots = make([]uint32, 2*len(t.slots))
		for i := range t.seats {
			t.place(i)
		}
	}
	t.seats = append(t.seats, seat{hi: hi, lo: lo, n: len(t.seats)})
	t.place(len(t.seats) - 1)
	return &t.seats[len(t.seats)-1]
}

// place puts seat i in a free slot.
func (t *table) place(i int) {
	at := t.seats[i].lo
	for t.slots[at&uint64(len(t.slots)-1)] != 0 {
		at++
	}
	t.slots[at&uint64(len(t.slots)-1)] = uint32(i + 1)
}

// clear takes all seats away.
func (t *table) clear() {
	t.seats = t.seats[:0]
	clear(t.slots)
}

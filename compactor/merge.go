package compactor

import (
	"container/heap"
	"context"
	"fmt"
	"iter"

	"github.com/ledgerfold/ledgerfold/segments"
)

// A candidate is a row that may win its key.
type candidate struct {
	place int // of its segment among the sources, which is position order
	row   uint32
}

// contest hears the candidates of one key after the other.
type contest interface {
	// enter adds a candidate. Those of one segment come in position order;
	// segments come in any order.
	enter(c candidate)
	// decide is called after the last candidate of a key.
	decide()
}

// merge holds a contest for each digest of r that a dirty original has a
// candidate for, in digest order. Keys that only older segments know stay as
// they are, so their entries just go by.
//
// The key indexes are merged as streams, of which a page each is in memory:
//
//	dirty    heap: [d1 d1 d4 ...] [d1 d2 ...]     its least digest is next
//	older    heap: [d1 d2 d3 ...] [d3 d4 ...]     goes up to it, and over what lies before
//
// Nothing here grows with the number of keys, nor with the number of rows of
// one key.
func merge(ctx context.Context, sources []*source, r segments.DigestRange, c contest) (err error) {
	var dirty, older streams
	defer func() {
		dirty.stop()
		older.stop()
	}()
	for place, s := range sources {
		to := &dirty
		if s.older {
			to = &older
		}
		if err := to.start(ctx, s, place, r); err != nil {
			return err
		}
	}
	heap.Init(&dirty)
	heap.Init(&older)
	for len(dirty) > 0 {
		digest := dirty[0].head.Digest
		entered := false
		for len(dirty) > 0 && dirty[0].head.Digest == digest {
			if s := dirty[0]; s.takesPart() {
				c.enter(candidate{s.place, s.head.Row})
				entered = true
			}
			if err := dirty.advance(); err != nil {
				return err
			}
		}
		if !entered {
			continue
		}
		if err := older.skipTo(digest); err != nil {
			return err
		}
		for len(older) > 0 && older[0].head.Digest == digest {
			if s := older[0]; s.takesPart() {
				c.enter(candidate{s.place, s.head.Row})
			}
			if err := older.advance(); err != nil {
				return err
			}
		}
		c.decide()
	}
	return nil
}

// stream is what is left of one key index.
type stream struct {
	*source
	place int
	head  segments.IndexEntry
	next  func() (segments.IndexEntry, error, bool)
	stop  func()
}

// takesPart reports whether the row at the head can win or lose.
func (s *stream) takesPart() bool { return !s.out.Contains(s.head.Row) }

// pull moves on by one entry. It reports whether there was one.
func (s *stream) pull() (bool, error) {
	head, err, ok := s.next()
	if err != nil {
		return false, fmt.Errorf("read the key index of %s: %w", s.segment.Object, err)
	}
	s.head = head
	return ok, nil
}

// streams is a heap of streams by their heads.
type streams []*stream

func (h streams) Len() int { return len(h) }
func (h streams) Less(i, j int) bool {
	if c := h[i].head.Digest.Compare(h[j].head.Digest); c != 0 {
		return c < 0
	}
	return h[i].place < h[j].place
}
func (h streams) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *streams) Push(x any)   { *h = append(*h, x.(*stream)) }
func (h *streams) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// start adds the stream of s, unless it is empty.
func (h *streams) start(ctx context.Context, s *source, place int, r segments.DigestRange) error {
	next, stop := iter.Pull2(s.file.Entries(ctx, r))
	added := &stream{source: s, place: place, next: next, stop: stop}
	ok, err := added.pull()
	if err != nil || !ok {
		stop()
		return err
	}
	*h = append(*h, added)
	return nil
}

// advance moves the first stream on by one entry.
func (h *streams) advance() error {
	ok, err := (*h)[0].pull()
	if err != nil {
		return err
	}
	h.settle(ok)
	return nil
}

// skipTo moves all streams on to the first entry at or after digest. Between
// two dirty digests there may be very many others, so a stream goes over them
// at one go, and takes its place in the heap once.
func (h *streams) skipTo(digest segments.Digest) error {
	for len(*h) > 0 && (*h)[0].head.Digest.Compare(digest) < 0 {
		s := (*h)[0]
		ok := true
		var err error
		for ok && s.head.Digest.Compare(digest) < 0 {
			if ok, err = s.pull(); err != nil {
				return err
			}
		}
		h.settle(ok)
	}
	return nil
}

// settle puts the first stream, whose head has changed, where it belongs, or
// removes it if it has ended.
func (h *streams) settle(ok bool) {
	if ok {
		heap.Fix(h, 0)
		return
	}
	heap.Pop(h).(*stream).stop()
}

// stop ends what has not ended.
func (h streams) stop() {
	for _, s := range h {
		s.stop()
	}
}

package segments

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// Ranged reads of blocks are at most fetchBytes, or one block if that is
// larger. Two blocks are read in one go if what lies between the wanted bytes
// of both is less than fetchGap: reading that costs less than a request.
// Pages of an index go by pageFetchBytes, since a merge reads many indexes at
// once and holds a read of each.
const (
	fetchBytes     = 8 << 20
	fetchGap       = 64 << 10
	pageFetchBytes = 1 << 20
)

// extent is a stretch of bytes in an object.
type extent struct{ off, bytes int64 }

func (e extent) end() int64 { return e.off + e.bytes }

// reach is how many of the n extents, which go up, one read takes, and the
// stretch that it reads.
func reach(n int, at func(int) extent, limit int64) (int, extent) {
	whole := at(0)
	for i := 1; i < n; i++ {
		next := at(i)
		if next.off-whole.end() >= fetchGap || next.end()-whole.off > limit {
			return i, whole
		}
		whole.bytes = next.end() - whole.off
	}
	return n, whole
}

// span is bytes of an object with the place they come from.
type span struct {
	off   int64
	bytes []byte
}

// fetch reads e from source. What is for the error: a block, a page.
func fetch(ctx context.Context, source Source, e extent) (span, error) {
	s := span{off: e.off, bytes: make([]byte, e.bytes)}
	if err := source.ReadAt(ctx, s.bytes, e.off); err != nil {
		return span{}, fmt.Errorf("read %d bytes at %d: %w", e.bytes, e.off, err)
	}
	return s, nil
}

// What is read ahead: no more than aheadReads ranged reads, of no more than
// aheadBytes together, beside the one that is looked at. The first read has one
// ahead of it, the next ones each one more, so that a scan that ends early has
// not asked for much in vain.
const (
	aheadReads = 8
	aheadBytes = fetchBytes
)

// fetchAhead yields what fetch reads of each extent, in order, and reads ahead
// meanwhile: a store answers one request slowly, and several as fast as one.
// When it ends, no read is under way.
func fetchAhead(ctx context.Context, source Source, list []extent) iter.Seq2[span, error] {
	return func(yield func(span, error) bool) {
		if len(list) == 1 {
			yield(fetch(ctx, source, list[0]))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var reads sync.WaitGroup
		defer func() {
			cancel()
			reads.Wait()
		}()
		type answer struct {
			span
			err error
		}
		answers := make([]chan answer, len(list))
		next := 0 // to start
		start := func() {
			to := make(chan answer, 1)
			e := list[next]
			answers[next] = to
			next++
			reads.Go(func() {
				s, err := fetch(ctx, source, e)
				to <- answer{s, err}
			})
		}
		for i := range list {
			if next == i {
				start()
			}
			for next < len(list) && next-i <= min(i+1, aheadReads) && sum(list[i+1:next+1]) <= aheadBytes {
				start()
			}
			a := <-answers[i]
			answers[i] = nil
			if !yield(a.span, a.err) || a.err != nil {
				return
			}
		}
	}
}

func sum(list []extent) (bytes int64) {
	for _, e := range list {
		bytes += e.bytes
	}
	return bytes
}

// at is the bytes of e, which lies in s.
func (s span) at(e extent) []byte {
	return s.bytes[e.off-s.off : e.end()-s.off : e.end()-s.off]
}

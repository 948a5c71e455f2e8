package segments

import (
	"context"
	"fmt"
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

// at is the bytes of e, which lies in s.
func (s span) at(e extent) []byte {
	return s.bytes[e.off-s.off : e.end()-s.off : e.end()-s.off]
}

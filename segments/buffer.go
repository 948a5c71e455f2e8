package segments

import (
	"errors"
	"io"
	"iter"
)

// chunkBytes is the size of the pieces a Buffer is made of.
const chunkBytes = 64 << 10

// Buffer is bytes in memory that can be read again from any place. It is an
// objstore.Body. It grows by pieces of one size: a segment that fills up never
// has its bytes copied, nor twice its size reserved.
type Buffer struct {
	chunks [][]byte // all but the last are full
	size   int64
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		used := int(b.size % chunkBytes)
		if used == 0 {
			b.chunks = append(b.chunks, make([]byte, chunkBytes))
		}
		copied := copy(b.chunks[len(b.chunks)-1][used:], p)
		p = p[copied:]
		b.size += int64(copied)
	}
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (b *Buffer) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("read of a buffer before its start")
	}
	n := 0
	for piece := range b.pieces(off, int64(len(p))) {
		n += copy(p[n:], piece)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Size is the number of bytes.
func (b *Buffer) Size() int64 { return b.size }

// pieces yields the bytes [off, off+n), as far as there are any, as they lie.
func (b *Buffer) pieces(off, n int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for end := min(off+n, b.size); off < end; {
			from := off % chunkBytes
			to := min(from+end-off, chunkBytes)
			if !yield(b.chunks[off/chunkBytes][from:to]) {
				return
			}
			off += to - from
		}
	}
}

// copyAt is a copy of the n bytes at off, which are there.
func (b *Buffer) copyAt(off, n int64) []byte {
	p := make([]byte, 0, n)
	for piece := range b.pieces(off, n) {
		p = append(p, piece...)
	}
	return p
}

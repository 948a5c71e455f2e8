package segments

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	"pgregory.net/rapid"
)

// source is an object in memory that counts what is read of it.
type source struct {
	bytes []byte
	reads atomic.Int64
	read  atomic.Int64
}

func (s *source) ReadAt(_ context.Context, p []byte, off int64) error {
	s.reads.Add(1)
	s.read.Add(int64(len(p)))
	if off < 0 || off+int64(len(p)) > int64(len(s.bytes)) {
		return fmt.Errorf("range %d+%d leaves an object of %d bytes", off, len(p), len(s.bytes))
	}
	copy(p, s.bytes[off:])
	return nil
}

// all is the bytes of b.
func all(tb rapid.TB, b *Buffer) []byte {
	tb.Helper()
	p, err := io.ReadAll(io.NewSectionReader(b, 0, b.Size()))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// stored is a segment as it would lie in a store.
type stored struct {
	data, index *source
	info        Info
}

func (s *stored) open(tb rapid.TB) *File {
	tb.Helper()
	f, err := Open(context.Background(), "object-1", s.data, s.index, s.info)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return f
}

func testHasher() Hasher { return NewHasher([SecretBytes]byte{1, 2, 3}) }

// store writes rows as a segment of everything.
func store(tb rapid.TB, s WriterSettings, rows []Message) *stored {
	tb.Helper()
	w := NewWriter(s, testHasher())
	for i := range rows {
		if err := w.Append(&rows[i]); err != nil {
			tb.Fatal(err)
		}
	}
	sealed, err := w.Seal(Range{After: None, Through: rows[len(rows)-1].Position.EntryPosition()})
	if err != nil {
		tb.Fatal(err)
	}
	return &stored{
		data:  &source{bytes: all(tb, sealed.Data)},
		index: &source{bytes: all(tb, sealed.Index)},
		info:  sealed.Info,
	}
}

// collect gathers what seq yields up to its first error.
func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for v, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, v)
	}
	return list, nil
}

// messages is the rows of all batches.
func messages(batches []*Rows) []Message {
	var list []Message
	for _, b := range batches {
		for i := range b.Len() {
			list = append(list, b.Message(i))
		}
	}
	return list
}

// blockNumbers is the numbers of all blocks of f.
func blockNumbers(f *File) []int {
	numbers := make([]int, len(f.Blocks()))
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}

// compressions are all of them.
func compressions() []Compression {
	return []Compression{CompressionNone, CompressionLZ4, CompressionZstd}
}

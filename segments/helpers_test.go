package segments

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"testing"
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
func all(tb testing.TB, b *Buffer) []byte {
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

func (s *stored) open(tb testing.TB) *File {
	tb.Helper()
	f, err := Open(tb.Context(), "object-1", s.data, s.index, s.info)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	return f
}

func testHasher() Hasher { return NewHasher([SecretBytes]byte{1, 2, 3}) }

// store writes rows as a segment of everything.
func store(tb testing.TB, s WriterSettings, rows []Message) *stored {
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

// someRows is n rows of every kind that rules allow, made of seed.
func someRows(seed uint64, n int) []Message {
	rnd := rand.New(rand.NewPCG(seed, 1))
	nullable := func(max int) []byte {
		if rnd.IntN(4) == 0 {
			return nil
		}
		b := make([]byte, rnd.IntN(max))
		for i := range b {
			b[i] = byte(rnd.IntN(256)) >> rnd.IntN(8)
		}
		return b
	}
	rows := make([]Message, 0, n)
	at := Position{Ledger: int64(rnd.IntN(3)), Entry: int64(rnd.IntN(3)), Batch: -1}
	size := int32(1)
	for range n {
		switch {
		case at.Batch >= 0 && at.Batch+1 < size && rnd.IntN(5) > 0:
			at.Batch += 1 + rnd.Int32N(size-at.Batch-1)
		default:
			if rnd.IntN(20) == 0 {
				at.Ledger += 1 + int64(rnd.IntN(3))
				at.Entry = -1
			}
			at.Entry += 1 + int64(rnd.IntN(2))
			at.Batch, size = -1, 1
			if rnd.IntN(3) == 0 {
				size = 1 + rnd.Int32N(6)
				at.Batch = rnd.Int32N(size)
			}
		}
		m := Message{
			Position:    at,
			BatchSize:   size,
			PublishTime: Millis(1700000000000 + rnd.Int64N(1000000)),
			OrderingKey: nullable(8),
		}
		if rnd.IntN(2) == 0 {
			m.EventTime = Some(Millis(rnd.Int64N(1<<41) - 1<<40))
		}
		if rnd.IntN(2) == 0 {
			m.Producer = Some([]string{"", "p", "producer", "Erzähler"}[rnd.IntN(4)])
			m.Sequence = Some(rnd.Int64())
		}
		if rnd.IntN(3) == 0 {
			m.Epoch = Some(rnd.Int32())
		}
		if rnd.IntN(3) == 0 {
			m.Txn = Some(TxnID{Most: rnd.Uint64N(3), Least: rnd.Uint64()})
		}
		switch m.Kind = Kind(rnd.IntN(8)); {
		case m.Kind == KindTombstone:
			m.Key = append([]byte{}, nullable(3)...)
			if rnd.IntN(2) == 0 {
				m.Value = []byte{}
			}
		case m.Kind.IsMarker():
			m.Txn = Some(TxnID{Most: 1, Least: rnd.Uint64N(9)})
		default:
			m.Kind = KindMessage
			m.Key = nullable(4)
			m.Value = nullable(60)
			if m.Key != nil && m.Value == nil {
				m.Value = []byte{}
			}
		}
		if rnd.IntN(3) == 0 {
			m.Properties = []Property{}
			for range rnd.IntN(3) {
				m.Properties = append(m.Properties, Property{Key: []string{"", "k", "größe"}[rnd.IntN(3)], Value: nullable(5)})
			}
		}
		rows = append(rows, m)
	}
	return rows
}

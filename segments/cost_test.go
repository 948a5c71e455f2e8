package segments

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// plainRows is n rows with keys of 7 bytes and values of 400.
func plainRows(n int) []Message {
	rows := make([]Message, n)
	value := make([]byte, 400*n)
	rand.NewChaCha8([32]byte{}).Read(value) // noise, which no compression makes small
	for i := range rows {
		key := []byte("key-000")
		key[4], key[5], key[6] = byte('0'+i/100%10), byte('0'+i/10%10), byte('0'+i%10)
		rows[i] = Message{
			Position:    At(1, int64(i)),
			BatchSize:   1,
			Key:         key,
			PublishTime: 1700000000000 + Millis(i),
			Sequence:    Some(int64(i)),
			Value:       value[400*i : 400*i+400],
		}
	}
	return rows
}

// TestAHeaderReadLeavesPayloadsAlone counts the bytes and reads of a scan of
// headers, of one row, and of one key.
func TestAHeaderReadLeavesPayloadsAlone(t *testing.T) {
	rows := plainRows(100000)
	for _, c := range compressions() {
		t.Run(string(c), func(t *testing.T) {
			countReads(t, store(t, WriterSettings{Compression: c}, rows), len(rows))
		})
	}
}

func countReads(t *testing.T, s *stored, rows int) {
	f := s.open(t)
	if reads := s.index.reads.Load(); reads != 1 {
		t.Errorf("opening took %d reads, want 1", reads)
	}
	t.Logf("%d rows, %d blocks, %d bytes, index of %d bytes", rows, len(f.Blocks()), s.info.Bytes, s.info.Index.Bytes)

	n := 0
	for batch, err := range f.Scan(t.Context(), blockNumbers(f), Headers) {
		if err != nil {
			t.Fatal(err)
		}
		n += batch.Len()
	}
	read := s.data.read.Swap(0)
	t.Logf("headers of %d rows: %d bytes, 1 of %.1f, in %d reads", n, read, float64(s.info.Bytes)/float64(read), s.data.reads.Swap(0))
	if n != rows || read*5 >= s.info.Bytes {
		t.Errorf("the headers of %d rows took %d of %d bytes, want less than a fifth", n, read, s.info.Bytes)
	}

	for _, err := range f.Scan(t.Context(), blockNumbers(f), All) {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("all: %d bytes in %d reads", s.data.read.Swap(0), s.data.reads.Load())
	if reads := s.data.reads.Swap(0); reads > s.info.Bytes/fetchBytes*5/4+1 {
		t.Errorf("all took %d reads of %d bytes", reads, fetchBytes)
	}

	for _, err := range f.Gather(t.Context(), roaring.BitmapOf(5, 50000)) {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("two rows: %d bytes in %d reads", s.data.read.Load(), s.data.reads.Load())
	if reads := s.data.reads.Load(); reads != 2 || s.data.read.Load() > 3*DefaultBatchBytes {
		t.Errorf("two rows took %d reads and %d bytes", reads, s.data.read.Load())
	}

	s.index.read.Store(0)
	s.index.reads.Store(0)
	found, err := f.Lookup(t.Context(), testHasher().Digest([]byte("key-042")))
	if err != nil || len(found) != rows/1000 {
		t.Fatalf("found %d rows, %v, want %d", len(found), err, rows/1000)
	}
	t.Logf("one key: %d bytes in %d reads", s.index.read.Load(), s.index.reads.Load())
	if s.index.reads.Load() != 1 {
		t.Errorf("one key took %d reads, want 1", s.index.reads.Load())
	}
}

// TestAccessorsAllocateNothing reads rows over and over.
func TestAccessorsAllocateNothing(t *testing.T) {
	f := store(t, WriterSettings{Compression: CompressionZstd}, someRows(1, 500)).open(t)
	batches, err := collect(f.Scan(t.Context(), blockNumbers(f), All))
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	n := testing.AllocsPerRun(10, func() {
		for _, b := range batches {
			for i := range b.Len() {
				m := b.Message(i)
				sum += len(m.Value) + len(m.Properties) + len(m.Producer.V)
			}
		}
	})
	if n > 0 {
		t.Errorf("reading rows allocates %v times (sum %d)", n, sum)
	}
}

func BenchmarkWrite(b *testing.B) {
	rows := plainRows(20000)
	for _, c := range compressions() {
		b.Run(string(c), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := NewWriter(WriterSettings{Compression: c}, testHasher())
				for i := range rows {
					if err := w.Append(&rows[i]); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(w.Bytes())
				if _, err := w.Seal(Range{After: None, Through: At(1, 1<<40)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, c := range compressions() {
		for cols, name := range []string{"headers", "all"} {
			b.Run(string(c)+"/"+name, func(b *testing.B) {
				s := store(b, WriterSettings{Compression: c}, plainRows(20000))
				f := s.open(b)
				b.ReportAllocs()
				for b.Loop() {
					s.data.read.Store(0)
					for _, err := range f.Scan(context.Background(), blockNumbers(f), Columns(cols)) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				b.SetBytes(s.data.read.Load())
			})
		}
	}
}

package segments

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// row is a message that fits, changed by change.
func row(change func(*Message)) Message {
	m := Message{Position: At(1, 5), BatchSize: 1, Key: []byte("k"), Value: []byte("v")}
	if change != nil {
		change(&m)
	}
	return m
}

// TestRowsThatDoNotFitTheirKindAreRefused appends one wrong row each, then a
// right one: the wrong one has left nothing behind.
func TestRowsThatDoNotFitTheirKindAreRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Message)
		want   string
	}{
		{"same position", func(m *Message) { m.Position = At(1, 4) }, "append row at 1:4: it does not lie after 1:4"},
		{"before", func(m *Message) { m.Position = At(0, 9) }, "does not lie after"},
		{"none", func(m *Message) { m.Position = None }, "does not lie after"},
		{"batch index", func(m *Message) { m.Position.Batch = -2; m.Position.Entry = 6 }, "batch index -2"},
		{"single of a batch", func(m *Message) { m.BatchSize = 2 }, "batch size 2"},
		{"outside its batch", func(m *Message) { m.Position.Batch = 3; m.BatchSize = 3 }, "batch index 3"},
		{"no batch size", func(m *Message) { m.BatchSize = 0 }, "batch size 0"},
		{"delete as a message", func(m *Message) { m.Value = nil }, "it is a tombstone"},
		{"tombstone without key", func(m *Message) { m.Kind, m.Key, m.Value = KindTombstone, nil, nil }, "no key"},
		{"tombstone with value", func(m *Message) { m.Kind = KindTombstone }, "has a value"},
		{"marker without transaction", func(m *Message) { m.Kind, m.Key, m.Value = KindCommit, nil, nil }, "no transaction"},
		{"marker with key", func(m *Message) { m.Kind, m.Txn, m.Value = KindAbort, Some(TxnID{}), nil }, "has a key"},
		{"marker with value", func(m *Message) { m.Kind, m.Txn, m.Key = KindAbort, Some(TxnID{}), nil }, "has a value"},
		{"no kind", func(m *Message) { m.Kind = 4 }, "kind 4"},
		{"producer", func(m *Message) { m.Producer = Some("\xff") }, "not UTF-8"},
		{"property", func(m *Message) { m.Properties = []Property{{Key: "ok"}, {Key: "\xff"}} }, "not UTF-8"},
	} {
		w := NewWriter(WriterSettings{}, testHasher())
		first, wrong, right := row(func(m *Message) { m.Position.Entry = 4 }), row(test.change), row(nil)
		if err := w.Append(&first); err != nil {
			t.Fatal(err)
		}
		size := w.Bytes()
		if err := w.Append(&wrong); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if w.Rows() != 1 || w.Bytes() != size {
			t.Errorf("%s: the refused row counts", test.name)
		}
		if err := w.Append(&right); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if _, err := w.Seal(Range{After: None, Through: At(1, 5)}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestOddRowsThatFitAreTaken has what looks wrong and is not.
func TestOddRowsThatFitAreTaken(t *testing.T) {
	rows := []Message{
		row(func(m *Message) { m.Position = At(0, 0); m.Key, m.Value = nil, nil }),                 // keyless and null
		row(func(m *Message) { m.Position = At(0, 1); m.Key, m.Value = []byte{}, []byte{} }),       // empty and empty
		row(func(m *Message) { m.Position = At(0, 2); m.Kind, m.Value = KindTombstone, []byte{} }), // empty_is_tombstone
		row(func(m *Message) { m.Position = Position{0, 3, 2}; m.BatchSize = 9 }),                  // part of a batch
		row(func(m *Message) { m.Position = At(5, 0); m.Properties = []Property{} }),               // no properties, yet a list
		row(func(m *Message) { m.Position = At(5, 1); m.Txn = Some(TxnID{}) }),                     // the zero transaction
		row(func(m *Message) {
			m.Position = At(5, 2)
			m.Kind, m.Txn, m.Key, m.Value = KindCommit, Some(TxnID{}), nil, nil
		}), // its marker
	}
	f := store(t, WriterSettings{}, rows).open(t)
	batches, err := collect(f.Scan(t.Context(), blockNumbers(f), All))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "scan", messages(batches), rows)
}

// TestASegmentIsSealedOnceAndOverItsRows tries ends that a segment cannot have.
func TestASegmentIsSealedOnceAndOverItsRows(t *testing.T) {
	begin := func(rows int) *Writer {
		w := NewWriter(WriterSettings{}, testHasher())
		for i := range rows {
			m := row(func(m *Message) { m.Position.Entry = int64(i) })
			if err := w.Append(&m); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	if _, err := begin(0).Seal(Range{After: None, Through: At(1, 5)}); err == nil {
		t.Error("a segment without rows was sealed")
	}
	if _, err := begin(3).Seal(Range{After: At(1, 0), Through: At(1, 5)}); err == nil {
		t.Error("a segment was sealed over less than its first row")
	}
	if _, err := begin(3).Seal(Range{After: None, Through: At(1, 1)}); err == nil {
		t.Error("a segment was sealed over less than its last row")
	}
	w := begin(3)
	w.settings.Compression = "brotli"
	if _, err := w.Seal(Range{After: None, Through: At(1, 2)}); err == nil || !strings.Contains(err.Error(), "brotli") {
		t.Errorf("got %v, want an error about brotli", err)
	}
	w = begin(3)
	if _, err := w.Seal(Range{After: None, Through: At(1, 2)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Seal(Range{After: None, Through: At(1, 2)}); err == nil {
		t.Error("a segment was sealed twice")
	}
	m := row(nil)
	if err := w.Append(&m); err == nil {
		t.Error("a row was appended to a sealed segment")
	}
}

// TestInfoTellsWhatIsInside compares Info with rows that one can count by hand.
func TestInfoTellsWhatIsInside(t *testing.T) {
	rows := []Message{
		row(func(m *Message) { m.Position, m.PublishTime, m.EventTime = At(1, 7), 50, Some(Millis(-3)) }),
		row(func(m *Message) { m.Position, m.PublishTime, m.Key = At(1, 9), 40, nil }),
		row(func(m *Message) {
			m.Position, m.PublishTime, m.Txn = Position{3, 0, 1}, 60, Some(TxnID{1, 2})
			m.BatchSize = 2
		}),
		row(func(m *Message) { m.Position, m.PublishTime, m.Kind, m.Value = At(3, 1), 55, KindTombstone, nil }),
		{Position: At(3, 4), BatchSize: 1, Kind: KindCommit, Txn: Some(TxnID{1, 2}), PublishTime: 99},
		{Position: At(4, 0), BatchSize: 1, Kind: KindAbort, Txn: Some(TxnID{1, 3}), PublishTime: 30, EventTime: Some(Millis(8))},
	}
	info := store(t, WriterSettings{}, rows).info
	want := Counts{Messages: 3, Tombstones: 1, Commits: 1, Aborts: 1, Keyless: 1, InTxn: 1}
	if info.Counts != want {
		t.Errorf("counts are %+v, want %+v", info.Counts, want)
	}
	if info.MinPublish != 30 || info.MaxPublish != 99 || info.MinEvent != Some(Millis(-3)) || info.MaxEvent != Some(Millis(8)) {
		t.Errorf("times are %d to %d, %v to %v", info.MinPublish, info.MaxPublish, info.MinEvent, info.MaxEvent)
	}
	ledgers := []Ledger{{1, 7, 9, 50}, {3, 0, 4, 99}, {4, 0, 0, 30}}
	if len(info.Ledgers) != 3 || info.Ledgers[0] != ledgers[0] || info.Ledgers[1] != ledgers[1] || info.Ledgers[2] != ledgers[2] {
		t.Errorf("ledgers are %v, want %v", info.Ledgers, ledgers)
	}
}

// TestABatchIsBoundedInBytesButHasARow looks at where batches end.
func TestABatchIsBoundedInBytesButHasARow(t *testing.T) {
	rows := someRows(9, 400)
	for _, limit := range []int64{1, 150, 1000, 5000} {
		for _, b := range store(t, WriterSettings{BatchBytes: limit}, rows).open(t).Blocks() {
			size := int64(0)
			for i := b.FirstRow; i < b.FirstRow+b.Rows; i++ {
				size += rows[i].Bytes()
			}
			if b.Rows == 0 || b.Rows > 1 && size > limit {
				t.Fatalf("a batch of %d rows has %d bytes, want at most %d", b.Rows, size, limit)
			}
		}
	}
}

// failing is a source that fails.
type failing struct{ err error }

func (f failing) ReadAt(context.Context, []byte, int64) error { return f.err }

// TestTheErrorOfASourceIsPassedOn reads from sources that fail: the error is
// theirs, not ErrCorrupt, and it names the object.
func TestTheErrorOfASourceIsPassedOn(t *testing.T) {
	s := store(t, WriterSettings{}, someRows(1, 50))
	broken := failing{errors.New("no such host")}
	passed := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, broken.err) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "object-1") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err := Open(t.Context(), "object-1", s.data, broken, s.info)
	passed("open", err)
	f := s.open(t)
	f.data, f.index = broken, broken
	_, err = collect(f.Scan(t.Context(), []int{0}, All))
	passed("scan", err)
	_, err = collect(f.Entries(t.Context(), AllDigests()))
	passed("entries", err)
	_, err = f.Lookup(t.Context(), Digest{0xFF})
	passed("lookup", err)
	_, err = f.Tombstones(t.Context())
	passed("tombstones", err)
	passed("verify", f.Verify(t.Context()))
}

// TestBlocksOutOfOrderAreRefused asks for what is not there.
func TestBlocksOutOfOrderAreRefused(t *testing.T) {
	f := store(t, WriterSettings{BatchBytes: 500}, someRows(1, 50)).open(t)
	for _, blocks := range [][]int{{-1}, {len(f.Blocks())}, {1, 0}, {1, 1}} {
		if _, err := collect(f.Scan(t.Context(), blocks, All)); err == nil {
			t.Errorf("scan of %v has no error", blocks)
		}
	}
}

// TestABufferIsAReaderAt reads around the edges of its pieces.
func TestABufferIsAReaderAt(t *testing.T) {
	var b Buffer
	var want []byte
	for i := range 5000 {
		p := make([]byte, i%97)
		for j := range p {
			p[j] = byte(i + j)
		}
		b.Write(p)
		want = append(want, p...)
	}
	if b.Size() != int64(len(want)) || string(all(t, &b)) != string(want) {
		t.Fatalf("got %d bytes, want the %d that were written", b.Size(), len(want))
	}
	for _, off := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, len(want) - 3, len(want), len(want) + 9} {
		for _, n := range []int{0, 1, 2, chunkBytes, chunkBytes + 2} {
			p := make([]byte, n)
			got, err := b.ReadAt(p, int64(off))
			there := max(0, min(n, len(want)-off))
			if got != there || (err == io.EOF) != (there < n) || there > 0 && string(p[:got]) != string(want[off:off+got]) {
				t.Errorf("%d bytes at %d: got %d, %v, want %d", n, off, got, err, there)
			}
		}
	}
	if _, err := b.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
		t.Errorf("a read before the start: %v", err)
	}
}

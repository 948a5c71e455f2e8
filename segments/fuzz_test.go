package segments

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// FuzzPosition reads any text: it is refused, or prints as it was.
func FuzzPosition(f *testing.F) {
	for _, text := range []string{"3:0", "3:0:1", "-1:-1", "0:0:0", "+1:2", "01:2", "1:2:", "1:2:3:4", "1:2:2147483648", "9223372036854775807:0", "-1:-1:0", " 1:2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePosition(text)
		if err != nil {
			if !errors.Is(err, ErrPosition) || p != None {
				t.Fatalf("%q: got %s, %v, want None and ErrPosition", text, p, err)
			}
			return
		}
		if p.String() != text {
			t.Fatalf("%q prints as %q", text, p)
		}
		var back Position
		b, err := json.Marshal(p)
		if err != nil || json.Unmarshal(b, &back) != nil || back != p {
			t.Fatalf("%q becomes %s in JSON, and %s after: %v", text, b, back, err)
		}
	})
}

// FuzzTxnID does the same with transaction ids.
func FuzzTxnID(f *testing.F) {
	for _, text := range []string{"0,0", "1,4", "18446744073709551615,18446744073709551615", "18446744073709551616,0", "-1,0", "01,0", "1,", "1", "1,2,3", "(1,2)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseTxnID(text)
		if err != nil {
			if !errors.Is(err, ErrTxnID) || id != (TxnID{}) {
				t.Fatalf("%q: got %s, %v, want the zero id and ErrTxnID", text, id, err)
			}
			return
		}
		if id.String() != text {
			t.Fatalf("%q prints as %q", text, id)
		}
	})
}

// TestPositionsAreOrderedByTheirParts draws pairs, and compares Compare and
// the ranges with what their words say.
func TestPositionsAreOrderedByTheirParts(t *testing.T) {
	draw := func(t *rapid.T, label string) Position {
		return Position{
			Ledger: rapid.SampledFrom([]int64{0, 1, 2, math.MaxInt64}).Draw(t, label+" ledger"),
			Entry:  rapid.SampledFrom([]int64{0, 1, 2, math.MaxInt64 - 1}).Draw(t, label+" entry"),
			Batch:  rapid.SampledFrom([]int32{-1, 0, 1, math.MaxInt32}).Draw(t, label+" batch"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p, q := draw(t, "p"), draw(t, "q")
		before := p.Ledger < q.Ledger || p.Ledger == q.Ledger && (p.Entry < q.Entry || p.Entry == q.Entry && p.Batch < q.Batch)
		if p.Before(q) != before || q.After(p) != before || (p.Compare(q) == 0) != (p == q) {
			t.Fatalf("%s and %s compare as %d", p, q, p.Compare(q))
		}
		if back, err := ParsePosition(p.String()); err != nil || back != p {
			t.Fatalf("%v prints as %q, which is %v: %v", p, p, back, err)
		}
		if !p.After(None) || p.Before(p.EntryPosition()) || p.After(p.EndOfEntry()) || !p.EndOfEntry().Before(p.NextEntry()) {
			t.Fatalf("%s does not lie within its entry", p)
		}
		r := Range{After: p.EntryPosition(), Through: q.EntryPosition()}
		if r.IsEmpty() == p.EntryPosition().Before(q.EntryPosition()) {
			t.Fatalf("%s is empty: %v", r, r.IsEmpty())
		}
		x, y := draw(t, "x"), draw(t, "y")
		s := Range{After: x.EntryPosition(), Through: y.EntryPosition()}
		at := draw(t, "at")
		if r.Clip(s).Contains(at) != (r.Contains(at) && s.Contains(at)) {
			t.Fatalf("%s clipped to %s is %s; %s lies in it: %v", r, s, r.Clip(s), at, r.Clip(s).Contains(at))
		}
	})
}

// FuzzDecodeFile reads any bytes: they are corrupt, or rows that can be read
// and written again. Nothing panics, and memory stays within bounds.
func FuzzDecodeFile(f *testing.F) {
	for _, c := range compressions() {
		f.Add(store(f, WriterSettings{Compression: c, BatchBytes: 500}, someRows(5, 8)).data.bytes)
	}
	f.Add([]byte(fileMagic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		w := NewWriter(WriterSettings{}, testHasher())
		var err error
		n := allocated(func() {
			for rows, e := range DecodeFile("object-1", data, foreignBytes) {
				if err = e; err == nil {
					touch(rows)
				}
			}
		})
		if n > attemptBytes {
			t.Fatalf("%d bytes allocated", n)
		}
		if err != nil {
			namesObject(t, err, true)
			return
		}
		for rows := range DecodeFile("object-1", data, foreignBytes) {
			for i := range rows.Len() {
				m := rows.Message(i)
				if err := w.Append(&m); err != nil {
					t.Fatalf("a row that was read cannot be written: %v", err)
				}
			}
		}
	})
}

// FuzzIndexHead reads any bytes as the head of an index: they are refused, or
// everything that they point at lies where it can.
func FuzzIndexHead(f *testing.F) {
	const dataBytes, indexBytes, rows = 100000, 100000, 30
	s := store(f, WriterSettings{BatchBytes: 500}, someRows(5, rows))
	f.Add(s.index.bytes[:s.info.Index.HeadBytes])
	f.Add([]byte(`{"format":1,"rows":30,"blocks":[{"rows":30,"first":"0:0","last":"0:29","metadata":8}],"tombstones":{}}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		info := Info{Bytes: dataBytes, Counts: Counts{Messages: rows}, Index: IndexInfo{Bytes: indexBytes, HeadBytes: int64(len(data))}}
		h, err := parseHead(data, info)
		if err != nil {
			return
		}
		inside := func(what string, e extent, end int64) {
			if e.off < 0 || e.bytes < 0 || e.off > end || e.bytes > end-e.off {
				t.Fatalf("%s lies at %d, with %d bytes of %d", what, e.off, e.bytes, end)
			}
		}
		total := uint32(0)
		for i := range h.Blocks {
			inside("block", h.Blocks[i].extent(All), dataBytes)
			inside("headers", h.Blocks[i].extent(Headers), dataBytes)
			total += h.Blocks[i].Rows
		}
		if total != rows {
			t.Fatalf("the blocks have %d rows, want %d", total, rows)
		}
		rest := indexBytes - int64(len(data))
		for i := range h.Fences {
			inside("page", h.Fences[i].extent(), rest)
		}
		inside("tombstones", extent{h.Tombstones.Offset, h.Tombstones.Bytes}, rest)
	})
}

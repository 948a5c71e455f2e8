package segments

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden segments anew")

// goldenRows is one row of each shape. It never changes: it is what stands in
// the golden segments of every format version.
func goldenRows() []Message {
	return []Message{
		{Position: At(0, 0), BatchSize: 1, Key: []byte("a"), Value: []byte("one"), PublishTime: 1700000000000},
		{Position: At(0, 1), BatchSize: 1, Key: []byte{}, Value: []byte{}, PublishTime: 1700000000001, OrderingKey: []byte{}, Properties: []Property{}},
		{Position: At(0, 2), BatchSize: 1, PublishTime: -1, EventTime: Some(Millis(-62135596800000))},
		{Position: Position{0, 3, 0}, BatchSize: 3, Key: []byte{0xFF, 0, 0x80}, Value: []byte{0, 0xFF}, PublishTime: 1700000000003,
			EventTime: Some(Millis(1600000000123)), Producer: Some("Erzähler"), Sequence: Some(int64(math.MinInt64)), Epoch: Some(int32(math.MaxInt32)),
			OrderingKey: []byte("o"), Properties: []Property{{"größe", []byte("1")}, {"größe", nil}, {"", []byte{}}}},
		{Position: Position{0, 3, 2}, BatchSize: 3, Kind: KindTombstone, Key: []byte("a"), PublishTime: 1700000000003, Producer: Some("")},
		{Position: At(2, 0), BatchSize: 1, Key: []byte("b"), Value: []byte("two"), Txn: Some(TxnID{math.MaxUint64, 0}), PublishTime: 1700000000004},
		{Position: At(2, 1), BatchSize: 1, Kind: KindTombstone, Key: []byte("c"), Value: []byte{}, PublishTime: 1700000000005},
		{Position: At(2, 7), BatchSize: 1, Kind: KindCommit, Txn: Some(TxnID{math.MaxUint64, 0}), PublishTime: 1700000000006},
		{Position: At(math.MaxInt64, 0), BatchSize: 1, Kind: KindAbort, Txn: Some(TxnID{0, 1}), PublishTime: math.MaxInt64},
	}
}

// TestGoldenSegmentsStayReadable reads segments that were written when their
// format version was new. The current version must also be written again with
// the same bytes, where no compression has a say in them.
func TestGoldenSegmentsStayReadable(t *testing.T) {
	settings := WriterSettings{Topic: "01J00000000000000000000000", Writer: "ledgerfold golden", BatchBytes: 400}
	for _, settings.Compression = range compressions() {
		name := filepath.Join("testdata", "golden-v1-"+string(settings.Compression))
		fresh := store(t, settings, goldenRows())
		if *update {
			writeGolden(t, name, fresh)
		}
		golden := readGolden(t, name)
		f := golden.open(t)
		batches, err := collect(f.Scan(t.Context(), blockNumbers(f), All))
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, name, messages(batches), goldenRows())
		if err := f.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if settings.Compression != CompressionNone {
			continue // a new release of a compressor may do better
		}
		if string(fresh.data.bytes) != string(golden.data.bytes) {
			t.Errorf("%s: the segment has other bytes than it had", name)
		}
		if string(fresh.index.bytes) != string(golden.index.bytes) {
			t.Errorf("%s: the index has other bytes than it had", name)
		}
	}
}

// TestTheSameRowsMakeTheSameBytes seals twice.
func TestTheSameRowsMakeTheSameBytes(t *testing.T) {
	for _, c := range compressions() {
		rows := someRows(4, 2000)
		a := store(t, WriterSettings{BatchBytes: 50000, Compression: c}, rows)
		b := store(t, WriterSettings{BatchBytes: 50000, Compression: c}, rows)
		if a.info.SHA256 != b.info.SHA256 || a.info.Index != b.info.Index || string(a.index.bytes) != string(b.index.bytes) {
			t.Errorf("%s: two segments of the same rows differ", c)
		}
	}
}

func writeGolden(t *testing.T, name string, s *stored) {
	t.Helper()
	info, err := json.MarshalIndent(s.info, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for ext, b := range map[string][]byte{".arrow": s.data.bytes, ".index": s.index.bytes, ".json": info} {
		if err := os.WriteFile(name+ext, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readGolden(t *testing.T, name string) *stored {
	t.Helper()
	read := func(ext string) []byte {
		b, err := os.ReadFile(name + ext)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s := &stored{data: &source{bytes: read(".arrow")}, index: &source{bytes: read(".index")}}
	if err := json.Unmarshal(read(".json"), &s.info); err != nil {
		t.Fatal(err)
	}
	return s
}

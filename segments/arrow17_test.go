package segments

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

// TestTheFrozenArrowReadsSegments opens segments with the older release of
// Arrow for Go, which shares no code with what wrote them, and compares every
// row and the metadata.
func TestTheFrozenArrowReadsSegments(t *testing.T) {
	for _, c := range compressions() {
		rows := append(goldenRows()[:8], someRows(11, 500)...)
		for i := range rows[8:] {
			rows[8+i].Position.Ledger += 10
		}
		s := store(t, WriterSettings{Topic: "topic-1", Writer: "ledgerfold test", BatchBytes: 10000, Compression: c}, rows)
		file, err := ipc.NewFileReader(bytes.NewReader(s.data.bytes))
		if err != nil {
			t.Fatal(err)
		}
		metadata := file.Schema().Metadata()
		for key, want := range map[string]string{
			MetadataFormat: "1",
			MetadataTopic:  "topic-1",
			MetadataRange:  Range{After: None, Through: rows[len(rows)-1].Position.EntryPosition()}.String(),
			MetadataWriter: "ledgerfold test",
		} {
			if got, _ := metadata.GetValue(key); got != want {
				t.Errorf("%s: metadata %s is %q, want %q", c, key, got, want)
			}
		}
		if got, want := len(file.Schema().Fields()), Schema(All).NumFields(); got != want {
			t.Fatalf("%s: %d columns, want %d", c, got, want)
		}
		for i, field := range Schema(All).Fields() {
			if got := file.Schema().Field(i); got.Name != field.Name || got.Type.ID().String() != field.Type.ID().String() || got.Nullable != field.Nullable {
				t.Errorf("%s: column %d is %v, want %v", c, i, got, field)
			}
		}
		var got []Message
		for i := range file.NumRecords() {
			record, err := file.RecordAt(i)
			if err != nil {
				t.Fatal(err)
			}
			for row := range int(record.NumRows()) {
				got = append(got, message17(record, row))
			}
		}
		sameRows(t, string(c), got, rows)
	}
}

// message17 is row i of record, by the other library.
func message17(record arrow.Record, i int) Message {
	bytesOf := func(column arrow.Array, i int) []byte {
		if column.IsNull(i) {
			return nil
		}
		return append([]byte{}, column.(*array.Binary).Value(i)...)
	}
	column := record.Column
	m := Message{
		Position: Position{
			Ledger: column(0).(*array.Int64).Value(i),
			Entry:  column(1).(*array.Int64).Value(i),
			Batch:  column(2).(*array.Int32).Value(i),
		},
		BatchSize:   column(3).(*array.Int32).Value(i),
		Kind:        Kind(column(4).(*array.Uint8).Value(i)),
		Key:         bytesOf(column(5), i),
		PublishTime: Millis(column(8).(*array.Timestamp).Value(i)),
		OrderingKey: bytesOf(column(13), i),
		Value:       bytesOf(column(14), i),
	}
	if column(6).IsValid(i) && column(7).IsValid(i) {
		m.Txn = Some(TxnID{column(6).(*array.Uint64).Value(i), column(7).(*array.Uint64).Value(i)})
	}
	if column(9).IsValid(i) {
		m.EventTime = Some(Millis(column(9).(*array.Timestamp).Value(i)))
	}
	if column(10).IsValid(i) {
		m.Producer = Some(column(10).(*array.String).Value(i))
	}
	if column(11).IsValid(i) {
		m.Sequence = Some(column(11).(*array.Int64).Value(i))
	}
	if column(12).IsValid(i) {
		m.Epoch = Some(column(12).(*array.Int32).Value(i))
	}
	if column(15).IsValid(i) {
		lists := column(15).(*array.List)
		properties := lists.ListValues().(*array.Struct)
		m.Properties = []Property{}
		from, to := lists.ValueOffsets(i)
		for p := int(from); p < int(to); p++ {
			m.Properties = append(m.Properties, Property{properties.Field(0).(*array.String).Value(p), bytesOf(properties.Field(1), p)})
		}
	}
	return m
}

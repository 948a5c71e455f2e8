package readerlib_test

import (
	"bytes"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/ledgerfold/ledgerfold/segments"
)

// unbatched is the outlines of the rows of batches, by the names of columns.
func unbatched(t tb, batches []arrow.RecordBatch) []segments.Message {
	t.Helper()
	var rows []segments.Message
	for _, b := range batches {
		column := func(name string) arrow.Array {
			at := b.Schema().FieldIndices(name)
			if len(at) == 0 {
				return nil
			}
			return b.Column(at[0])
		}
		text := func(name string, i int) []byte {
			c, ok := column(name).(*array.Binary)
			if !ok || c.IsNull(i) {
				return nil
			}
			return append([]byte{}, c.Value(i)...)
		}
		if b.NumRows() == 0 {
			t.Fatalf("a batch has no rows")
		}
		for i := range int(b.NumRows()) {
			rows = append(rows, segments.Message{
				Position: segments.Position{
					Ledger: column("ledger").(*array.Int64).Value(i),
					Entry:  column("entry").(*array.Int64).Value(i),
					Batch:  column("batch_index").(*array.Int32).Value(i),
				},
				BatchSize:   column("batch_size").(*array.Int32).Value(i),
				Kind:        segments.Kind(column("kind").(*array.Uint8).Value(i)),
				Key:         text("key", i),
				PublishTime: segments.Millis(column("publish_time").(*array.Timestamp).Value(i)),
				Value:       text("value", i),
			})
		}
	}
	return rows
}

// outlines are messages with no more of them than unbatched tells.
func outlines(list []segments.Message) []segments.Message {
	var all []segments.Message
	for _, m := range list {
		all = append(all, segments.Message{
			Position: m.Position, BatchSize: m.BatchSize, Kind: m.Kind, Key: bytes.Clone(m.Key),
			PublishTime: m.PublishTime, Value: bytes.Clone(m.Value),
		})
	}
	return all
}

package segments

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// FormatVersion is the version of what this package writes. A reader refuses
// any other.
const FormatVersion = 1

// The keys of a segment's schema metadata.
const (
	MetadataFormat = "ledgerfold.format" // FormatVersion
	MetadataTopic  = "ledgerfold.topic"  // id of the topic
	MetadataRange  = "ledgerfold.range"  // as Range prints
	MetadataWriter = "ledgerfold.writer" // who wrote it
)

// headerColumns is how many columns, from the first, are Headers. The buffers
// of a record batch lie in the order of the schema, so the headers of a batch
// are one stretch of bytes in front of the payload, and one ranged read.
const headerColumns = 14

// Schema is the Arrow schema of what is read with cols, without metadata. All
// is the schema of a segment; Headers is the first part of it.
func Schema(cols Columns) *arrow.Schema {
	millis := &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}
	property := arrow.StructOf(
		arrow.Field{Name: "key", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary, Nullable: true},
	)
	fields := []arrow.Field{
		{Name: "ledger", Type: arrow.PrimitiveTypes.Int64},
		{Name: "entry", Type: arrow.PrimitiveTypes.Int64},
		{Name: "batch_index", Type: arrow.PrimitiveTypes.Int32},
		{Name: "batch_size", Type: arrow.PrimitiveTypes.Int32},
		{Name: "kind", Type: arrow.PrimitiveTypes.Uint8},
		{Name: "key", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "txn_most", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: "txn_least", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: "publish_time", Type: millis},
		{Name: "event_time", Type: millis, Nullable: true},
		{Name: "producer", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "sequence", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "epoch", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "ordering_key", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "value", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "properties", Type: arrow.ListOfNonNullable(property), Nullable: true},
	}
	if cols == Headers {
		fields = fields[:headerColumns]
	}
	return arrow.NewSchema(fields, nil)
}

// fileSchema is the schema of a segment with its metadata.
func fileSchema(s WriterSettings, r Range) *arrow.Schema {
	metadata := arrow.NewMetadata(
		[]string{MetadataFormat, MetadataTopic, MetadataRange, MetadataWriter},
		[]string{strconv.Itoa(FormatVersion), s.Topic, r.String(), s.Writer},
	)
	return arrow.NewSchema(Schema(All).Fields(), &metadata)
}

// What the metadata of a record batch lists for our schema: an array for each
// column and for what is nested in it, and their buffers. The buffers of the
// headers come first.
const (
	batchArrays   = 19
	batchBuffers  = 43
	headerBuffers = 31
)

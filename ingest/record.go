package ingest

import "github.com/ledgerfold/ledgerfold/segments"

// record is what every format makes of its input, one by one: a message, a
// batch of messages, or a marker that ends a transaction.
type record struct {
	line int64 // where it stands in the input, from 1, as the format counts

	// id is the position that the input gives it, if it gives one: of the
	// message, of the entry that the batch makes, or of the marker.
	id segments.Null[segments.Position]

	// entry is its offset in a partition of Kafka, which becomes its entry in
	// the ledger of the run. Counted says that of its transaction only the
	// coordinator is given: the tail counts the sequence. (offsets.go)
	entry   segments.Null[int64]
	counted bool

	// messages are one message, those of a batch, or none for a marker. Their
	// Position and Kind are not set yet. Of a message whose id has an index,
	// BatchSize is what the input says of its entry.
	messages []segments.Message
	batch    bool

	// Of a marker: KindCommit or KindAbort, what it ends, and the low-water
	// mark. Kind is KindMessage otherwise.
	kind segments.Kind
	txn  segments.TxnID
	mark segments.Null[uint64]
}

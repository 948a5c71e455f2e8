// Package ingest adds the lines of an input to a topic.
//
// Run reads the input once, from front to back, and needs no more memory than
// a few segments take, or a few of the longest line. What it does with each
// record is the same:
//
//	input --> format --> record --> tail.add --> rows --> segment --> commit
//	          (lines)               (decides)             (when full)
//
// The tail is what an append has to know of the end of a topic: its last
// entry, its transactions, the last sequences of its producers. Adding a record
// to it is pure. So when another ingest is faster, and the tail turns out to
// be an old one, the records since the last commit, which are kept, are simply
// added again to the tail as it is now.
//
// # Formats
//
// A format is one file, which says what it takes: kcat.go and rpk.go (with
// dump.go), kafkalog.go (with kafkainflate.go), debezium.go, arrow.go; message
// lines are package ndjson. What partitions of Kafka have and message lines have
// not, offsets and transactions that are not numbered, is in offsets.go.
// docs/inputs.md is for users.
//
// # Nothing twice, nothing half
//
// A segment is committed by itself, with all the lines it brings and with what
// is to be known after them, in one step. So the lines that are in are always
// the first so many of the input, to the last row of a batch. A run that
// breaks off can be run again:
//
//   - Messages with a producer and a sequence that are in are recognised by
//     them, one by one (corner 18 of the design).
//   - A named source counts its lines, rows or offsets, whatever its format
//     has: those that are in are skipped. The count moves with every segment,
//     because a run that failed may have committed some, and those must not
//     come twice either.
//   - Positions that the lines bring must go up, so what is in is refused.
//
// Other lines are new each time they come. Only for those does it matter that
// a commit's outcome can be unknown; Run says so.
package ingest

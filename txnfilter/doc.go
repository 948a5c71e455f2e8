// Package txnfilter knows what becomes of the messages of transactions: which
// are open and hold back what follows them, which are aborted and never shown,
// and which have ended and take no more messages. Its state is a value that is
// kept in a topic's manifest; everything in it is a pure function.
//
// A producer sends the messages of a transaction to a topic like any others,
// each with the transaction's id: the coordinator that runs it, and a sequence
// that the coordinator counts up. Nobody may see them until the coordinator
// has the transaction ended, which puts a marker, commit or abort, into the
// topic. From then on all of them are shown, or none.
//
//	position   0:0    0:1         0:2    0:3         0:4
//	           a=1    b=1 (1,4)   c=1    d=1 (1,5)   commit (1,5)
//	           ^                                     ^
//	           max read position                     last position
//
// Messages of a topic are read in order. So the first message of the first
// open transaction, here 0:1 of (1,4), hides everything from there on: plain
// messages too, and those of (1,5), committed as they are. The entry before it
// is the max read position.
//
// # What is remembered
//
// Of an open transaction: its first and last message, and the entry before the
// first. Of an aborted one: its last message, as long as originals that hold a
// message of it have not been trimmed; the compacted view never takes such a
// message in. Of a committed one: nothing but that it has ended. A transaction
// that is neither open nor aborted is therefore committed, or was never seen.
//
// That a transaction has ended must be remembered for good. A message that
// came late and was taken would be shown at once, whatever became of its
// transaction, or would open again a transaction that nobody will end.
// The ended sequences of a coordinator are kept as intervals, and a
// coordinator helps to keep those few: an end may carry its low-water mark,
// through which all its transactions have ended. The mark also ends what the
// topic still holds open below it, as aborted: the coordinator has forgotten
// those and will not send an end.
package txnfilter

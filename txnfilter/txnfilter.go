// Package txnfilter knows what becomes of the messages of transactions: which
// are open and hold back what follows them, which are aborted and never shown,
// and which have ended and take no more messages. Its state is a value that is
// kept in a topic's manifest; everything in it is a pure function.
package txnfilter

import (
	"encoding/json"
	"errors"

	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrTransactionEnded says that a transaction takes no more messages: it has
// ended on this topic, or lies at or below its coordinator's low-water mark.
// Start a new one.
var ErrTransactionEnded = errors.New("transaction has ended")

// Outcome is how a transaction ends.
type Outcome bool

// The outcomes.
const (
	Aborted   Outcome = false
	Committed Outcome = true
)

// State is the transactions of one topic. The zero value is a topic that never
// saw one.
type State struct{}

// Decode reads the JSON form of a state; nothing is the zero state.
func Decode(b json.RawMessage) (State, error) { panic("not built") }

// Encode gives the JSON form; nothing for the zero state.
func (s *State) Encode() (json.RawMessage, error) { panic("not built") }

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State { panic("not built") }

// Add notes a message of transaction id in the entry at; before is the entry
// that the topic held before it (of any kind), or None. Its error is
// ErrTransactionEnded, with s unchanged.
func (s *State) Add(id segments.TxnID, at, before segments.Position) error { panic("not built") }

// End ends transaction id, and then raises the low-water mark of its
// coordinator to mark, if there is one and it is higher, which aborts every
// open transaction of that coordinator at or below it. The first end wins: for
// a transaction that has ended End reports false and changes nothing. A
// transaction never seen can be ended.
func (s *State) End(id segments.TxnID, outcome Outcome, mark segments.Null[uint64]) bool {
	panic("not built")
}

// Open lists the open transactions, in order of their first message.
func (s *State) Open() []segments.TxnID { panic("not built") }

// IsOpen reports whether id is open.
func (s *State) IsOpen(id segments.TxnID) bool { panic("not built") }

// IsAborted reports whether id was aborted. Of a transaction that is neither
// open nor aborted the messages are committed.
func (s *State) IsAborted(id segments.TxnID) bool { panic("not built") }

// MaxRead is the entry before the first message of the first open transaction,
// or last, the topic's last entry, when none is open.
func (s *State) MaxRead(last segments.Position) segments.Position { panic("not built") }

// Forget drops what is kept of aborted transactions whose messages all lie at
// or before through, where no original is left to filter. That they ended
// stays known.
func (s *State) Forget(through segments.Position) { panic("not built") }

package txnfilter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrTransactionEnded says that a transaction takes no more messages: it has
// ended on this topic, or lies at or below its coordinator's low-water mark.
// Start a new one.
var ErrTransactionEnded = errors.New("transaction has ended")

// EndedError is ErrTransactionEnded with the transaction.
type EndedError struct{ ID segments.TxnID }

func (e *EndedError) Error() string {
	return fmt.Sprintf("transaction (%s) has ended; start a new transaction", e.ID)
}

// Is makes every EndedError an ErrTransactionEnded.
func (e *EndedError) Is(target error) bool { return target == ErrTransactionEnded }

// Outcome is how a transaction ends.
type Outcome bool

// The outcomes.
const (
	Aborted   Outcome = false
	Committed Outcome = true
)

// State is the transactions of one topic. The zero value is a topic that never
// saw one. A transaction goes through it once, from left to right:
//
//	            Add           End(Committed)
//	never seen -----> open ---------------------> ended
//	     |              \
//	     |               \  End(Aborted), or a mark at or above it
//	     |                `---------------------> ended, aborted --Forget--> ended
//	     `--- End, or a mark at or above it ----> ended
//
// What has ended stays ended: Add is refused and End is late. To copy a State
// use Clone; it is not safe for concurrent use while it changes.
type State struct {
	// coordinators are in order of their ids. All lists below them are in
	// order of sequences, which is nearly the order in which they grow, so
	// keeping them sorted costs next to nothing and finding is a binary search.
	coordinators []*coordinator

	// arrivals counts the transactions that were opened, to tell apart those
	// whose first messages lie in one entry.
	arrivals int
}

// coordinator is what is known of the transactions of one coordinator.
type coordinator struct {
	id      uint64
	mark    segments.Null[uint64] // every sequence at or below it has ended
	ended   []interval            // above the mark; neither touching nor overlapping
	open    []open
	aborted []aborted
}

// open is a transaction that has messages and no end.
type open struct {
	sequence uint64
	first    segments.Position // entry of its first message
	before   segments.Position // the entry before that one, or None
	last     segments.Position // entry of its last message
	arrival  int
}

// aborted is an aborted transaction that had messages.
type aborted struct {
	sequence uint64
	last     segments.Position // entry of its last message
}

// Add notes a message of transaction id in the entry at; before is the entry
// that the topic held before it (of any kind), or None. Its error is
// ErrTransactionEnded, with s unchanged.
func (s *State) Add(id segments.TxnID, at, before segments.Position) error {
	if s.HasEnded(id) {
		return &EndedError{id}
	}
	at, before = at.EntryPosition(), before.EntryPosition()
	c := s.make(id.Most)
	i, found := findOpen(c.open, id.Least)
	if !found {
		c.open = slices.Insert(c.open, i, open{
			sequence: id.Least, first: at, before: before, last: at, arrival: s.arrivals,
		})
		s.arrivals++
		return nil
	}
	if at.After(c.open[i].last) {
		c.open[i].last = at
	}
	return nil
}

// End ends transaction id, and then raises the low-water mark of its
// coordinator to mark, if there is one and it is higher, which aborts every
// open transaction of that coordinator at or below it. The first end wins: for
// a transaction that has ended End reports false and changes nothing. A
// transaction never seen can be ended.
func (s *State) End(id segments.TxnID, outcome Outcome, mark segments.Null[uint64]) bool {
	if s.HasEnded(id) {
		return false
	}
	c := s.make(id.Most)
	if i, found := findOpen(c.open, id.Least); found {
		if outcome == Aborted {
			c.abort(c.open[i])
		}
		c.open = slices.Delete(c.open, i, i+1)
	}
	c.ended = insert(c.ended, id.Least)
	if mark.Valid {
		c.raise(mark.V)
	}
	return true
}

// raise lifts the mark, which never goes down.
func (c *coordinator) raise(mark uint64) {
	if c.mark.Valid && mark <= c.mark.V {
		return
	}
	c.mark = segments.Some(mark)
	n := 0
	for n < len(c.open) && c.open[n].sequence <= mark {
		c.abort(c.open[n])
		n++
	}
	c.open = slices.Delete(c.open, 0, n)
	c.ended = above(c.ended, mark)
}

// abort keeps what IsAborted needs of t. It stays for the caller to take t off
// the open ones.
func (c *coordinator) abort(t open) {
	i, _ := findAborted(c.aborted, t.sequence)
	c.aborted = slices.Insert(c.aborted, i, aborted{sequence: t.sequence, last: t.last})
}

// HasEnded reports whether id takes no more messages: Add would refuse it, and
// an end of it is late.
func (s *State) HasEnded(id segments.TxnID) bool {
	c := s.find(id.Most)
	return c != nil && c.hasEnded(id.Least)
}

func (c *coordinator) hasEnded(sequence uint64) bool {
	return c.mark.Valid && sequence <= c.mark.V || contains(c.ended, sequence)
}

// Open lists the open transactions, in order of their first message.
func (s *State) Open() []segments.TxnID {
	all := s.opened()
	ids := make([]segments.TxnID, len(all))
	for i, t := range all {
		ids[i] = t.id
	}
	return ids
}

// openedTxn is an open transaction with its whole id.
type openedTxn struct {
	id segments.TxnID
	open
}

// opened lists the open transactions in order of their first message.
func (s *State) opened() []openedTxn {
	var all []openedTxn
	for _, c := range s.coordinators {
		for _, t := range c.open {
			all = append(all, openedTxn{segments.TxnID{Most: c.id, Least: t.sequence}, t})
		}
	}
	slices.SortFunc(all, func(a, b openedTxn) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.arrival, b.arrival))
	})
	return all
}

// IsOpen reports whether id is open.
func (s *State) IsOpen(id segments.TxnID) bool {
	c := s.find(id.Most)
	if c == nil {
		return false
	}
	_, found := findOpen(c.open, id.Least)
	return found
}

// IsAborted reports whether id was aborted. Of a transaction that is neither
// open nor aborted the messages are committed.
func (s *State) IsAborted(id segments.TxnID) bool {
	c := s.find(id.Most)
	if c == nil {
		return false
	}
	_, found := findAborted(c.aborted, id.Least)
	return found
}

// MaxRead is the entry before the first message of the first open transaction,
// or last, the topic's last entry, when none is open.
func (s *State) MaxRead(last segments.Position) segments.Position {
	var first *open
	for _, c := range s.coordinators {
		for i := range c.open {
			// Those that began in one entry agree on the entry before it.
			if first == nil || c.open[i].first.Before(first.first) {
				first = &c.open[i]
			}
		}
	}
	if first == nil {
		return last
	}
	return first.before
}

// Forget drops what is kept of aborted transactions whose messages all lie at
// or before through, where no original is left to filter. That they ended
// stays known.
func (s *State) Forget(through segments.Position) {
	for _, c := range s.coordinators {
		c.aborted = slices.DeleteFunc(c.aborted, func(t aborted) bool { return !t.last.After(through) })
	}
}

// Clone returns a copy that shares nothing with s.
func (s *State) Clone() State {
	t := State{arrivals: s.arrivals, coordinators: make([]*coordinator, len(s.coordinators))}
	for i, c := range s.coordinators {
		t.coordinators[i] = &coordinator{
			id:      c.id,
			mark:    c.mark,
			ended:   slices.Clone(c.ended),
			open:    slices.Clone(c.open),
			aborted: slices.Clone(c.aborted),
		}
	}
	return t
}

// find is the coordinator with this id, or nil.
func (s *State) find(id uint64) *coordinator {
	i, found := s.search(id)
	if !found {
		return nil
	}
	return s.coordinators[i]
}

// make is the coordinator with this id, new if need be.
func (s *State) make(id uint64) *coordinator {
	i, found := s.search(id)
	if !found {
		s.coordinators = slices.Insert(s.coordinators, i, &coordinator{id: id})
	}
	return s.coordinators[i]
}

func (s *State) search(id uint64) (int, bool) {
	return slices.BinarySearchFunc(s.coordinators, id, func(c *coordinator, id uint64) int {
		return cmp.Compare(c.id, id)
	})
}

func findOpen(list []open, sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(list, sequence, func(t open, sequence uint64) int {
		return cmp.Compare(t.sequence, sequence)
	})
}

func findAborted(list []aborted, sequence uint64) (int, bool) {
	return slices.BinarySearchFunc(list, sequence, func(t aborted, sequence uint64) int {
		return cmp.Compare(t.sequence, sequence)
	})
}

package segments

import (
	"errors"
	"fmt"
)

// shape is what the rules about a row look at. A row is checked twice: when it
// is written, and again when it is read back.
type shape struct {
	position  Position
	batchSize int32
	kind      Kind
	keyed     bool // has a key
	inTxn     bool // has a transaction
	payload   bool // valued and empty are known
	valued    bool // has a value, maybe an empty one
	empty     bool // its value is null or has no bytes
}

// shapeOf is the shape of a whole message.
func shapeOf(m *Message) shape {
	return shape{
		position:  m.Position,
		batchSize: m.BatchSize,
		kind:      m.Kind,
		keyed:     m.Key != nil,
		inTxn:     m.Txn.Valid,
		payload:   true,
		valued:    m.Value != nil,
		empty:     len(m.Value) == 0,
	}
}

// check says what is wrong with a row, if anything is.
func (s shape) check() error {
	switch p := s.position; {
	case p.Ledger < 0 || p.Entry < 0:
		return fmt.Errorf("position %s has a negative part", p)
	case p.Batch < -1:
		return fmt.Errorf("batch index %d is below -1", p.Batch)
	case p.Batch == -1 && s.batchSize != 1:
		return fmt.Errorf("a row outside a batch has batch size %d, want 1", s.batchSize)
	case p.Batch >= 0 && p.Batch >= s.batchSize:
		return fmt.Errorf("batch index %d is outside a batch of %d", p.Batch, s.batchSize)
	}
	switch s.kind {
	case KindMessage:
		// A message with a key and without a value would be a delete that
		// nobody counts as one.
		if s.payload && s.keyed && !s.valued {
			return errors.New("a message with a key has a null value; it is a tombstone")
		}
	case KindTombstone:
		if !s.keyed {
			return errors.New("a tombstone has no key")
		}
		// An empty value deletes too, in topics that say so.
		if s.payload && !s.empty {
			return errors.New("a tombstone has a value")
		}
	case KindCommit, KindAbort:
		if !s.inTxn {
			return errors.New("a marker has no transaction")
		}
		if s.keyed {
			return errors.New("a marker has a key")
		}
		if s.payload && s.valued {
			return errors.New("a marker has a value")
		}
	default:
		return fmt.Errorf("kind %d is none of 0 to 3", s.kind)
	}
	return nil
}

package segments

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Rows is the decoded rows of one block. It stays valid as long as it is
// referenced, and needs no release; what its methods return shares its memory
// and is not to be changed. That memory may be a whole ranged read, so a few
// rows that are kept for long are better cloned.
type Rows struct {
	len   int
	first uint32
	cols  Columns

	ledger, entry         fixed
	batchIndex, batchSize fixed
	kind                  fixed
	key                   varlen
	txnMost, txnLeast     fixed
	publish, event        fixed
	producer              varlen
	sequence, epoch       fixed
	orderingKey           varlen

	// The payload, where it was read. Row i has the properties in table from
	// offset i to i+1.
	value          varlen
	properties     lists
	propertyKeys   varlen
	propertyValues varlen
	table          []Property
}

// fixed is a column of values of one width, little-endian.
type fixed struct {
	valid  bitmap
	values []byte
}

func (f fixed) uint64(i int) uint64 { return binary.LittleEndian.Uint64(f.values[8*i:]) }
func (f fixed) int64(i int) int64   { return int64(f.uint64(i)) }
func (f fixed) int32(i int) int32   { return int32(binary.LittleEndian.Uint32(f.values[4*i:])) }

// lists is a column of len lists, whose values lie one behind the other; list
// i has those from offset i to offset i+1.
type lists struct {
	len     int
	valid   bitmap
	offsets []byte
}

func (l lists) offset(i int) int { return int(int32(binary.LittleEndian.Uint32(l.offsets[4*i:]))) }

// varlen is a column of byte strings: lists of the bytes in data.
type varlen struct {
	lists
	data []byte
}

// at is string i; nil if it is null. Appending to it does no harm.
func (v varlen) at(i int) []byte {
	if !v.valid.has(i) {
		return nil
	}
	from, to := v.offset(i), v.offset(i+1)
	return v.data[from:to:to]
}

// text is b as a string that shares its memory.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Len is the number of rows.
func (r *Rows) Len() int { return r.len }

// First is the number of the first row in its segment.
func (r *Rows) First() uint32 { return r.first }

// Position of row i, from 0. So for the other accessors.
func (r *Rows) Position(i int) Position {
	return Position{Ledger: r.ledger.int64(i), Entry: r.entry.int64(i), Batch: r.batchIndex.int32(i)}
}

// Kind of row i.
func (r *Rows) Kind(i int) Kind { return Kind(r.kind.values[i]) }

// Key of row i; nil for a keyless one.
func (r *Rows) Key(i int) []byte { return r.key.at(i) }

// Txn is the transaction of row i.
func (r *Rows) Txn(i int) Null[TxnID] {
	if !r.txnMost.valid.has(i) {
		return Null[TxnID]{}
	}
	return Some(TxnID{Most: r.txnMost.uint64(i), Least: r.txnLeast.uint64(i)})
}

// PublishTime of row i.
func (r *Rows) PublishTime(i int) Millis { return Millis(r.publish.int64(i)) }

// EventTime of row i.
func (r *Rows) EventTime(i int) Null[Millis] {
	if !r.event.valid.has(i) {
		return Null[Millis]{}
	}
	return Some(Millis(r.event.int64(i)))
}

// Message is row i; without Value and Properties where only Headers were read.
func (r *Rows) Message(i int) Message {
	m := Message{
		Position:    r.Position(i),
		BatchSize:   r.batchSize.int32(i),
		Kind:        r.Kind(i),
		Key:         r.Key(i),
		Txn:         r.Txn(i),
		PublishTime: r.PublishTime(i),
		EventTime:   r.EventTime(i),
		OrderingKey: r.orderingKey.at(i),
	}
	if r.producer.valid.has(i) {
		m.Producer = Some(text(r.producer.at(i)))
	}
	if r.sequence.valid.has(i) {
		m.Sequence = Some(r.sequence.int64(i))
	}
	if r.epoch.valid.has(i) {
		m.Epoch = Some(r.epoch.int32(i))
	}
	if r.cols == Headers {
		return m
	}
	m.Value = r.value.at(i)
	if r.properties.valid.has(i) {
		from, to := r.properties.offset(i), r.properties.offset(i+1)
		m.Properties = r.table[from:to:to]
	}
	return m
}

// check checks the rules of rows, and their order.
func (r *Rows) check() error {
	last := None
	for i := range r.len {
		s := shape{
			position:  r.Position(i),
			batchSize: r.batchSize.int32(i),
			kind:      r.Kind(i),
			keyed:     r.key.valid.has(i),
			inTxn:     r.txnMost.valid.has(i),
		}
		if r.cols == All {
			value := r.value.at(i)
			s.payload, s.valued, s.empty = true, value != nil, len(value) == 0
		}
		if r.txnLeast.valid.has(i) != s.inTxn {
			return fmt.Errorf("row %d has half a transaction", i)
		}
		if err := s.check(); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		if !s.position.After(last) {
			return fmt.Errorf("row %d: position %s does not lie after %s", i, s.position, last)
		}
		last = s.position
	}
	return nil
}

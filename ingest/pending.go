package ingest

import (
	"encoding/binary"
	"slices"

	"github.com/ledgerfold/ledgerfold/segments"
)

// blockBytes is how much memory pending takes at once.
const blockBytes = 1 << 20

// pending keeps the records since the last commit, should they have to be
// added again. They are laid out as bytes in a few large blocks: hundreds of
// thousands of messages are of no concern to the garbage collector that way,
// and take little more room than their text. Blocks are used again.
type pending struct {
	blocks [][]byte // full ones, and the one that fills
	free   [][]byte
}

// add keeps a copy of rec.
func (p *pending) add(rec *record) {
	size := sizeBound(rec)
	if n := len(p.blocks); n == 0 || cap(p.blocks[n-1])-len(p.blocks[n-1]) < size {
		p.blocks = append(p.blocks, p.block(size))
	}
	last := &p.blocks[len(p.blocks)-1]
	*last = appendRecord(*last, rec)
}

// block is an empty block with room for size bytes.
func (p *pending) block(size int) []byte {
	if size > blockBytes {
		return make([]byte, 0, size)
	}
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	return make([]byte, 0, blockBytes)
}

// reset forgets all records.
func (p *pending) reset() {
	for _, b := range p.blocks {
		if cap(b) == blockBytes {
			p.free = append(p.free, b[:0])
		}
	}
	clear(p.blocks)
	p.blocks = p.blocks[:0]
}

// each calls f with every record, in order, until it fails. What is in a
// record stays valid until reset.
func (p *pending) each(f func(*record) error) error {
	for _, b := range p.blocks {
		for d := (unpacker{b}); len(d.b) > 0; {
			rec := d.record()
			if err := f(&rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// The bits of what a record, and each of its messages, has.
const (
	hasID = 1 << iota
	hasMark
	isBatch
	hasEntry
	isCounted
)

const (
	hasKey = 1 << iota
	hasTxn
	hasEventTime
	hasProducer
	hasSequence
	hasEpoch
	hasOrderingKey
	hasValue
)

// sizeBound is more than appendRecord will take: every number of a record
// within ten bytes, and those of a message within what Bytes counts for it and
// as much again.
func sizeBound(rec *record) int {
	n := 128
	for i := range rec.messages {
		n += int(rec.messages[i].Bytes()) + 128
	}
	return n
}

func appendRecord(b []byte, rec *record) []byte {
	b = binary.AppendUvarint(b, uint64(rec.line))
	b = append(b, bit(rec.id.Valid, hasID)|bit(rec.mark.Valid, hasMark)|bit(rec.batch, isBatch)|
		bit(rec.entry.Valid, hasEntry)|bit(rec.counted, isCounted), byte(rec.kind))
	if rec.id.Valid {
		b = binary.AppendVarint(b, rec.id.V.Ledger)
		b = binary.AppendVarint(b, rec.id.V.Entry)
		b = binary.AppendVarint(b, int64(rec.id.V.Batch))
	}
	if rec.entry.Valid {
		b = binary.AppendVarint(b, rec.entry.V)
	}
	if rec.kind.IsMarker() {
		b = binary.AppendUvarint(b, rec.txn.Most)
		b = binary.AppendUvarint(b, rec.txn.Least)
		b = binary.AppendUvarint(b, rec.mark.V)
	}
	b = binary.AppendUvarint(b, uint64(len(rec.messages)))
	for i := range rec.messages {
		b = appendMessage(b, &rec.messages[i])
	}
	return b
}

// appendMessage adds all of m but what a record does not know: Position, Kind.
func appendMessage(b []byte, m *segments.Message) []byte {
	b = append(b, bit(m.Key != nil, hasKey)|bit(m.Txn.Valid, hasTxn)|bit(m.EventTime.Valid, hasEventTime)|
		bit(m.Producer.Valid, hasProducer)|bit(m.Sequence.Valid, hasSequence)|bit(m.Epoch.Valid, hasEpoch)|
		bit(m.OrderingKey != nil, hasOrderingKey)|bit(m.Value != nil, hasValue))
	b = binary.AppendVarint(b, int64(m.BatchSize))
	b = binary.AppendVarint(b, int64(m.PublishTime))
	if m.Key != nil {
		b = appendBytes(b, m.Key)
	}
	if m.Txn.Valid {
		b = binary.AppendUvarint(b, m.Txn.V.Most)
		b = binary.AppendUvarint(b, m.Txn.V.Least)
	}
	if m.EventTime.Valid {
		b = binary.AppendVarint(b, int64(m.EventTime.V))
	}
	if m.Producer.Valid {
		b = appendBytes(b, m.Producer.V)
	}
	if m.Sequence.Valid {
		b = binary.AppendVarint(b, m.Sequence.V)
	}
	if m.Epoch.Valid {
		b = binary.AppendVarint(b, int64(m.Epoch.V))
	}
	if m.OrderingKey != nil {
		b = appendBytes(b, m.OrderingKey)
	}
	if m.Value != nil {
		b = appendBytes(b, m.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(m.Properties)))
	for _, p := range m.Properties {
		b = append(b, bit(p.Value != nil, hasValue))
		b = appendBytes(b, p.Key)
		if p.Value != nil {
			b = appendBytes(b, p.Value)
		}
	}
	return b
}

func appendBytes[T string | []byte](b []byte, text T) []byte {
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

func bit(set bool, b byte) byte {
	if !set {
		return 0
	}
	return b
}

// unpacker reads back what was appended. The bytes never left this process, so
// they are not checked.
type unpacker struct{ b []byte }

func (d *unpacker) record() (rec record) {
	rec.line = int64(d.uvarint())
	has, kind := d.byte(), d.byte()
	rec.batch, rec.counted, rec.kind = has&isBatch != 0, has&isCounted != 0, segments.Kind(kind)
	if has&hasID != 0 {
		rec.id = segments.Some(segments.Position{Ledger: d.varint(), Entry: d.varint(), Batch: int32(d.varint())})
	}
	if has&hasEntry != 0 {
		rec.entry = segments.Some(d.varint())
	}
	if rec.kind.IsMarker() {
		rec.txn = segments.TxnID{Most: d.uvarint(), Least: d.uvarint()}
		rec.mark = segments.Null[uint64]{V: d.uvarint(), Valid: has&hasMark != 0}
	}
	if n := d.uvarint(); n > 0 {
		rec.messages = make([]segments.Message, n)
		for i := range rec.messages {
			d.message(&rec.messages[i])
		}
	}
	return rec
}

func (d *unpacker) message(m *segments.Message) {
	has := d.byte()
	m.Position = segments.None
	m.BatchSize = int32(d.varint())
	m.PublishTime = segments.Millis(d.varint())
	if has&hasKey != 0 {
		m.Key = d.bytes()
	}
	if has&hasTxn != 0 {
		m.Txn = segments.Some(segments.TxnID{Most: d.uvarint(), Least: d.uvarint()})
	}
	if has&hasEventTime != 0 {
		m.EventTime = segments.Some(segments.Millis(d.varint()))
	}
	if has&hasProducer != 0 {
		m.Producer = segments.Some(string(d.bytes()))
	}
	if has&hasSequence != 0 {
		m.Sequence = segments.Some(d.varint())
	}
	if has&hasEpoch != 0 {
		m.Epoch = segments.Some(int32(d.varint()))
	}
	if has&hasOrderingKey != 0 {
		m.OrderingKey = d.bytes()
	}
	if has&hasValue != 0 {
		m.Value = d.bytes()
	}
	if n := d.uvarint(); n > 0 {
		m.Properties = make([]segments.Property, n)
		for i := range m.Properties {
			has := d.byte()
			m.Properties[i].Key = string(d.bytes())
			if has&hasValue != 0 {
				m.Properties[i].Value = d.bytes()
			}
		}
	}
}

func (d *unpacker) byte() byte {
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *unpacker) varint() int64 {
	v, n := binary.Varint(d.b)
	d.b = d.b[n:]
	return v
}

func (d *unpacker) bytes() []byte {
	n := d.uvarint()
	text := d.b[:n]
	d.b = d.b[n:]
	return slices.Clip(text)
}

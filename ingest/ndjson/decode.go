package ndjson

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Line is what one line says: a message, a batch of messages, or a marker that
// ends a transaction.
type Line struct {
	// ID is the position that the line gives: of its message, of the entry
	// that its batch makes, or of its marker.
	ID segments.Null[segments.Position]

	// Messages holds one message, or those of a batch line; none for a marker.
	// They have no Position and no Kind yet. BatchSize is what the line says
	// of the entry that a message with an indexed ID belongs to, the length of
	// a batch line, and 1 otherwise.
	Messages []segments.Message
	Batch    bool // the line is a batch line

	// Of a marker: KindCommit or KindAbort, the transaction that it ends, and
	// the low-water mark. Kind is KindMessage otherwise.
	Kind segments.Kind
	Txn  segments.TxnID
	Mark segments.Null[uint64]
}

// Decoder reads lines. It keeps what it needs for the next line, so that most
// lines cost no memory. The zero value is ready.
type Decoder struct {
	// Now is the publish time of messages that give none.
	Now segments.Millis

	line       Line
	top        object              // the object that is the line
	properties []segments.Property // of all messages of the line
	decoded    []byte              // what base64 stood for
	strings    interned
}

// decodedKept is the most decoded bytes whose room is kept for the next line.
const decodedKept = 4 << 20

// Decode reads one line, without its newline. It changes the bytes of text,
// where it takes escapes out of strings in place. The Line, which shares
// memory with text, is valid until the next call.
func (d *Decoder) Decode(text []byte) (*Line, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	d.line = Line{Messages: d.line.Messages[:0]}
	d.properties = d.properties[:0]
	if d.decoded = d.decoded[:0]; cap(d.decoded) > decodedKept {
		d.decoded = nil
	}
	p := parser{jsontext.New(text)}
	if err := d.object(&p, &d.top, false); err != nil {
		return nil, err
	}
	if err := p.End(); err != nil {
		return nil, err
	}
	if err := d.finish(&d.top); err != nil {
		return nil, err
	}
	return &d.line, nil
}

// finish makes the line of its object, whose members must go together.
func (d *Decoder) finish(o *object) error {
	line := &d.line
	if o.has.includes(memberID) {
		line.ID = segments.Some(o.id)
	}
	switch {
	case o.has.includes(memberMarker):
		if other, ok := o.has.outside(markerMembers); ok {
			return fmt.Errorf("a marker has no %q", other)
		}
		if !o.has.includes(memberTxn) {
			return errors.New("a marker needs a \"txn\"")
		}
		if o.id.Batch >= 0 {
			return fmt.Errorf("a marker takes an entry of its own, not %s", o.id)
		}
		line.Kind, line.Txn, line.Mark = o.kind, o.message.Txn.V, o.mark
		return nil
	case o.has.includes(memberBatch):
		if other, ok := o.has.outside(batchMembers); ok {
			return fmt.Errorf("%q goes inside the messages of a batch, not beside it", other)
		}
		if o.id.Batch >= 0 {
			return fmt.Errorf("a batch takes an entry of its own, not %s", o.id)
		}
		line.Batch = true
		for i := range line.Messages {
			line.Messages[i].BatchSize = int32(len(line.Messages))
		}
		return nil
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.checkBatchSize(); err != nil {
		return err
	}
	line.Messages = append(line.Messages, o.message)
	return nil
}

// object is what one JSON object says, the line or a message of a batch.
type object struct {
	seen members // whose names were read
	has  members // those with a value; a null is none, except for the value
	id   segments.Position
	kind segments.Kind // of the marker
	mark segments.Null[uint64]

	message segments.Message
}

// check finds what is missing or does not go together in a message.
func (o *object) check() error {
	switch {
	case o.seen.includes(memberKey) && o.seen.includes(memberKeyBase64):
		return errors.New("both \"key\" and \"key_base64\"")
	case o.seen.includes(memberValue) && o.seen.includes(memberValueBase64):
		return errors.New("both \"value\" and \"value_base64\"")
	case o.seen.includes(memberOrderingKey) && o.seen.includes(memberOrderingKeyBase64):
		return errors.New("both \"ordering_key\" and \"ordering_key_base64\"")
	case !o.has.includes(memberValue) && !o.has.includes(memberValueBase64):
		return errors.New("neither \"value\" nor \"value_base64\"")
	case o.has.includes(memberMark):
		return errors.New("a \"low_water_mark\" without a \"marker\"")
	}
	return nil
}

// checkBatchSize finds a size that does not fit the id.
func (o *object) checkBatchSize() error {
	size := o.message.BatchSize
	switch {
	case o.id.Batch >= 0 && !o.has.includes(memberBatchSize):
		return fmt.Errorf("id %s needs a \"batch_size\"", o.id)
	case o.id.Batch >= 0 && o.id.Batch >= size:
		return fmt.Errorf("id %s does not fit into a batch of %d", o.id, size)
	case o.id.Batch < 0 && size != 1:
		return fmt.Errorf("a \"batch_size\" of %d needs an \"id\" with an index", size)
	}
	return nil
}

// object reads one object. That a name means something, and is there once, is
// found here; whether names go together is for finish.
func (d *Decoder) object(p *parser, o *object, inBatch bool) error {
	*o = object{id: segments.None, message: segments.Message{
		Position: segments.None, BatchSize: 1, PublishTime: d.Now,
	}}
	if err := p.Open('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, more, err := p.Member(first)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		m, known := lookup(name)
		if !known {
			if err := p.Skip(); err != nil {
				return err
			}
			continue
		}
		if o.seen.includes(m) {
			return fmt.Errorf("%q is there twice", m)
		}
		o.seen.add(m)
		if inBatch && !messageMembers.includes(m) {
			return fmt.Errorf("%q inside a batch", m)
		}
		if err := d.value(p, o, m); err != nil {
			return fmt.Errorf("%q: %w", m, err)
		}
	}
}

// value reads the value of member m.
func (d *Decoder) value(p *parser, o *object, m member) error {
	if null, err := p.Null(); err != nil {
		return err
	} else if null {
		if m == memberValue || m == memberValueBase64 {
			o.has.add(m)
		}
		return nil
	}
	o.has.add(m)
	msg := &o.message
	var err error
	switch m {
	case memberID:
		o.id, err = p.position()
	case memberBatch:
		err = d.batch(p)
	case memberBatchSize:
		msg.BatchSize, err = p.batchSize()
	case memberKey:
		msg.Key, err = p.String()
	case memberKeyBase64:
		msg.Key, err = d.base64(p)
	case memberValue:
		msg.Value, err = p.String()
	case memberValueBase64:
		msg.Value, err = d.base64(p)
	case memberPublishTime:
		msg.PublishTime, err = p.time()
	case memberEventTime:
		msg.EventTime.V, err = p.time()
		msg.EventTime.Valid = true
	case memberProducer:
		msg.Producer.V, err = d.string(p)
		msg.Producer.Valid = true
	case memberSequence:
		msg.Sequence.V, err = p.Int64()
		msg.Sequence.Valid = true
	case memberEpoch:
		msg.Epoch.V, err = p.Int32()
		msg.Epoch.Valid = true
	case memberTxn:
		msg.Txn.V, err = p.txn()
		msg.Txn.Valid = true
	case memberOrderingKey:
		msg.OrderingKey, err = p.String()
	case memberOrderingKeyBase64:
		msg.OrderingKey, err = d.base64(p)
	case memberProperties:
		msg.Properties, err = d.propertyList(p)
	case memberMarker:
		o.kind, err = p.marker()
	case memberMark:
		o.mark.V, err = p.Uint64()
		o.mark.Valid = true
	}
	return err
}

// batch reads the messages of a batch line.
func (d *Decoder) batch(p *parser) error {
	if err := p.Open('[', "a list of messages"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := p.Element(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		var o object
		err = d.object(p, &o, true)
		if err == nil {
			err = o.check()
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", len(d.line.Messages), err)
		}
		d.line.Messages = append(d.line.Messages, o.message)
	}
	if len(d.line.Messages) == 0 {
		return errors.New("no messages")
	}
	return nil
}

// propertyList reads [{"key":"a","value":"b"},...].
func (d *Decoder) propertyList(p *parser) ([]segments.Property, error) {
	if err := p.Open('[', "a list of properties"); err != nil {
		return nil, err
	}
	from := len(d.properties)
	for first := true; ; first = false {
		more, err := p.Element(first)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		property, err := d.property(p)
		if err != nil {
			return nil, fmt.Errorf("property %d: %w", len(d.properties)-from, err)
		}
		d.properties = append(d.properties, property)
	}
	if len(d.properties) == from {
		return nil, nil // an empty list says that there are none
	}
	return d.properties[from:len(d.properties):len(d.properties)], nil
}

func (d *Decoder) property(p *parser) (segments.Property, error) {
	var property segments.Property
	var seen members
	if err := p.Open('{', "an object"); err != nil {
		return property, err
	}
	for first := true; ; first = false {
		name, more, err := p.Member(first)
		if err != nil {
			return property, err
		}
		if !more {
			break
		}
		m, known := lookup(name)
		if !known || !propertyMembers.includes(m) {
			if err := p.Skip(); err != nil {
				return property, err
			}
			continue
		}
		if seen.includes(m) {
			return property, fmt.Errorf("%q is there twice", m)
		}
		seen.add(m)
		null, err := p.Null()
		switch {
		case err != nil || null && m != memberKey:
		case m == memberKey:
			property.Key, err = d.string(p)
		case m == memberValue:
			property.Value, err = p.String()
		case m == memberValueBase64:
			property.Value, err = d.base64(p)
		}
		if err != nil {
			return property, fmt.Errorf("%q: %w", m, err)
		}
	}
	switch {
	case !seen.includes(memberKey):
		return property, errors.New("no \"key\"")
	case seen.includes(memberValue) == seen.includes(memberValueBase64):
		return property, errors.New("want one of \"value\" and \"value_base64\"")
	}
	return property, nil
}

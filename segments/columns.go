package segments

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// columns gathers rows into the columns of one record batch.
type columns struct {
	record *array.RecordBuilder

	ledger, entry         *array.Int64Builder
	batchIndex, batchSize *array.Int32Builder
	kind                  *array.Uint8Builder
	key                   *array.BinaryBuilder
	txnMost, txnLeast     *array.Uint64Builder
	publish, event        *array.TimestampBuilder
	producer              *array.StringBuilder
	sequence              *array.Int64Builder
	epoch                 *array.Int32Builder
	orderingKey           *array.BinaryBuilder
	value                 *array.BinaryBuilder
	properties            *array.ListBuilder
	property              *array.StructBuilder
	propertyKey           *array.StringBuilder
	propertyValue         *array.BinaryBuilder
}

func newColumns() *columns {
	r := array.NewRecordBuilder(memory.NewGoAllocator(), Schema(All))
	c := &columns{
		record:      r,
		ledger:      r.Field(0).(*array.Int64Builder),
		entry:       r.Field(1).(*array.Int64Builder),
		batchIndex:  r.Field(2).(*array.Int32Builder),
		batchSize:   r.Field(3).(*array.Int32Builder),
		kind:        r.Field(4).(*array.Uint8Builder),
		key:         r.Field(5).(*array.BinaryBuilder),
		txnMost:     r.Field(6).(*array.Uint64Builder),
		txnLeast:    r.Field(7).(*array.Uint64Builder),
		publish:     r.Field(8).(*array.TimestampBuilder),
		event:       r.Field(9).(*array.TimestampBuilder),
		producer:    r.Field(10).(*array.StringBuilder),
		sequence:    r.Field(11).(*array.Int64Builder),
		epoch:       r.Field(12).(*array.Int32Builder),
		orderingKey: r.Field(13).(*array.BinaryBuilder),
		value:       r.Field(14).(*array.BinaryBuilder),
		properties:  r.Field(15).(*array.ListBuilder),
	}
	c.property = c.properties.ValueBuilder().(*array.StructBuilder)
	c.propertyKey = c.property.FieldBuilder(0).(*array.StringBuilder)
	c.propertyValue = c.property.FieldBuilder(1).(*array.BinaryBuilder)
	return c
}

// add appends one row.
func (c *columns) add(m *Message) {
	c.ledger.Append(m.Position.Ledger)
	c.entry.Append(m.Position.Entry)
	c.batchIndex.Append(m.Position.Batch)
	c.batchSize.Append(m.BatchSize)
	c.kind.Append(uint8(m.Kind))
	addBytes(c.key, m.Key)
	if m.Txn.Valid {
		c.txnMost.Append(m.Txn.V.Most)
		c.txnLeast.Append(m.Txn.V.Least)
	} else {
		c.txnMost.AppendNull()
		c.txnLeast.AppendNull()
	}
	c.publish.Append(arrow.Timestamp(m.PublishTime))
	if m.EventTime.Valid {
		c.event.Append(arrow.Timestamp(m.EventTime.V))
	} else {
		c.event.AppendNull()
	}
	if m.Producer.Valid {
		c.producer.Append(m.Producer.V)
	} else {
		c.producer.AppendNull()
	}
	if m.Sequence.Valid {
		c.sequence.Append(m.Sequence.V)
	} else {
		c.sequence.AppendNull()
	}
	if m.Epoch.Valid {
		c.epoch.Append(m.Epoch.V)
	} else {
		c.epoch.AppendNull()
	}
	addBytes(c.orderingKey, m.OrderingKey)
	addBytes(c.value, m.Value)
	if m.Properties == nil {
		c.properties.AppendNull()
		return
	}
	c.properties.Append(true)
	for _, p := range m.Properties {
		c.property.Append(true)
		c.propertyKey.Append(p.Key)
		addBytes(c.propertyValue, p.Value)
	}
}

// addBytes appends v, where nil is null.
func addBytes(b *array.BinaryBuilder, v []byte) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.Append(v)
}

// batch ends the record batch of the rows so far, and starts a new one.
func (c *columns) batch() arrow.RecordBatch { return c.record.NewRecordBatch() }

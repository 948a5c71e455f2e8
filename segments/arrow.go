package segments

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// RecordBatch is the rows as an Arrow record batch of Schema, without a copy.
// It shares the memory of r, and needs no Release.
func (r *Rows) RecordBatch() arrow.RecordBatch {
	schema := Schema(r.cols)
	data := []arrow.ArrayData{
		r.ledger.array(schema, 0, r.len),
		r.entry.array(schema, 1, r.len),
		r.batchIndex.array(schema, 2, r.len),
		r.batchSize.array(schema, 3, r.len),
		r.kind.array(schema, 4, r.len),
		r.key.array(schema.Field(5).Type),
		r.txnMost.array(schema, 6, r.len),
		r.txnLeast.array(schema, 7, r.len),
		r.publish.array(schema, 8, r.len),
		r.event.array(schema, 9, r.len),
		r.producer.array(schema.Field(10).Type),
		r.sequence.array(schema, 11, r.len),
		r.epoch.array(schema, 12, r.len),
		r.orderingKey.array(schema.Field(13).Type),
	}
	if r.cols == All {
		data = append(data, r.value.array(schema.Field(14).Type), r.propertyLists(schema.Field(15).Type))
	}
	columns := make([]arrow.Array, len(data))
	for i, d := range data {
		columns[i] = array.MakeFromData(d)
	}
	return array.NewRecordBatch(schema, columns, int64(r.len))
}

// Pick is the rows numbered in picked, from 0 and going up, as a record batch
// like that of RecordBatch: without a copy if they are neighbours. There is at
// least one.
func (r *Rows) Pick(picked []int) arrow.RecordBatch {
	first, last := picked[0], picked[len(picked)-1]
	switch {
	case len(picked) == r.len:
		return r.RecordBatch()
	case last-first+1 == len(picked):
		return r.RecordBatch().NewSlice(int64(first), int64(last+1))
	}
	c := newColumns()
	for _, i := range picked {
		m := r.Message(i)
		c.add(&m)
	}
	batch := c.batch()
	if r.cols == All {
		return batch
	}
	schema := Schema(r.cols)
	return array.NewRecordBatch(schema, batch.Columns()[:schema.NumFields()], batch.NumRows())
}

// array is f as field i of schema, of n values.
func (f fixed) array(schema *arrow.Schema, i, n int) arrow.ArrayData {
	return arrayData(schema.Field(i).Type, n, f.valid, nil, f.values)
}

func (v varlen) array(t arrow.DataType) arrow.ArrayData {
	return arrayData(t, v.len, v.valid, nil, v.offsets, v.data)
}

func (r *Rows) propertyLists(t arrow.DataType) arrow.ArrayData {
	property := t.(*arrow.ListType).Elem().(*arrow.StructType)
	keys, values := r.propertyKeys, r.propertyValues
	children := []arrow.ArrayData{keys.array(property.Field(0).Type), values.array(property.Field(1).Type)}
	structs := arrayData(property, keys.len, nil, children)
	return arrayData(t, r.len, r.properties.valid, []arrow.ArrayData{structs}, r.properties.offsets)
}

// arrayData is an array of n values, which are there as valid tells.
func arrayData(t arrow.DataType, n int, valid bitmap, children []arrow.ArrayData, buffers ...[]byte) arrow.ArrayData {
	list := make([]*memory.Buffer, 1, 3)
	nulls := 0
	if valid != nil {
		list[0] = memory.NewBufferBytes(valid)
		nulls = n - valid.count(n)
	}
	for _, b := range buffers {
		list = append(list, memory.NewBufferBytes(b))
	}
	return array.NewData(t, n, list, children, nulls, 0)
}

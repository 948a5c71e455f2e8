package segments

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// messageColumns are the columns that make a message, in the order of Schema.
var messageColumns = [...]wantedColumn{
	columnLedger:      {"ledger", asInteger},
	columnEntry:       {"entry", asInteger},
	columnBatchIndex:  {"batch_index", asInteger},
	columnBatchSize:   {"batch_size", asInteger},
	columnKind:        {"kind", asInteger},
	columnKey:         {"key", asBytes},
	columnTxnMost:     {"txn_most", asInteger},
	columnTxnLeast:    {"txn_least", asInteger},
	columnPublish:     {"publish_time", asTime},
	columnEvent:       {"event_time", asTime},
	columnProducer:    {"producer", asBytes},
	columnSequence:    {"sequence", asInteger},
	columnEpoch:       {"epoch", asInteger},
	columnOrderingKey: {"ordering_key", asBytes},
	columnValue:       {"value", asBytes},
	columnProperties:  {"properties", asProperties},
}

const (
	columnLedger = iota
	columnEntry
	columnBatchIndex
	columnBatchSize
	columnKind
	columnKey
	columnTxnMost
	columnTxnLeast
	columnPublish
	columnEvent
	columnProducer
	columnSequence
	columnEpoch
	columnOrderingKey
	columnValue
	columnProperties
)

// checkMessageColumns finds what is missing.
func checkMessageColumns(fields []*arrowField) error {
	for _, c := range []int{columnKey, columnValue} {
		if fields[c] == nil {
			return fmt.Errorf("there is no column %q", messageColumns[c].name)
		}
	}
	// A few bytes could stand for any number of rows.
	if fields[columnKey].kind == typeNull && fields[columnValue].kind == typeNull {
		return errors.New("the columns key and value are both of type null")
	}
	for _, pair := range [][2]int{{columnLedger, columnEntry}, {columnEntry, columnLedger}, {columnTxnMost, columnTxnLeast}, {columnTxnLeast, columnTxnMost}, {columnBatchIndex, columnBatchSize}, {columnBatchIndex, columnLedger}} {
		if fields[pair[0]] != nil && fields[pair[1]] == nil {
			return fmt.Errorf("there is a column %q and none %q", messageColumns[pair[0]].name, messageColumns[pair[1]].name)
		}
	}
	return nil
}

// ArrowRows is the rows of one record batch.
type ArrowRows struct {
	object  string
	batch   int
	len     int
	columns []arrowColumn
	left    budget
}

// Len is the number of rows.
func (r *ArrowRows) Len() int { return r.len }

// Read makes m what row i, from 0, says. What the file has no column for, or a
// null, stays as it is in m; but key, value, ordering key and properties become
// nil. What m then holds shares the memory of r. Its error is a CorruptError.
//
// Each column is read for itself: whether they go together is for the caller.
func (r *ArrowRows) Read(i int, m *Message) (err error) {
	defer func() {
		// All that is relied on was checked. Should that be wrong, it must not
		// end the process.
		if p := recover(); p != nil {
			err = &CorruptError{Object: r.object, Batch: r.batch, Err: fmt.Errorf("row %d: %w: %v", i, errPanic, p)}
		}
	}()
	column, err := r.read(i, m)
	if err != nil {
		return &CorruptError{Object: r.object, Batch: r.batch, Column: messageColumns[column].name, Err: fmt.Errorf("row %d: %w", i, err)}
	}
	return nil
}

// read tells the column that is wrong, with what is wrong with it.
func (r *ArrowRows) read(i int, m *Message) (column int, err error) {
	bytes := func(column int) []byte {
		if c := &r.columns[column]; c.there {
			return c.bytes.at(i)
		}
		return nil
	}
	integer := func(c int, least, most int64, set func(v int64)) {
		if err != nil || !r.columns[c].there {
			return
		}
		v, ok, wrong := r.columns[c].integers.within(i, least, most)
		if wrong != nil {
			column, err = c, wrong
		} else if ok {
			set(v)
		}
	}
	m.Key, m.Value, m.OrderingKey = bytes(columnKey), bytes(columnValue), bytes(columnOrderingKey)
	if r.columns[columnLedger].there {
		m.Position = Position{Ledger: -1, Entry: -1, Batch: -1}
		integer(columnLedger, 0, math.MaxInt64, func(v int64) { m.Position.Ledger = v })
		integer(columnEntry, 0, math.MaxInt64, func(v int64) { m.Position.Entry = v })
		integer(columnBatchIndex, -1, math.MaxInt32, func(v int64) { m.Position.Batch = int32(v) })
		if err == nil && (m.Position.Ledger < 0 || m.Position.Entry < 0) {
			return columnLedger, errors.New("ledger or entry is null")
		}
	}
	integer(columnBatchSize, 1, math.MaxInt32, func(v int64) { m.BatchSize = int32(v) })
	integer(columnKind, int64(KindMessage), int64(KindAbort), func(v int64) { m.Kind = Kind(v) })
	integer(columnSequence, math.MinInt64, math.MaxInt64, func(v int64) { m.Sequence = Some(v) })
	integer(columnEpoch, math.MinInt32, math.MaxInt32, func(v int64) { m.Epoch = Some(int32(v)) })
	if err != nil {
		return column, err
	}
	if c := &r.columns[columnTxnMost]; c.there {
		most, below, ok := c.integers.at(i)
		least, belowToo, okToo := r.columns[columnTxnLeast].integers.at(i)
		switch {
		case ok != okToo:
			return columnTxnMost, errors.New("half a transaction")
		case below || belowToo:
			return columnTxnMost, errors.New("a transaction with a number below 0")
		case ok:
			m.Txn = Some(TxnID{Most: most, Least: least})
		}
	}
	if t, err := r.time(columnPublish, i); err != nil {
		return columnPublish, err
	} else if t.Valid {
		m.PublishTime = t.V
	}
	if t, err := r.time(columnEvent, i); err != nil {
		return columnEvent, err
	} else if t.Valid {
		m.EventTime = t
	}
	if producer := bytes(columnProducer); producer != nil {
		if !utf8.Valid(producer) {
			return columnProducer, errors.New("not UTF-8")
		}
		m.Producer = Some(string(producer))
	}
	m.Properties, err = r.properties(i)
	return columnProperties, err
}

// time is the time in a column, cut to milliseconds.
func (r *ArrowRows) time(column, i int) (Null[Millis], error) {
	c := &r.columns[column]
	if !c.there {
		return Null[Millis]{}, nil
	}
	bits, _, ok := c.integers.at(i)
	if !ok {
		return Null[Millis]{}, nil
	}
	v := int64(bits)
	switch c.unit {
	case 0: // seconds
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return Null[Millis]{}, fmt.Errorf("a time of %d seconds", v)
		}
		v *= 1000
	case 2:
		v = floor(v, 1000)
	case 3:
		v = floor(v, 1000_000)
	}
	return Some(Millis(v)), nil
}

// floor is v/by, rounded down.
func floor(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// properties is the properties of row i: nil where there are none.
func (r *ArrowRows) properties(i int) ([]Property, error) {
	c := &r.columns[columnProperties]
	if !c.there {
		return nil, nil
	}
	from, to, ok := c.properties.at(i)
	if !ok || from == to {
		return nil, nil
	}
	left := r.left
	if err := left.take(propertyBytes * int64(to-from)); err != nil {
		return nil, fmt.Errorf("%d properties: %w", to-from, err)
	}
	list := make([]Property, 0, to-from)
	for j := from; j < to; j++ {
		key := c.properties.keys.at(j)
		switch {
		case key == nil:
			return nil, fmt.Errorf("the key of property %d is null", j-from)
		case !utf8.Valid(key):
			return nil, fmt.Errorf("the key of property %d is not UTF-8", j-from)
		}
		list = append(list, Property{Key: string(key), Value: c.properties.values.at(j)})
	}
	return list, nil
}

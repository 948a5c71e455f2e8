package segments

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"
)

// decodedShare bounds what a decode allocates, in parts of what its buffers
// come to: once the buffers, and five times for the table of properties, as a
// property takes 8 bytes of offsets and propertyBytes in the table.
const (
	decodedShare  = 6
	propertyBytes = 40
)

// errPanic says that a decompressor gave up in a way it should not.
var errPanic = errors.New("panic")

// decodeBatch makes Rows of the record batch message m, whose body may be cut
// behind the headers if only those are wanted.
//
// It does what Arrow's reader does, for this one schema, and checks all that
// an accessor will rely on. Arrow's reader believes what it reads: of mutated
// files it made panics, gigabytes, and wrong rows. Whoever comes here with a
// batch that no checksum vouches for gets rows that keep every rule of a
// segment, or an error, for at most left bytes.
func decodeBatch(m message, body []byte, cols Columns, in *inflater, left budget) (rows *Rows, err error) {
	d := decoder{body: body, in: in, left: left}
	defer func() {
		// The decompressors are the only foreign code here, and meet bytes
		// that may come from anybody.
		if r := recover(); r != nil {
			rows, err = nil, d.wrap(fmt.Errorf("%w: %v", errPanic, r))
		}
	}()
	if d.meta, err = parseBatch(m); err != nil {
		return nil, err
	}
	if d.meta.rows < 0 || d.meta.rows > math.MaxInt32 {
		return nil, fmt.Errorf("a record batch has %d rows", d.meta.rows)
	}
	d.rows = int(d.meta.rows)
	rows = &Rows{len: d.rows, cols: cols}
	rows.ledger = d.fixed("ledger", 8, required)
	rows.entry = d.fixed("entry", 8, required)
	rows.batchIndex = d.fixed("batch_index", 4, required)
	rows.batchSize = d.fixed("batch_size", 4, required)
	rows.kind = d.fixed("kind", 1, required)
	rows.key = d.bytes("key", optional)
	rows.txnMost = d.fixed("txn_most", 8, optional)
	rows.txnLeast = d.fixed("txn_least", 8, optional)
	rows.publish = d.fixed("publish_time", 8, required)
	rows.event = d.fixed("event_time", 8, optional)
	rows.producer = d.text("producer", optional)
	rows.sequence = d.fixed("sequence", 8, optional)
	rows.epoch = d.fixed("epoch", 4, optional)
	rows.orderingKey = d.bytes("ordering_key", optional)
	if cols == All {
		rows.value = d.bytes("value", optional)
		d.properties(rows)
	}
	if d.err != nil {
		return nil, d.wrap(d.err)
	}
	if err := rows.check(); err != nil {
		return nil, err
	}
	return rows, nil
}

// decoder goes through the arrays of a record batch, in order. The first thing
// wrong stays in err, and what comes after it is zero.
type decoder struct {
	meta batchMeta
	body []byte
	in   *inflater
	left budget
	rows int

	node, buffer int // the next of each
	view         int // the next column of views; our own files have none
	column       string
	err          error
}

// wrap puts the column in front of err, as a CorruptError will show it.
func (d *decoder) wrap(err error) error {
	if d.column == "" {
		return err
	}
	return &columnError{d.column, err}
}

// columnError is an error about one column of a batch.
type columnError struct {
	column string
	err    error
}

func (e *columnError) Error() string { return "column " + e.column + ": " + e.err.Error() }
func (e *columnError) Unwrap() error { return e.err }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// nullness tells whether a column may have nulls.
type nullness bool

const (
	required nullness = false
	optional nullness = true
)

// next is the bytes of the next buffer, not compressed.
func (d *decoder) next() []byte {
	if d.err != nil {
		return nil
	}
	off, n := pair(d.meta.buffers, d.buffer)
	d.buffer++
	if off < 0 || n < 0 || off > int64(len(d.body)) || n > int64(len(d.body))-off {
		d.fail(fmt.Errorf("a buffer of %d bytes at %d leaves the body of %d", n, off, len(d.body)))
		return nil
	}
	b, err := d.in.buffer(d.meta.codec, d.body[off:off+n], &d.left)
	if err != nil {
		d.fail(err)
	}
	return b
}

// noBytes stands for buffers of which nobody will look at a value.
var noBytes [64 << 10]byte

// nextUnlessNull is next; but where all n values of the array that was begun
// last are null, as most optional columns are, its buffer is passed over, and
// size zeros stand for it.
func (d *decoder) nextUnlessNull(n, size int) []byte {
	if d.err != nil {
		return nil
	}
	if _, nulls := pair(d.meta.nodes, d.node-1); n > 0 && nulls == int64(n) && size <= len(noBytes) {
		d.buffer++
		return noBytes[:size:size]
	}
	return d.next()
}

// array begins the array of n values of a column: it reads its node and which
// of its values are there.
func (d *decoder) array(n int, null nullness) bitmap {
	if d.err != nil {
		return nil
	}
	length, nulls := pair(d.meta.nodes, d.node)
	d.node++
	if length != int64(n) {
		d.fail(fmt.Errorf("it has %d values, want %d", length, n))
		return nil
	}
	if nulls < 0 || nulls > length || nulls > 0 && null == required {
		d.fail(fmt.Errorf("%d of %d values are null", nulls, length))
		return nil
	}
	b := d.next()
	if nulls == 0 || d.err != nil {
		return nil // a bitmap that is there has no zeros
	}
	if len(b) < (n+7)/8 {
		d.fail(fmt.Errorf("the validity of %d values has %d bytes", n, len(b)))
		return nil
	}
	valid := bitmap(b)
	if set := valid.count(n); int64(n-set) != nulls {
		d.fail(fmt.Errorf("%d of %d values are null, but it says %d", n-set, n, nulls))
		return nil
	}
	return valid
}

// fixed reads a column of values of width bytes.
func (d *decoder) fixed(column string, width int, null nullness) fixed {
	d.enter(column)
	f := fixed{valid: d.array(d.rows, null)}
	f.values = d.nextUnlessNull(d.rows, d.rows*width)
	if d.err == nil && len(f.values) < d.rows*width {
		d.fail(fmt.Errorf("%d values of %d bytes have %d bytes", d.rows, width, len(f.values)))
	}
	return f
}

// bytes reads a column of byte strings.
func (d *decoder) bytes(column string, null nullness) varlen {
	d.enter(column)
	return d.varlen(d.rows, null)
}

// text reads a column of UTF-8.
func (d *decoder) text(column string, null nullness) varlen {
	v := d.bytes(column, null)
	d.checkUTF8(v)
	return v
}

func (d *decoder) enter(column string) {
	if d.err == nil {
		d.column = column
	}
}

// varlen reads an array of n byte strings.
func (d *decoder) varlen(n int, null nullness) varlen {
	v := varlen{lists: d.lists(n, null)}
	v.data = d.nextUnlessNull(n, 0)
	d.checkEnd(v.lists, int64(len(v.data)))
	if v.data == nil {
		v.data = []byte{} // an empty string must not look like null
	}
	return v
}

// lists reads what tells where n byte strings or lists begin and end: n+1
// offsets that never go down.
func (d *decoder) lists(n int, null nullness) lists {
	l := lists{len: n, valid: d.array(n, null)}
	l.offsets = d.nextUnlessNull(n, 4*(n+1))
	if d.err != nil || n == 0 {
		return l
	}
	if int64(len(l.offsets)) < 4*(int64(n)+1) {
		d.fail(fmt.Errorf("%d offsets have %d bytes", n+1, len(l.offsets)))
		return l
	}
	last := 0
	for i := 0; i <= n; i++ {
		o := l.offset(i)
		if o < last {
			d.fail(fmt.Errorf("offset %d goes down from %d to %d", i, last, o))
			return l
		}
		last = o
	}
	return l
}

// checkEnd checks that no list of l goes beyond the n values that there are.
func (d *decoder) checkEnd(l lists, n int64) {
	if d.err == nil && l.len > 0 && int64(l.offset(l.len)) > n {
		d.fail(fmt.Errorf("the last offset is %d, with %d values", l.offset(l.len), n))
	}
}

// checkUTF8 checks that the strings of v are UTF-8, each for itself: that they
// are it in a row, and that none begins within a character.
func (d *decoder) checkUTF8(v varlen) {
	if d.err != nil || v.len == 0 {
		return
	}
	end := v.offset(v.len)
	if !utf8.Valid(v.data[v.offset(0):end]) {
		d.fail(errors.New("it is not UTF-8"))
		return
	}
	for i := range v.len {
		if o := v.offset(i); o < end && !utf8.RuneStart(v.data[o]) {
			d.fail(fmt.Errorf("value %d begins within a character", i))
			return
		}
	}
}

// properties reads the lists of properties. Their table is made once for the
// batch, so that messages can share it.
func (d *decoder) properties(rows *Rows) {
	d.enter("properties")
	rows.properties = d.lists(d.rows, optional)
	if d.err != nil {
		return
	}
	length, _ := pair(d.meta.nodes, d.node)
	if length < 0 || length > math.MaxInt32 {
		d.fail(fmt.Errorf("it has %d properties", length))
		return
	}
	d.checkEnd(rows.properties, length)
	n := int(length)
	d.array(n, required) // the structs themselves
	rows.propertyKeys = d.varlen(n, required)
	d.checkUTF8(rows.propertyKeys)
	rows.propertyValues = d.varlen(n, optional)
	if d.err != nil {
		return
	}
	if err := d.left.take(propertyBytes * length); err != nil {
		d.fail(err)
		return
	}
	rows.table = make([]Property, n)
	for i := range rows.table {
		rows.table[i] = Property{Key: text(rows.propertyKeys.at(i)), Value: rows.propertyValues.at(i)}
	}
}

// bitmap tells which values of an array are there; nil means all.
type bitmap []byte

func (b bitmap) has(i int) bool { return b == nil || b[i>>3]>>(i&7)&1 == 1 }

// count is how many of the first n values are there.
func (b bitmap) count(n int) int {
	set := 0
	for _, x := range b[:n/8] {
		set += bits.OnesCount8(x)
	}
	if rest := n % 8; rest > 0 {
		set += bits.OnesCount8(b[n/8] & (1<<rest - 1))
	}
	return set
}

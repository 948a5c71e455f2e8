package segments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The columns of files that others wrote, in the layouts that Arrow has for
// them. As in decode.go, everything that an accessor will rely on is checked
// when a batch is decoded.

// byteStrings is a column of byte strings, however they are laid out.
type byteStrings interface {
	at(i int) []byte // nil: null
}

// noStrings is a column of nulls.
type noStrings struct{}

func (noStrings) at(int) []byte { return nil }

// strings reads the column f of n byte strings.
func (d *decoder) strings(f *arrowField, n int, known map[int64]*dictionary) byteStrings {
	if f.dictionary.Valid {
		return d.indexes(f, n, known[f.dictionary.V])
	}
	switch f.kind {
	case typeBinary, typeUTF8:
		return d.varlen(n, optional)
	case typeLargeBinary, typeLargeUTF8:
		return d.largeVarlen(n)
	case typeBinaryView, typeUTF8View:
		return d.byteViews(n)
	case typeFixedSizeBinary:
		s := fixedStrings{fixed{valid: d.array(n, optional), values: d.next()}, f.width}
		d.checkLength(s.values, n, f.width)
		return s
	}
	d.nulls(n)
	return noStrings{}
}

// nulls passes over a column of n nulls, which has no buffers.
func (d *decoder) nulls(n int) {
	if d.err != nil {
		return
	}
	if length, _ := pair(d.meta.nodes, d.node); length != int64(n) {
		d.fail(fmt.Errorf("it has %d values, want %d", length, n))
	}
	d.node++
}

// checkLength checks that b has n values of width bytes.
func (d *decoder) checkLength(b []byte, n, width int) {
	if d.err == nil && int64(len(b)) < int64(n)*int64(width) {
		d.fail(fmt.Errorf("%d values of %d bytes have %d bytes", n, width, len(b)))
	}
}

// fixedStrings is a column of byte strings of one length.
type fixedStrings struct {
	fixed
	width int
}

func (s fixedStrings) at(i int) []byte {
	if !s.valid.has(i) {
		return nil
	}
	return s.values[i*s.width : (i+1)*s.width : (i+1)*s.width]
}

// largeLists is lists with offsets of 64 bits.
type largeLists struct {
	valid   bitmap
	offsets []byte
}

func (l largeLists) offset(i int) int { return int(binary.LittleEndian.Uint64(l.offsets[8*i:])) }

// largeVarlen is varlen with offsets of 64 bits.
type largeVarlen struct {
	largeLists
	data []byte
}

func (v largeVarlen) at(i int) []byte {
	if !v.valid.has(i) {
		return nil
	}
	from, to := v.offset(i), v.offset(i+1)
	return v.data[from:to:to]
}

func (d *decoder) largeVarlen(n int) largeVarlen {
	l := d.largeLists(n)
	v := largeVarlen{l, d.next()}
	d.checkLargeEnd(l, n, int64(len(v.data)))
	if v.data == nil {
		v.data = []byte{}
	}
	return v
}

func (d *decoder) largeLists(n int) largeLists {
	l := largeLists{valid: d.array(n, optional), offsets: d.next()}
	if d.err != nil || n == 0 {
		return l
	}
	d.checkLength(l.offsets, n+1, 8)
	last := 0
	for i := 0; i <= n && d.err == nil; i++ {
		o := l.offset(i)
		if o < last {
			d.fail(fmt.Errorf("offset %d goes down from %d to %d", i, last, o))
		}
		last = o
	}
	return l
}

func (d *decoder) checkLargeEnd(l largeLists, n int, values int64) {
	if d.err == nil && n > 0 && int64(l.offset(n)) > values {
		d.fail(fmt.Errorf("the last offset is %d, with %d values", l.offset(n), values))
	}
}

// byteViews is a column of views: 16 bytes for each string, which hold it if it
// is short, or say in which of the buffers it lies, and where.
type byteViews struct {
	fixed
	buffers [][]byte
}

const (
	viewBytes      = 16
	viewInlineMost = 12
)

func (v byteViews) at(i int) []byte {
	if !v.valid.has(i) {
		return nil
	}
	view := v.values[i*viewBytes : (i+1)*viewBytes]
	n := int(binary.LittleEndian.Uint32(view))
	if n <= viewInlineMost {
		return view[4 : 4+n : 4+n]
	}
	buffer, off := binary.LittleEndian.Uint32(view[8:]), int(binary.LittleEndian.Uint32(view[12:]))
	return v.buffers[buffer][off : off+n : off+n]
}

func (d *decoder) byteViews(n int) byteViews {
	v := byteViews{fixed: fixed{valid: d.array(n, optional), values: d.next()}}
	d.checkLength(v.values, n, viewBytes)
	if d.err != nil {
		return v
	}
	more := int64(binary.LittleEndian.Uint64(d.meta.variadic[8*d.view:])) // was checked with the counts of all
	d.view++
	for range more {
		v.buffers = append(v.buffers, d.next())
	}
	for i := 0; i < n && d.err == nil; i++ {
		if !v.valid.has(i) {
			continue
		}
		view := v.values[i*viewBytes:]
		length := int64(int32(binary.LittleEndian.Uint32(view)))
		if length >= 0 && length <= viewInlineMost {
			continue
		}
		buffer, off := int64(int32(binary.LittleEndian.Uint32(view[8:]))), int64(int32(binary.LittleEndian.Uint32(view[12:])))
		if length < 0 || buffer < 0 || off < 0 || buffer >= int64(len(v.buffers)) || off+length > int64(len(v.buffers[buffer])) {
			d.fail(fmt.Errorf("view %d is of %d bytes at %d of buffer %d, which leaves it", i, length, off, buffer))
		}
	}
	return v
}

// integers is a column of integers of one width.
type integers struct {
	fixed
	bits   int // 0: all are null
	signed bool
}

func (d *decoder) integers(f *arrowField, n int) integers {
	if f.kind == typeNull {
		d.nulls(n)
		return integers{}
	}
	c := integers{fixed{valid: d.array(n, optional), values: d.next()}, f.bits, f.signed}
	if f.kind == typeTimestamp {
		c.bits, c.signed = 64, true
	}
	d.checkLength(c.values, n, c.bits/8)
	return c
}

// at is integer i: its bits, and whether it is below zero; ok is false if it is
// null.
func (c integers) at(i int) (bits uint64, negative, ok bool) {
	if c.bits == 0 || !c.valid.has(i) {
		return 0, false, false
	}
	var v int64
	switch c.bits {
	case 8:
		v = int64(int8(c.values[i]))
	case 16:
		v = int64(int16(binary.LittleEndian.Uint16(c.values[2*i:])))
	case 32:
		v = int64(c.int32(i))
	case 64:
		v = c.int64(i)
	}
	if c.signed {
		return uint64(v), v < 0, true
	}
	return uint64(v) & (math.MaxUint64 >> (64 - c.bits)), false, true
}

// within is integer i, which must lie in least to most; ok is false if it is
// null.
func (c integers) within(i int, least, most int64) (v int64, ok bool, err error) {
	bits, negative, ok := c.at(i)
	if !ok {
		return 0, false, nil
	}
	v = int64(bits)
	if v < 0 != negative || v < least || v > most {
		if negative {
			return 0, false, fmt.Errorf("%d is not in %d to %d", v, least, most)
		}
		return 0, false, fmt.Errorf("%d is not in %d to %d", bits, least, most)
	}
	return v, true, nil
}

// dictionary is the values that indexes stand for. More may be added to it as
// the file goes on.
type dictionary struct {
	parts []byteStrings
	ends  []int // of each, counted over all
	cost  budget
}

func (t *dictionary) len() int {
	if t == nil || len(t.ends) == 0 {
		return 0
	}
	return t.ends[len(t.ends)-1]
}

func (t *dictionary) at(i int) []byte {
	part := 0
	if i >= t.ends[0] {
		part, _ = slices.BinarySearch(t.ends, i+1)
		i -= t.ends[part-1]
	}
	return t.parts[part].at(i)
}

// looked is a column of indexes, and the dictionary as it was then.
type looked struct {
	index integers
	in    dictionary
}

func (l looked) at(i int) []byte {
	at, _, ok := l.index.at(i)
	if !ok {
		return nil
	}
	return l.in.at(int(at))
}

func (d *decoder) indexes(f *arrowField, n int, in *dictionary) byteStrings {
	l := looked{index: integers{fixed{valid: d.array(n, optional), values: d.next()}, f.indexBits, f.indexSign}}
	d.checkLength(l.index.values, n, f.indexBits/8)
	size := in.len()
	for i := 0; i < n && d.err == nil; i++ {
		at, negative, ok := l.index.at(i)
		switch {
		case !ok:
		case in == nil: // the footer of a file may say that it comes later, as that of Polars does
			d.fail(errors.New("its dictionary was not there before it; write the column as text, or the file as a stream"))
		case negative || at >= uint64(size):
			d.fail(fmt.Errorf("value %d has index %d, in a dictionary of %d", i, int64(at), size))
		}
	}
	if in != nil {
		l.in = *in
	}
	return l
}

// propertyLists is a column of lists of properties, in either width.
type propertyLists struct {
	none   bool // all are null
	short  lists
	long   largeLists
	isLong bool

	keys, values byteStrings
}

// at is where list i begins and ends among all properties; ok is false if it is
// null.
func (p *propertyLists) at(i int) (from, to int, ok bool) {
	switch {
	case p.none:
		return 0, 0, false
	case p.isLong:
		return p.long.offset(i), p.long.offset(i + 1), p.long.valid.has(i)
	}
	return p.short.offset(i), p.short.offset(i + 1), p.short.valid.has(i)
}

func (d *decoder) propertyLists(f *arrowField, n int, known map[int64]*dictionary) propertyLists {
	if f.kind == typeNull {
		d.nulls(n)
		return propertyLists{none: true}
	}
	p := propertyLists{isLong: f.kind == typeLargeList}
	if p.isLong {
		p.long = d.largeLists(n)
	} else {
		p.short = d.lists(n, optional)
	}
	if d.err != nil {
		return p
	}
	length, _ := pair(d.meta.nodes, d.node)
	if length < 0 || length > math.MaxInt32 {
		d.fail(fmt.Errorf("it has %d properties", length))
		return p
	}
	if p.isLong {
		d.checkLargeEnd(p.long, n, length)
	} else {
		d.checkEnd(p.short, length)
	}
	if d.array(int(length), optional) != nil && d.err == nil {
		d.fail(errors.New("a property is null"))
	}
	if f.valueFirst {
		p.values = d.strings(f.value, int(length), known)
	}
	p.keys = d.strings(f.key, int(length), known)
	if !f.valueFirst {
		p.values = d.strings(f.value, int(length), known)
	}
	return p
}

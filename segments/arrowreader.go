package segments

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// ErrNotMessages says that a good Arrow file is not a table of messages: a
// column is missing, or of a type that it cannot have.
var ErrNotMessages = errors.New("not a table of messages")

// ArrowLimits bound what an ArrowReader holds at once.
type ArrowLimits struct {
	BodyBytes     int64 // of one record batch as it comes; room is made as the bytes arrive
	InflatedBytes int64 // of the buffers of one that are decompressed, and of all dictionaries
}

// frameMark begins every message.
const frameMark = 0xFFFFFFFF

// metadataBytesMax bounds the metadata of one message: of a batch with a few
// hundred thousand columns.
const metadataBytesMax = 16 << 20

// ArrowReader reads messages from an Arrow IPC file or stream that anybody may
// have written: one of ours, or any with the columns key and value. Columns
// are found by their names, those with other names are passed over.
//
// It does itself what Arrow's reader does, for the columns of a message, and
// checks all of it (decodeBatch says why). Whatever the bytes are, what comes
// of them is rows, or an error that names the object and, where there is one,
// batch and column. It reads from the front to the back, so it needs no more
// than a pipe, and holds one record batch at a time.
type ArrowReader struct {
	object string
	in     io.Reader
	limits ArrowLimits
	wanted []wantedColumn
	check  func([]*arrowField) error

	begun  bool
	isFile bool
	batch  int           // the next one
	column string        // that is looked at
	fields []*arrowField // of the wanted columns, nil where there is none
	whole  layout        // of a record batch

	inflater *inflater
	known    map[int64]*dictionary // nil where none was read
	left     budget                // for dictionaries
	metadata []byte
	body     []byte
}

// wantedColumn is a column that is read where it is there.
type wantedColumn struct {
	name string
	as   use
}

// NewArrowReader reads in, which errors will call object.
func NewArrowReader(object string, in io.Reader, limits ArrowLimits) *ArrowReader {
	return newArrowReader(object, in, limits, messageColumns[:], checkMessageColumns)
}

func newArrowReader(object string, in io.Reader, limits ArrowLimits, wanted []wantedColumn, check func([]*arrowField) error) *ArrowReader {
	return &ArrowReader{
		object: object, in: in, limits: limits, wanted: wanted, check: check,
		inflater: newInflater(), known: make(map[int64]*dictionary), left: budget(limits.InflatedBytes),
	}
}

// Next is the rows of the next record batch that has any, or io.EOF at the
// end. They are valid until the next call. Errors are a CorruptError, an
// ErrNotMessages, or those of reading.
func (r *ArrowReader) Next() (rows *ArrowRows, err error) {
	defer func() {
		// The decompressors are the only foreign code here.
		if p := recover(); p != nil {
			rows, err = nil, r.corrupt(fmt.Errorf("%w: %v", errPanic, p))
		}
	}()
	if !r.begun {
		r.begun = true
		if err := r.begin(); err != nil {
			return nil, r.blame(err)
		}
	}
	for {
		rows, err := r.next()
		switch {
		case err == io.EOF:
			return nil, io.EOF
		case err != nil:
			return nil, r.blame(err)
		case rows != nil && rows.len > 0:
			return rows, nil
		}
	}
}

// readError is an error of reading, which is not the fault of what was read.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// blame tells whose fault err is.
func (r *ArrowReader) blame(err error) error {
	if read := (readError{}); errors.As(err, &read) {
		return fmt.Errorf("read %s: %w", r.object, read.error)
	}
	if errors.Is(err, ErrNotMessages) {
		return fmt.Errorf("%s: %w", r.object, err)
	}
	return r.corrupt(err)
}

func (r *ArrowReader) corrupt(err error) error {
	batch := r.batch
	if r.fields == nil {
		batch = -1
	}
	return &CorruptError{Object: r.object, Batch: batch, Column: r.column, Err: err}
}

// begin reads what is in front of the first batch: the magic of a file, and
// the schema.
func (r *ArrowReader) begin() error {
	front, err := r.fill(nil, 8)
	if read := (readError{}); errors.As(err, &read) {
		return err
	}
	isStream := bytes.HasPrefix(front, []byte("\xff\xff\xff\xff"))
	r.isFile = bytes.HasPrefix(front, []byte(fileMagic))
	if err != nil || !r.isFile && !isStream {
		return errors.New("it does not begin as an Arrow file or stream")
	}
	if isStream {
		r.in = io.MultiReader(bytes.NewReader(front), r.in)
	}
	m, err := r.message()
	if err != nil && r.isFile && len(r.metadata) == 8 && binary.LittleEndian.Uint32(r.metadata) != frameMark {
		m, err = r.unframed()
	}
	switch {
	case err != nil:
		return cut(err)
	case m.end || m.kind != messageSchema || m.bodyBytes != 0:
		return errors.New("it does not begin with a schema")
	}
	return r.schema(m.header)
}

// unframed reads a schema without the frame that a message has, which is what
// Polars puts in front of its files: all that stands before the next message.
// The first eight bytes of it were read as a frame. Other readers do not look
// there, since the footer has the schema too.
func (r *ArrowReader) unframed() (message, error) {
	b := binary.LittleEndian.AppendUint32(nil, frameMark)
	b = append(b, 0, 0, 0, 0)
	b = append(b, r.metadata...)
	for len(b) < metadataBytesMax {
		n := len(b)
		var err error
		if b, err = r.fill(b, int64(n)+8); err != nil {
			return message{}, err
		}
		length := int32(binary.LittleEndian.Uint32(b[n+4:]))
		if binary.LittleEndian.Uint32(b[n:]) == frameMark && length >= 0 && length <= metadataBytesMax && length%8 == 0 {
			r.in = io.MultiReader(bytes.NewReader(bytes.Clone(b[n:])), r.in)
			binary.LittleEndian.PutUint32(b[4:], uint32(n-8))
			r.metadata = b[:n]
			return parseMessage(r.metadata)
		}
	}
	return message{}, errors.New("it does not begin with a schema")
}

// message reads the metadata of the next message. Its error is io.EOF where the
// input ends in front of it.
func (r *ArrowReader) message() (message, error) {
	prefix, err := r.fill(r.metadata[:0], 8)
	if err != nil {
		return message{}, err
	}
	r.metadata = prefix
	if mark := binary.LittleEndian.Uint32(prefix); mark != frameMark {
		return message{}, fmt.Errorf("a message begins with %08x, not ffffffff", mark)
	}
	length := int64(int32(binary.LittleEndian.Uint32(prefix[4:])))
	if length < 0 || length > metadataBytesMax {
		return message{}, fmt.Errorf("a message's metadata has length %d", length)
	}
	r.metadata, err = r.fill(prefix, 8+length)
	if err != nil {
		return message{}, cut(err)
	}
	return parseMessage(r.metadata)
}

// cut makes an end in the midst of something the error that it is.
func cut(err error) error {
	if err == io.EOF {
		return errors.New("it ends within a message")
	}
	return err
}

// fill reads on until b has n bytes. Room is made as bytes arrive, so that a
// length that lies costs little. Its error is io.EOF where there is not a single
// byte more, and a readError where reading fails.
func (r *ArrowReader) fill(b []byte, n int64) ([]byte, error) {
	const step = 1 << 20
	for start := len(b); int64(len(b)) < n; {
		more := int(min(n-int64(len(b)), int64(max(len(b), step, cap(b)-len(b)))))
		b = slices.Grow(b, more)
		got, err := io.ReadFull(r.in, b[len(b):len(b)+more])
		b = b[:len(b)+got]
		switch {
		case err == nil:
		case err == io.EOF && len(b) == start:
			return b, io.EOF
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return b, errors.New("it ends within a message")
		default:
			return b, readError{err}
		}
	}
	return b, nil
}

// schema finds the columns that are wanted.
func (r *ArrowReader) schema(schema table) error {
	walk := schemaWalk{left: len(schema.f.bytes)}
	fields := make([]*arrowField, len(r.wanted))
	var whole layout
	var notMessages error
	for field := range schema.tables(1) {
		before := whole
		whole.add(walk.layout(field, 0))
		if walk.err != nil || schema.f.bad {
			break
		}
		for i, wanted := range r.wanted {
			if !field.textIs(0, wanted.name) {
				continue
			}
			f, err := newField(field, wanted.name, wanted.as, before)
			if err == nil && fields[i] != nil {
				err = fmt.Errorf("column %s is there twice", wanted.name)
			}
			if err != nil && notMessages == nil {
				notMessages = err
			}
			fields[i] = f
		}
	}
	switch {
	case schema.f.bad:
		return errors.New("the schema points outside of itself")
	case walk.err != nil:
		return walk.err
	case schema.int16(0) != 0:
		return errors.New("it is big-endian")
	}
	if notMessages == nil {
		notMessages = r.check(fields)
	}
	if notMessages != nil {
		return fmt.Errorf("%w: %w", ErrNotMessages, notMessages)
	}
	r.fields, r.whole = fields, whole
	return nil
}

// next reads the next message, and makes rows of it if it is a record batch.
func (r *ArrowReader) next() (*ArrowRows, error) {
	r.column = ""
	m, err := r.message()
	switch {
	case err == io.EOF && !r.isFile: // a stream need not say that it ends
		return nil, io.EOF
	case err == io.EOF:
		return nil, errors.New("it ends without an end")
	case err != nil:
		return nil, err
	case m.end:
		return nil, r.end()
	case m.kind == messageDictionary:
		return nil, r.dictionary(m)
	case m.kind == messageRecordBatch:
		return r.rows(m)
	}
	return nil, fmt.Errorf("a message is of kind %d, neither a record batch nor a dictionary", m.kind)
}

// end checks what follows the last message: of a file its footer, which repeats
// what was read. It returns io.EOF.
func (r *ArrowReader) end() error {
	const tail = 4 + len(fileMagic)
	rest, err := io.ReadAll(io.LimitReader(r.in, metadataBytesMax+1))
	switch {
	case err != nil:
		return readError{err}
	case !r.isFile && len(rest) == 0:
		return io.EOF
	case !r.isFile:
		return errors.New("something follows the end of the stream")
	case len(rest) > metadataBytesMax:
		return errors.New("its footer is too long")
	case len(rest) < tail || string(rest[len(rest)-len(fileMagic):]) != fileMagic:
		return errors.New("it does not end as an Arrow file")
	}
	footer := len(rest) - tail
	if length := binary.LittleEndian.Uint32(rest[footer:]); int64(length) != int64(footer) {
		return fmt.Errorf("it has %d bytes of footer, and says %d", footer, length)
	}
	return io.EOF
}

// bodyOf reads the body of m into b.
func (r *ArrowReader) bodyOf(m message, b []byte) ([]byte, error) {
	if m.bodyBytes > r.limits.BodyBytes {
		return b, fmt.Errorf("a message's body has %d bytes, more than the %d allowed", m.bodyBytes, r.limits.BodyBytes)
	}
	b, err := r.fill(b[:0], m.bodyBytes)
	return b, cut(err)
}

// decoderOf is a decoder for the record batch in header, whose metadata lists
// what l has.
func (r *ArrowReader) decoderOf(header table, body []byte, l layout, left budget) (*decoder, error) {
	meta, err := readBatch(header)
	if err != nil {
		return nil, err
	}
	if meta.rows < 0 || meta.rows > math.MaxInt32 {
		return nil, fmt.Errorf("a record batch has %d rows", meta.rows)
	}
	if n := len(meta.nodes) / pairBytes; n != l.nodes {
		return nil, fmt.Errorf("a record batch has %d arrays, want %d", n, l.nodes)
	}
	if n := len(meta.variadic) / 8; n != l.views {
		return nil, fmt.Errorf("a record batch has %d columns of views, want %d", n, l.views)
	}
	buffers := int64(l.buffers)
	for i := range l.views {
		n := int64(binary.LittleEndian.Uint64(meta.variadic[8*i:]))
		if n < 0 || n > int64(len(meta.buffers)) {
			return nil, fmt.Errorf("a column of views has %d buffers", n)
		}
		buffers += n
	}
	if n := int64(len(meta.buffers) / pairBytes); n != buffers {
		return nil, fmt.Errorf("a record batch has %d buffers, want %d", n, buffers)
	}
	return &decoder{meta: meta, body: body, in: r.inflater, left: left, rows: int(meta.rows)}, nil
}

// goTo makes f the next column that d reads.
func (d *decoder) goTo(f *arrowField) {
	d.column = f.name
	d.node, d.buffer, d.view = f.before.nodes, f.before.buffers, f.before.views
	for i := range d.view {
		d.buffer += int(binary.LittleEndian.Uint64(d.meta.variadic[8*i:]))
	}
}

// rows decodes a record batch.
func (r *ArrowReader) rows(m message) (*ArrowRows, error) {
	var err error
	if r.body, err = r.bodyOf(m, r.body); err != nil {
		return nil, err
	}
	d, err := r.decoderOf(m.header, r.body, r.whole, budget(r.limits.InflatedBytes))
	if err != nil {
		return nil, err
	}
	rows := &ArrowRows{object: r.object, batch: r.batch, len: d.rows, columns: make([]arrowColumn, len(r.fields))}
	for i, f := range r.fields {
		if f == nil {
			continue
		}
		d.goTo(f)
		rows.columns[i] = d.read(f, r.wanted[i].as, r.known)
		if d.err != nil {
			r.column = d.column
			return nil, d.err
		}
	}
	rows.left = d.left
	r.batch++
	return rows, nil
}

// arrowColumn is a decoded column: one of its parts, as its use says.
type arrowColumn struct {
	there      bool
	bytes      byteStrings
	integers   integers // times too
	unit       int16
	properties propertyLists
}

func (d *decoder) read(f *arrowField, as use, known map[int64]*dictionary) arrowColumn {
	c := arrowColumn{there: true, unit: f.unit}
	switch as {
	case asBytes:
		c.bytes = d.strings(f, d.rows, known)
	case asInteger, asTime:
		c.integers = d.integers(f, d.rows)
	case asProperties:
		c.properties = d.propertyLists(f, d.rows, known)
	}
	return c
}

// dictionary reads a dictionary, or more of one; those that no wanted column
// has are passed over.
func (r *ArrowReader) dictionary(m message) error {
	id, isMore := m.header.int64(0), m.header.uint8(2) != 0
	batch, ok := m.header.table(1)
	if m.header.f.bad || !ok {
		return errors.New("a dictionary's metadata points outside of itself")
	}
	f, err := r.fieldOf(id)
	if err != nil {
		return err
	}
	if f == nil {
		r.body, err = r.bodyOf(m, r.body)
		return err
	}
	body, err := r.bodyOf(m, nil) // the dictionary keeps it
	if err != nil {
		return err
	}
	r.column = f.name
	old := r.known[id]
	if old != nil && !isMore {
		r.left += old.cost
		old = nil
	}
	const partBytes = 256 // what a part takes beside its bytes
	left := r.left
	if err := left.take(int64(cap(body)) + partBytes); err != nil {
		return err
	}
	values := *f
	values.dictionary = Null[int64]{}
	l := layout{nodes: 1, buffers: 3}
	switch values.kind {
	case typeFixedSizeBinary:
		l.buffers = 2
	case typeBinaryView, typeUTF8View:
		l.buffers, l.views = 2, 1
	}
	d, err := r.decoderOf(batch, body, l, left)
	if err != nil {
		return err
	}
	part := d.strings(&values, d.rows, nil)
	if d.err != nil {
		return d.err
	}
	next := &dictionary{cost: r.left - d.left}
	if old != nil {
		next = &dictionary{parts: old.parts, ends: old.ends, cost: old.cost + next.cost}
	}
	if int64(next.len())+int64(d.rows) > math.MaxInt32 {
		return errors.New("a dictionary has too many values")
	}
	next.ends = append(next.ends, next.len()+d.rows)
	next.parts = append(next.parts, part)
	r.known[id], r.left = next, d.left
	return nil
}

// fieldOf is a wanted column whose values are in dictionary id, or nil.
func (r *ArrowReader) fieldOf(id int64) (*arrowField, error) {
	var found *arrowField
	for _, f := range r.fields {
		if f == nil {
			continue
		}
		for _, f := range []*arrowField{f, f.key, f.value} {
			if f == nil || !f.dictionary.Valid || f.dictionary.V != id {
				continue
			}
			if found != nil && (found.kind != f.kind || found.width != f.width) {
				return nil, fmt.Errorf("dictionary %d has values of two types", id)
			}
			found = f
		}
	}
	return found, nil
}

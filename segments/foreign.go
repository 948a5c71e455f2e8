package segments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrNotSegment says that a file may be a good Arrow file, but has not the
// schema or the format version of a segment.
var ErrNotSegment = errors.New("not a Ledgerfold segment")

// DecodeFile yields the rows of a whole segment that nobody vouches for, batch
// by batch: a file handed in from outside, without an index and a manifest.
// What it yields keeps every rule of a segment; bytes that do not are a
// CorruptError that names object, and one of another schema or version is
// ErrNotSegment as well. Beside data itself, which uncompressed rows share, no
// batch takes more than max bytes of memory.
func DecodeFile(object string, data []byte, max int64) iter.Seq2[*Rows, error] {
	return func(yield func(*Rows, error) bool) {
		corrupt := func(err error) { yield(nil, &CorruptError{Object: object, Batch: -1, Err: err}) }
		n, err := parseFront(data)
		if err != nil {
			corrupt(err)
			return
		}
		in := newInflater()
		rest, row, last := data[n:], int64(0), None
		for batch := 0; ; batch++ {
			m, err := parseMessage(rest)
			if err == nil && m.bodyBytes > int64(len(rest))-m.metaBytes {
				err = fmt.Errorf("a message's body has length %d, with %d bytes left", m.bodyBytes, int64(len(rest))-m.metaBytes)
			}
			if err == nil && m.end {
				break
			}
			var rows *Rows
			if err == nil {
				rows, err = decodeBatch(m, rest[m.metaBytes:m.metaBytes+m.bodyBytes], All, in, budget(max))
			}
			if err == nil && rows.len > 0 && !rows.Position(0).After(last) {
				err = fmt.Errorf("it begins at %s, which does not lie after %s", rows.Position(0), last)
			}
			if err == nil && row+int64(rows.len) > math.MaxUint32 {
				err = errors.New("the segment has too many rows")
			}
			if err != nil {
				yield(nil, corruptBlock(object, batch, err))
				return
			}
			rest = rest[m.metaBytes+m.bodyBytes:]
			if rows.len == 0 {
				continue // never ours, and harmless
			}
			rows.first = uint32(row)
			row += int64(rows.len)
			last = rows.Position(rows.len - 1)
			if !yield(rows, nil) {
				return
			}
		}
		if err := checkBack(rest); err != nil {
			corrupt(err)
		}
	}
}

// An Arrow file is, from the front:
//
//	"ARROW1" 0 0 | schema message | record batch messages
//	    | end message | footer | int32 length of the footer | "ARROW1"
//
// The footer repeats the schema and where the batches lie. We know both, and
// never read it.

// parseFront checks magic and schema in front of a segment, and tells how many
// bytes they take.
func parseFront(b []byte) (int64, error) {
	const magic = fileMagic + "\x00\x00"
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return 0, errors.New("it does not begin as an Arrow file")
	}
	m, err := parseMessage(b[len(magic):])
	switch {
	case err != nil:
		return 0, err
	case m.end || m.kind != messageSchema || m.bodyBytes != 0:
		return 0, errors.New("it does not begin with a schema")
	}
	if err := checkSchema(m.header); err != nil {
		return 0, err
	}
	return int64(len(magic)) + m.metaBytes, nil
}

// checkBack checks what b, the end of a segment from its end message on, has
// around the footer.
func checkBack(b []byte) error {
	const tail = 4 + len(fileMagic)
	m, err := parseMessage(b)
	if err != nil || !m.end || len(b) < int(m.metaBytes)+tail {
		return errors.New("it does not end as an Arrow file")
	}
	footer := b[m.metaBytes : len(b)-tail]
	length := binary.LittleEndian.Uint32(b[len(b)-tail:])
	if int64(length) != int64(len(footer)) || string(b[len(b)-len(fileMagic):]) != fileMagic {
		return fmt.Errorf("it has %d bytes of footer, and says %d", len(footer), length)
	}
	return nil
}

// checkSchema compares a schema with ours. Arrow's reader would build what the
// bytes describe, however large that is; this one only walks along ours.
func checkSchema(schema table) error {
	want := Schema(All).Fields()
	err := func() error {
		if schema.int16(0) != 0 {
			return errors.New("it is big-endian")
		}
		if err := checkFields(schema, 1, want); err != nil {
			return err
		}
		for pair := range schema.tables(2) {
			if pair.text(0) != MetadataFormat {
				continue
			}
			if v := pair.text(1); v != strconv.Itoa(FormatVersion) {
				return fmt.Errorf("it has format version %.20q, want %d", v, FormatVersion)
			}
			return nil
		}
		return errors.New("it names no format version")
	}()
	if schema.f.bad {
		return errors.New("the schema points outside of itself")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotSegment, err)
	}
	return nil
}

// checkFields compares the fields listed in field i of t with want.
func checkFields(t table, i int64, want []arrow.Field) error {
	if n := t.count(i, 4); n != len(want) {
		return fmt.Errorf("it has %d columns, want %d", n, len(want))
	}
	n := 0
	for field := range t.tables(i) {
		if err := checkField(field, want[n]); err != nil {
			return err
		}
		n++
	}
	return nil
}

// Of Arrow's Schema.fbs: the numbers of types.
const (
	typeInt       = 2
	typeBinary    = 4
	typeUTF8      = 5
	typeTimestamp = 10
	typeList      = 12
	typeStruct    = 13

	unitMillisecond = 1
)

func checkField(field table, want arrow.Field) error {
	if name := field.text(0); name != want.Name {
		return fmt.Errorf("it has a column %.40q, want %q", name, want.Name)
	}
	if nullable := field.uint8(1) != 0; nullable != want.Nullable {
		return fmt.Errorf("column %s may be null: %v, want %v", want.Name, nullable, want.Nullable)
	}
	if _, ok := field.table(4); ok {
		return fmt.Errorf("column %s has a dictionary", want.Name)
	}
	kind := field.uint8(2)
	typ, _ := field.table(3)
	ok := false
	var children []arrow.Field
	switch t := want.Type.(type) {
	case *arrow.BinaryType:
		ok = kind == typeBinary
	case *arrow.StringType:
		ok = kind == typeUTF8
	case *arrow.TimestampType:
		ok = kind == typeTimestamp && typ.int16(0) == unitMillisecond && typ.text(1) == t.TimeZone
	case *arrow.ListType:
		ok = kind == typeList
		children = t.Fields()
	case *arrow.StructType:
		ok = kind == typeStruct
		children = t.Fields()
	case arrow.FixedWidthDataType: // what is left is integers
		signed := !arrow.IsUnsignedInteger(t.ID())
		ok = kind == typeInt && typ.int32(0) == int32(t.BitWidth()) && (typ.uint8(1) != 0) == signed
	}
	if !ok {
		return fmt.Errorf("column %s is not of type %s", want.Name, want.Type)
	}
	return checkFields(field, 5, children)
}

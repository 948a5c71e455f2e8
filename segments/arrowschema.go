package segments

import (
	"errors"
	"fmt"
)

// Of Arrow's Schema.fbs: the types of columns, by their numbers, and by the
// names they have in errors. The names of those that foreign.go has are there.
const (
	typeNull            = 1
	typeBool            = 6
	typeDecimal         = 7
	typeDate            = 8
	typeTime            = 9
	typeInterval        = 11
	typeFloatingPoint   = 3
	typeUnion           = 14
	typeFixedSizeBinary = 15
	typeFixedSizeList   = 16
	typeMap             = 17
	typeDuration        = 18
	typeLargeBinary     = 19
	typeLargeUTF8       = 20
	typeLargeList       = 21
	typeRunEndEncoded   = 22
	typeBinaryView      = 23
	typeUTF8View        = 24
	typeListView        = 25
	typeLargeListView   = 26
)

var typeNames = [...]string{
	typeNull: "null", typeInt: "int", typeFloatingPoint: "float", typeBinary: "binary", typeUTF8: "utf8",
	typeBool: "bool", typeDecimal: "decimal", typeDate: "date", typeTime: "time", typeTimestamp: "timestamp",
	typeInterval: "interval", typeList: "list", typeStruct: "struct", typeUnion: "union",
	typeFixedSizeBinary: "fixed-size binary", typeFixedSizeList: "fixed-size list", typeMap: "map",
	typeDuration: "duration", typeLargeBinary: "large binary", typeLargeUTF8: "large utf8",
	typeLargeList: "large list", typeRunEndEncoded: "run-end encoded", typeBinaryView: "binary view",
	typeUTF8View: "utf8 view", typeListView: "list view", typeLargeListView: "large list view",
}

// layout counts what a column, with all that is nested in it, takes of the
// lists in a record batch's metadata. A column of views has more buffers than
// that: each batch says how many.
type layout struct{ nodes, buffers, views int }

func (l *layout) add(m layout) {
	l.nodes += m.nodes
	l.buffers += m.buffers
	l.views += m.views
}

// arrowField is a column that is read, and where it stands in a batch.
type arrowField struct {
	name   string
	kind   uint8
	bits   int // of integers
	signed bool
	unit   int16 // of timestamps
	width  int   // of fixed-size binaries
	before layout

	// A dictionary holds the values, and the batches have indexes into it.
	dictionary Null[int64] // its id
	indexBits  int
	indexSign  bool

	// Of lists of properties: the two columns of their elements, and which of
	// them comes first.
	key, value *arrowField
	valueFirst bool
}

// schemaWalk goes through a schema that nobody vouches for. Tables in a
// flatbuffer can be listed more than once, so a few bytes can describe any
// number of columns: each step costs one of left, of which there are fewer than
// bytes.
type schemaWalk struct {
	left int
	err  error
}

const schemaDepthMax = 64

// layout is what a field takes. It makes nothing of the field, whatever it is.
func (w *schemaWalk) layout(field table, depth int) layout {
	if w.left--; w.left < 0 || depth > schemaDepthMax {
		w.fail(errors.New("the schema nests without end"))
		return layout{}
	}
	l := layout{nodes: 1}
	if _, ok := field.table(4); ok { // a dictionary: what is here are indexes
		l.buffers = 2
		return l
	}
	typ, _ := field.table(3)
	switch field.uint8(2) {
	case typeNull, typeRunEndEncoded:
	case typeStruct, typeFixedSizeList:
		l.buffers = 1
	case typeUnion:
		l.buffers = 1
		if typ.int16(0) == 1 { // dense
			l.buffers = 2
		}
	case typeInt, typeFloatingPoint, typeBool, typeDecimal, typeDate, typeTime, typeTimestamp, typeInterval, typeDuration, typeFixedSizeBinary,
		typeList, typeLargeList, typeMap:
		l.buffers = 2
	case typeBinary, typeUTF8, typeLargeBinary, typeLargeUTF8, typeListView, typeLargeListView:
		l.buffers = 3
	case typeBinaryView, typeUTF8View:
		l.buffers, l.views = 2, 1
	default:
		w.fail(fmt.Errorf("a column is of the unknown type %d", field.uint8(2)))
	}
	for child := range field.tables(5) {
		l.add(w.layout(child, depth+1))
		if w.err != nil {
			break
		}
	}
	return l
}

func (w *schemaWalk) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// use tells what a column is read as.
type use int

const (
	asBytes use = iota
	asInteger
	asTime
	asProperties
)

// newField is a column that is read as use says, from its field; before is
// what the columns in front of it take.
func newField(field table, name string, as use, before layout) (*arrowField, error) {
	f := &arrowField{name: name, kind: field.uint8(2), before: before}
	typ, _ := field.table(3)
	switch f.kind {
	case typeInt:
		f.bits, f.signed = int(typ.int32(0)), typ.uint8(1) != 0
	case typeTimestamp:
		f.unit = typ.int16(0)
	case typeFixedSizeBinary:
		f.width = int(typ.int32(0))
	}
	if dictionary, ok := field.table(4); ok {
		f.dictionary = Some(dictionary.int64(0))
		f.indexBits, f.indexSign = 32, true
		if index, ok := dictionary.table(1); ok {
			f.indexBits, f.indexSign = int(index.int32(0)), index.uint8(1) != 0
		}
		if !isWidth(f.indexBits) {
			return nil, fmt.Errorf("column %s has a dictionary with indexes of %d bits", name, f.indexBits)
		}
	}
	ok, want := false, ""
	switch as {
	case asBytes:
		ok, want = f.isBytes(), "binary or utf8"
	case asInteger:
		ok, want = f.kind == typeNull || f.kind == typeInt && isWidth(f.bits) && !f.dictionary.Valid, "an integer"
	case asTime:
		ok, want = f.kind == typeNull || f.kind == typeTimestamp && f.unit >= 0 && f.unit <= 3 && !f.dictionary.Valid, "a timestamp"
	case asProperties:
		ok, want = f.kind == typeNull || f.addProperties(field), "a list of (key, value), or a map"
	}
	if !ok {
		return nil, fmt.Errorf("column %s is of type %s, want %s", name, f.typeName(), want)
	}
	return f, nil
}

func isWidth(bits int) bool { return bits == 8 || bits == 16 || bits == 32 || bits == 64 }

func (f *arrowField) isBytes() bool {
	switch f.kind {
	case typeNull:
		return !f.dictionary.Valid
	case typeFixedSizeBinary:
		return f.width > 0 // or a few bytes could stand for any number of rows
	case typeBinary, typeUTF8, typeLargeBinary, typeLargeUTF8, typeBinaryView, typeUTF8View:
		return true
	}
	return false
}

// addProperties reports whether a column is a list of pairs, and finds them.
func (f *arrowField) addProperties(field table) bool {
	switch f.kind {
	case typeList, typeLargeList, typeMap:
	default:
		return false
	}
	if f.dictionary.Valid || field.count(5, 4) != 1 {
		return false
	}
	for pair := range field.tables(5) {
		if _, ok := pair.table(4); ok || pair.uint8(2) != typeStruct || pair.count(5, 4) != 2 {
			return false
		}
		n := 0
		for child := range pair.tables(5) {
			isKey := child.textIs(0, "key")
			if f.kind == typeMap {
				isKey = n == 0
			} else if !isKey && !child.textIs(0, "value") {
				return false
			}
			part, err := newField(child, f.name, asBytes, layout{}) // it is read right behind what is in front of it
			if err != nil {
				return false
			}
			if isKey {
				f.key, f.valueFirst = part, n == 1
			} else {
				f.value = part
			}
			n++
		}
	}
	return f.key != nil && f.value != nil && f.key.kind != typeNull
}

func (f *arrowField) typeName() string {
	name := "unknown"
	if int(f.kind) < len(typeNames) && typeNames[f.kind] != "" {
		name = typeNames[f.kind]
	}
	if f.kind == typeInt {
		name = fmt.Sprintf("int%d", f.bits)
		if !f.signed {
			name = "u" + name
		}
	}
	if f.dictionary.Valid {
		name = "dictionary of " + name
	}
	return name
}

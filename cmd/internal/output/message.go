package output

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrField says that a name is no field of a message line.
var ErrField = errors.New("no field of a message")

// field is one field of a message line.
type field struct {
	name string
	// append adds the field's name and value, or nothing where the message has
	// no such field.
	append func(o *object, m *segments.Message)
	// cell is the field in a table.
	cell func(m *segments.Message) string
	// payload says that it is read from the columns behind the headers.
	payload bool
}

// fields lists all, in the order in which a line has them.
var fields = []field{
	{
		name:   "id",
		append: func(o *object, m *segments.Message) { o.string("id", m.Position.String()) },
		cell:   func(m *segments.Message) string { return m.Position.String() },
	},
	{
		name: "batch_size",
		append: func(o *object, m *segments.Message) {
			if m.Position.Batch >= 0 {
				o.number("batch_size", int64(m.BatchSize))
			}
		},
		cell: func(m *segments.Message) string {
			if m.Position.Batch < 0 {
				return ""
			}
			return strconv.Itoa(int(m.BatchSize))
		},
	},
	{
		name: "key",
		append: func(o *object, m *segments.Message) {
			if m.Key != nil {
				o.bytes("key", m.Key)
			}
		},
		cell: func(m *segments.Message) string { return Cell(m.Key) },
	},
	{
		// A null value is told from an empty one by what is stored, not by the
		// kind: where a topic takes an empty value for a tombstone, it is still
		// printed as it came.
		name:    "value",
		append:  func(o *object, m *segments.Message) { o.bytes("value", m.Value) },
		cell:    func(m *segments.Message) string { return Cell(m.Value) },
		payload: true,
	},
	{
		name:   "publish_time",
		append: func(o *object, m *segments.Message) { o.string("publish_time", m.PublishTime.String()) },
		cell:   func(m *segments.Message) string { return m.PublishTime.String() },
	},
	{
		name: "event_time",
		append: func(o *object, m *segments.Message) {
			if m.EventTime.Valid {
				o.string("event_time", m.EventTime.V.String())
			}
		},
		cell: func(m *segments.Message) string { return cellOf(m.EventTime) },
	},
	{
		name: "producer",
		append: func(o *object, m *segments.Message) {
			if m.Producer.Valid {
				o.string("producer", m.Producer.V)
			}
		},
		cell: func(m *segments.Message) string { return cellOf(m.Producer) },
	},
	{
		name: "sequence",
		append: func(o *object, m *segments.Message) {
			if m.Sequence.Valid {
				o.string("sequence", strconv.FormatInt(m.Sequence.V, 10))
			}
		},
		cell: func(m *segments.Message) string { return cellOf(m.Sequence) },
	},
	{
		name: "epoch",
		append: func(o *object, m *segments.Message) {
			if m.Epoch.Valid {
				o.number("epoch", int64(m.Epoch.V))
			}
		},
		cell: func(m *segments.Message) string { return cellOf(m.Epoch) },
	},
	{
		name: "txn",
		append: func(o *object, m *segments.Message) {
			if m.Txn.Valid {
				o.string("txn", m.Txn.V.String())
			}
		},
		cell: func(m *segments.Message) string { return cellOf(m.Txn) },
	},
	{
		name: "ordering_key",
		append: func(o *object, m *segments.Message) {
			if m.OrderingKey != nil {
				o.bytes("ordering_key", m.OrderingKey)
			}
		},
		cell: func(m *segments.Message) string { return Cell(m.OrderingKey) },
	},
	{
		name: "properties",
		append: func(o *object, m *segments.Message) {
			if len(m.Properties) > 0 {
				o.properties("properties", m.Properties)
			}
		},
		cell: func(m *segments.Message) string {
			var texts []string
			for _, p := range m.Properties {
				texts = append(texts, p.Key+"="+Cell(p.Value))
			}
			return strings.Join(texts, " ")
		},
		payload: true,
	},
}

// Fields are those that a message is shown with, in order.
type Fields []field

// AllFields are those of a message line. Transactions are among them only
// where what is shown may be undecided: under read-committed everything is
// settled, and a copy of it must not open transactions anew.
func AllFields(txn bool) Fields {
	return slices.DeleteFunc(slices.Clone(Fields(fields)), func(f field) bool { return f.name == "txn" && !txn })
}

// TableFields are those that a table shows.
func TableFields() Fields {
	chosen, _ := ParseFields("id,publish_time,key,value")
	return chosen
}

// ParseFields reads names of fields, as in id,key,value. Its errors are
// ErrField.
func ParseFields(text string) (Fields, error) {
	var chosen Fields
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%q: %w (want some of %s)", name, ErrField, fieldNames())
		}
		if slices.ContainsFunc(chosen, func(f field) bool { return f.name == name }) {
			return nil, fmt.Errorf("%q: %w twice", name, ErrField)
		}
		chosen = append(chosen, fields[i])
	}
	return chosen, nil
}

func fieldNames() string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ",")
}

// NeedPayload reports whether values or properties are shown.
func (f Fields) NeedPayload() bool {
	return slices.ContainsFunc(f, func(f field) bool { return f.payload })
}

// Columns are those of a table of messages.
func (f Fields) Columns() []Column {
	var columns []Column
	for _, field := range f {
		columns = append(columns, Column{Name: field.name, Most: 80})
	}
	return columns
}

// Cells are a message's cells in such a table.
func (f Fields) Cells(m *segments.Message) []any {
	var cells []any
	for _, field := range f {
		cells = append(cells, field.cell(m))
	}
	return cells
}

// AppendLine appends m as a JSON object, without a line break. Bytes that are
// not UTF-8 are given as base64, under the field's name and _base64.
func (f Fields) AppendLine(b []byte, m *segments.Message) []byte {
	o := object{b: append(b, '{')}
	for _, field := range f {
		field.append(&o, m)
	}
	return append(o.b, '}')
}

// AppendDeleted appends the line that says that a key is gone.
func AppendDeleted(b, key []byte) []byte {
	o := object{b: append(b, '{')}
	o.bytes("key", key)
	o.name("deleted")
	return append(o.b, "true}"...)
}

func cellOf[T any](v segments.Null[T]) string {
	if !v.Valid {
		return ""
	}
	return fmt.Sprint(v.V)
}

// object is a JSON object that is being written. encoding/json would need a
// struct for each choice of fields, and is several times slower.
type object struct{ b []byte }

// name begins the next field.
func (o *object) name(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) number(name string, n int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) string(name, value string) {
	o.name(name)
	o.b = appendString(o.b, value)
}

// bytes writes text as text, anything else as base64, and nil as null.
func (o *object) bytes(name string, value []byte) {
	switch {
	case value == nil:
		o.name(name)
		o.b = append(o.b, "null"...)
	case utf8.Valid(value):
		o.name(name)
		o.b = appendString(o.b, value)
	default:
		o.name(name + "_base64")
		o.b = append(o.b, '"')
		o.b = base64.StdEncoding.AppendEncode(o.b, value)
		o.b = append(o.b, '"')
	}
}

func (o *object) properties(name string, properties []segments.Property) {
	o.name(name)
	o.b = append(o.b, '[')
	for i, p := range properties {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		one := object{b: append(o.b, '{')}
		one.string("key", p.Key)
		one.bytes("value", p.Value)
		o.b = append(one.b, '}')
	}
	o.b = append(o.b, ']')
}

// appendString appends text as a JSON string. Besides what JSON asks for, the
// control characters from DEL to U+009F are escaped (see escapeControls).
func appendString[T string | []byte](b []byte, text T) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(append(b, text[start:i]...), '\\', c)
		case c == '\n':
			b = append(append(b, text[start:i]...), '\\', 'n')
		case c == '\t':
			b = append(append(b, text[start:i]...), '\\', 't')
		case c == '\r':
			b = append(append(b, text[start:i]...), '\\', 'r')
		case c < 0x20 || c == 0x7f:
			b = appendEscape(append(b, text[start:i]...), rune(c))
		case c == 0xc2 && i+1 < len(text) && text[i+1] <= 0x9f: // U+0080 to U+009F
			b = appendEscape(append(b, text[start:i]...), rune(text[i+1]))
			i++
		default:
			continue
		}
		start = i + 1
	}
	return append(append(b, text[start:]...), '"')
}

package ndjson

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Field is a part of a message that a line can show.
type Field string

// The fields, in the order in which lines show them unless they are asked for
// in another.
const (
	ID          Field = "id"
	BatchSize   Field = "batch_size" // of a message of a batch only
	Key         Field = "key"        // key_base64 where it is not UTF-8; likewise value and ordering_key
	Value       Field = "value"
	PublishTime Field = "publish_time"
	EventTime   Field = "event_time"
	Producer    Field = "producer"
	Sequence    Field = "sequence"
	Epoch       Field = "epoch"
	Txn         Field = "txn"
	OrderingKey Field = "ordering_key"
	Properties  Field = "properties"
)

// ErrField says that a text is not the name of a field, or names one twice.
var ErrField = errors.New("bad field")

// AllFields lists all fields.
func AllFields() []Field {
	return []Field{ID, BatchSize, Key, Value, PublishTime, EventTime, Producer, Sequence, Epoch, Txn, OrderingKey, Properties}
}

// SettledFields lists what is shown of committed messages: all but the
// transaction. Without it the lines can be ingested again, and open nothing.
func SettledFields() []Field {
	return slices.DeleteFunc(AllFields(), func(f Field) bool { return f == Txn })
}

// ParseFields reads a list of field names with commas between them, as in
// id,key,value. Its errors are ErrField.
func ParseFields(list string) ([]Field, error) {
	var fields []Field
	for name := range strings.SplitSeq(list, ",") {
		field := Field(name)
		if !slices.Contains(AllFields(), field) {
			return nil, fmt.Errorf("%w: %q is none (want some of %s)", ErrField, name, joined(AllFields()))
		}
		if slices.Contains(fields, field) {
			return nil, fmt.Errorf("%w: %q is there twice", ErrField, name)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func joined(fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

// Append adds the line of m to dst, without a newline. It shows the given
// fields in their order and leaves out those that m does not have. A value is
// always had; null is one.
func Append(dst []byte, m *segments.Message, fields []Field) []byte {
	dst = append(dst, '{')
	for _, f := range fields {
		dst = appendField(dst, m, f)
	}
	// Every field wrote a comma behind itself.
	dst = trimComma(dst)
	return append(dst, '}')
}

func appendField(dst []byte, m *segments.Message, f Field) []byte {
	switch f {
	case ID:
		dst = append(dst, `"id":"`...)
		dst = appendPosition(dst, m.Position)
		dst = append(dst, `",`...)
	case BatchSize:
		if m.Position.Batch >= 0 {
			dst = append(dst, `"batch_size":`...)
			dst = strconv.AppendInt(dst, int64(m.BatchSize), 10)
			dst = append(dst, ',')
		}
	case Key:
		if m.Key != nil {
			dst = appendBytes(dst, "key", m.Key)
		}
	case Value:
		dst = appendBytes(dst, "value", m.Value)
	case PublishTime:
		dst = appendTime(dst, `"publish_time":"`, m.PublishTime)
	case EventTime:
		if m.EventTime.Valid {
			dst = appendTime(dst, `"event_time":"`, m.EventTime.V)
		}
	case Producer:
		if m.Producer.Valid {
			dst = append(dst, `"producer":`...)
			dst = appendString(dst, m.Producer.V)
			dst = append(dst, ',')
		}
	case Sequence:
		if m.Sequence.Valid {
			dst = append(dst, `"sequence":"`...)
			dst = strconv.AppendInt(dst, m.Sequence.V, 10)
			dst = append(dst, `",`...)
		}
	case Epoch:
		if m.Epoch.Valid {
			dst = append(dst, `"epoch":`...)
			dst = strconv.AppendInt(dst, int64(m.Epoch.V), 10)
			dst = append(dst, ',')
		}
	case Txn:
		if m.Txn.Valid {
			dst = append(dst, `"txn":"`...)
			dst = strconv.AppendUint(dst, m.Txn.V.Most, 10)
			dst = append(dst, ',')
			dst = strconv.AppendUint(dst, m.Txn.V.Least, 10)
			dst = append(dst, `",`...)
		}
	case OrderingKey:
		if m.OrderingKey != nil {
			dst = appendBytes(dst, "ordering_key", m.OrderingKey)
		}
	case Properties:
		if len(m.Properties) > 0 {
			dst = append(dst, `"properties":[`...)
			for _, p := range m.Properties {
				dst = append(dst, `{"key":`...)
				dst = appendString(dst, p.Key)
				dst = append(dst, ',')
				dst = trimComma(appendBytes(dst, "value", p.Value))
				dst = append(dst, `},`...)
			}
			dst = append(trimComma(dst), `],`...)
		}
	}
	return dst
}

// appendBytes shows bytes as text, or in base64 where they are not UTF-8.
func appendBytes(dst []byte, name string, b []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, name...)
	switch {
	case b == nil:
		dst = append(dst, `":null`...)
	case utf8.Valid(b):
		dst = append(dst, `":`...)
		dst = appendText(dst, b)
	default:
		dst = append(dst, `_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, b)
		dst = append(dst, '"')
	}
	return append(dst, ',')
}

func appendPosition(dst []byte, p segments.Position) []byte {
	dst = strconv.AppendInt(dst, p.Ledger, 10)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, p.Entry, 10)
	if p.Batch >= 0 {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(p.Batch), 10)
	}
	return dst
}

func appendTime(dst []byte, name string, m segments.Millis) []byte {
	dst = append(dst, name...)
	dst = m.Time().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00")
	return append(dst, `",`...)
}

// appendString shows text as a JSON string. What is not UTF-8 (a producer that
// did not come from a line) cannot be one, and shows as replacement characters.
func appendString(dst []byte, text string) []byte {
	return appendText(dst, []byte(strings.ToValidUTF8(text, "\ufffd")))
}

// appendText shows UTF-8 as a JSON string. It escapes what JSON demands and
// nothing else, so that text stays readable and comes back byte for byte.
func appendText(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for {
		n := jsontext.Plain(text)
		dst = append(dst, text[:n]...)
		if n == len(text) {
			return append(dst, '"')
		}
		switch c := text[n]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&0xf])
		}
		text = text[n+1:]
	}
}

func trimComma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] == ',' {
		return dst[:n-1]
	}
	return dst
}

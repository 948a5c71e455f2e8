package output

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TableFields are those that a table of messages shows unless others are asked
// for.
func TableFields() []ndjson.Field {
	return []ndjson.Field{ndjson.ID, ndjson.PublishTime, ndjson.Key, ndjson.Value}
}

// Columns are those of a table of messages.
func Columns(fields []ndjson.Field) []Column {
	var columns []Column
	for _, f := range fields {
		columns = append(columns, Column{Name: string(f), Most: 80})
	}
	return columns
}

// Cells are a message's cells in such a table. What it does not have is empty.
func Cells(m *segments.Message, fields []ndjson.Field) []any {
	var cells []any
	for _, f := range fields {
		cells = append(cells, cell(m, f))
	}
	return cells
}

func cell(m *segments.Message, f ndjson.Field) string {
	switch f {
	case ndjson.ID:
		return m.Position.String()
	case ndjson.BatchSize:
		if m.Position.Batch < 0 {
			return ""
		}
		return strconv.Itoa(int(m.BatchSize))
	case ndjson.Key:
		return Cell(m.Key)
	case ndjson.Value:
		return Cell(m.Value)
	case ndjson.PublishTime:
		return m.PublishTime.String()
	case ndjson.EventTime:
		return ifThere(m.EventTime)
	case ndjson.Producer:
		return ifThere(m.Producer)
	case ndjson.Sequence:
		return ifThere(m.Sequence)
	case ndjson.Epoch:
		return ifThere(m.Epoch)
	case ndjson.Txn:
		return ifThere(m.Txn)
	case ndjson.OrderingKey:
		return Cell(m.OrderingKey)
	case ndjson.Properties:
		var texts []string
		for _, p := range m.Properties {
			texts = append(texts, p.Key+"="+Cell(p.Value))
		}
		return strings.Join(texts, " ")
	}
	panic("no cell for field " + f)
}

func ifThere[T any](v segments.Null[T]) string {
	if !v.Valid {
		return ""
	}
	return fmt.Sprint(v.V)
}

// Line writes the line of a message.
func (w *Writer) Line(m *segments.Message, fields []ndjson.Field) error {
	w.line = append(ndjson.Append(w.line[:0], m, fields), '\n')
	_, err := w.Write(w.shown(w.line))
	return err
}

// Gone writes the line that says that a key is gone.
func (w *Writer) Gone(key []byte) error {
	w.line = ndjson.Append(w.line[:0], &segments.Message{Key: key}, []ndjson.Field{ndjson.Key})
	w.line = append(bytes.TrimSuffix(w.line, []byte("}")), ",\"deleted\":true}\n"...)
	_, err := w.Write(w.shown(w.line))
	return err
}

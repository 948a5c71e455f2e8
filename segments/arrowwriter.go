package segments

import (
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ArrowWriter writes messages as an Arrow IPC file with the columns of a
// segment, or some of them, for other tools and for ArrowReader. It is no
// segment: nothing says what it covers, its rows are in whatever order they
// come, and it has no metadata. It is written from the front to the back, and
// in memory is one record batch.
type ArrowWriter struct {
	file    *ipc.FileWriter
	schema  *arrow.Schema
	chosen  []int // columns, by their place in Schema
	columns *columns
	bytes   int64 // of the rows that are not written yet
	rows    int
}

// arrowBatchBytes is when a record batch is closed, as a segment's.
const arrowBatchBytes = DefaultBatchBytes

// NewArrowWriter writes the named columns to w, in their order; all where none
// are named.
func NewArrowWriter(w io.Writer, names ...string) (*ArrowWriter, error) {
	all := Schema(All)
	a := &ArrowWriter{columns: newColumns()}
	if len(names) == 0 {
		for _, f := range all.Fields() {
			names = append(names, f.Name)
		}
	}
	var fields []arrow.Field
	for _, name := range names {
		found := all.FieldIndices(name)
		if len(found) == 0 {
			return nil, fmt.Errorf("a message has no column %q", name)
		}
		if !slices.Contains(a.chosen, found[0]) {
			a.chosen = append(a.chosen, found[0])
			fields = append(fields, all.Field(found[0]))
		}
	}
	a.schema = arrow.NewSchema(fields, nil)
	var err error
	a.file, err = ipc.NewFileWriter(w, ipc.WithSchema(a.schema), ipc.WithAllocator(memory.NewGoAllocator()))
	if err != nil {
		return nil, fmt.Errorf("start Arrow file: %w", err)
	}
	return a, nil
}

// Write adds a message, whose memory stays the caller's.
func (a *ArrowWriter) Write(m *Message) error {
	size := m.Bytes()
	if size > maxBatchBytes {
		return fmt.Errorf("message at %s: its %d bytes are more than the %d a batch can hold", m.Position, size, int64(maxBatchBytes))
	}
	if a.rows > 0 && a.bytes+size > arrowBatchBytes {
		if err := a.flush(); err != nil {
			return err
		}
	}
	a.columns.add(m)
	a.rows++
	a.bytes += size
	return nil
}

// flush writes the record batch of the rows so far.
func (a *ArrowWriter) flush() error {
	batch := a.columns.batch()
	chosen := make([]arrow.Array, len(a.chosen))
	for i, c := range a.chosen {
		chosen[i] = batch.Column(c)
	}
	err := a.file.Write(array.NewRecordBatch(a.schema, chosen, int64(a.rows)))
	a.rows, a.bytes = 0, 0
	if err != nil {
		return fmt.Errorf("write Arrow file: %w", err)
	}
	return nil
}

// Close writes what is left, and the end of the file. It leaves the writer
// below open.
func (a *ArrowWriter) Close() error {
	if a.rows > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	if err := a.file.Close(); err != nil {
		return fmt.Errorf("end Arrow file: %w", err)
	}
	return nil
}

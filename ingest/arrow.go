package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/ledgerfold/ledgerfold/segments"
)

// arrowTable is the format of Arrow files and streams: segments, what reader
// read -o arrow wrote, and any table that has the columns key and value. The
// others of a segment count where they are there.
type arrowTable struct {
	reader *segments.ArrowReader
	now    segments.Millis
	rows   *segments.ArrowRows
	row    int   // of rows, the next one
	read   int64 // rows of the whole input

	message [1]segments.Message
}

func newArrow(in *bufio.Reader, s *Settings) format {
	limits := segments.ArrowLimits{BodyBytes: max(s.LineBytesMax, s.InflatedBytesMax), InflatedBytes: s.InflatedBytesMax}
	return &arrowTable{reader: segments.NewArrowReader("arrow input", in, limits), now: segments.MillisOf(s.Now)}
}

func (f *arrowTable) next(rec *record) error {
	for f.rows == nil || f.row == f.rows.Len() {
		rows, err := f.reader.Next()
		switch {
		case err == io.EOF:
			return io.EOF
		case errors.Is(err, segments.ErrCorrupt), errors.Is(err, segments.ErrNotMessages), errors.Is(err, errUnpack):
			return inRows.bad(f.read+1, err)
		case err != nil:
			return err
		}
		f.rows, f.row = rows, 0
	}
	f.read++
	m := &f.message[0]
	*m = segments.Message{Position: segments.None, BatchSize: 1, PublishTime: f.now}
	err := f.rows.Read(f.row, m)
	f.row++
	if err == nil {
		err = f.record(m, rec)
	}
	if err != nil {
		return inRows.bad(f.read, err)
	}
	return nil
}

// record makes rec of a row, whose columns must go together.
func (f *arrowTable) record(m *segments.Message, rec *record) error {
	*rec = record{line: f.read}
	if !m.Position.IsNone() {
		rec.id = segments.Some(m.Position)
	}
	kind, at := m.Kind, m.Position
	m.Kind, m.Position = segments.KindMessage, segments.None
	switch {
	case kind.IsMarker() && !m.Txn.Valid:
		return errors.New("a marker without a transaction")
	case kind.IsMarker() && (m.Key != nil || m.Value != nil):
		return errors.New("a marker with a key or a value")
	case kind.IsMarker() && at.Batch >= 0:
		return fmt.Errorf("a marker takes an entry of its own, not %s", at)
	case kind.IsMarker():
		rec.kind, rec.txn = kind, m.Txn.V
		return nil
	case kind == segments.KindTombstone && m.Key == nil:
		return errors.New("a tombstone without a key")
	case kind == segments.KindTombstone && len(m.Value) > 0:
		return errors.New("a tombstone with a value")
	case at.Batch < 0 && m.BatchSize != 1:
		return fmt.Errorf("a batch size of %d without an index", m.BatchSize)
	case at.Batch >= m.BatchSize:
		return fmt.Errorf("index %d does not fit into a batch of %d", at.Batch, m.BatchSize)
	}
	rec.messages = f.message[:]
	return nil
}

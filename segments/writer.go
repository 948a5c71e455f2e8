package segments

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
)

// DefaultBatchBytes is the BatchBytes of settings that name none.
const DefaultBatchBytes = 1 << 20

// maxBatchBytes keeps the offsets of a batch's columns in 31 bits.
const maxBatchBytes = math.MaxInt32

// WriterSettings say how a segment is written.
type WriterSettings struct {
	Topic       string      // id of the topic, kept in the file
	Writer      string      // who writes, kept in the file: "ledgerfold 1.2.3"
	BatchBytes  int64       // a record batch is closed at this size; at least one row; 0 is DefaultBatchBytes
	Compression Compression // of column buffers; empty is none
}

// Writer builds one segment and its key index in memory. Rows go in in
// position order. It is not safe for concurrent use.
//
// Rows are gathered into record batches of bounded size. The batches are kept
// as they are until Seal, since the range that the segment covers stands in
// front of them and is known only then. The same rows and settings make the
// same bytes.
type Writer struct {
	settings WriterSettings
	hasher   Hasher
	sealed   bool

	columns *columns // of the batch that is filling
	filling batch
	batches []batch

	tally      tally
	last       Position
	rows       uint32
	bytes      int64
	entries    []entry
	tombstones *roaring.Bitmap
}

// batch is one record batch on its way into the file. Its record is nil while
// it fills, and again once it is written.
type batch struct {
	Block
	bytes  int64
	record arrow.RecordBatch
}

// NewWriter starts a segment; digests of its keys come from h.
func NewWriter(s WriterSettings, h Hasher) *Writer {
	if s.BatchBytes <= 0 {
		s.BatchBytes = DefaultBatchBytes
	}
	s.BatchBytes = min(s.BatchBytes, maxBatchBytes)
	if s.Compression == "" {
		s.Compression = CompressionNone
	}
	return &Writer{settings: s, hasher: h, columns: newColumns(), last: None, tombstones: roaring.New()}
}

// Append adds a row, whose memory stays the caller's. It fails if m does not
// lie after the row before it, or does not fit its kind. A row that is refused
// leaves the segment as it was.
func (w *Writer) Append(m *Message) error {
	if err := w.check(m); err != nil {
		return fmt.Errorf("append row at %s: %w", m.Position, err)
	}
	size := m.Bytes()
	if w.filling.Rows > 0 && w.filling.bytes+size > w.settings.BatchBytes {
		w.closeBatch()
	}
	if w.filling.Rows == 0 {
		w.filling = batch{Block: Block{FirstRow: w.rows, First: m.Position, MaxPublish: m.PublishTime}}
	}
	w.columns.add(m)
	w.filling.Rows++
	w.filling.Last = m.Position
	w.filling.MaxPublish = max(w.filling.MaxPublish, m.PublishTime)
	w.filling.bytes += size

	if m.Key != nil {
		w.entries = append(w.entries, newEntry(w.hasher.Digest(m.Key), w.rows))
	}
	if m.Kind == KindTombstone {
		w.tombstones.Add(w.rows)
	}
	w.tally.add(m)
	w.last = m.Position
	w.rows++
	w.bytes += size
	return nil
}

func (w *Writer) check(m *Message) error {
	if w.sealed {
		return errors.New("the segment is sealed")
	}
	if !m.Position.After(w.last) {
		return fmt.Errorf("it does not lie after %s", w.last)
	}
	if err := shapeOf(m).check(); err != nil {
		return err
	}
	if m.Bytes() > maxBatchBytes {
		return fmt.Errorf("its %d bytes are more than the %d a batch can hold", m.Bytes(), int64(maxBatchBytes))
	}
	if w.rows == math.MaxUint32 {
		return errors.New("the segment is full of rows")
	}
	if !utf8.ValidString(m.Producer.V) {
		return fmt.Errorf("producer %q is not UTF-8", m.Producer.V)
	}
	if i := slices.IndexFunc(m.Properties, func(p Property) bool { return !utf8.ValidString(p.Key) }); i >= 0 {
		return fmt.Errorf("property key %q is not UTF-8", m.Properties[i].Key)
	}
	return nil
}

func (w *Writer) closeBatch() {
	w.filling.record = w.columns.batch()
	w.batches = append(w.batches, w.filling)
	w.filling = batch{}
}

// Rows is the number of rows so far.
func (w *Writer) Rows() int { return int(w.rows) }

// Bytes is the size of the rows so far (Message.Bytes), before compression.
func (w *Writer) Bytes() int64 { return w.bytes }

// Seal ends the segment, which covers r: all its rows lie in r. The writer
// cannot be used any more, whatever comes of it. A segment without rows cannot
// be sealed.
func (w *Writer) Seal(r Range) (*Sealed, error) {
	if w.sealed {
		return nil, errors.New("seal segment: it is sealed")
	}
	w.sealed = true
	if w.rows == 0 {
		return nil, fmt.Errorf("seal segment %s: it has no rows", r)
	}
	if w.filling.Rows > 0 {
		w.closeBatch()
	}
	first := w.batches[0].First
	if !r.Contains(first) || !r.Contains(w.last) {
		return nil, fmt.Errorf("seal segment %s: its rows from %s to %s leave the range", r, first, w.last)
	}
	sealed := &Sealed{Data: new(Buffer)}
	w.tally.fill(&sealed.Info)
	blocks, err := w.writeData(sealed, r)
	if err != nil {
		return nil, fmt.Errorf("seal segment %s: %w", r, err)
	}
	if err := w.writeIndex(sealed, blocks); err != nil {
		return nil, fmt.Errorf("seal segment %s: %w", r, err)
	}
	return sealed, nil
}

// Sealed is a finished segment, ready to be put. Its two bodies are the whole
// of the two objects.
type Sealed struct {
	Info  Info
	Data  *Buffer // the Arrow IPC file
	Index *Buffer // the key index
}

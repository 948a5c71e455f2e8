package segments

// WriterSettings say how a segment is written.
type WriterSettings struct {
	Topic       string      // id of the topic, kept in the file
	Writer      string      // who writes, kept in the file: "ledgerfold 1.2.3"
	BatchBytes  int64       // a record batch is closed at this size; at least one row
	Compression Compression // of column buffers
}

// Writer builds one segment and its key index in memory. Rows go in in
// position order. It is not safe for concurrent use.
type Writer struct{}

// NewWriter starts a segment; digests of its keys come from h.
func NewWriter(s WriterSettings, h Hasher) *Writer { panic("not built") }

// Append adds a row, whose memory stays the caller's. It fails if m does not
// lie after the row before it, or does not fit its kind.
func (w *Writer) Append(m *Message) error { panic("not built") }

// Rows is the number of rows so far.
func (w *Writer) Rows() int { panic("not built") }

// Bytes is the size of the rows so far (Message.Bytes), before compression.
func (w *Writer) Bytes() int64 { panic("not built") }

// Seal ends the segment, which covers r: all its rows lie in r. The writer
// cannot be used any more. A segment without rows cannot be sealed.
func (w *Writer) Seal(r Range) (*Sealed, error) { panic("not built") }

// Sealed is a finished segment, ready to be put. Its two bodies are the whole
// of the two objects.
type Sealed struct {
	Info  Info
	Data  *Buffer // the Arrow IPC file
	Index *Buffer // the key index
}

// Buffer is bytes in memory that can be read again from any place. It is an
// objstore.Body.
type Buffer struct{}

// ReadAt implements io.ReaderAt.
func (b *Buffer) ReadAt(p []byte, off int64) (int, error) { panic("not built") }

// Size is the number of bytes.
func (b *Buffer) Size() int64 { panic("not built") }

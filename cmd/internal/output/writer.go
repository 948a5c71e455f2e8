package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/mattn/go-isatty"
)

// ErrClosed says that nobody reads standard output any more, as when it is
// piped into head. It ends a command, and is no failure.
var ErrClosed = errors.New("standard output is closed")

// Writer is standard output. It is buffered; who wants a line seen flushes. It
// remembers its first error, so that a caller may ask once at the end.
type Writer struct {
	buf      *bufio.Writer
	terminal bool
	line     []byte
	err      error
}

// NewWriter buffers what goes to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{buf: bufio.NewWriterSize(w, 64<<10), terminal: IsTerminal(w)}
}

// IsTerminal reports whether a stream ends at a person.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// IsTerminal reports whether what is written ends at a person.
func (w *Writer) IsTerminal() bool { return w.terminal }

// Write adds to what is written.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.buf.Write(p)
	w.err = outputError(err)
	return n, w.err
}

// Flush writes what is buffered, and returns the first error of all.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = outputError(w.buf.Flush())
	}
	return w.err
}

// outputError tells a closed standard output from one that fails.
func outputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		return ErrClosed
	}
	return fmt.Errorf("write standard output: %w", err)
}

package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// inputBytes is how much of an input is read at once.
	inputBytes = 256 << 10

	// windowBytesMax is how far back a zstd input may refer, which the decoder
	// has to keep. It is what zstd itself takes unless told otherwise.
	windowBytesMax = 128 << 20
)

// source is the input as it comes. It counts the bytes, and remembers its own
// error, to tell an input that cannot be read from one that makes no sense.
type source struct {
	r     io.Reader
	bytes int64
	err   error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.bytes += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// The first bytes of compressed inputs. No text begins with them.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skipMagic = []byte{0x2a, 0x4d, 0x18} // of a zstd frame to skip, behind a byte of 0x50 to 0x5f
)

// plain is the input without its compression, which is told by the first
// bytes, and what has to be called when it is read.
func plain(s *source) (*bufio.Reader, func(), error) {
	r := bufio.NewReaderSize(s, inputBytes)
	head, err := r.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, s.blame("gzip", err)
		}
		return bufio.NewReaderSize(&unpacking{z, s, "gzip"}, inputBytes), func() { z.Close() }, nil
	case bytes.Equal(head, zstdMagic), len(head) == 4 && head[0]>>4 == 5 && bytes.Equal(head[1:], skipMagic):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytesMax))
		if err != nil {
			return nil, nil, s.blame("zstd", err)
		}
		return bufio.NewReaderSize(&unpacking{z, s, "zstd"}, inputBytes), z.Close, nil
	}
	return r, func() {}, nil
}

// unpacking reads from a decompressor and says whose fault an error is.
type unpacking struct {
	r    io.Reader
	from *source
	kind string
}

func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF {
		err = u.from.blame(u.kind, err)
	}
	return n, err
}

// errUnpack says that a compressed input is not what a compressor wrote.
var errUnpack = errors.New("cannot be decompressed")

// blame is the error for a decompressor that met err: the input's own, if that
// could not be read.
func (s *source) blame(kind string, err error) error {
	if s.err != nil {
		return s.err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s input %w: %w", kind, errUnpack, err)
}

// lines cuts an input into lines.
type lines struct {
	r    *bufio.Reader
	max  int64
	read int64  // lines so far
	long []byte // a line that is longer than the reader's own memory
}

// byteOrderMark is what some systems put in front of UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// longKept is the room for long lines that is kept for the next one.
const longKept = 4 << 20

// next is the next line that is not blank, without its newline. It is valid,
// and may be changed, until the next call. After the last it is io.EOF; what
// is wrong with the line, or in front of it, is a LineError.
func (l *lines) next() ([]byte, error) {
	for {
		text, err := l.line()
		if err != nil {
			return nil, err
		}
		if l.read == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		if len(bytes.Trim(text, " \t\r")) > 0 {
			return text, nil
		}
	}
}

func (l *lines) line() ([]byte, error) {
	text, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		if l.long = l.long[:0]; cap(l.long) > longKept {
			l.long = nil
		}
		for err == bufio.ErrBufferFull {
			l.long = append(l.long, text...)
			if int64(len(l.long)) > l.max {
				return nil, &LineError{l.read + 1, fmt.Errorf("longer than %d bytes; --max-line allows more", l.max)}
			}
			text, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, text...)
		text = l.long
	}
	switch {
	case err == io.EOF && len(text) == 0:
		return nil, io.EOF
	case errors.Is(err, errUnpack):
		return nil, &LineError{l.read + 1, err}
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("read input, line %d: %w", l.read+1, err)
	}
	l.read++
	text = bytes.TrimSuffix(text, []byte("\n"))
	if int64(len(text)) > l.max {
		return nil, &LineError{l.read, fmt.Errorf("longer than %d bytes; --max-line allows more", l.max)}
	}
	return text, nil
}

package ingest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// values cuts an input into JSON objects that follow each other, with blanks
// and newlines between them and inside.
type values struct {
	r    *bufio.Reader
	max  int64
	line int64 // that is read, from 1
	text []byte
}

// next is the next object, which may be no JSON inside, and the line where it
// begins. It is valid, and may be changed, until the next call. After the last
// it is io.EOF; what is wrong is a LineError.
func (v *values) next() (text []byte, line int64, err error) {
	if err := v.begin(); err != nil {
		return nil, 0, err
	}
	line = v.line
	if v.text = v.text[:0]; cap(v.text) > longKept {
		v.text = nil
	}
	var in jsonState
	for {
		chunk, err := v.chunk(line)
		if err != nil {
			return nil, 0, err
		}
		n, done := in.walk(chunk, &v.line)
		v.text = append(v.text, chunk[:n]...)
		v.discard(n)
		if int64(len(v.text)) > v.max {
			return nil, 0, &LineError{line, fmt.Errorf("longer than %d bytes", v.max)}
		}
		if done {
			return v.text, line, nil
		}
	}
}

// begin goes to the next object.
func (v *values) begin() error {
	if v.line == 1 {
		if mark, _ := v.r.Peek(len(byteOrderMark)); string(mark) == string(byteOrderMark) {
			v.discard(len(mark))
		}
	}
	for {
		c, err := v.r.ReadByte()
		switch {
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return v.failed(v.line, err)
		case c == '\n':
			v.line++
		case c == '{':
			return v.r.UnreadByte()
		case c != ' ' && c != '\t' && c != '\r':
			return &LineError{v.line, fmt.Errorf("%q, want an object", rune(c))}
		}
	}
}

// chunk is what is there to be read, at least one byte.
func (v *values) chunk(line int64) ([]byte, error) {
	if _, err := v.r.Peek(1); err != nil {
		if err == io.EOF {
			return nil, &LineError{line, errors.New("the input ends within an object that begins here")}
		}
		return nil, v.failed(line, err)
	}
	return v.r.Peek(v.r.Buffered())
}

// discard passes over bytes that are buffered.
func (v *values) discard(n int) { _, _ = v.r.Discard(n) }

// failed tells an input that does not decompress from one that cannot be read.
func (v *values) failed(line int64, err error) error {
	if errors.Is(err, errUnpack) {
		return &LineError{line, err}
	}
	return fmt.Errorf("read input, line %d: %w", line, err)
}

// jsonState tells where in an object one is.
type jsonState struct {
	depth     int
	inString  bool
	isEscaped bool
}

// walk goes on through b to the end of the object, or of b, and counts lines.
func (s *jsonState) walk(b []byte, line *int64) (n int, done bool) {
	for i, c := range b {
		switch {
		case s.isEscaped:
			s.isEscaped = false
		case c == '\n':
			*line++
		case s.inString:
			s.inString, s.isEscaped = c != '"', c == '\\'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}

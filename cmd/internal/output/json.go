package output

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// JSON writes v as one line.
func (w *Writer) JSON(v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(w.shown(b.Bytes()))
	return err
}

// shown is a line of JSON as it goes out: as it is to programs, and to a
// terminal without what it might obey.
func (w *Writer) shown(line []byte) []byte {
	if w.terminal {
		return escapeControls(line)
	}
	return line
}

// escapeControls escapes the control characters that JSON allows in strings,
// DEL to U+009F, some of which begin a terminal's commands. In JSON they can
// stand in strings only, so every one of them may be replaced.
func escapeControls(line []byte) []byte {
	const hex = "0123456789abcdef"
	isControl := func(r rune) bool { return r >= 0x7f && r <= 0x9f }
	if bytes.IndexFunc(line, isControl) < 0 {
		return line
	}
	escaped := make([]byte, 0, len(line)+16)
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if isControl(r) {
			escaped = append(escaped, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
		} else {
			escaped = append(escaped, line[:size]...)
		}
		line = line[size:]
	}
	return escaped
}

package output

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes a text safe to show on a terminal, whoever wrote it: control
// characters, ANSI sequences, marks that turn the direction of writing, and
// bytes that are not UTF-8 become Go's escapes. A text that is plain stays as
// it is.
func Escape(text string) string {
	plain := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if plain(r) {
			b.WriteString(text[:size])
		} else {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// Cell shows bytes in a table so that null, empty, and every text differ: null
// is (null), and what could be mistaken for it, for nothing, or for an escape
// is quoted.
func Cell(b []byte) string {
	if b == nil {
		return "(null)"
	}
	text := string(b)
	if text == "" || text == "(null)" || text[0] == '"' || strings.TrimSpace(text) != text || Escape(text) != text {
		return strconv.Quote(text)
	}
	return text
}

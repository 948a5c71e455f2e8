package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Int64 reads a whole number, or a string of one: not every JSON library keeps
// 64 bits.
func (p *Parser) Int64() (int64, error) {
	text, err := p.wholeText()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit into 64 bits", Quote(text))
	}
	return n, nil
}

// Uint64 reads a whole number that is not negative, or a string of one.
func (p *Parser) Uint64() (uint64, error) {
	text, err := p.wholeText()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit into 64 bits without a sign", Quote(text))
	}
	return n, nil
}

// Int32 reads a whole number.
func (p *Parser) Int32() (int32, error) {
	text, err := p.Number()
	if err != nil {
		return 0, err
	}
	if !isWhole(text) {
		return 0, fmt.Errorf("%s is not a whole number", Quote(text))
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s does not fit into 32 bits", Quote(text))
	}
	return int32(n), nil
}

// wholeText is the text of a whole number, given as a number or as a string.
func (p *Parser) wholeText() (text []byte, err error) {
	switch c := p.Peek(); {
	case c == '"':
		text, err = p.String()
	case c == '-' || c >= '0' && c <= '9':
		text, err = p.Number()
	default:
		return nil, p.Unexpected("a whole number or a string of one")
	}
	if err == nil && !isWhole(text) {
		err = fmt.Errorf("%s is not a whole number", Quote(text))
	}
	return text, err
}

// isWhole reports whether text is a whole number as JSON writes them: no plus
// sign, no leading zeros, no exponent.
func isWhole(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Quote shows a text of the line in an error, however long it is.
func Quote(text []byte) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(string(text[:most]), "")) + "..."
	}
	return strconv.Quote(string(text))
}

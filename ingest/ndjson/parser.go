package ndjson

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// depthMax bounds how deep the values of unknown members may nest. Go's stack
// grows, but not without end.
const depthMax = 1000

// parser walks over one line of JSON once, from the left. Text is UTF-8
// already. Each method reads one thing, with the blanks before it, and stops
// behind it.
type parser struct {
	text []byte
	at   int
}

// errorf is an error at the place that is read. Bytes count from 1.
func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// peek is the next byte after blanks, or 0 at the end. A zero byte in the text
// is no JSON, so it needs no telling apart.
func (p *parser) peek() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// unexpected is the error for a value, or a sign, that cannot be here.
func (p *parser) unexpected(want string) error {
	if p.at == len(p.text) {
		return p.errorf("the line ends, want %s", want)
	}
	switch c := p.text[p.at]; {
	case c == '"':
		return p.errorf("a string, want %s", want)
	case c == '{':
		return p.errorf("an object, want %s", want)
	case c == '[':
		return p.errorf("a list, want %s", want)
	case c == '-' || c >= '0' && c <= '9':
		return p.errorf("a number, want %s", want)
	default:
		r, _ := utf8.DecodeRune(p.text[p.at:])
		return p.errorf("%q, want %s", r, want)
	}
}

// open reads the bracket that opens an object or a list.
func (p *parser) open(bracket byte, want string) error {
	if p.peek() != bracket {
		return p.unexpected(want)
	}
	p.at++
	return nil
}

// member reads the name of the next member of an object, and the colon; more
// is false at the end of the object.
func (p *parser) member(first bool) (name []byte, more bool, err error) {
	if c := p.peek(); c == '}' {
		p.at++
		return nil, false, nil
	} else if !first {
		if c != ',' {
			return nil, false, p.unexpected("a comma or the end of the object")
		}
		p.at++
		p.peek()
	}
	if name, err = p.string(); err != nil {
		return nil, false, err
	}
	if p.peek() != ':' {
		return nil, false, p.unexpected("a colon")
	}
	p.at++
	return name, true, nil
}

// element stops in front of the next value of a list; more is false at the end
// of the list.
func (p *parser) element(first bool) (more bool, err error) {
	if c := p.peek(); c == ']' && first {
		p.at++
		return false, nil
	} else if first {
		return true, nil
	} else if c == ']' {
		p.at++
		return false, nil
	} else if c != ',' {
		return false, p.unexpected("a comma or the end of the list")
	}
	p.at++
	return true, nil
}

// null reads a null if there is one, and nothing otherwise.
func (p *parser) null() (bool, error) {
	if p.peek() != 'n' {
		return false, nil
	}
	return true, p.literal("null")
}

// literal reads null, true or false.
func (p *parser) literal(word string) error {
	if len(p.text)-p.at < len(word) || string(p.text[p.at:p.at+len(word)]) != word {
		return p.unexpected(word)
	}
	p.at += len(word)
	return nil
}

// string reads a string. What it returns is never nil and lies in the text.
func (p *parser) string() ([]byte, error) {
	if p.peek() != '"' {
		return nil, p.unexpected("a string")
	}
	p.at++
	start := p.at
	p.at += plain(p.text[start:])
	if p.at == len(p.text) {
		return nil, errors.New("the line ends inside a string")
	}
	switch c := p.text[p.at]; c {
	case '"':
		p.at++
		return p.text[start : p.at-1 : p.at-1], nil
	case '\\':
		return p.unescape(start)
	default:
		return nil, p.errorf("%q in a string", c)
	}
}

// plain is how many bytes at the start of text stand for themselves in a
// string.
func plain(text []byte) int {
	for i, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(text)
}

// unescape reads on in the string that began at start, from its first
// backslash. It moves the string together over the room that escapes leave,
// for what an escape stands for is never longer than the escape.
func (p *parser) unescape(start int) ([]byte, error) {
	text, to := p.text, p.at
	for p.at < len(text) {
		switch c := text[p.at]; {
		case c == '"':
			p.at++
			return text[start:to:to], nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return nil, err
			}
			to += utf8.EncodeRune(text[to:], r)
		case c < ' ':
			return nil, p.errorf("%q in a string", c)
		default:
			n := plain(text[p.at:])
			to += copy(text[to:], text[p.at:p.at+n])
			p.at += n
		}
	}
	return nil, errors.New("the line ends inside a string")
}

// escape reads one escape, or the two of a surrogate pair.
func (p *parser) escape() (rune, error) {
	if p.at+1 >= len(p.text) {
		return 0, errors.New("the line ends inside a string")
	}
	var r rune
	switch c := p.text[p.at+1]; c {
	case '"', '\\', '/':
		r = rune(c)
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		return p.unicode()
	default:
		return 0, p.errorf("a backslash before %q", c)
	}
	p.at += 2
	return r, nil
}

func (p *parser) unicode() (rune, error) {
	high, ok := p.hex(p.at)
	if !ok {
		return 0, p.errorf("\\u without four digits")
	}
	if high < 0xd800 || high > 0xdfff {
		p.at += 6
		return high, nil
	}
	low, ok := p.hex(p.at + 6)
	if high > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
		return 0, p.errorf("half a surrogate pair is not UTF-8")
	}
	p.at += 12
	return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
}

// hex is the number of the escape \uXXXX at i.
func (p *parser) hex(i int) (rune, bool) {
	if len(p.text)-i < 6 || p.text[i] != '\\' || p.text[i+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range p.text[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads a number and returns its text.
func (p *parser) number() ([]byte, error) {
	p.peek()
	start := p.at
	p.accept('-')
	if !p.accept('0') && p.digits() == 0 {
		return nil, p.unexpected("a number")
	}
	if p.accept('.') && p.digits() == 0 {
		return nil, p.unexpected("a digit")
	}
	if p.accept('e') || p.accept('E') {
		if !p.accept('+') {
			p.accept('-')
		}
		if p.digits() == 0 {
			return nil, p.unexpected("a digit")
		}
	}
	return p.text[start:p.at], nil
}

func (p *parser) accept(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

// skip reads a value of any kind, which must be JSON all the same.
func (p *parser) skip(depth int) error {
	if depth > depthMax {
		return p.errorf("more than %d values inside each other", depthMax)
	}
	switch p.peek() {
	case '"':
		_, err := p.string()
		return err
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	case '{':
		p.at++
		for first := true; ; first = false {
			_, more, err := p.member(first)
			if err != nil || !more {
				return err
			}
			if err := p.skip(depth + 1); err != nil {
				return err
			}
		}
	case '[':
		p.at++
		for first := true; ; first = false {
			more, err := p.element(first)
			if err != nil || !more {
				return err
			}
			if err := p.skip(depth + 1); err != nil {
				return err
			}
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, err := p.number()
		return err
	}
	return p.unexpected("a value")
}

package jsontext

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// depthMax bounds how deep the values of unknown members may nest. Go's stack
// grows, but not without end.
const depthMax = 1000

// Parser walks over JSON once, from the left. Each method reads one thing,
// with the blanks before it, and stops behind it. What it returns lies in the
// text, whose bytes String changes where it takes escapes out.
//
// That the text is UTF-8 is for the caller to check, or not to: bytes that are
// none are read, inside strings, as they are.
type Parser struct {
	text []byte
	at   int
}

// New reads text from its beginning.
func New(text []byte) Parser { return Parser{text: text} }

// Within reads from byte at on, up to byte end, and tells places in the whole
// text.
func (p *Parser) Within(s Span) Parser { return Parser{text: p.text[:s.End], at: s.From} }

// Span is where a value stands in the text.
type Span struct{ From, End int }

// Bytes are those of the span, as they stand in the text.
func (p *Parser) Bytes(s Span) []byte { return p.text[s.From:s.End:s.End] }

// Errorf is an error at the place that is read. Bytes count from 1.
func (p *Parser) Errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", p.at+1, fmt.Sprintf(format, args...))
}

// Peek is the next byte after blanks, or 0 at the end. A zero byte in the text
// is no JSON, so it needs no telling apart.
func (p *Parser) Peek() byte {
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

// End checks that nothing but blanks follows.
func (p *Parser) End() error {
	if p.Peek() != 0 || p.at != len(p.text) {
		return p.Errorf("something follows the value")
	}
	return nil
}

// Unexpected is the error for a value, or a sign, that cannot be here.
func (p *Parser) Unexpected(want string) error {
	if p.at == len(p.text) {
		return p.Errorf("the line ends, want %s", want)
	}
	switch c := p.text[p.at]; {
	case c == '"':
		return p.Errorf("a string, want %s", want)
	case c == '{':
		return p.Errorf("an object, want %s", want)
	case c == '[':
		return p.Errorf("a list, want %s", want)
	case c == '-' || c >= '0' && c <= '9':
		return p.Errorf("a number, want %s", want)
	default:
		r, _ := utf8.DecodeRune(p.text[p.at:])
		return p.Errorf("%q, want %s", r, want)
	}
}

// Open reads the bracket that opens an object or a list.
func (p *Parser) Open(bracket byte, want string) error {
	if p.Peek() != bracket {
		return p.Unexpected(want)
	}
	p.at++
	return nil
}

// Member reads the name of the next member of an object, and the colon; more
// is false at the end of the object.
func (p *Parser) Member(first bool) (name []byte, more bool, err error) {
	if more, err = p.memberStart(first); !more || err != nil {
		return nil, false, err
	}
	if name, err = p.String(); err != nil {
		return nil, false, err
	}
	return name, true, p.colon()
}

// RawMember is Member, but the name stays as it is written, escapes and all.
func (p *Parser) RawMember(first bool) (name []byte, more bool, err error) {
	if more, err = p.memberStart(first); !more || err != nil {
		return nil, false, err
	}
	p.Peek()
	from := p.at
	if err = p.skipString(); err != nil {
		return nil, false, err
	}
	return p.text[from+1 : p.at-1], true, p.colon()
}

// memberStart stops in front of the next name; more is false at the end of the
// object.
func (p *Parser) memberStart(first bool) (more bool, err error) {
	c := p.Peek()
	switch {
	case c == '}':
		p.at++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, p.Unexpected("a comma or the end of the object")
	}
	p.at++
	p.Peek()
	return true, nil
}

func (p *Parser) colon() error {
	if p.Peek() != ':' {
		return p.Unexpected("a colon")
	}
	p.at++
	return nil
}

// Element stops in front of the next value of a list; more is false at the end
// of the list.
func (p *Parser) Element(first bool) (more bool, err error) {
	if c := p.Peek(); c == ']' && first {
		p.at++
		return false, nil
	} else if first {
		return true, nil
	} else if c == ']' {
		p.at++
		return false, nil
	} else if c != ',' {
		return false, p.Unexpected("a comma or the end of the list")
	}
	p.at++
	return true, nil
}

// Null reads a null if there is one, and nothing otherwise.
func (p *Parser) Null() (bool, error) {
	if p.Peek() != 'n' {
		return false, nil
	}
	return true, p.Literal("null")
}

// Literal reads null, true or false.
func (p *Parser) Literal(word string) error {
	if len(p.text)-p.at < len(word) || string(p.text[p.at:p.at+len(word)]) != word {
		return p.Unexpected(word)
	}
	p.at += len(word)
	return nil
}

// String reads a string. What it returns is never nil and lies in the text.
func (p *Parser) String() ([]byte, error) {
	if p.Peek() != '"' {
		return nil, p.Unexpected("a string")
	}
	p.at++
	start := p.at
	p.at += Plain(p.text[start:])
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
		return nil, p.Errorf("%q in a string", c)
	}
}

// Plain is how many bytes at the start of text stand for themselves in a
// string.
func Plain(text []byte) int {
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
func (p *Parser) unescape(start int) ([]byte, error) {
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
			return nil, p.Errorf("%q in a string", c)
		default:
			n := Plain(text[p.at:])
			to += copy(text[to:], text[p.at:p.at+n])
			p.at += n
		}
	}
	return nil, errors.New("the line ends inside a string")
}

// escape reads one escape, or the two of a surrogate pair.
func (p *Parser) escape() (rune, error) {
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
		return 0, p.Errorf("a backslash before %q", c)
	}
	p.at += 2
	return r, nil
}

func (p *Parser) unicode() (rune, error) {
	high, ok := p.hex(p.at)
	if !ok {
		return 0, p.Errorf("\\u without four digits")
	}
	if high < 0xd800 || high > 0xdfff {
		p.at += 6
		return high, nil
	}
	low, ok := p.hex(p.at + 6)
	if high > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
		return 0, p.Errorf("half a surrogate pair is not UTF-8")
	}
	p.at += 12
	return (high-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
}

// hex is the number of the escape \uXXXX at i.
func (p *Parser) hex(i int) (rune, bool) {
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

// Number reads a number and returns its text.
func (p *Parser) Number() ([]byte, error) {
	p.Peek()
	start := p.at
	p.accept('-')
	if !p.accept('0') && p.digits() == 0 {
		return nil, p.Unexpected("a number")
	}
	if p.accept('.') && p.digits() == 0 {
		return nil, p.Unexpected("a digit")
	}
	if p.accept('e') || p.accept('E') {
		if !p.accept('+') {
			p.accept('-')
		}
		if p.digits() == 0 {
			return nil, p.Unexpected("a digit")
		}
	}
	return p.text[start:p.at], nil
}

func (p *Parser) accept(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *Parser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

// Span reads a value of any kind, which must be JSON, and leaves it as it is.
func (p *Parser) Span() (Span, error) {
	p.Peek()
	from := p.at
	err := p.skip(0)
	return Span{from, p.at}, err
}

// Skip reads a value of any kind, which must be JSON all the same.
func (p *Parser) Skip() error { return p.skip(0) }

func (p *Parser) skip(depth int) error {
	if depth > depthMax {
		return p.Errorf("more than %d values inside each other", depthMax)
	}
	switch p.Peek() {
	case '"':
		return p.skipString()
	case 't':
		return p.Literal("true")
	case 'f':
		return p.Literal("false")
	case 'n':
		return p.Literal("null")
	case '{':
		p.at++
		for first := true; ; first = false {
			more, err := p.memberStart(first)
			if err != nil || !more {
				return err
			}
			if err := p.skipString(); err != nil {
				return err
			}
			if err := p.colon(); err != nil {
				return err
			}
			if err := p.skip(depth + 1); err != nil {
				return err
			}
		}
	case '[':
		p.at++
		for first := true; ; first = false {
			more, err := p.Element(first)
			if err != nil || !more {
				return err
			}
			if err := p.skip(depth + 1); err != nil {
				return err
			}
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		_, err := p.Number()
		return err
	}
	return p.Unexpected("a value")
}

// skipString reads a string as String does, and leaves it as it is.
func (p *Parser) skipString() error {
	if p.Peek() != '"' {
		return p.Unexpected("a string")
	}
	p.at++
	for {
		p.at += Plain(p.text[p.at:])
		if p.at == len(p.text) {
			return errors.New("the line ends inside a string")
		}
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return nil
		case '\\':
			if _, err := p.escape(); err != nil {
				return err
			}
		default:
			return p.Errorf("%q in a string", c)
		}
	}
}

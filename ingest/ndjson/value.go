package ndjson

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// parser reads JSON, and from it what lines hold.
type parser struct{ jsontext.Parser }

// idBytesMax is more than the text of any position or transaction id has.
const idBytesMax = 64

func (p *parser) position() (segments.Position, error) {
	text, err := p.String()
	if err != nil {
		return segments.None, err
	}
	if len(text) > idBytesMax {
		return segments.None, segments.ErrPosition
	}
	position, err := segments.ParsePosition(string(text))
	if err == nil && position.IsNone() {
		err = fmt.Errorf("%q is no place for a message", text)
	}
	return position, err
}

func (p *parser) txn() (segments.TxnID, error) {
	text, err := p.String()
	if err != nil {
		return segments.TxnID{}, err
	}
	if len(text) > idBytesMax {
		return segments.TxnID{}, segments.ErrTxnID
	}
	return segments.ParseTxnID(string(text))
}

func (p *parser) marker() (segments.Kind, error) {
	text, err := p.String()
	switch {
	case err != nil:
		return 0, err
	case string(text) == "commit":
		return segments.KindCommit, nil
	case string(text) == "abort":
		return segments.KindAbort, nil
	}
	return 0, fmt.Errorf("%s is neither commit nor abort", jsontext.Quote(text))
}

// time reads a time, and cuts what is finer than a millisecond. Years outside
// 0000 to 9999 (in UTC) could not be written again.
func (p *parser) time() (segments.Millis, error) {
	text, err := p.String()
	if err != nil {
		return 0, err
	}
	var t time.Time
	if !isRFC3339(text) || t.UnmarshalText(text) != nil || t.UTC().Year() < 0 || t.UTC().Year() > 9999 {
		return 0, fmt.Errorf("%s is not a time (want RFC 3339, as 2026-01-02T03:04:05.678Z)", jsontext.Quote(text))
	}
	return segments.MillisOf(t), nil
}

// isRFC3339 reports whether text has the shape of a time. Package time checks
// the numbers, but takes hours of one digit, a comma for a point, and zones of
// a day and more.
func isRFC3339(text []byte) bool {
	const shape = "0000-00-00T00:00:00"
	rest, ok := cutShape(text, shape)
	if !ok {
		return false
	}
	if len(rest) > 1 && rest[0] == '.' {
		rest = bytes.TrimLeft(rest[1:], "0123456789")
	}
	if len(rest) == 1 {
		return rest[0] == 'Z'
	}
	if len(rest) == 0 || rest[0] != '+' && rest[0] != '-' {
		return false
	}
	zone, ok := cutShape(rest[1:], "00:00")
	return ok && len(zone) == 0 && string(rest[1:3]) < "24" && string(rest[4:6]) < "60"
}

// cutShape is what follows the shape in text; a 0 stands for any digit.
func cutShape(text []byte, shape string) (rest []byte, ok bool) {
	if len(text) < len(shape) {
		return nil, false
	}
	for i := range len(shape) {
		digit := text[i] >= '0' && text[i] <= '9'
		if shape[i] == '0' && !digit || shape[i] != '0' && text[i] != shape[i] {
			return nil, false
		}
	}
	return text[len(shape):], true
}

func (p *parser) batchSize() (int32, error) {
	n, err := p.Int32()
	if err == nil && n < 1 {
		err = fmt.Errorf("%d is not 1 to %d", n, math.MaxInt32)
	}
	return n, err
}

// base64Strict refuses padding bits that are not zero: two texts would stand
// for one value.
var base64Strict = base64.StdEncoding.Strict()

// base64 reads what a string of base64 stands for. It is never nil.
func (d *Decoder) base64(p *parser) ([]byte, error) {
	text, err := p.String()
	if err != nil {
		return nil, err
	}
	// The package skips line breaks; in one string there is no need of any.
	if bytes.ContainsAny(text, "\r\n") {
		return nil, errors.New("not base64: a line break")
	}
	if len(text) == 0 {
		return []byte{}, nil
	}
	from := len(d.decoded)
	d.decoded = slices.Grow(d.decoded, base64Strict.DecodedLen(len(text)))
	// What was decoded before stays where it was, should this have moved.
	n, err := base64Strict.Decode(d.decoded[from:cap(d.decoded)], text)
	if err != nil {
		return nil, fmt.Errorf("not base64: %w", err)
	}
	d.decoded = d.decoded[:from+n]
	return d.decoded[from : from+n : from+n], nil
}

// string reads a string that comes again and again: a producer, the key of a
// property.
func (d *Decoder) string(p *parser) (string, error) {
	text, err := p.String()
	if err != nil {
		return "", err
	}
	return d.strings.of(text), nil
}

// interned keeps one copy of each of the strings that come often.
type interned struct{ known map[string]string }

// The most that is kept, and the longest: 1 MiB in all.
const (
	internedMax      = 4096
	internedBytesMax = 256
)

func (in *interned) of(text []byte) string {
	if len(text) > internedBytesMax {
		return string(text)
	}
	if s, ok := in.known[string(text)]; ok {
		return s
	}
	if in.known == nil || len(in.known) >= internedMax {
		in.known = make(map[string]string)
	}
	s := string(text)
	in.known[s] = s
	return s
}

package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// rpk is the format of rpk topic consume -f json: objects one after another, on
// one line or, unless it was told otherwise, on several.
//
//	{"topic":"t","key":"k","value":"v","headers":[{"key":"a","value":"1"}],
//	 "timestamp":1700000000123,"partition":0,"offset":5}
//
// It leaves out a key that is null or empty, and a value that is null. What is
// not UTF-8 it replaces by \ufffd, written as an escape, as it writes nothing
// else: such a record is refused, for its bytes are lost.
type rpk struct {
	values values
	dump   dump
	names  names
}

// rpkNames are the names that mean something.
var rpkNames = namesOf("topic", "partition", "offset", "timestamp", "key", "value", "value_size", "headers")

func newRpk(in *bufio.Reader, s *Settings) format {
	return &rpk{values: values{r: in, max: s.LineBytesMax, line: 1}, dump: dump{chosen: s.Partition, now: segments.MillisOf(s.Now)}}
}

func (f *rpk) next(rec *record) error {
	for {
		text, line, err := f.values.next()
		if err != nil {
			return err
		}
		taken, err := f.object(text, rec)
		if err != nil {
			return &LineError{line, err}
		}
		if taken {
			return nil
		}
	}
}

// replacement is how rpk writes bytes that are not UTF-8.
var replacement = []byte(`\ufffd`)

func (f *rpk) object(text []byte, rec *record) (taken bool, err error) {
	if !utf8.Valid(text) {
		return false, errors.New("not UTF-8")
	}
	mayBeLost := bytes.Contains(text, replacement)
	f.dump.properties = f.dump.properties[:0]
	var p printed
	hasValue, hasSize := false, false
	json := jsontext.New(text)
	err = f.names.read(&json, rpkNames, func(name string) (err error) {
		switch name {
		case "timestamp":
			p.millis.V, err = json.Int64()
			p.millis.Valid = true
		case "key":
			p.key, err = f.string(&json, mayBeLost)
		case "value":
			p.value, err = f.string(&json, mayBeLost)
			hasValue = true
		case "value_size":
			hasSize = true
			err = json.Skip()
		case "headers":
			err = f.headers(&json, mayBeLost)
		default:
			err = p.common(name, &json)
		}
		return err
	})
	if err == nil {
		err = json.End()
	}
	if err != nil {
		return false, err
	}
	if hasSize && !hasValue {
		return false, errors.New("a \"value_size\" without a \"value\": it was printed with --meta-only, and would delete its key")
	}
	return f.dump.take(&p, rec)
}

// string reads a string that rpk wrote of bytes, or a null.
func (f *rpk) string(json *jsontext.Parser, mayBeLost bool) ([]byte, error) {
	if null, err := json.Null(); null || err != nil {
		return nil, err
	}
	if !mayBeLost {
		return json.String()
	}
	from := *json
	span, err := json.Span()
	if err != nil {
		return nil, err
	}
	if isReplaced(json.Bytes(span)) {
		return nil, errors.New("rpk replaced bytes that are not UTF-8; read the partition with kcat, or its segments")
	}
	return from.String()
}

// isReplaced reports whether a string as it is written has the escape that
// stands for a lost byte.
func isReplaced(written []byte) bool {
	for i := 0; i < len(written); i++ {
		if written[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(written[i:], replacement) {
			return true
		}
		i++ // what is escaped, be it a backslash
	}
	return false
}

// headers reads [{"key":"a","value":"b"},...].
func (f *rpk) headers(json *jsontext.Parser, mayBeLost bool) error {
	if null, err := json.Null(); null || err != nil {
		return err
	}
	if err := json.Open('[', "a list of headers"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := json.Element(first)
		if err != nil || !more {
			return err
		}
		if err := f.header(json, mayBeLost); err != nil {
			return fmt.Errorf("header %d: %w", len(f.dump.properties), err)
		}
	}
}

func (f *rpk) header(json *jsontext.Parser, mayBeLost bool) error {
	key, value := []byte(nil), []byte(nil)
	var seen names
	err := seen.read(json, rpkNames, func(name string) (err error) {
		switch name {
		case "key":
			key, err = f.string(json, mayBeLost)
		case "value":
			value, err = f.string(json, mayBeLost)
		default:
			err = json.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	return f.dump.addHeader(key, value)
}

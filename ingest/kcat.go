package ingest

import (
	"bufio"
	"errors"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// kcat is the format of kcat -J: a record a line.
//
//	{"topic":"t","partition":0,"offset":5,"tstype":"create","ts":1700000000123,"broker":1,
//	 "headers":["a","1","a","2","b",null],"key":"k","payload":"v"}
//
// Kcat writes keys, payloads and headers as the bytes they are, and escapes
// only what would end the string. So they are read as bytes, and need not be
// UTF-8. Where it was told to decode Avro it writes a JSON value in their
// place, which is kept as compact JSON.
type kcat struct {
	lines lines
	dump  dump
	names names
	json  []byte // what is kept as JSON of one line
}

// kcatNames are the names that mean something.
var kcatNames = namesOf("topic", "partition", "offset", "tstype", "ts", "headers", "key", "payload", "key_error", "payload_error")

func newKcat(in *bufio.Reader, s *Settings) format {
	return &kcat{lines: lines{r: in, max: s.LineBytesMax}, dump: dump{chosen: s.Partition, now: segments.MillisOf(s.Now)}}
}

func (f *kcat) next(rec *record) error {
	for {
		text, err := f.lines.next()
		if err != nil {
			return err
		}
		taken, err := f.line(text, rec)
		if err != nil {
			return &LineError{f.lines.read, err}
		}
		if taken {
			return nil
		}
	}
}

func (f *kcat) line(text []byte, rec *record) (taken bool, err error) {
	f.json, f.dump.properties = f.json[:0], f.dump.properties[:0]
	var p printed
	hasPayload, isTimed := false, true
	json := jsontext.New(text)
	err = f.names.read(&json, kcatNames, func(name string) (err error) {
		switch name {
		case "tstype":
			var kind []byte
			kind, err = json.String()
			isTimed = string(kind) != "unknown"
		case "ts":
			p.millis.V, err = json.Int64()
			p.millis.Valid = true
		case "headers":
			err = f.headers(&json)
		case "key":
			p.key, err = f.bytes(&json)
		case "payload":
			hasPayload = true
			p.value, err = f.bytes(&json)
		case "key_error", "payload_error":
			err = errors.New("kcat could not decode what it is about, and left it out")
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
	if !hasPayload {
		// A name that is mistyped must not delete a key.
		return false, errors.New("no \"payload\"")
	}
	p.millis.Valid = p.millis.Valid && isTimed
	return f.dump.take(&p, rec)
}

// bytes reads a key or a payload.
func (f *kcat) bytes(json *jsontext.Parser) ([]byte, error) {
	switch json.Peek() {
	case 'n':
		return nil, json.Literal("null")
	case '"':
		return json.String()
	}
	span, err := json.Span()
	if err != nil {
		return nil, err
	}
	from := len(f.json)
	f.json = jsontext.AppendCompact(f.json, json.Bytes(span))
	return f.json[from:len(f.json):len(f.json)], nil
}

// headers reads one flat list of names and values.
func (f *kcat) headers(json *jsontext.Parser) error {
	if null, err := json.Null(); null || err != nil {
		return err
	}
	if err := json.Open('[', "a list of names and values"); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := json.Element(first)
		if err != nil || !more {
			return err
		}
		key, err := json.String()
		if err != nil {
			return err
		}
		if more, err = json.Element(false); err != nil {
			return err
		}
		if !more {
			return errors.New("a name without a value")
		}
		var value []byte
		if null, err := json.Null(); err != nil {
			return err
		} else if !null {
			if value, err = json.String(); err != nil {
				return err
			}
		}
		if err := f.dump.addHeader(key, value); err != nil {
			return err
		}
	}
}

package jsontext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
)

// FuzzSpan reads any text as one value: it is taken exactly if the standard
// library takes it, it is left as it was, and without its blanks it is what
// the standard library makes of it.
func FuzzSpan(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e7,true,false,null,"\\\"\n\u00e9 x"],"b":{}}`, ` [ ] `, `"`, `{"a" :1 , "a": 2}`, `[1,]`, `{,}`, `01`, `-`, `"\x"`, `"\u12"`, `nul`,
		`{"a":1}x`, "\"\xff\"", `"\ud83d\ude00"`, "\"\x01\"", `{"a"}`, `[1 2]`, "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		p := jsontext.New(text)
		span, err := p.Span()
		if err == nil {
			err = p.End()
		}
		if !bytes.Equal(text, before) {
			t.Fatalf("%q became %q", before, text)
		}
		// Half a surrogate pair has no bytes to stand for it, and what nests
		// without end is refused by both, though not at the same depth.
		if bytes.Contains(text, []byte(`\u`)) || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 500 {
			return
		}
		if (err == nil) != json.Valid(text) {
			t.Fatalf("%q: got %v, the standard library takes it: %v", text, err, err != nil)
		}
		if err != nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := jsontext.AppendCompact(nil, p.Bytes(span)); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q became %q, want %q", text, got, want.Bytes())
		}
	})
}

// FuzzString reads any text as a string: it says what the standard library
// says, which replaces bytes that are not UTF-8, where this keeps them.
func FuzzString(f *testing.F) {
	for _, text := range []string{`"plain"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud800"`, `"\ud800x"`, `""`, "\"\xff\\n\xfe\"", `"a`, `"\`, `"\u`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		p := jsontext.New(text)
		got, err := p.String()
		if err != nil || p.End() != nil {
			return
		}
		var want string
		if err := json.Unmarshal(before, &want); err != nil {
			t.Fatalf("%q was taken as %q, and is none: %v", before, got, err)
		}
		if replaced := strings.ToValidUTF8(string(got), "\ufffd"); utf8.Valid(before) && replaced != want {
			t.Fatalf("%q is %q, want %q", before, got, want)
		}
	})
}

// TestPlacesAreThoseOfTheWholeText reads a value inside another.
func TestPlacesAreThoseOfTheWholeText(t *testing.T) {
	p := jsontext.New([]byte(`{"a": {"b": tru}}`))
	if err := p.Open('{', "an object"); err != nil {
		t.Fatal(err)
	}
	if name, more, err := p.Member(true); string(name) != "a" || !more || err != nil {
		t.Fatalf("got %q, %v, %v", name, more, err)
	}
	inner := p.Within(jsontext.Span{From: 6, End: 16})
	_, err := inner.Span()
	if err == nil || !strings.Contains(err.Error(), "byte 13") {
		t.Errorf("got %v, want an error at byte 13", err)
	}
	deep := jsontext.New([]byte(strings.Repeat("[", 5000)))
	if _, err := deep.Span(); err == nil || !strings.Contains(err.Error(), "inside each other") {
		t.Errorf("5000 lists: got %v", err)
	}
}

package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

func TestEveryFieldHasACell(t *testing.T) {
	m := segments.Message{
		Position:    segments.Position{Ledger: 3, Entry: 1, Batch: 0},
		BatchSize:   2,
		Key:         []byte{},
		PublishTime: 1767323045678,
		Sequence:    segments.Some(int64(9007199254740993)),
		Txn:         segments.Some(segments.TxnID{Most: 1, Least: 4}),
		OrderingKey: []byte{0xfe},
		Properties:  []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x", Value: nil}},
	}
	var got []string
	for _, cell := range Cells(&m, ndjson.AllFields()) {
		got = append(got, cell.(string))
	}
	const want = `3:1:0|2|""|(null)|2026-01-02T03:04:05.678Z|||9007199254740993||1,4|"\xfe"|x=1 x=(null)`
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestTheLineOfAKeyThatIsGone(t *testing.T) {
	for key, want := range map[string]string{
		"":     `{"key":"","deleted":true}`,
		"k}":   `{"key":"k}","deleted":true}`,
		"\xff": `{"key_base64":"/w==","deleted":true}`,
	} {
		var b bytes.Buffer
		w := NewWriter(&b)
		if err := w.Gone([]byte(key)); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if b.String() != want+"\n" {
			t.Errorf("key %q: got %s, want %s", key, b.String(), want)
		}
	}
}

// What a terminal could obey is escaped there, and programs read the same text.
func FuzzATerminalObeysNoLine(f *testing.F) {
	for _, text := range []string{"", "plain é 😀", "\x7f\u0080\u009b31m\u00a0", "\x1b[2J\u202e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := ndjson.Append(nil, &segments.Message{Producer: segments.Some(text)}, []ndjson.Field{ndjson.Producer})
		shown := escapeControls(line)
		if bytes.ContainsFunc(shown, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
			t.Errorf("%q has control characters: %q", text, shown)
		}
		var want, got any
		if json.Unmarshal(line, &want) != nil || json.Unmarshal(shown, &got) != nil {
			t.Fatalf("%q is no JSON: %s or %s", text, line, shown)
		}
		if want.(map[string]any)["producer"] != got.(map[string]any)["producer"] {
			t.Errorf("%q reads as %v", text, got)
		}
	})
}

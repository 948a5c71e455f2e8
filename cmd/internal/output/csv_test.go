package output

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

func csvOf(t *testing.T, fields []ndjson.Field, terminal bool, list ...segments.Message) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	w.terminal = terminal
	c := NewCSV(w, fields)
	for i := range list {
		if err := c.Row(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNullAndEmptyDifferInCSV(t *testing.T) {
	full := segments.Message{
		Position: segments.Position{Ledger: 3, Entry: 1, Batch: 0}, BatchSize: 2,
		Key: []byte("a,\"b\"\r\nc"), Value: []byte{}, PublishTime: 1767323045678, EventTime: segments.Some(segments.Millis(0)),
		Producer: segments.Some(""), Sequence: segments.Some(int64(9007199254740993)), Epoch: segments.Some(int32(0)),
		Txn: segments.Some(segments.TxnID{Most: 1, Least: 4}), OrderingKey: []byte{0xff},
		Properties: []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x"}, {Key: "y", Value: []byte{0xff}}},
	}
	bare := segments.Message{Position: segments.At(3, 2), BatchSize: 1, Value: []byte{0, 0xff}}
	const want = `id,batch_size,key,key_base64,value,value_base64,publish_time,event_time,producer,sequence,epoch,txn,ordering_key,ordering_key_base64,properties
3:1:0,2,"a,""b""` + "\r\n" + `c",,"",,2026-01-02T03:04:05.678Z,1970-01-01T00:00:00.000Z,"",9007199254740993,0,"1,4",,/w==,"[{""key"":""x"",""value"":""1""},{""key"":""x"",""value"":null},{""key"":""y"",""value_base64"":""/w==""}]"
3:2,,,,,AP8=,1970-01-01T00:00:00.000Z,,,,,,,,
`
	if got := csvOf(t, ndjson.AllFields(), false, full, bare); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got, want := csvOf(t, []ndjson.Field{ndjson.Value, ndjson.ID}, false), "value,value_base64,id\n"; got != want {
		t.Errorf("of nothing: got %q, want %q", got, want)
	}
	if got, want := csvOf(t, []ndjson.Field{ndjson.Key}, true, segments.Message{Key: []byte("\x1b[2J\n")}), "key,key_base64\n\\x1b[2J\\n,\n"; got != want {
		t.Errorf("on a terminal: got %q, want %q", got, want)
	}
}

// FuzzCSV reads lines back with the standard library.
func FuzzCSV(f *testing.F) {
	f.Add("a,\"b\"", "\r\n")
	f.Add(" =1+1 ", "")
	f.Add("\xff", "\x00")
	f.Fuzz(func(t *testing.T, key, value string) {
		m := segments.Message{Key: []byte(key), Value: []byte(value)}
		text := csvOf(t, []ndjson.Field{ndjson.Key, ndjson.Value}, false, m)
		lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(lines) != 2 {
			t.Fatalf("%q: %v", text, err)
		}
		// The library turns \r\n inside quotes into \n.
		asRead := strings.NewReplacer("\r\n", "\n")
		for i, want := range []string{key, value} {
			if got := lines[1][2*i]; got != "" && got != asRead.Replace(want) || (got == "") == (want != "" && lines[1][2*i+1] == "") {
				t.Fatalf("%q is read as %q", want, lines[1])
			}
		}
	})
}

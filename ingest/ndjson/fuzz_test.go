package ndjson_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// FuzzDecode decodes any bytes. A line that is taken must be JSON to the
// standard library too, and its messages must come back from their own lines
// with nothing changed.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"id":"3:0","key":"k1","value":"v1","publish_time":"2026-01-02T03:04:05.678Z","event_time":"2026-01-02T03:04:05+01:00","producer":"p","sequence":"7","epoch":0,"txn":"1,4","ordering_key":"o","properties":[{"key":"a","value":"b"},{"key":"c","value_base64":"/w=="}]}`,
		`{"id":"3:1:0","batch_size":2,"key":"k2","value":null}`,
		`{"key_base64":"/w==","value_base64":"AAE=","ordering_key_base64":""}`,
		`{"txn":"1,4","marker":"commit","low_water_mark":"3"}`,
		`{"id":"3:1","batch":[{"key":"a","value":"1"},{"key":"\ud83d\ude00\n\u0000","value":""}]}`,
		`{"x":{"y":[1,-2.5e7,true,null,"\\"]},"value":"\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d, again ndjson.Decoder
		line, err := d.Decode(bytes.Clone(text))
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is not JSON and was taken as %+v", text, *line)
		}
		for _, m := range line.Messages {
			m.Position = segments.At(0, 0)
			if m.BatchSize > 1 {
				m.Position.Batch = 0
			}
			shown := ndjson.Append(nil, &m, ndjson.AllFields())
			back, err := again.Decode(bytes.Clone(shown))
			if err != nil {
				t.Fatalf("%s does not decode: %v", shown, err)
			}
			got := back.Messages[0]
			got.Position = m.Position
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("%s came back as\n%+v, want\n%+v", shown, got, m)
			}
		}
	})
}

// sample is a line of about 500 bytes.
var sample = `{"key":"customer-0000012345","value":"` + strings.Repeat(`{\"name\":\"caf\u00e9\",\"n\":1},`, 3) +
	strings.Repeat("0123456789", 22) + `","publish_time":"2026-01-02T03:04:05.678Z","event_time":"2026-01-02T03:04:05.123Z",` +
	`"producer":"producer-1","sequence":"123456789","properties":[{"key":"trace","value":"0af7651916cd43dd"}]}`

func BenchmarkDecode(b *testing.B) {
	var d ndjson.Decoder
	text := make([]byte, len(sample))
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		copy(text, sample)
		if _, err := d.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeBatch(b *testing.B) {
	var d ndjson.Decoder
	line := `{"batch":[` + strings.Repeat(sample+",", 99) + sample + `]}`
	text := make([]byte, len(line))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		copy(text, line)
		if _, err := d.Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var d ndjson.Decoder
	line, err := d.Decode([]byte(sample))
	if err != nil {
		b.Fatal(err)
	}
	fields := ndjson.SettledFields()
	var text []byte
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		text = ndjson.Append(text[:0], &line.Messages[0], fields)
	}
}

// BenchmarkStandardLibrary is what the decoder is measured against.
func BenchmarkStandardLibrary(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	b.ReportAllocs()
	for b.Loop() {
		var m struct {
			Key, Value, Producer, Sequence *string
			PublishTime                    string `json:"publish_time"`
			EventTime                      string `json:"event_time"`
			Properties                     []struct{ Key, Value *string }
		}
		if err := json.Unmarshal([]byte(sample), &m); err != nil {
			b.Fatal(err)
		}
	}
}

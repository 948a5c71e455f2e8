package ndjson_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestAMessageShowsWhatItHas encodes messages with all fields.
func TestAMessageShowsWhatItHas(t *testing.T) {
	full := segments.Message{
		Position: segments.Position{Ledger: 3, Entry: 1, Batch: 0}, BatchSize: 2,
		Key: []byte("k"), Value: []byte("v"), PublishTime: 1767323045678, EventTime: segments.Some[segments.Millis](-1),
		Producer: segments.Some("p"), Sequence: segments.Some[int64](7), Epoch: segments.Some[int32](0),
		Txn: segments.Some(segments.TxnID{Most: 1, Least: 4}), OrderingKey: []byte("o"),
		Properties: []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x", Value: []byte{}}, {Key: "y"}, {Key: "z", Value: []byte{0xff}}},
	}
	for _, c := range []struct {
		m    segments.Message
		want string
	}{
		{full, `{"id":"3:1:0","batch_size":2,"key":"k","value":"v","publish_time":"2026-01-02T03:04:05.678Z",` +
			`"event_time":"1969-12-31T23:59:59.999Z","producer":"p","sequence":"7","epoch":0,"txn":"1,4","ordering_key":"o",` +
			`"properties":[{"key":"x","value":"1"},{"key":"x","value":""},{"key":"y","value":null},{"key":"z","value_base64":"/w=="}]}`},
		{segments.Message{Position: segments.At(3, 0), BatchSize: 1}, `{"id":"3:0","value":null,"publish_time":"1970-01-01T00:00:00.000Z"}`},
		{segments.Message{Position: segments.None, Key: []byte{}, Value: []byte{}, OrderingKey: []byte{}, Producer: segments.Some("")},
			`{"id":"-1:-1","key":"","value":"","publish_time":"1970-01-01T00:00:00.000Z","producer":"","ordering_key":""}`},
		{segments.Message{Position: segments.At(3, 0), Key: []byte{0xff}, Value: []byte{0xff, 0}, OrderingKey: []byte("a\xc3")},
			`{"id":"3:0","key_base64":"/w==","value_base64":"/wA=","publish_time":"1970-01-01T00:00:00.000Z","ordering_key_base64":"YcM="}`},
		{segments.Message{Position: segments.At(3, 0), Key: []byte("\"\\/\b\f\n\r\t\x00\x1f\x7f<>&é\u2028😀"), Value: []byte("\x00")},
			`{"id":"3:0","key":"\"\\/\b\f\n\r\t\u0000\u001f` + "\x7f<>&é\u2028😀" + `","value":"\u0000","publish_time":"1970-01-01T00:00:00.000Z"}`},
		{segments.Message{Position: segments.At(3, 0), Producer: segments.Some("a\xffb")},
			`{"id":"3:0","value":null,"publish_time":"1970-01-01T00:00:00.000Z","producer":"a` + "\ufffd" + `b"}`},
	} {
		got := ndjson.Append([]byte("before "), &c.m, ndjson.AllFields())
		if string(got) != "before "+c.want {
			t.Errorf("got\n%s, want\n%s", got, c.want)
		}
		if !json.Valid([]byte(c.want)) {
			t.Errorf("%s is not JSON", c.want)
		}
	}
}

// TestFieldsComeInTheOrderAskedFor selects fields by their names.
func TestFieldsComeInTheOrderAskedFor(t *testing.T) {
	m := segments.Message{Position: segments.At(3, 0), BatchSize: 1, Key: []byte{0xff}, Value: []byte("v"),
		Txn: segments.Some(segments.TxnID{Most: 1, Least: 4})}
	for list, want := range map[string]string{
		"id,key,value":            `{"id":"3:0","key_base64":"/w==","value":"v"}`,
		"value,id":                `{"value":"v","id":"3:0"}`,
		"txn":                     `{"txn":"1,4"}`,
		"batch_size,ordering_key": `{}`,
	} {
		fields, err := ndjson.ParseFields(list)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ndjson.Append(nil, &m, fields)); got != want {
			t.Errorf("%s: got %s, want %s", list, got, want)
		}
	}
	for _, list := range []string{"", "id,", "id,nosuch", "ID", "key_base64", "marker", "id,key,id", "id, key"} {
		if fields, err := ndjson.ParseFields(list); !errors.Is(err, ndjson.ErrField) {
			t.Errorf("%q gave %v, %v, want ErrField", list, fields, err)
		}
	}
	if slices.Contains(ndjson.SettledFields(), ndjson.Txn) || len(ndjson.SettledFields()) != len(ndjson.AllFields())-1 {
		t.Errorf("settled fields are %v", ndjson.SettledFields())
	}
}

package output

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/segments"
)

func TestNullEmptyAndBytesAreToldApart(t *testing.T) {
	for _, test := range []struct {
		key, value []byte
		want       string
	}{
		{nil, nil, `{"value":null}`},
		{[]byte{}, []byte{}, `{"key":"","value":""}`},
		{[]byte("k"), []byte("null"), `{"key":"k","value":"null"}`},
		{[]byte{0xff}, []byte{0xff, 0}, `{"key_base64":"/w==","value_base64":"/wA="}`},
		{[]byte("\xed\xa0\x80"), nil, `{"key_base64":"7aCA","value":null}`}, // half of a surrogate pair
	} {
		f, err := ParseFields("key,value")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.AppendLine(nil, &segments.Message{Key: test.key, Value: test.value})); got != test.want {
			t.Errorf("key %q, value %q:\ngot  %s\nwant %s", test.key, test.value, got, test.want)
		}
	}
}

func TestALineHasTheFieldsThatAMessageHas(t *testing.T) {
	m := segments.Message{
		Position:    segments.Position{Ledger: 3, Entry: 1, Batch: 0},
		BatchSize:   2,
		Key:         []byte("k"),
		Value:       []byte("v"),
		PublishTime: 1767323045678,
		EventTime:   segments.Some(segments.Millis(1767323045001)),
		Producer:    segments.Some("p"),
		Sequence:    segments.Some(int64(9007199254740993)),
		Epoch:       segments.Some(int32(0)),
		Txn:         segments.Some(segments.TxnID{Most: 1, Least: 4}),
		OrderingKey: []byte{0xfe},
		Properties:  []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x", Value: nil}, {Key: "x", Value: []byte{0xff}}},
	}
	const head = `{"id":"3:1:0","batch_size":2,"key":"k","value":"v","publish_time":"2026-01-02T03:04:05.678Z",` +
		`"event_time":"2026-01-02T03:04:05.001Z","producer":"p","sequence":"9007199254740993","epoch":0,`
	const tail = `"ordering_key_base64":"/g==","properties":[{"key":"x","value":"1"},{"key":"x","value":null},{"key":"x","value_base64":"/w=="}]}`
	if got, want := string(AllFields(true).AppendLine(nil, &m)), head+`"txn":"1,4",`+tail; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := string(AllFields(false).AppendLine(nil, &m)), head+tail; got != want {
		t.Errorf("without transactions:\ngot  %s\nwant %s", got, want)
	}
	bare := segments.Message{Position: segments.At(3, 0), BatchSize: 1, Value: []byte("v"), PublishTime: 0}
	if got, want := string(AllFields(true).AppendLine(nil, &bare)), `{"id":"3:0","value":"v","publish_time":"1970-01-01T00:00:00.000Z"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnknownAndRepeatedFieldsAreRefused(t *testing.T) {
	for _, text := range []string{"", "id,", "id,nosuch", "id, key", "key_base64", "ID", "id,key,id"} {
		if _, err := ParseFields(text); !errors.Is(err, ErrField) {
			t.Errorf("ParseFields(%q) = %v, want ErrField", text, err)
		}
	}
}

// Whatever text goes in, an ordinary JSON reader gets it back, and nothing that
// a terminal could obey is in between.
func FuzzEveryTextComesBack(f *testing.F) {
	for _, text := range []string{"", "plain", "line\nbreak \"quoted\" \\ \x00 é 😀", "\x7f\u0080\u009b31m\u00a0", "\xff\xc2", "\x1b[2J"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := string(Fields(fields).AppendLine(nil, &segments.Message{Key: []byte(text), Value: []byte(text)}))
		if strings.ContainsFunc(line, func(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }) {
			t.Errorf("%q has control characters: %q", text, line)
		}
		var got struct {
			Key *string `json:"key"`
			Raw []byte  `json:"key_base64"`
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%q: %v in %s", text, err, line)
		}
		switch {
		case utf8.ValidString(text) && (got.Key == nil || *got.Key != text):
			t.Errorf("%q came back as %v", text, got.Key)
		case !utf8.ValidString(text) && string(got.Raw) != text:
			t.Errorf("%q came back as %q", text, got.Raw)
		}
	})
}

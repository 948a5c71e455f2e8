package ndjson_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// now is the clock of all tests: 2026-03-01T00:00:00Z.
const now segments.Millis = 1772323200000

func at(text string) segments.Null[segments.Position] {
	p, err := segments.ParsePosition(text)
	if err != nil {
		panic(err)
	}
	return segments.Some(p)
}

// message is a message as a line gives it, with more set by f.
func message(f func(*segments.Message)) segments.Message {
	m := segments.Message{Position: segments.None, BatchSize: 1, PublishTime: now}
	if f != nil {
		f(&m)
	}
	return m
}

func keyed(key, value string) segments.Message {
	return message(func(m *segments.Message) { m.Key, m.Value = []byte(key), []byte(value) })
}

func line(ms ...segments.Message) ndjson.Line { return ndjson.Line{Messages: ms} }

// TestALineSaysWhatItSays decodes lines that are right.
func TestALineSaysWhatItSays(t *testing.T) {
	for text, want := range map[string]ndjson.Line{
		`{"key":"k","value":"v"}`:                                line(keyed("k", "v")),
		" {\t\"key\" : \"k\" , \"value\" : \"v\" } \r":           line(keyed("k", "v")),
		`{"k\u0065y":"\u006B","value":"v"}`:                      line(keyed("k", "v")),
		`{"Key":"x","KEY":"y","key":"k","value":"v"}`:            line(keyed("k", "v")),
		`{"a":{"key":[1,{"b":null}]},"key":"k","value":"v"}`:     line(keyed("k", "v")),
		`{"a":1,"a":-2.5e+7,"a":0.1E-2,"key":"k","value":"v"}`:   line(keyed("k", "v")),
		`{"a":[],"b":{},"c":true,"d":false,"key":"","value":""}`: line(keyed("", "")),
		`{"key":"a\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\ude00z","value":"é😀"}`: line(
			keyed("a\"\\/\b\f\n\r\t\x00é😀z", "é😀")),

		// Null, empty and absent are three things.
		`{"value":null}`:                         line(message(nil)),
		`{"value_base64":null}`:                  line(message(nil)),
		`{"value":""}`:                           line(message(func(m *segments.Message) { m.Value = []byte{} })),
		`{"value_base64":""}`:                    line(message(func(m *segments.Message) { m.Value = []byte{} })),
		`{"key":null,"value":"v"}`:               line(message(func(m *segments.Message) { m.Value = []byte("v") })),
		`{"key":"","value":null}`:                line(message(func(m *segments.Message) { m.Key = []byte{} })),
		`{"key_base64":"","value":null}`:         line(message(func(m *segments.Message) { m.Key = []byte{} })),
		`{"ordering_key":"","value":null}`:       line(message(func(m *segments.Message) { m.OrderingKey = []byte{} })),
		`{"ordering_key_base64":"","value":"v"}`: line(message(func(m *segments.Message) { m.OrderingKey, m.Value = []byte{}, []byte("v") })),
		`{"id":null,"batch":null,"batch_size":null,"key":null,"value":null,"publish_time":null,"event_time":null,` +
			`"producer":null,"sequence":null,"epoch":null,"txn":null,"ordering_key":null,"properties":null,"marker":null,` +
			`"low_water_mark":null}`: line(message(nil)),

		`{"key_base64":"/w==","value_base64":"AAE=","ordering_key_base64":"/+8="}`: line(message(func(m *segments.Message) {
			m.Key, m.Value, m.OrderingKey = []byte{0xff}, []byte{0, 1}, []byte{0xff, 0xef}
		})),
		`{"value":null,"publish_time":"2026-01-02T03:04:05.678Z","event_time":"2026-01-02T04:04:05.6789999+01:00"}`: line(
			message(func(m *segments.Message) {
				m.PublishTime, m.EventTime = 1767323045678, segments.Some[segments.Millis](1767323045678)
			})),
		`{"value":null,"publish_time":"1969-12-31T23:59:59.9999Z","event_time":"0000-01-01T00:00:00Z"}`: line(
			message(func(m *segments.Message) {
				m.PublishTime, m.EventTime = -1, segments.Some[segments.Millis](-62167219200000)
			})),
		`{"value":null,"producer":"","sequence":"-9223372036854775808","epoch":-2147483648}`: line(message(func(m *segments.Message) {
			m.Producer, m.Sequence, m.Epoch = segments.Some(""), segments.Some[int64](-1<<63), segments.Some[int32](-1<<31)
		})),
		`{"value":null,"producer":"p","sequence":9223372036854775807,"epoch":2147483647}`: line(message(func(m *segments.Message) {
			m.Producer, m.Sequence, m.Epoch = segments.Some("p"), segments.Some[int64](1<<63-1), segments.Some[int32](1<<31-1)
		})),
		`{"value":null,"txn":"18446744073709551615,0"}`: line(message(func(m *segments.Message) {
			m.Txn = segments.Some(segments.TxnID{Most: 1<<64 - 1})
		})),
		`{"value":null,"properties":[]}`: line(message(nil)),
		`{"value":null,"properties":[{"key":"x","value":"1"},{"value":"","key":"x","a":1,"txn":2},{"key":"","value":null},{"key":"y","value_base64":"/w=="}]}`: line(
			message(func(m *segments.Message) {
				m.Properties = []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x", Value: []byte{}}, {Key: ""}, {Key: "y", Value: []byte{0xff}}}
			})),

		// Positions, batches and markers.
		`{"id":"3:0","key":"k","value":"v"}`:                {ID: at("3:0"), Messages: []segments.Message{keyed("k", "v")}},
		`{"id":"3:0","batch_size":1,"key":"k","value":"v"}`: {ID: at("3:0"), Messages: []segments.Message{keyed("k", "v")}},
		`{"id":"3:0:1","batch_size":2,"value":null}`: {ID: at("3:0:1"), Messages: []segments.Message{
			message(func(m *segments.Message) { m.BatchSize = 2 })}},
		`{"batch":[{"value":null}]}`: {Batch: true, Messages: []segments.Message{message(nil)}},
		`{"id":"9223372036854775807:0","batch":[{"value":null,"txn":"1,4"} , {"value":"v","properties":[{"key":"a","value":"b"}]}]}`: {
			ID: at("9223372036854775807:0"), Batch: true, Messages: []segments.Message{
				message(func(m *segments.Message) { m.BatchSize, m.Txn = 2, segments.Some(segments.TxnID{Most: 1, Least: 4}) }),
				message(func(m *segments.Message) {
					m.BatchSize, m.Value, m.Properties = 2, []byte("v"), []segments.Property{{Key: "a", Value: []byte("b")}}
				}),
			}},
		`{"txn":"1,4","marker":"commit"}`: {Kind: segments.KindCommit, Txn: segments.TxnID{Most: 1, Least: 4}},
		`{"marker":"abort","txn":"1,4","id":"3:2","low_water_mark":"18446744073709551615","publish_time":"2026-01-02T03:04:05Z","x":1}`: {
			ID: at("3:2"), Kind: segments.KindAbort, Txn: segments.TxnID{Most: 1, Least: 4}, Mark: segments.Some[uint64](1<<64 - 1)},
		`{"txn":"1,4","marker":"commit","low_water_mark":0}`: {
			Kind: segments.KindCommit, Txn: segments.TxnID{Most: 1, Least: 4}, Mark: segments.Some[uint64](0)},
	} {
		d := ndjson.Decoder{Now: now}
		// Twice with one decoder, and something else between: nothing is left.
		for range 2 {
			got, err := d.Decode([]byte(text))
			if err != nil {
				t.Errorf("%s: %v", text, err)
				break
			}
			if len(got.Messages) == 0 {
				got.Messages = nil
			}
			if !reflect.DeepEqual(*got, want) {
				t.Errorf("%s\ngot  %+v\nwant %+v", text, *got, want)
			}
			other := `{"id":"1:1:0","batch_size":3,"key_base64":"AAAA","value":"x","properties":[{"key":"q","value":"q"}]}`
			if _, err := d.Decode([]byte(other)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestABadLineIsRefused decodes lines that are wrong; each error must say
// what.
func TestABadLineIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `want an object`,
		"null":                              `want an object`,
		"7":                                 `a number, want an object`,
		`[{"value":null}]`:                  `a list, want an object`,
		`"x"`:                               `a string, want an object`,
		`{"key":"k1","value":`:              `"value"`,
		`{"key":"k1","value":"v`:            `the line ends inside a string`,
		`{"key":"k1","value":"v\`:           `the line ends inside a string`,
		`{"key":"k1","value":"\u12"`:        `four digits`,
		`{"key":"k1","value":"v"`:           `want a comma or the end of the object`,
		`{"key":"k1" "value":"v"}`:          `want a comma`,
		`{"key":"k1","value":"v",}`:         `want a string`,
		`{"key":"k1",,"value":"v"}`:         `want a string`,
		`{"key" "k1"}`:                      `want a colon`,
		`{key:"k1"}`:                        `want a string`,
		`{"value":null} {"value":null}`:     `something follows`,
		`{"value":null}]`:                   `something follows`,
		"{\"value\":null}\x00":              `something follows`,
		"{\"value\":\"a\nb\"}":              `in a string`,
		"{\"value\":\"a\tb\"}":              `in a string`,
		"{\"value\":\"a\\n\tb\"}":           `in a string`,
		`{"value":"\x"}`:                    `a backslash before 'x'`,
		`{"value":nul}`:                     `want null`,
		`{"value":null,"x":tru}`:            `want true`,
		`{"value":null,"x":01}`:             `want a comma`,
		`{"value":null,"x":1.}`:             `want a digit`,
		`{"value":null,"x":.5}`:             `want a value`,
		`{"value":null,"x":-}`:              `want a number`,
		`{"value":null,"x":1e}`:             `want a digit`,
		`{"value":null,"x":+1}`:             `want a value`,
		`{"value":null,"x":NaN}`:            `want a value`,
		`{"value":null,"x":[1,]}`:           `want a value`,
		`{"value":null,"x":[1 2]}`:          `want a comma`,
		`{"value":null,"x":{"a":"\ud800"}}`: `half a surrogate pair`,

		// Text that is not UTF-8.
		"{\"value\":\"\xff\"}":            `not UTF-8`,
		"{\"x\":\"\xc3\",\"value\":null}": `not UTF-8`,
		"{\"value\":\"\xed\xa0\x80\"}":    `not UTF-8`,
		`{"value":"\ud800"}`:              `half a surrogate pair`,
		`{"value":"\ud83dx"}`:             `half a surrogate pair`,
		`{"value":"\ud83d\u0041"}`:        `half a surrogate pair`,
		`{"value":"\ude00\ud83d"}`:        `half a surrogate pair`,
		`{"value":"\ud83d\ud83d"}`:        `half a surrogate pair`,

		// Names.
		`{"key":"k8","valu":"1"}`:                                        `neither "value" nor "value_base64"`,
		`{}`:                                                             `neither "value" nor "value_base64"`,
		`{"key":"a","key":"a","value":null}`:                             `"key" is there twice`,
		`{"key":null,"key":null,"value":null}`:                           `"key" is there twice`,
		`{"key":"a","k\u0065y":"a","value":null}`:                        `"key" is there twice`,
		`{"value":null,"value":"v"}`:                                     `"value" is there twice`,
		`{"key":"a","key_base64":"YQ==","value":null}`:                   `both "key" and "key_base64"`,
		`{"key":null,"key_base64":"YQ==","value":null}`:                  `both "key" and "key_base64"`,
		`{"value":"a","value_base64":"YQ=="}`:                            `both "value" and "value_base64"`,
		`{"ordering_key":"a","ordering_key_base64":"YQ==","value":null}`: `both "ordering_key"`,

		// Types and ranges.
		`{"value":1}`:                                               `"value": byte 10: a number, want a string`,
		`{"value":{}}`:                                              `an object, want a string`,
		`{"value":["a"]}`:                                           `a list, want a string`,
		`{"value":true}`:                                            `want a string`,
		`{"key":7,"value":null}`:                                    `"key": byte 8: a number, want a string`,
		`{"value_base64":"AAE"}`:                                    `not base64`,
		`{"value_base64":"AAF="}`:                                   `not base64`,
		`{"value_base64":"A*E="}`:                                   `not base64`,
		`{"value_base64":"AA\nE="}`:                                 `not base64`,
		`{"value_base64":"_w=="}`:                                   `not base64`,
		`{"key_base64":1,"value":null}`:                             `want a string`,
		`{"value":null,"producer":1}`:                               `"producer"`,
		`{"value":null,"epoch":"0"}`:                                `"epoch"`,
		`{"value":null,"epoch":1.0}`:                                `not a whole number`,
		`{"value":null,"epoch":1e3}`:                                `not a whole number`,
		`{"value":null,"epoch":2147483648}`:                         `32 bits`,
		`{"value":null,"sequence":true}`:                            `want a whole number`,
		`{"value":null,"sequence":1.5}`:                             `not a whole number`,
		`{"value":null,"sequence":""}`:                              `not a whole number`,
		`{"value":null,"sequence":"-"}`:                             `not a whole number`,
		`{"value":null,"sequence":"+7"}`:                            `not a whole number`,
		`{"value":null,"sequence":"007"}`:                           `not a whole number`,
		`{"value":null,"sequence":" 7"}`:                            `not a whole number`,
		`{"value":null,"sequence":"7.0"}`:                           `not a whole number`,
		`{"value":null,"sequence":9223372036854775808}`:             `64 bits`,
		`{"value":null,"sequence":"9223372036854775808"}`:           `64 bits`,
		`{"value":null,"txn":"1"}`:                                  `not a transaction id`,
		`{"value":null,"txn":"1,4,5"}`:                              `not a transaction id`,
		`{"value":null,"txn":"01,4"}`:                               `not a transaction id`,
		`{"value":null,"txn":[1,4]}`:                                `"txn"`,
		`{"value":null,"id":"3"}`:                                   `not a position`,
		`{"value":null,"id":"3:0:0:0","batch_size":2}`:              `not a position`,
		`{"value":null,"id":"03:0"}`:                                `not a position`,
		`{"value":null,"id":"3:9223372036854775808"}`:               `not a position`,
		`{"value":null,"id":"3:1:2147483648","batch_size":2}`:       `not a position`,
		`{"value":null,"id":"-1:-1"}`:                               `no place for a message`,
		`{"value":null,"id":3}`:                                     `"id"`,
		`{"value":null,"publish_time":1767323045678}`:               `"publish_time"`,
		`{"value":null,"publish_time":""}`:                          `not a time`,
		`{"value":null,"publish_time":"2026-01-02"}`:                `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05"}`:       `not a time`,
		`{"value":null,"publish_time":"2026-01-02 03:04:05Z"}`:      `not a time`,
		`{"value":null,"publish_time":"2026-13-02T03:04:05Z"}`:      `not a time`,
		`{"value":null,"publish_time":"2026-02-30T03:04:05Z"}`:      `not a time`,
		`{"value":null,"publish_time":"2026-01-02T24:00:00Z"}`:      `not a time`,
		`{"value":null,"publish_time":"2026-01-02T3:04:05Z"}`:       `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05,5Z"}`:    `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05.Z"}`:     `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05+24:00"}`: `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05+0100"}`:  `not a time`,
		`{"value":null,"publish_time":"2026-01-02T03:04:05z"}`:      `not a time`,
		`{"value":null,"publish_time":"10000-01-02T03:04:05Z"}`:     `not a time`,
		`{"value":null,"event_time":"0000-01-01T00:00:00+01:00"}`:   `not a time`,
		`{"value":null,"event_time":"9999-12-31T23:59:59-01:00"}`:   `not a time`,

		// Properties.
		`{"value":null,"properties":{"a":"b"}}`:                                       `an object, want a list`,
		`{"value":null,"properties":["a"]}`:                                           `property 0: byte 29: a string, want an object`,
		`{"value":null,"properties":[{"value":"b"}]}`:                                 `no "key"`,
		`{"value":null,"properties":[{"key":null,"value":"b"}]}`:                      `want a string`,
		`{"value":null,"properties":[{"key":"a"}]}`:                                   `want one of`,
		`{"value":null,"properties":[{"key":"a","value":"b"},{"key":"a","value":1}]}`: `property 1: "value"`,
		`{"value":null,"properties":[{"key":"a","value":"b","value":"b"}]}`:           `twice`,
		`{"value":null,"properties":[{"key":"a","value":"b","value_base64":"YQ=="}]}`: `want one of`,

		// Positions, batches and markers.
		`{"id":"3:1:0","value":null}`:                  `needs a "batch_size"`,
		`{"id":"3:1:2","batch_size":2,"value":null}`:   `does not fit`,
		`{"id":"3:1","batch_size":2,"value":null}`:     `needs an "id" with an index`,
		`{"batch_size":2,"value":null}`:                `needs an "id" with an index`,
		`{"id":"3:1:0","batch_size":0,"value":null}`:   `"batch_size"`,
		`{"id":"3:1:0","batch_size":-1,"value":null}`:  `"batch_size"`,
		`{"id":"3:1:0","batch_size":"2","value":null}`: `"batch_size"`,
		`{"batch":[]}`:                                                            `"batch": no messages`,
		`{"batch":{}}`:                                                            `want a list`,
		`{"batch":[null]}`:                                                        `message 0`,
		`{"batch":[{"value":null},{"key":"a"}]}`:                                  `"batch": message 1: neither`,
		`{"batch":[{"id":"3:1","value":null}]}`:                                   `"id" inside a batch`,
		`{"batch":[{"batch":[{"value":null}]}]}`:                                  `"batch" inside a batch`,
		`{"batch":[{"txn":"1,4","marker":"commit"}]}`:                             `"marker" inside a batch`,
		`{"batch":[{"value":null,"batch_size":1}]}`:                               `"batch_size" inside a batch`,
		`{"batch":[{"value":null,"low_water_mark":null}]}`:                        `"low_water_mark" inside a batch`,
		`{"batch":[{"value":null}],"key":"a"}`:                                    `"key" goes inside`,
		`{"batch":[{"value":null}],"batch_size":1}`:                               `"batch_size" goes inside`,
		`{"batch":[{"value":null}],"value":null}`:                                 `"value" goes inside`,
		`{"id":"3:1:0","batch":[{"value":null}]}`:                                 `an entry of its own`,
		`{"marker":"commit"}`:                                                     `needs a "txn"`,
		`{"marker":"rollback","txn":"1,4"}`:                                       `neither commit nor abort`,
		`{"marker":true,"txn":"1,4"}`:                                             `"marker"`,
		`{"marker":"commit","txn":"1,4","value":null}`:                            `a marker has no "value"`,
		`{"marker":"commit","txn":"1,4","batch":[{"value":null}]}`:                `a marker has no "batch"`,
		`{"marker":"commit","txn":"1,4","id":"3:1:0"}`:                            `an entry of its own`,
		`{"marker":"commit","txn":"1,4","low_water_mark":-1}`:                     `64 bits without a sign`,
		`{"marker":"commit","txn":"1,4","low_water_mark":"18446744073709551616"}`: `64 bits`,
		`{"value":null,"low_water_mark":"3"}`:                                     `without a "marker"`,
	} {
		var d ndjson.Decoder
		got, err := d.Decode([]byte(text))
		if err == nil {
			t.Errorf("%s was taken as %+v", text, *got)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, want it to say %q", text, err, want)
		}
	}
}

// TestDeepNestingIsRefusedAndHarmless nests far deeper than a stack goes.
func TestDeepNestingIsRefusedAndHarmless(t *testing.T) {
	for _, c := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		for depth, ok := range map[int]bool{900: true, 1_000_000: false} {
			text := `{"value":null,"x":` + strings.Repeat(c.open, depth) + "1" + strings.Repeat(c.close, depth) + "}"
			var d ndjson.Decoder
			if _, err := d.Decode([]byte(text)); (err == nil) != ok {
				t.Errorf("%s %d times: got %v", c.open, depth, err)
			}
		}
	}
}

// TestALongTextIsNotRepeatedInAnError makes errors about texts of a megabyte.
func TestALongTextIsNotRepeatedInAnError(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	for _, form := range []string{`{"id":%q}`, `{"txn":%q}`, `{"sequence":%q}`, `{"publish_time":%q}`, `{"marker":%q}`} {
		var d ndjson.Decoder
		if _, err := d.Decode(fmt.Appendf(nil, form, long)); err == nil || len(err.Error()) > 300 {
			t.Errorf("%s: got an error of %d bytes", form, len(fmt.Sprint(err)))
		}
	}
}

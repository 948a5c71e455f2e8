package ndjson_test

import (
	"fmt"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// A line goes into a topic, and comes out as the reader prints it.
func Example() {
	d := ndjson.Decoder{Now: 1772323200000}
	line, err := d.Decode([]byte(`{"key":"k1","value":"caf\u00e9","producer":"p","sequence":7,"note":"ignored"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := line.Messages[0]
	m.Position = segments.At(3, 0) // as ingest assigns it
	fmt.Printf("%s\n", ndjson.Append(nil, &m, ndjson.SettledFields()))

	_, err = d.Decode([]byte(`{"key":"k1","valu":"v1"}`))
	fmt.Println(err)
	// Output:
	// {"id":"3:0","key":"k1","value":"café","publish_time":"2026-03-01T00:00:00.000Z","producer":"p","sequence":"7"}
	// neither "value" nor "value_base64"
}

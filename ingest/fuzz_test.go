package ingest_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
)

// FuzzRun runs any bytes into a topic, twice. Whatever they are, the run ends
// in lines that are in or in an error that says it is the input's fault; what
// it says of the lines that are in is so; and under a name nothing comes twice.
func FuzzRun(f *testing.F) {
	for _, text := range []string{
		"{\"key\":\"a\",\"value\":\"1\"}\n\n{\"txn\":\"1,1\",\"marker\":\"commit\",\"low_water_mark\":3}\n",
		"{\"batch\":[{\"key\":\"a\",\"value\":\"1\",\"txn\":\"1,1\"},{\"value_base64\":\"/w==\",\"producer\":\"p\",\"sequence\":1}]}\n{\"value\":null}",
		"{\"id\":\"3:0:1\",\"batch_size\":3,\"value\":\"1\"}\n{\"id\":\"3:0:2\",\"batch_size\":3,\"value\":\"1\"}\n{\"id\":\"4:0\",\"batch\":[{\"value\":\"1\"}]}\n",
		"{\"id\":\"9223372036854775807:0\",\"value\":\"1\"}\n",
		"\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd\x04\x00\x11\x00\x00{}\n",
		strings.Repeat("{\"value\":\"0123456789\"}\n", 30),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		w := newWorld(t, smallest)
		again := func() (ingest.Result, error) {
			s := w.settings()
			s.Source, s.LineBytesMax = "app", 1<<20
			return ingest.Run(t.Context(), w.topic, bytes.NewReader(input), s, w.components())
		}
		first, err := again()
		if err != nil && !errors.Is(err, ingest.ErrBadInput) {
			t.Fatal(err)
		}
		rows := w.rows()
		messages := 0
		for _, m := range rows {
			if !m.Kind.IsMarker() {
				messages++
			}
		}
		if int(first.Messages) != messages || (first.State == ingest.Ingested) != (len(rows) > 0) {
			t.Fatalf("got %+v, but %d messages in %d rows", first, messages, len(rows))
		}
		second, againErr := again()
		if second.State != ingest.AlreadyIngested || len(w.rows()) != len(rows) || (err == nil) != (againErr == nil) {
			t.Fatalf("again: %+v, %v, then %+v, %v", first, err, second, againErr)
		}
	})
}

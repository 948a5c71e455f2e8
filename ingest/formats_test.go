package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// as runs an input of a format into the topic.
func (w *world) as(format string, input []byte, change ...func(*ingest.Settings)) (ingest.Result, error) {
	s := w.settings()
	s.Format = format
	for _, c := range change {
		c(&s)
	}
	return ingest.Run(context.Background(), w.topic, bytes.NewReader(input), s, w.components())
}

func named(source string) func(*ingest.Settings) {
	return func(s *ingest.Settings) { s.Source = source }
}

func partition(n int32) func(*ingest.Settings) {
	return func(s *ingest.Settings) { s.Partition = segments.Some(n) }
}

func keyed(path string) func(*ingest.Settings) {
	return func(s *ingest.Settings) { s.Key = path }
}

// refused is an input that is bad, and what the error says.
type refused struct{ input, want string }

// refuse runs each input into a topic of its own. Nothing of it may get in.
func refuse(t *testing.T, format string, list []refused, change ...func(*ingest.Settings)) {
	t.Helper()
	for _, c := range list {
		w := newWorld(t)
		r, err := w.as(format, []byte(c.input), change...)
		if !errors.Is(err, ingest.ErrBadInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.input, err, c.want)
		}
		if r.State != ingest.AlreadyIngested || len(w.log()) != 0 {
			t.Errorf("%s: got %+v", c.input, r)
		}
	}
}

// wantLog compares the topic's rows with lines.
func (w *world) wantLog(what string, lines ...string) {
	w.t.Helper()
	equal(w.t, what, w.log(), lines)
}

// object is what the store has under a key.
func (w *world) object(key string) []byte {
	w.t.Helper()
	for e, err := range w.store.List(context.Background(), key, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		b := make([]byte, e.Bytes)
		if err := w.store.ReadAt(context.Background(), key, b, 0); err != nil {
			w.t.Fatal(err)
		}
		return b
	}
	w.t.Fatalf("there is no object %s", key)
	return nil
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fuzzFormat runs any bytes as a format, twice under a name: whatever they are,
// they get in or are the input's fault, and nothing comes twice.
func fuzzFormat(f *testing.F, format string, change ...func(*ingest.Settings)) {
	f.Fuzz(func(t *testing.T, input []byte) {
		w := newWorld(t, smallest)
		bound := func(s *ingest.Settings) { s.LineBytesMax, s.InflatedBytesMax = 1<<20, 1<<20 }
		first, err := w.as(format, input, append(change, named("app"), bound)...)
		if err != nil && !errors.Is(err, ingest.ErrBadInput) {
			t.Fatal(err)
		}
		rows := w.rows()
		second, againErr := w.as(format, input, append(change, named("app"), bound)...)
		if second.State != ingest.AlreadyIngested || len(w.rows()) != len(rows) || (err == nil) != (againErr == nil) {
			t.Fatalf("again: %+v, %v, then %+v, %v", first, err, second, againErr)
		}
	})
}

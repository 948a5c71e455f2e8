package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// arrowFile is messages as a table of the named columns.
func arrowFile(t testing.TB, list []segments.Message, columns ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := segments.NewArrowWriter(&b, columns...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestATopicComesBackFromArrow writes every row of a topic as a table, markers
// and open transactions too, and makes another topic of it.
func TestATopicComesBackFromArrow(t *testing.T) {
	w := newWorld(t)
	w.must(w.ingest(
		`{"id":"3:0","key":"a","value":"1","publish_time":"2026-01-02T03:04:05.678Z","event_time":"2026-01-02T03:04:05.001Z","producer":"p","sequence":"7","epoch":1,"ordering_key":"o","properties":[{"key":"x","value":"1"},{"key":"x","value":""},{"key":"y","value":null}]}`,
		`{"id":"3:1:0","batch_size":4,"key":"b","value":""}`,
		`{"id":"3:1:3","batch_size":4,"key":"","value":"2","txn":"1,4"}`,
		`{"id":"3:2","key_base64":"/w==","value_base64":"/wA="}`,
		`{"id":"3:3","txn":"1,4","marker":"abort"}`,
		`{"id":"3:4","value":"no key","txn":"1,5"}`,
		`{"id":"3:5","value":null}`,
		`{"id":"7:0","key":"a","value":null,"txn":"1,6"}`,
		`{"id":"7:2","txn":"1,5","marker":"commit"}`,
	))
	file := arrowFile(t, w.rows())
	for name, in := range map[string]io.Reader{
		"a file": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)), "zstd": bytes.NewReader(zstded(t, string(file))),
	} {
		again := newWorld(t)
		s := again.settings()
		s.Format = ingest.Arrow
		wantResult(t, again.must(ingest.Run(t.Context(), again.topic, in, s, again.components())), "ingested 3:0..7:2, 7 messages, 0 duplicates, version 1")
		again.wantLog(name, w.log()...)
		if got, want := again.latest().MaxRead, w.latest().MaxRead; got != want {
			t.Errorf("%s: the max read position is %s, want %s", name, got, want)
		}
	}
	// The segment itself, as it lies in the bucket.
	again := newWorld(t)
	var segment []byte
	for _, key := range w.objects() {
		if strings.Contains(key, "/d/") {
			segment = w.object(key)
		}
	}
	again.must(again.as(ingest.Arrow, segment))
	again.wantLog("a segment", w.log()...)
	_, err := again.as(ingest.Arrow, segment)
	if !errors.Is(err, ingest.ErrBadInput) || !strings.HasPrefix(err.Error(), "row 2: position 3:1:0 does not lie above 7:2") {
		t.Errorf("the same positions again: got %v", err)
	}
}

// TestATableOfKeysAndValuesGetsPositions takes a table that has nothing else,
// under a name, as it grows.
func TestATableOfKeysAndValuesGetsPositions(t *testing.T) {
	var list []segments.Message
	for i := range 50 {
		list = append(list, segments.Message{BatchSize: 1, Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v")})
	}
	list[3].Value = nil
	list[4].Key = nil
	list[5].Key, list[5].Value = nil, nil
	w := newWorld(t, smallest)
	wantResult(t, w.must(w.as(ingest.Arrow, arrowFile(t, list[:30], "value", "key"), named("table"))), "ingested 0:0..0:29, 30 messages, 0 duplicates, version 3")
	wantResult(t, w.must(w.as(ingest.Arrow, arrowFile(t, list, "key", "value"), named("table"))), "ingested 1:0..1:19, 20 messages, 30 duplicates, version 5")
	if got := w.log(); len(got) != 50 || got[3] != `tombstone {"id":"0:3","key":"k3","value":null}` || got[4] != `{"id":"0:4","value":"v"}` || got[5] != `{"id":"0:5","value":null}` || got[49] != `{"id":"1:19","key":"k49","value":"v"}` {
		t.Errorf("got %q", got)
	}
}

func TestRowsThatDoNotGoTogetherAreRefused(t *testing.T) {
	good := segments.Message{Position: segments.At(0, 0), BatchSize: 1, Key: []byte("k"), Value: []byte("v")}
	for want, change := range map[string]func(*segments.Message){
		"row 2: a marker without a transaction": func(m *segments.Message) { m.Kind, m.Key, m.Value = segments.KindCommit, nil, nil },
		"row 2: a marker with a key or a value": func(m *segments.Message) { m.Kind, m.Txn.Valid = segments.KindAbort, true },
		"row 2: a marker takes an entry of": func(m *segments.Message) {
			m.Kind, m.Txn.Valid, m.Key, m.Value, m.Position.Batch = segments.KindAbort, true, nil, nil, 0
		},
		"row 2: a tombstone without a key":       func(m *segments.Message) { m.Kind, m.Key, m.Value = segments.KindTombstone, nil, nil },
		"row 2: a tombstone with a value":        func(m *segments.Message) { m.Kind = segments.KindTombstone },
		"row 2: a batch size of 3 without":       func(m *segments.Message) { m.BatchSize = 3 },
		"row 2: index 3 does not fit into":       func(m *segments.Message) { m.BatchSize, m.Position.Batch = 3, 3 },
		"row 2: position 0:0 does not lie above": func(m *segments.Message) { m.Position = segments.At(0, 0) },
		"batch_size: corrupt: row 1: 0 is not":   func(m *segments.Message) { m.BatchSize = 0 },
		"kind: corrupt: row 1: 9 is not in":      func(m *segments.Message) { m.Kind = 9 },
		"ledger: corrupt: row 1: -4 is not in":   func(m *segments.Message) { m.Position.Ledger = -4 },
	} {
		list := []segments.Message{good, good}
		list[1].Position.Entry = 1
		change(&list[1])
		w := newWorld(t)
		_, err := w.as(ingest.Arrow, arrowFile(t, list))
		if !errors.Is(err, ingest.ErrBadInput) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "row 2: ") || len(w.log()) != 0 {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	refuse(t, ingest.Arrow, []refused{
		{"", "row 1: arrow input: corrupt: it does not begin as an Arrow file or stream"},
		{"key,value\na,1\n", "row 1: arrow input: corrupt: it does not begin"},
		{string(arrowFile(t, []segments.Message{good}, "key")), `row 1: arrow input: not a table of messages: there is no column "value"`},
	})
	broken := errors.New("the disk is gone")
	w := newWorld(t)
	s := w.settings()
	s.Format = ingest.Arrow
	if _, err := ingest.Run(t.Context(), w.topic, io.MultiReader(strings.NewReader("ARROW1"), iotest.ErrReader(broken)), s, w.components()); !errors.Is(err, broken) || errors.Is(err, ingest.ErrBadInput) {
		t.Errorf("got %v", err)
	}
	if _, err := w.as(ingest.Arrow, zstded(t, string(arrowFile(t, []segments.Message{good})))[:100]); !errors.Is(err, ingest.ErrBadInput) {
		t.Errorf("a compressed input that is cut: got %v", err)
	}
}

// TestForeignFilesInArrow runs what broke other readers of Arrow, and good files
// that have no messages: errors, and nothing gets in.
func TestForeignFilesInArrow(t *testing.T) {
	names, err := filepath.Glob("../segments/testdata/arrow-*/*[0-9e]")
	if err != nil || len(names) < 85 {
		t.Fatalf("found %d files, %v", len(names), err)
	}
	w := newWorld(t)
	for _, name := range names {
		data := read(t, name)
		var err error
		if n := allocated(func() { _, err = w.as(ingest.Arrow, data) }); n > 64<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if !errors.Is(err, ingest.ErrBadInput) || !strings.Contains(err.Error(), "row 1: arrow input") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	w.wantLog("foreign files")
}

func FuzzArrow(f *testing.F) {
	full := segments.Message{Position: segments.Position{Ledger: 1, Entry: 2, Batch: 0}, BatchSize: 2, Key: []byte("k"), Value: []byte("v"),
		Producer: segments.Some("p"), Sequence: segments.Some(int64(1)), Txn: segments.Some(segments.TxnID{Most: 1, Least: 2}),
		Properties: []segments.Property{{Key: "a", Value: []byte("b")}}}
	end := segments.Message{Position: segments.At(1, 3), BatchSize: 1, Kind: segments.KindCommit, Txn: full.Txn}
	f.Add(arrowFile(f, []segments.Message{full, end}))
	f.Add(arrowFile(f, []segments.Message{full, full}, "key", "value"))
	fuzzFormat(f, ingest.Arrow)
}

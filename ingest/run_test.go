package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

func TestPositionsAreAssignedLedgerByLedgerMarkersIncluded(t *testing.T) {
	w := newWorld(t)
	wantResult(t, w.must(w.ingest(
		`{"key":"a","value":"1"}`,
		`{"key":"b","value":"1","txn":"1,1"}`,
		``,
		`{"txn":"1,1","marker":"commit"}`,
		`{"batch":[{"key":"c","value":"1"},{"value":null}]}`,
	)), "ingested 0:0..0:3, 4 messages, 0 duplicates, version 1")
	wantResult(t, w.must(w.ingest(`{"key":"d","value":null}`)), "ingested 1:0..1:0, 1 messages, 0 duplicates, version 2")
	wantResult(t, w.must(w.ingest()), "already_ingested -1:-1..-1:-1, 0 messages, 0 duplicates, version 2")
	wantResult(t, w.must(w.ingest(`{"id":"7:3","key":"e","value":"1"}`, `{"id":"7:5","txn":"1,2","marker":"abort"}`)),
		"ingested 7:3..7:5, 1 messages, 0 duplicates, version 3")
	// The next ledger is the one after the last that holds a row.
	wantResult(t, w.must(w.ingest(`{"key":"f","value":"1","publish_time":"2026-01-02T03:04:05Z"}`)),
		"ingested 8:0..8:0, 1 messages, 0 duplicates, version 4")
	equal(t, "log", w.log(), []string{
		`{"id":"0:0","key":"a","value":"1"}`,
		`{"id":"0:1","key":"b","value":"1","txn":"1,1"}`,
		`0:2 commit 1,1`,
		`{"id":"0:3:0","batch_size":2,"key":"c","value":"1"}`,
		`{"id":"0:3:1","batch_size":2,"value":null}`,
		`tombstone {"id":"1:0","key":"d","value":null}`,
		`{"id":"7:3","key":"e","value":"1"}`,
		`7:5 abort 1,2`,
		`{"id":"8:0","key":"f","value":"1","publish_time":"2026-01-02T03:04:05.000Z"}`,
	})
}

// TestBadInput runs inputs that are refused into a topic that holds something
// already; the error must say which line and why, and nothing may be added.
func TestABadLineAddsNothing(t *testing.T) {
	before := []string{
		`{"id":"3:0","key":"a","value":"1","producer":"p","sequence":"5","epoch":2}`,
		`{"id":"3:1","key":"a","value":"1","txn":"1,4"}`,
		`{"id":"3:2","key":"b","value":"1","txn":"1,5"}`,
		`{"id":"3:3","txn":"1,4","marker":"commit"}`,
		`{"id":"3:4","txn":"1,5","marker":"abort"}`,
		`{"id":"3:5:0","batch_size":3,"value":"1"}`,
		`{"id":"3:5:1","batch_size":3,"value":"1"}`,
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"no JSON", []string{`{"key":"a","value":"1"}`, ``, `{"key":"k1","value":`}, `line 3: "value"`},
		{"a mistyped name", []string{`{"key":"a","valu":"1"}`}, `line 1: neither "value"`},
		{"a transaction that was committed", []string{`{"value":"1"}`, `{"value":"1","txn":"1,4"}`},
			"line 2: transaction (1,4) has ended; start a new transaction"},
		{"a transaction that was aborted", []string{`{"id":"4:0","value":"1","txn":"1,5"}`},
			"line 1: transaction (1,5) has ended; start a new transaction"},
		{"a transaction below the mark", []string{`{"txn":"1,9","marker":"commit","low_water_mark":7}`, `{"batch":[{"value":"1"},{"value":"1","txn":"1,7"}]}`},
			"line 2: transaction (1,7) has ended; start a new transaction"},
		{"the last position", []string{`{"id":"3:5","value":"1"}`}, "line 1: position 3:5 does not lie above 3:5, the topic's last entry"},
		{"a further row of the last entry", []string{`{"id":"3:5:2","batch_size":3,"value":"1"}`}, "line 1: position 3:5:2 does not lie above 3:5"},
		{"an older ledger", []string{`{"id":"2:9","value":"1"}`}, "line 1: position 2:9"},
		{"going down", []string{`{"id":"4:1","value":"1"}`, `{"id":"4:0","value":"1"}`}, "line 2: position 4:0 does not lie above 4:1"},
		{"the same twice", []string{`{"id":"4:1","value":"1"}`, `{"id":"4:1","value":"1"}`}, "line 2: position 4:1 does not lie above 4:1"},
		{"an index twice", []string{`{"id":"4:1:0","batch_size":2,"value":"1"}`, `{"id":"4:1:0","batch_size":2,"value":"1"}`},
			"line 2: position 4:1:0 does not lie above 4:1:0"},
		{"two sizes of one batch", []string{`{"id":"4:1:0","batch_size":2,"value":"1"}`, `{"id":"4:1:1","batch_size":3,"value":"1"}`},
			"line 2: position 4:1:1 has a batch size of 3, and 4:1:0 one of 2"},
		{"an entry that is a batch and is none", []string{`{"id":"4:1:0","batch_size":2,"value":"1"}`, `{"id":"4:1","value":"1"}`},
			"line 2: position 4:1 does not lie above 4:1"},
		{"a batch line and a further row", []string{`{"id":"4:1","batch":[{"value":"1"}]}`, `{"id":"4:1:1","batch_size":2,"value":"1"}`},
			"line 2: position 4:1:1 does not lie above 4:1"},
		{"a row behind its batch", []string{`{"id":"4:1:0","batch_size":3,"value":"1"}`, `{"id":"4:2","value":"1"}`, `{"id":"4:1:1","batch_size":3,"value":"1"}`},
			"line 3: position 4:1:1 does not lie above 4:2"},
		{"ids on some lines", []string{`{"id":"4:1","value":"1"}`, `{"value":"1"}`}, "line 2: it has no id"},
		{"ids on later lines", []string{`{"value":"1"}`, `{"txn":"1,8","marker":"commit","id":"4:1"}`}, "line 2: it has an id"},
		{"ids on duplicates", []string{`{"value":"1"}`, `{"id":"4:1","value":"1","producer":"p","sequence":"5","epoch":2}`}, "line 2: it has an id"},
		{"a fenced producer", []string{`{"value":"1","producer":"p","sequence":"6","epoch":1}`}, `line 1: producer "p" is fenced`},
		{"a fenced producer without an epoch", []string{`{"batch":[{"value":"1","producer":"p","sequence":"6"}]}`}, `line 1: producer "p" is fenced`},
		{"a producer fenced in this run", []string{
			`{"value":"1","producer":"q","sequence":"0","epoch":1}`, `{"value":"1","producer":"q","sequence":"0","epoch":0}`}, `line 2: producer "q" is fenced`},
	} {
		w := newWorld(t)
		w.must(w.ingest(before...))
		want := w.log()
		r, err := w.ingest(c.lines...)
		var line *ingest.LineError
		if !errors.As(err, &line) || !errors.Is(err, ingest.ErrBadInput) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if r.State != ingest.AlreadyIngested || w.latest().Version != 1 || len(w.objects()) != 2 {
			t.Errorf("%s: got %+v, version %d, objects %v", c.name, r, w.latest().Version, w.objects())
		}
		equal(t, c.name, w.log(), want)
	}
}

func TestDuplicatesAreKnownByProducerEpochAndSequence(t *testing.T) {
	w := newWorld(t)
	line := func(rest string) string { return fmt.Sprintf(`{"key":"a","value":"1",%s}`, rest) }
	wantResult(t, w.must(w.ingest(
		line(`"producer":"p","sequence":"1"`),
		line(`"producer":"p","sequence":"1"`),           // the same
		line(`"producer":"p","sequence":"1","epoch":0`), // no epoch is epoch 0
		line(`"producer":"p","sequence":"3"`),           // a gap
		line(`"producer":"p","sequence":"2"`),           // late
		line(`"producer":"q","sequence":"1"`),           // another producer
		line(`"producer":"p"`), line(`"sequence":"1"`),  // not to be recognised
		line(`"producer":"p","sequence":"-1","epoch":1`), // a new epoch
		line(`"producer":"p","sequence":"3"`),            // old news of an old epoch is no offence
	)), "ingested 0:0..0:5, 6 messages, 4 duplicates, version 1")
	m := w.latest()
	var got []string
	for _, p := range m.Producers {
		got = append(got, fmt.Sprintf("%s %d %d %s %s", p.Name, p.Epoch, p.Sequence, p.Position, p.Added))
	}
	equal(t, "producers", got, []string{
		"p 0 3 0:1 2026-03-01T00:00:00.000Z", "p 1 -1 0:5 2026-03-01T00:00:00.000Z", "q 0 1 0:2 2026-03-01T00:00:00.000Z"})
	wantResult(t, w.must(w.ingest(line(`"producer":"p","sequence":"-1","epoch":1`))),
		"already_ingested -1:-1..-1:-1, 0 messages, 1 duplicates, version 1")
}

func TestOfAPartlyDuplicateBatchTheRestIsAdded(t *testing.T) {
	w := newWorld(t)
	m := func(sequence int, rest string) string {
		return fmt.Sprintf(`{"key":"k","value":"%d","producer":"p","sequence":"%d"%s}`, sequence, sequence, rest)
	}
	w.must(w.ingest(m(0, ""), m(1, ""), m(2, `,"txn":"1,1"`), `{"txn":"1,1","marker":"commit"}`))
	wantResult(t, w.must(w.ingest(
		`{"batch":[`+m(0, "")+`,`+m(2, `,"txn":"1,1"`)+`]}`, // takes no entry, and its end of a transaction is old news
		`{"txn":"1,1","marker":"abort","low_water_mark":9}`,
		`{"batch":[`+m(1, "")+`,`+m(3, "")+`,`+m(2, "")+`,`+m(3, "")+`,`+m(4, `,"txn":"1,2"`)+`]}`,
	)), "ingested 1:0..1:0, 2 messages, 5 duplicates, version 2")
	equal(t, "log", w.log()[4:], []string{
		`{"id":"1:0:1","batch_size":5,"key":"k","value":"3","producer":"p","sequence":"3"}`,
		`{"id":"1:0:4","batch_size":5,"key":"k","value":"4","producer":"p","sequence":"4","txn":"1,2"}`,
	})
	// With positions: what is in is known before its position is looked at.
	wantResult(t, w.must(w.ingest(
		strings.Replace(m(4, ""), "{", `{"id":"1:0:0","batch_size":2,`, 1),
		strings.Replace(m(5, ""), "{", `{"id":"1:1:1","batch_size":4,`, 1),
		strings.Replace(m(4, ""), "{", `{"id":"0:0:2","batch_size":4,`, 1),
		strings.Replace(m(6, ""), "{", `{"id":"1:1:3","batch_size":4,`, 1),
		`{"id":"1:2","batch":[`+m(6, "")+`,`+m(7, "")+`]}`,
	)), "ingested 1:1..1:2, 3 messages, 3 duplicates, version 3")
	equal(t, "log", w.log()[6:], []string{
		`{"id":"1:1:1","batch_size":4,"key":"k","value":"5","producer":"p","sequence":"5"}`,
		`{"id":"1:1:3","batch_size":4,"key":"k","value":"6","producer":"p","sequence":"6"}`,
		`{"id":"1:2:1","batch_size":2,"key":"k","value":"7","producer":"p","sequence":"7"}`,
	})
}

// TestASilentProducerIsForgottenWithAllItsEpochs moves the clock over the
// expiry, which counts from the last added line of any epoch.
func TestASilentProducerIsForgottenWithAllItsEpochs(t *testing.T) {
	w := newWorld(t, "producer_expiry=10h")
	old, newer := `{"value":"1","producer":"p","sequence":"1"}`, `{"value":"1","producer":"p","sequence":"1","epoch":1}`
	other := `{"value":"2"}`
	w.must(w.ingest(old))
	w.now = now.Add(8 * time.Hour)
	w.must(w.ingest(newer))
	// Epoch 0 is 17 hours old, the producer 9.
	w.now = now.Add(17 * time.Hour)
	wantResult(t, w.must(w.ingest(other)), "ingested 2:0..2:0, 1 messages, 0 duplicates, version 3")
	wantResult(t, w.must(w.ingest(old, newer)), "already_ingested -1:-1..-1:-1, 0 messages, 2 duplicates, version 3")
	// What is said again does not count as heard: it expires at 18 hours.
	w.now = now.Add(18*time.Hour - time.Millisecond)
	wantResult(t, w.must(w.ingest(old, newer)), "already_ingested -1:-1..-1:-1, 0 messages, 2 duplicates, version 3")
	w.now = now.Add(18 * time.Hour)
	wantResult(t, w.must(w.ingest(old)), "ingested 3:0..3:0, 1 messages, 0 duplicates, version 4")
	if got := w.latest().Producers; len(got) != 1 || got[0].Epoch != 0 {
		t.Errorf("producers are %+v, want epoch 0 alone", got)
	}

	w = newWorld(t, "producer_expiry=forever")
	w.must(w.ingest(old))
	w.now = now.Add(100 * 365 * 24 * time.Hour)
	wantResult(t, w.must(w.ingest(old)), "already_ingested -1:-1..-1:-1, 0 messages, 1 duplicates, version 1")
}

func TestTransactionsAreKeptInTheManifest(t *testing.T) {
	w := newWorld(t)
	w.must(w.ingest(`{"id":"1:0","key":"a","value":"1"}`, `{"id":"1:1","key":"a","value":"2","txn":"1,1"}`,
		`{"id":"1:2:0","batch_size":2,"value":"1","txn":"1,2"}`, `{"id":"1:2:1","batch_size":2,"value":"1","txn":"1,3"}`))
	state := func() (string, segments.Position) {
		m := w.latest()
		s, err := txnfilter.Decode(m.Transactions)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(s.Open()), m.MaxRead
	}
	check := func(open, maxRead string) {
		t.Helper()
		if gotOpen, gotMax := state(); gotOpen != open || gotMax.String() != maxRead {
			t.Errorf("open %s, max read %s, want %s, %s", gotOpen, gotMax, open, maxRead)
		}
	}
	check("[1,1 1,2 1,3]", "1:0")
	w.must(w.ingest(`{"id":"1:3","txn":"1,2","marker":"commit"}`))
	check("[1,1 1,3]", "1:0")
	w.must(w.ingest(`{"id":"2:7","txn":"1,9","marker":"commit","low_water_mark":"2"}`))
	check("[1,3]", "1:1")
	wantResult(t, w.must(w.ingest(`{"txn":"1,1","marker":"commit","low_water_mark":"3"}`)), "already_ingested -1:-1..-1:-1, 0 messages, 0 duplicates, version 3")
	w.must(w.ingest(`{"txn":"1,3","marker":"abort"}`))
	check("[]", "3:0")
}

func TestAnEmptyValueDeletesWhereTheTopicSaysSo(t *testing.T) {
	lines := []string{`{"key":"a","value":""}`, `{"value":""}`, `{"key":"","value":null}`, `{"value":null}`}
	w := newWorld(t)
	w.must(w.ingest(lines...))
	equal(t, "by default", w.log(), []string{
		`{"id":"0:0","key":"a","value":""}`, `{"id":"0:1","value":""}`, `tombstone {"id":"0:2","key":"","value":null}`, `{"id":"0:3","value":null}`})
	w = newWorld(t, "empty_is_tombstone=true")
	w.must(w.ingest(lines...))
	equal(t, "as the topic says", w.log(), []string{
		`tombstone {"id":"0:0","key":"a","value":""}`, `{"id":"0:1","value":""}`, `tombstone {"id":"0:2","key":"","value":null}`, `{"id":"0:3","value":null}`})
}

// TestSegmentsAreSealedBySizeAndNeverSplitAnEntry makes segments of a few rows
// and looks where they end.
func TestSegmentsAreSealedBySizeAndNeverSplitAnEntry(t *testing.T) {
	w := newWorld(t, smallest)
	r := w.must(w.ingest(wide(3,
		`{"id":"1:0","value":"1"}`, `{"id":"1:1","value":"2"}`, `{"id":"1:2","value":"3"}`, `{"id":"1:3","value":"4"}`,
		`{"id":"1:4:0","batch_size":9,"value":"5"}`, `{"id":"1:4:3","batch_size":9,"value":"6"}`, `{"id":"1:4:7","batch_size":9,"value":"7"}`,
		`{"id":"1:4:8","batch_size":9,"value":"8"}`, `{"id":"1:9","batch":[{"value":"9"},{"value":"10"},{"value":"11"},{"value":"12"}]}`,
		`{"id":"2:0","value":"13"}`)...))
	wantResult(t, r, "ingested 1:0..2:0, 13 messages, 0 duplicates, version 4")
	var got []string
	for _, s := range w.latest().Originals {
		got = append(got, fmt.Sprintf("%s %d", s.Range, s.Info.Counts.Rows()))
	}
	equal(t, "segments", got, []string{"(-1:-1, 1:2] 3", "(1:2, 1:4] 5", "(1:4, 1:9] 4", "(1:9, 2:0] 1"})
}

func TestABadLineLeavesWhatWasCommittedAndSaysSo(t *testing.T) {
	w := newWorld(t, smallest)
	r, err := w.ingest(wide(3, `{"value":"1"}`, `{"value":"2"}`, ``, `{"value":"3"}`, `{"value":"4"}`, `{"value":"5"}`, `{"valu":"6"}`)...)
	want := `line 7: neither "value" nor "value_base64" (lines 1 to 4 are in, 3 messages of them added)`
	if err == nil || err.Error() != want || !errors.Is(err, ingest.ErrBadInput) {
		t.Errorf("got %v, want %s", err, want)
	}
	wantResult(t, r, "ingested 0:0..0:2, 3 messages, 0 duplicates, version 1")
	equal(t, "log", w.log(), []string{`{"id":"0:0","value":"1"}`, `{"id":"0:1","value":"2"}`, `{"id":"0:2","value":"3"}`})
}

// TestANamedSourceGoesOnWhereItStopped lets a file grow, and a run of it fail
// halfway.
func TestANamedSourceGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t, smallest)
	file := wide(2, `{"value":"1"}`, ``, `{"batch":[{"value":"2"},{"value":"3"}]}`, `{"txn":"1,1","marker":"commit"}`, ``)
	wantResult(t, w.must(w.ingestAs("app", file[:3]...)), "ingested 0:0..0:1, 3 messages, 0 duplicates, version 1")
	wantResult(t, w.must(w.ingestAs("app", file[:3]...)), "already_ingested -1:-1..-1:-1, 0 messages, 3 duplicates, version 1")
	wantResult(t, w.must(w.ingestAs("app", file...)), "ingested 1:0..1:0, 0 messages, 3 duplicates, version 2")
	wantResult(t, w.must(w.ingestAs("app", file...)), "already_ingested -1:-1..-1:-1, 0 messages, 3 duplicates, version 2")
	wantResult(t, w.must(w.ingestAs("other", file[:3]...)), "ingested 2:0..2:1, 3 messages, 0 duplicates, version 3")

	// The run that fails has committed lines 6 and 7: they do not come again.
	file = append(file, wide(2, `{"value":"4"}`, `{"value":"5"}`, `{"value":"6"}`)...)
	r, err := w.ingestAs("app", append(file, `bad`)...)
	if !errors.Is(err, ingest.ErrBadInput) {
		t.Errorf("got %v, want a bad line", err)
	}
	wantResult(t, r, "ingested 3:0..3:1, 2 messages, 3 duplicates, version 4")
	wantResult(t, w.must(w.ingestAs("app", append(file, `{"value":"7"}`)...)), "ingested 4:0..4:1, 2 messages, 5 duplicates, version 5")
	if got := w.latest().Sources; len(got) != 2 || got[0] != (manifest.Source{Name: "app", Lines: 9}) || got[1] != (manifest.Source{Name: "other", Lines: 3}) {
		t.Errorf("sources are %+v", got)
	}
}

func TestSettingsThatAreWrongAreAllReported(t *testing.T) {
	err := ingest.Settings{Format: "xml", Source: "a\xff", LineBytesMax: -1, TriesMax: -1}.Validate()
	if !errors.Is(err, ingest.ErrFormat) {
		t.Errorf("got %v, want ErrFormat", err)
	}
	for _, want := range []string{`unknown format "xml" (want one of arrow, debezium, `, "source", "no time", "no job", "longest line", "tries"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to name %s", err, want)
		}
	}
	if err := newWorld(t).settings().Validate(); err != nil {
		t.Error(err)
	}
}

// listener keeps what an Observer hears.
type listener struct{ heard []string }

func (l *listener) Progressed(p ingest.Progress) { l.heard = append(l.heard, p.String()) }
func (l *listener) SegmentCommitted(s ingest.SegmentCommitted) {
	l.heard = append(l.heard, fmt.Sprintf("version %d, %s, %d rows, lines %d", s.Version, s.Range, s.Rows, s.Lines))
}
func (l *listener) Overtaken(o ingest.Overtaken) {
	l.heard = append(l.heard, fmt.Sprintf("try %d", o.Try))
}

func TestAnObserverHearsWhatIsDone(t *testing.T) {
	w := newWorld(t, smallest)
	var l listener
	c := w.components()
	c.Observer = &l
	in := text(wide(2, `{"value":"1"}`, `{"value":"2"}`, `{"value":"3"}`))
	w.must(ingest.Run(t.Context(), w.topic, strings.NewReader(in), w.settings(), c))
	equal(t, "heard", l.heard, []string{
		"version 1, (-1:-1, 0:1], 2 rows, lines 2", "version 2, (0:1, 0:2], 1 rows, lines 3",
		fmt.Sprintf("read 3 lines, %d bytes: 3 messages, 0 duplicates", len(in))})
}

func TestARunEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	in := strings.NewReader(strings.Repeat("{\"value\":\"1\"}\n", 10000))
	c := w.components()
	c.Observer = &canceller{cancel: cancel}
	r, err := ingest.Run(ctx, w.topic, in, w.settings(), c)
	if !errors.Is(err, context.Canceled) || r.State != ingest.AlreadyIngested || len(w.log()) != 0 {
		t.Errorf("got %v, %+v", err, r)
	}
}

type canceller struct {
	listener
	cancel func()
}

func (c *canceller) Progressed(ingest.Progress) { c.cancel() }

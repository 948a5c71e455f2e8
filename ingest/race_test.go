package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
)

// between does something in front of the nth Put (from 0) of a version.
type between struct {
	objstore.Store
	n  int
	do func()
}

func (b *between) Put(ctx context.Context, key string, body objstore.Body) error {
	if strings.Contains(key, "/m/") {
		if b.n--; b.n == -1 {
			b.do()
		}
	}
	return b.Store.Put(ctx, key, body)
}

// race runs lines into the topic, and lets do happen when the nth version of
// the run is about to be written.
func (w *world) race(source string, lines []string, n int, do func()) (ingest.Result, error) {
	topic := w.through(&between{Store: w.store, n: n, do: do})
	s := w.settings()
	s.Source = source
	return ingest.Run(context.Background(), topic, strings.NewReader(text(lines)), s, w.components())
}

// wantNoOrphans looks for objects that no version names.
func (w *world) wantNoOrphans() {
	w.t.Helper()
	named := map[string]bool{}
	m := w.latest()
	for _, s := range m.Originals {
		named["01T/"+s.Object], named["01T/"+s.Index] = true, true
	}
	for _, key := range w.objects() {
		if !named[key] {
			w.t.Errorf("%s is nobody's", key)
		}
	}
}

func TestTheSlowerOfTwoGetsTheNextLedger(t *testing.T) {
	w := newWorld(t)
	wantResult(t, w.must(w.race("", []string{`{"value":"a"}`, `{"value":"b"}`}, 0, func() {
		wantResult(t, w.must(w.ingest(`{"value":"c"}`)), "ingested 0:0..0:0, 1 messages, 0 duplicates, version 1")
	})), "ingested 1:0..1:1, 2 messages, 0 duplicates, version 2")
	equal(t, "log", w.log(), []string{`{"id":"0:0","value":"c"}`, `{"id":"1:0","value":"a"}`, `{"id":"1:1","value":"b"}`})
	w.wantNoOrphans()
}

// TestARunThatIsOvertakenInItsMidstGoesOnInAnotherLedger lets the other come
// in front of the second of three segments.
func TestARunThatIsOvertakenInItsMidstGoesOnInAnotherLedger(t *testing.T) {
	w := newWorld(t, smallest)
	lines := wide(1, `{"value":"a"}`, `{"value":"b"}`, `{"value":"c"}`)
	wantResult(t, w.must(w.race("", lines, 1, func() { w.must(w.ingest(`{"value":"x"}`)) })),
		"ingested 0:0..2:1, 3 messages, 0 duplicates, version 4")
	equal(t, "log", w.log(), []string{`{"id":"0:0","value":"a"}`, `{"id":"1:0","value":"x"}`, `{"id":"2:0","value":"b"}`, `{"id":"2:1","value":"c"}`})
	w.wantNoOrphans()
}

func TestPositionsThatAreTakenMeanwhileAreRefused(t *testing.T) {
	w := newWorld(t, smallest)
	lines := wide(2, `{"id":"1:0","value":"a"}`, `{"id":"1:1","value":"b"}`, ``, `{"id":"1:2","value":"c"}`, `{"id":"1:3","value":"d"}`)
	r, err := w.race("", lines, 1, func() { w.must(w.ingest(`{"id":"1:3","value":"x"}`)) })
	want := "line 4: position 1:2 does not lie above 1:3, the topic's last entry (lines 1 to 2 are in, 2 messages of them added)"
	if err == nil || err.Error() != want || !errors.Is(err, ingest.ErrBadInput) {
		t.Errorf("got %v, want %s", err, want)
	}
	wantResult(t, r, "ingested 1:0..1:1, 2 messages, 0 duplicates, version 1")
	equal(t, "log", w.log(), []string{`{"id":"1:0","value":"a"}`, `{"id":"1:1","value":"b"}`, `{"id":"1:3","value":"x"}`})
	w.wantNoOrphans()
}

// TestTheSameInputTwiceAtOnceIsAddedOnce has both of what recognises lines,
// and the other one be faster with all of it, or some, or more.
func TestTheSameInputTwiceAtOnceIsAddedOnce(t *testing.T) {
	file := []string{
		`{"batch":[{"value":"1","producer":"p","sequence":1},{"value":"2","producer":"p","sequence":2}]}`,
		`{"value":"3","producer":"p","sequence":3,"txn":"1,1"}`, `{"txn":"1,1","marker":"commit"}`, ``, `{"value":"4","producer":"p","sequence":4}`}
	for _, source := range []string{"", "app"} {
		for mine := 1; mine <= len(file); mine++ {
			for other := 1; other <= len(file); other++ {
				w := newWorld(t)
				r := w.must(w.race(source, file[:mine], 0, func() { w.must(w.ingestAs(source, file[:other]...)) }))
				once := newWorld(t)
				once.must(once.ingest(file[:max(mine, other)]...))
				var got, want []string
				for _, m := range w.rows() {
					got = append(got, fmt.Sprintf("%s %d", m.Value, m.Kind))
				}
				for _, m := range once.rows() {
					want = append(want, fmt.Sprintf("%s %d", m.Value, m.Kind))
				}
				equal(t, fmt.Sprintf("source %q, %d lines and %d lines", source, mine, other), got, want)
				if other >= mine && (r.State != ingest.AlreadyIngested || r.Version != 1) {
					t.Errorf("source %q, %d lines and %d lines: %s", source, mine, other, brief(r))
				}
				w.wantNoOrphans()
			}
		}
	}
}

func TestATransactionThatEndsMeanwhileTakesNoMore(t *testing.T) {
	w := newWorld(t)
	_, err := w.race("", []string{`{"value":"a"}`, `{"value":"b","txn":"1,4"}`}, 0, func() { w.must(w.ingest(`{"txn":"1,4","marker":"abort"}`)) })
	if err == nil || err.Error() != "line 2: transaction (1,4) has ended; start a new transaction" {
		t.Errorf("got %v", err)
	}
	equal(t, "log", w.log(), []string{"0:0 abort 1,4"})
	w.wantNoOrphans()
}

// TestASettingIsForTheNextRun: what is set while a run is under way neither
// stops it nor changes it, even if it is overtaken.
func TestASettingIsForTheNextRun(t *testing.T) {
	w := newWorld(t)
	set := func() {
		m := w.latest()
		changed, err := m.Settings.With("empty_is_tombstone=true")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.topic.Commit(t.Context(), manifest.Change{Commit: manifest.CommitID(w.mint()), Job: manifest.JobID(w.mint()), Now: now,
			Edit: manifest.Set{Was: m.Settings, Now: changed}}); err != nil {
			t.Fatal(err)
		}
	}
	wantResult(t, w.must(w.race("", []string{`{"key":"a","value":""}`}, 0, set)), "ingested 0:0..0:0, 1 messages, 0 duplicates, version 2")
	w = newWorld(t)
	w.must(w.race("", []string{`{"key":"a","value":""}`}, 0, func() { set(); w.must(w.ingest(`{"key":"b","value":""}`)) }))
	equal(t, "log", w.log(), []string{`tombstone {"id":"0:0","key":"b","value":""}`, `{"id":"1:0","key":"a","value":""}`})
}

// TestARunGivesUpWhenOthersAreAlwaysFaster has another ingest in front of each
// try.
func TestARunGivesUpWhenOthersAreAlwaysFaster(t *testing.T) {
	w := newWorld(t)
	var l listener
	store := &always{Store: w.store}
	topic := w.through(store)
	store.do = func() { w.must(w.ingest(`{"value":"x"}`)) }
	s, c := w.settings(), w.components()
	s.TriesMax, c.Observer = 4, &l
	r, err := ingest.Run(t.Context(), topic, strings.NewReader(`{"value":"a"}`), s, c)
	if !errors.Is(err, manifest.ErrConflict) || !strings.Contains(err.Error(), "gave up after 4 tries") || r.State != ingest.AlreadyIngested {
		t.Errorf("got %v, %+v", err, r)
	}
	if len(l.heard) != 5 || l.heard[3] != "try 4" || len(w.log()) != 4 {
		t.Errorf("heard %q, log %q", l.heard, w.log())
	}
	w.wantNoOrphans()

	// And when there is no use in waiting.
	s.TriesMax, s.Job = 0, w.settings().Job
	enough := errors.New("enough")
	c.Pause = func(context.Context, int) error { return enough }
	if _, err := ingest.Run(t.Context(), topic, strings.NewReader(`{"value":"a"}`), s, c); !errors.Is(err, manifest.ErrConflict) || !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// always does something in front of every Put of a version.
type always struct {
	objstore.Store
	do func()
}

func (a *always) Put(ctx context.Context, key string, body objstore.Body) error {
	if strings.Contains(key, "/m/") {
		a.do()
	}
	return a.Store.Put(ctx, key, body)
}

func TestATopicThatIsDeletedMeanwhileTakesNothing(t *testing.T) {
	w := newWorld(t)
	_, err := w.race("", []string{`{"value":"a"}`}, 0, func() {
		if err := w.topic.Delete(t.Context(), manifest.Change{Commit: manifest.CommitID(w.mint()), Job: manifest.JobID(w.mint()), Now: now, Edit: manifest.Delete{}}); err != nil {
			t.Fatal(err)
		}
	})
	if !errors.Is(err, manifest.ErrTopicNotFound) || len(w.objects()) != 0 {
		t.Errorf("got %v, objects %v", err, w.objects())
	}
}

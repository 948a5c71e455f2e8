package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// now is the clock of all tests.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// tester is what testing.T and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// impatient is a Pause that does not wait, and gives up after a while.
func impatient(_ context.Context, n int) error {
	if n > 10 {
		return errors.New("out of patience")
	}
	return nil
}

// world is a topic in a store in memory, and the ids that its runs mint.
type world struct {
	t     tester
	store *mem.Store
	topic *manifest.Topic
	now   time.Time
	ids   int
}

func newWorld(t tester, change ...string) *world {
	t.Helper()
	settings := manifest.DefaultSettings()
	for _, c := range change {
		var err error
		if settings, err = settings.With(c); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, store: new(mem.Store), now: now}
	topic, err := manifest.Create(context.Background(), w.store, manifest.NewTopic{
		Name: "t", ID: "01T", Commit: manifest.CommitID(w.mint()), Now: now, Settings: settings,
	}, impatient)
	if err != nil {
		t.Fatal(err)
	}
	w.topic = topic
	return w
}

// mint makes ids like a minter of ULIDs does: they go up.
func (w *world) mint() string {
	w.ids++
	return fmt.Sprintf("%026d", w.ids)
}

// through is the topic as seen through another store.
func (w *world) through(s objstore.Store) *manifest.Topic {
	w.t.Helper()
	topic, err := manifest.Open(context.Background(), s, "t", impatient)
	if err != nil {
		w.t.Fatal(err)
	}
	return topic
}

func (w *world) settings() ingest.Settings {
	return ingest.Settings{Now: w.now, Job: manifest.JobID(w.mint()), Writer: "test"}
}

func (w *world) components() ingest.Components {
	return ingest.Components{NewCommit: func() manifest.CommitID { return manifest.CommitID(w.mint()) }, Pause: impatient}
}

// ingest runs an input of the given lines into the topic.
func (w *world) ingest(lines ...string) (ingest.Result, error) {
	return w.ingestAs("", lines...)
}

func (w *world) ingestAs(source string, lines ...string) (ingest.Result, error) {
	s := w.settings()
	s.Source = source
	return ingest.Run(context.Background(), w.topic, strings.NewReader(text(lines)), s, w.components())
}

// smallest is the smallest size of segments that a topic can have.
const smallest = "segment_bytes=1024"

const padding = "padding"

// wide makes the messages of lines so large, by a padding that log does not
// show, that so many of them fill a smallest segment.
func wide(rows int, lines ...string) []string {
	pad := 1024/rows - 96 // what a row counts beside its bytes
	member := fmt.Sprintf(`"ordering_key":"%-*s","value":`, pad, padding)
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = strings.ReplaceAll(line, `"value":`, member)
	}
	return all
}

func text(lines []string) string {
	return strings.Join(lines, "\n") + "\n"
}

func (w *world) must(r ingest.Result, err error) ingest.Result {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) latest() *manifest.Manifest {
	w.t.Helper()
	m, err := w.topic.Latest(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// log is every row of the topic as a line, markers too.
func (w *world) log() []string {
	w.t.Helper()
	log := []string{}
	for _, m := range w.rows() {
		log = append(log, show(&m))
	}
	return log
}

func show(m *segments.Message) string {
	switch m.Kind {
	case segments.KindCommit:
		return fmt.Sprintf("%s commit %s", m.Position, m.Txn.V)
	case segments.KindAbort:
		return fmt.Sprintf("%s abort %s", m.Position, m.Txn.V)
	}
	fields := slices.DeleteFunc(ndjson.AllFields(), func(f ndjson.Field) bool {
		return f == ndjson.PublishTime && m.PublishTime == segments.MillisOf(now) ||
			f == ndjson.OrderingKey && strings.HasPrefix(string(m.OrderingKey), padding)
	})
	line := string(ndjson.Append(nil, m, fields))
	if m.Kind == segments.KindTombstone {
		line = "tombstone " + line
	}
	return line
}

func (w *world) rows() []segments.Message {
	w.t.Helper()
	ctx := context.Background()
	var all []segments.Message
	m := w.latest()
	for i := range m.Originals {
		f, err := w.topic.OpenSegment(ctx, &m.Originals[i])
		if err != nil {
			w.t.Fatal(err)
		}
		if err := f.Verify(ctx); err != nil {
			w.t.Fatal(err)
		}
		blocks := make([]int, len(f.Blocks()))
		for b := range blocks {
			blocks[b] = b
		}
		for rows, err := range f.Scan(ctx, blocks, segments.All) {
			if err != nil {
				w.t.Fatal(err)
			}
			for i := range rows.Len() {
				all = append(all, rows.Message(i).Clone())
			}
		}
	}
	return all
}

// objects lists the topic's segments and key indexes in the store.
func (w *world) objects() []string {
	w.t.Helper()
	var keys []string
	for e, err := range w.store.List(context.Background(), "", "") {
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.Contains(e.Key, "/d/") || strings.Contains(e.Key, "/x/") {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func equal(t tester, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantResult compares a result with its text form, as brief shows it.
func wantResult(t testing.TB, got ingest.Result, want string) {
	t.Helper()
	if brief(got) != want {
		t.Errorf("got  %s\nwant %s", brief(got), want)
	}
}

func brief(r ingest.Result) string {
	return fmt.Sprintf("%s %s..%s, %d messages, %d duplicates, version %d", r.State, r.First, r.Last, r.Messages, r.Duplicates, r.Version)
}

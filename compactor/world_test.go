package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a topic in a store, with what an ingest would know of it.
type world struct {
	tb
	store  *mem.Store
	topic  *manifest.Topic
	now    time.Time
	policy Policy
	ids    int

	txns txnfilter.State
}

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

const topicName = "orders"

// newWorld makes an empty topic with the given settings, as in name=value.
func newWorld(t tb, assignments ...string) *world {
	t.Helper()
	w := &world{tb: t, store: new(mem.Store), now: start, policy: DefaultPolicy()}
	settings := manifest.DefaultSettings()
	settings.Compression = segments.CompressionNone // compressing would take most of the time of the tests
	for _, a := range assignments {
		settings = w.with(settings, a)
	}
	var secret [segments.SecretBytes]byte
	copy(secret[:], "not so secret")
	topic, err := manifest.Create(context.Background(), w.store, manifest.NewTopic{
		Name: topicName, ID: "01TOPIC", Commit: w.commitID(), Now: w.now, Secret: secret, Settings: settings,
	}, never)
	w.must(err)
	w.topic = topic
	return w
}

// never gives up before the second try.
func never(context.Context, int) error { return errors.New("no second try") }

// often lets a committer try a few times.
func often(_ context.Context, n int) error {
	if n > 5 {
		return errors.New("tried often enough")
	}
	return nil
}

// counted is the store of w with a count.
func (w *world) counted() *count.Store { return count.New(w.store) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v", err)
	}
}

func (w *world) with(s manifest.Settings, assignment string) manifest.Settings {
	w.Helper()
	s, err := s.With(assignment)
	w.must(err)
	return s
}

func (w *world) id() string {
	w.ids++
	return fmt.Sprintf("%06d", w.ids)
}

func (w *world) commitID() manifest.CommitID { return manifest.CommitID("C" + w.id()) }
func (w *world) jobID() manifest.JobID       { return manifest.JobID("J" + w.id()) }

// job is a job with as many tries.
func (w *world) job(tries int) Job {
	j := Job{ID: w.jobID(), Now: w.now, Writer: "test", Policy: w.policy}
	for range tries {
		j.Commits = append(j.Commits, w.commitID())
	}
	return j
}

// through is the topic as opened through another store, which leads to w's.
func (w *world) through(s objstore.Store, pause manifest.Pause) *manifest.Topic {
	w.Helper()
	topic, err := manifest.Open(context.Background(), s, topicName, pause)
	w.must(err)
	return topic
}

func (w *world) latest() *manifest.Manifest {
	w.Helper()
	m, err := w.topic.Latest(context.Background())
	w.must(err)
	return m
}

func (w *world) commit(e manifest.Edit, job manifest.JobID) *manifest.Manifest {
	w.Helper()
	m, err := w.topic.Commit(context.Background(), manifest.Change{Commit: w.commitID(), Job: job, Now: w.now, Edit: e})
	w.must(err)
	return m
}

func (w *world) set(assignments ...string) {
	w.Helper()
	was := w.latest().Settings
	now := was
	for _, a := range assignments {
		now = w.with(now, a)
	}
	if now != was {
		w.commit(manifest.Set{Was: was, Now: now}, w.jobID())
	}
}

// add appends one original segment for each text, whose lines are rows as
// parse reads them.
func (w *world) add(texts ...string) {
	w.Helper()
	var list [][]row
	for _, text := range texts {
		list = append(list, w.parseAll(text))
	}
	w.append(list...)
}

func (w *world) parseAll(text string) []row {
	w.Helper()
	var rows []row
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			rows = append(rows, w.parse(line))
		}
	}
	return rows
}

// append appends an original segment for each list of rows.
func (w *world) append(lists ...[]row) {
	w.Helper()
	m := w.latest()
	job := w.jobID()
	edit := manifest.Append{After: m.Last}
	last := m.Last
	for n, rows := range lists {
		after := last
		sw := segments.NewWriter(segments.WriterSettings{
			Topic: string(m.Topic), Writer: "test", BatchBytes: m.Settings.BatchBytes, Compression: m.Settings.Compression,
		}, w.topic.Hasher())
		before := last
		for _, r := range rows {
			w.must(sw.Append(&r.Message))
			if entry := r.Position.EntryPosition(); entry != last {
				before, last = last, entry
			}
			if r.Txn.Valid && r.Kind.IsMarker() {
				w.txns.End(r.Txn.V, txnfilter.Outcome(r.Kind == segments.KindCommit), r.mark)
			} else if r.Txn.Valid {
				w.must(w.txns.Add(r.Txn.V, last, before))
			}
		}
		sealed, err := sw.Seal(segments.Range{After: after, Through: last})
		w.must(err)
		s := manifest.Segment{
			Range:    segments.Range{After: after, Through: last},
			Object:   manifest.DataKey(job, n),
			Index:    manifest.IndexKey(job, n),
			Info:     sealed.Info,
			RowBytes: sw.Bytes(),
		}
		w.must(w.topic.Put(context.Background(), s.Object, sealed.Data))
		w.must(w.topic.Put(context.Background(), s.Index, sealed.Index))
		edit.Segments = append(edit.Segments, s)
	}
	var err error
	edit.Transactions, err = w.txns.Encode()
	w.must(err)
	edit.MaxRead = w.txns.MaxRead(last)
	w.commit(edit, job)
}

// run runs a compaction that must succeed.
func (w *world) run() Result {
	w.Helper()
	r, err := Run(context.Background(), w.topic, nil, w.job(1))
	w.must(err)
	return r
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// live lists the live rows of the compacted tier, as row.String prints them.
// On the way it checks what must hold of the tier.
func (w *world) live() []string {
	w.Helper()
	return texts(w.liveRows(w.latest()))
}

func (w *world) liveRows(m *manifest.Manifest) []row {
	w.Helper()
	ctx := context.Background()
	var rows []row
	last := segments.None
	for i := range m.Compacted {
		s := &m.Compacted[i]
		if s.Object == "" {
			continue
		}
		file, err := w.topic.OpenSegment(ctx, s)
		w.must(err)
		dead, err := w.topic.DeadRows(ctx, s)
		w.must(err)
		blocks := make([]int, len(file.Blocks()))
		for b := range blocks {
			blocks[b] = b
		}
		tombstones := int64(0)
		for batch, err := range file.Scan(ctx, blocks, segments.All) {
			w.must(err)
			for r := range batch.Len() {
				msg := batch.Message(r)
				if !msg.Position.After(last) || !s.Range.Contains(msg.Position) {
					w.Fatalf("%s in %s %s comes after %s", msg.Position, s.Object, s.Range, last)
				}
				last = msg.Position
				if dead.Contains(batch.First() + uint32(r)) {
					continue
				}
				if msg.Kind.IsMarker() {
					w.Fatalf("marker %s in the compacted tier", msg.Position)
				}
				if msg.Kind == segments.KindTombstone {
					tombstones++
				}
				rows = append(rows, row{Message: msg.Clone()})
			}
		}
		if tombstones != s.LiveTombstones {
			w.Fatalf("%s has %d live tombstones, its manifest says %d", s.Object, tombstones, s.LiveTombstones)
		}
	}
	return rows
}

// row is a message as tests write it.
type row struct {
	segments.Message
	mark segments.Null[uint64] // low-water mark that a marker brings
}

// parse reads a row:
//
//	3:0 a=1          key a, value 1
//	3:1 a            a tombstone of a
//	3:2 =1           a message without key
//	3:3:0/2 a=1      index 0 of a batch of 2
//	3:4 a=1 txn=1,4 event=7 at=12
//	3:5 commit txn=1,4 mark=3
//
// event is in milliseconds since 1970 and at, the publish time, in seconds
// since the world began; without it, the row is published now.
func (w *world) parse(line string) row {
	w.Helper()
	fields := strings.Fields(line)
	r := row{Message: segments.Message{BatchSize: 1, PublishTime: segments.MillisOf(w.now)}}
	pos, size, batch := strings.Cut(fields[0], "/")
	var err error
	r.Position, err = segments.ParsePosition(pos)
	w.must(err)
	if batch {
		r.BatchSize = int32(w.number(size))
	}
	switch key, value, ok := strings.Cut(fields[1], "="); {
	case !ok && (key == "commit" || key == "abort"):
		r.Kind = segments.KindCommit
		if key == "abort" {
			r.Kind = segments.KindAbort
		}
	case !ok:
		r.Kind, r.Key = segments.KindTombstone, []byte(key)
	default:
		r.Value = []byte(value)
		if key != "" {
			r.Key = []byte(key)
		}
	}
	for _, option := range fields[2:] {
		switch name, text, _ := strings.Cut(option, "="); name {
		case "txn":
			id, err := segments.ParseTxnID(text)
			w.must(err)
			r.Txn = segments.Some(id)
		case "mark":
			r.mark = segments.Some(uint64(w.number(text)))
		case "event":
			r.EventTime = segments.Some(segments.Millis(w.number(text)))
		case "at":
			r.PublishTime = segments.MillisOf(start.Add(time.Duration(w.number(text)) * time.Second))
		default:
			w.Fatalf("row %q: what is %s?", line, option)
		}
	}
	return r
}

func (w *world) number(text string) int64 {
	w.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	w.must(err)
	return n
}

// String prints position, batch size, key, value, transaction and event time.
func (r row) String() string {
	text := r.Position.String()
	if r.Position.Batch >= 0 {
		text += fmt.Sprintf("/%d", r.BatchSize)
	}
	text += " " + string(r.Key)
	if r.Kind != segments.KindTombstone {
		text += "=" + string(r.Value)
	}
	if r.Txn.Valid {
		text += " txn=" + r.Txn.V.String()
	}
	if r.EventTime.Valid {
		text += fmt.Sprintf(" event=%d", r.EventTime.V)
	}
	return text
}

func texts(rows []row) []string {
	list := make([]string, len(rows))
	for i, r := range rows {
		list[i] = r.String()
	}
	return list
}

// wantLive fails unless the live rows are those.
func (w *world) wantLive(want ...string) {
	w.Helper()
	if got := w.live(); !slices.Equal(got, want) {
		w.Fatalf("live rows:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantRun runs and fails unless the result says this.
func (w *world) wantRun(state State, horizon string, rows manifest.RowAccount, older manifest.OlderAccount) {
	w.Helper()
	r := w.run()
	if r.State != state || r.Horizon.String() != horizon || r.Rows != rows || r.Older != older {
		w.Fatalf("run: %s, horizon %s, rows %+v, older %+v\nwant %s, horizon %s, rows %+v, older %+v",
			r.State, r.Horizon, r.Rows, r.Older, state, horizon, rows, older)
	}
	if m := w.latest(); r.Version != m.Version || r.Horizon != m.Horizon {
		w.Fatalf("run says version %d, horizon %s; the topic has %d, %s", r.Version, r.Horizon, m.Version, m.Horizon)
	}
}

// wantProved fails unless the latest version, and the accounts of all, verify.
func (w *world) wantProved() {
	w.Helper()
	proof, err := Verify(context.Background(), w.topic, w.latest())
	w.must(err)
	if len(proof.Findings) > 0 {
		w.Fatalf("verify: %+v", proof.Findings)
	}
}

type (
	rowsIn = manifest.RowAccount
	older  = manifest.OlderAccount
)

// testWorld is newWorld for a plain test.
func testWorld(t *testing.T, assignments ...string) *world {
	t.Helper()
	return newWorld(t, assignments...)
}

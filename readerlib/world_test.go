package readerlib_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tb is what *testing.T and *rapid.T have in common here.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a topic and the truth about it. It writes segments, dead rows and
// manifests as ingest and compaction do, and beside each version it keeps a
// model that knows every row in memory.
type world struct {
	ctx   context.Context
	store objstore.Store
	topic *manifest.Topic
	head  *manifest.Manifest

	// cut says whether a segment ends after an entry, and batchBytes when a
	// block does. Both are at liberty: no answer may depend on them.
	cut        func() bool
	batchBytes int64

	// adopt says whether a compacted segment takes over the file of an original.
	adopt func() bool

	txns   txnfilter.State
	rows   []segments.Message // every row there ever was, in order
	models []*model           // of the versions, by number
	jobs   int
}

func newWorld(t tb, store objstore.Store, settings ...string) *world {
	t.Helper()
	if store == nil {
		store = new(mem.Store)
	}
	w := &world{ctx: context.Background(), store: store, cut: func() bool { return false }, adopt: func() bool { return false }}
	s := manifest.DefaultSettings()
	for _, setting := range settings {
		var err error
		if s, err = s.With(setting); err != nil {
			t.Fatalf("settings: %v", err)
		}
	}
	var err error
	w.topic, err = manifest.Create(w.ctx, store, manifest.NewTopic{
		Name: "orders", ID: manifest.TopicID(w.id()), Commit: manifest.CommitID(w.id()), Now: clock(0), Settings: s,
	}, neverPause)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	if w.head, err = w.topic.Latest(w.ctx); err != nil {
		t.Fatalf("latest: %v", err)
	}
	w.models = []*model{w.model(map[segments.Position]bool{})}
	return w
}

// through makes readers see the topic through another store.
func (w *world) through(t tb, store objstore.Store) {
	t.Helper()
	topic, err := manifest.Open(w.ctx, store, "orders", neverPause)
	if err != nil {
		t.Fatalf("open topic: %v", err)
	}
	w.store, w.topic = store, topic
}

func neverPause(context.Context, int) error { return fmt.Errorf("nothing to wait for") }

// clock is the time of version n.
func clock(n int) time.Time { return time.Date(2026, 3, 1, n, 0, 0, 0, time.UTC) }

func (w *world) id() string {
	w.jobs++
	return fmt.Sprintf("%026d", w.jobs)
}

// commit makes the next version, whose compacted rows are those of live.
func (w *world) commit(t tb, job string, edit manifest.Edit, live map[segments.Position]bool) {
	t.Helper()
	head, err := w.topic.Commit(w.ctx, manifest.Change{
		Commit: manifest.CommitID(w.id()), Job: manifest.JobID(job), Now: clock(len(w.models)), Edit: edit,
	})
	if err != nil {
		t.Fatalf("commit %T: %v", edit, err)
	}
	w.head = head
	w.models = append(w.models, w.model(live))
}

func (w *world) now() *model { return w.models[len(w.models)-1] }

func (w *world) put(t tb, key string, body objstore.Body) {
	t.Helper()
	if err := w.topic.Put(w.ctx, key, body); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// write makes the segments that tile (after, through], of rows.
func (w *world) write(t tb, job string, after segments.Position, entries []segments.Position, rows []segments.Message) []manifest.Segment {
	t.Helper()
	var written []manifest.Segment
	for n := 1; len(entries) > 0; n++ {
		end := 1
		for end < len(entries) && !w.cut() {
			end++
		}
		s := manifest.Segment{Range: segments.Range{After: after, Through: entries[end-1]}}
		extents := extentsOf(entries[:end])
		after, entries = s.Range.Through, entries[end:]
		writer := segments.NewWriter(segments.WriterSettings{
			Topic: string(w.topic.ID()), Writer: "test", BatchBytes: w.batchBytes,
		}, w.topic.Hasher())
		for len(rows) > 0 && s.Range.Contains(rows[0].Position) {
			if err := writer.Append(&rows[0]); err != nil {
				t.Fatalf("append: %v", err)
			}
			rows = rows[1:]
		}
		if writer.Rows() > 0 {
			sealed, err := writer.Seal(s.Range)
			if err != nil {
				t.Fatalf("seal: %v", err)
			}
			s.Info, s.Object, s.Index = sealed.Info, manifest.DataKey(manifest.JobID(job), n), manifest.IndexKey(manifest.JobID(job), n)
			w.put(t, s.Object, sealed.Data)
			w.put(t, s.Index, sealed.Index)
		}
		s.Info.Ledgers = extents
		written = append(written, s)
	}
	return written
}

// ingest appends rows, in one version.
func (w *world) ingest(t tb, rows ...segments.Message) {
	t.Helper()
	before := w.head.Last
	for i, r := range rows {
		entry := r.Position.EntryPosition()
		if i > 0 && rows[i-1].Position.EntryPosition() != entry {
			before = rows[i-1].Position.EntryPosition()
		}
		switch {
		case r.Kind.IsMarker():
			w.txns.End(r.Txn.V, r.Kind == segments.KindCommit, segments.Null[uint64]{})
		case r.Txn.Valid:
			if err := w.txns.Add(r.Txn.V, entry, before); err != nil {
				t.Fatalf("ingest %s: %v", r.Position, err)
			}
		}
	}
	state, err := w.txns.Encode()
	if err != nil {
		t.Fatalf("encode transactions: %v", err)
	}
	entries := entriesOf(rows)
	w.rows = append(w.rows, rows...)
	job := w.id()
	w.commit(t, job, manifest.Append{
		After:        w.head.Last,
		Segments:     w.write(t, job, w.head.Last, entries, rows),
		MaxRead:      w.txns.MaxRead(entries[len(entries)-1]),
		Transactions: state,
	}, w.now().live)
}

func entriesOf(rows []segments.Message) []segments.Position {
	var entries []segments.Position
	for _, r := range rows {
		if e := r.Position.EntryPosition(); len(entries) == 0 || entries[len(entries)-1] != e {
			entries = append(entries, e)
		}
	}
	return entries
}

// compact folds through to as a compaction does: the winner of each key lives,
// except tombstones that expire says are due.
func (w *world) compact(t tb, to segments.Position, expire func(segments.Message) bool) {
	t.Helper()
	was := w.now()
	var folded []segments.Message
	winners := map[string]segments.Message{}
	for _, r := range w.rows {
		old := was.live[r.Position]
		if fresh := was.hidden(r) == "" && !r.Position.After(to.EndOfEntry()) && r.Position.After(endOf(was.horizon)); !old && !fresh {
			continue
		}
		folded = append(folded, r)
		if r.Key != nil && was.beats(r, winners[string(r.Key)]) {
			winners[string(r.Key)] = r
		}
	}
	live := map[segments.Position]bool{}
	var fresh []segments.Message
	for _, r := range folded {
		if r.Key != nil && winners[string(r.Key)].Position != r.Position || r.Kind == segments.KindTombstone && expire(r) {
			continue
		}
		live[r.Position] = true
		if r.Position.After(endOf(was.horizon)) {
			fresh = append(fresh, r)
		}
	}
	if to == was.horizon && maps.Equal(live, was.live) {
		return
	}
	job := w.id()
	w.commit(t, job, manifest.Compact{
		From: was.horizon, To: to,
		Outputs: w.fold(t, segments.Range{After: was.horizon, Through: to}, fresh, live),
		Dead:    w.deaden(t, job, live),
	}, live)
}

// fold makes the compacted segments that tile covers, and hold rows. Some are
// originals that lie in it whole.
func (w *world) fold(t tb, covers segments.Range, rows []segments.Message, live map[segments.Position]bool) []manifest.Segment {
	t.Helper()
	var made []manifest.Segment
	write := func(r segments.Range) {
		var entries []segments.Position
		for _, e := range entriesOf(w.rows) {
			if r.Contains(e) {
				entries = append(entries, e)
			}
		}
		n := 0
		for n < len(rows) && r.Contains(rows[n].Position) {
			n++
		}
		made = append(made, w.write(t, w.id(), r.After, entries, rows[:n])...)
		rows = rows[n:]
	}
	after := covers.After
	for i := range w.head.Originals {
		s := w.head.Originals[i]
		if s.Range.Clip(covers) != s.Range || s.Object == "" || !w.adopt() {
			continue
		}
		write(segments.Range{After: after, Through: s.Range.After})
		s.Adopted = true
		if dead := w.deadOf(t, &s, live); !dead.IsEmpty() {
			now := w.putDead(t, manifest.DeadKey(manifest.JobID(w.id()), 1), dead)
			s.Dead = &now
		}
		for len(rows) > 0 && s.Range.Contains(rows[0].Position) {
			rows = rows[1:]
		}
		made = append(made, s)
		after = s.Range.Through
	}
	write(segments.Range{After: after, Through: covers.Through})
	return made
}

// deaden writes the dead rows of the compacted segments of which less lives.
func (w *world) deaden(t tb, job string, live map[segments.Position]bool) []manifest.DeadUpdate {
	t.Helper()
	var updates []manifest.DeadUpdate
	for i := range w.head.Compacted {
		s := &w.head.Compacted[i]
		if s.Object == "" {
			continue
		}
		dead := w.deadOf(t, s, live)
		was := int64(0)
		if s.Dead != nil {
			was = s.Dead.Rows
		}
		if int64(dead.GetCardinality()) == was {
			continue
		}
		now := w.putDead(t, manifest.DeadKey(manifest.JobID(job), i+1), dead)
		updates = append(updates, manifest.DeadUpdate{Object: s.Object, Was: s.Dead, Now: now})
	}
	return updates
}

// deadOf is the rows of s that do not live.
func (w *world) deadOf(t tb, s *manifest.Segment, live map[segments.Position]bool) *roaring.Bitmap {
	t.Helper()
	f, err := w.topic.OpenSegment(w.ctx, s)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	all := make([]int, len(f.Blocks()))
	for n := range all {
		all[n] = n
	}
	dead := roaring.New()
	for rows, err := range f.Scan(w.ctx, all, segments.Headers) {
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		for i := range rows.Len() {
			if !live[rows.Position(i)] {
				dead.Add(rows.First() + uint32(i))
			}
		}
	}
	return dead
}

func (w *world) putDead(t tb, key string, dead *roaring.Bitmap) manifest.DeadRows {
	t.Helper()
	body, err := dead.MarshalBinary()
	if err != nil {
		t.Fatalf("dead rows: %v", err)
	}
	sum := sha256.Sum256(body)
	w.put(t, key, bytes.NewReader(body))
	return manifest.DeadRows{Object: key, Bytes: int64(len(body)), SHA256: hex.EncodeToString(sum[:]), Rows: int64(dead.GetCardinality())}
}

// trim drops the originals through an entry that ends its ledger.
func (w *world) trim(t tb, through segments.Position) {
	t.Helper()
	w.commit(t, w.id(), manifest.Trim{Through: through}, w.now().live)
}

// trimmable lists the entries that trim takes.
func (w *world) trimmable() []segments.Position {
	var ends []segments.Position
	entries := entriesOf(w.rows)
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].Ledger != e.Ledger && !e.After(w.head.Horizon) && e.After(w.head.RetainedAfter) {
			ends = append(ends, e)
		}
	}
	return ends
}

// extentsOf is what entries hold of each ledger. A compacted segment tells it of
// all it covers, whatever is left.
func extentsOf(entries []segments.Position) []segments.Ledger {
	var extents []segments.Ledger
	for _, e := range entries {
		if n := len(extents); n > 0 && extents[n-1].Ledger == e.Ledger {
			extents[n-1].Last = e.Entry
		} else {
			extents = append(extents, segments.Ledger{Ledger: e.Ledger, First: e.Entry, Last: e.Entry})
		}
	}
	return extents
}

func always(segments.Message) bool { return true }
func never(segments.Message) bool  { return false }

// msg is a message for tests: its position, key and value; "-" is a null.
func msg(at, key, value string) segments.Message {
	m := segments.Message{Position: pos(at), BatchSize: 1, PublishTime: 1000}
	if m.Position.Batch >= 0 {
		m.BatchSize = 10
	}
	if key != "-" {
		m.Key = []byte(key)
	}
	if value != "-" {
		m.Value = []byte(value)
	} else if m.Key != nil {
		m.Kind = segments.KindTombstone
	}
	return m
}

// in puts m into a transaction.
func in(txn string, m segments.Message) segments.Message {
	m.Txn = segments.Some(txnID(txn))
	return m
}

// marker ends a transaction.
func marker(at string, kind segments.Kind, txn string) segments.Message {
	return segments.Message{Position: pos(at), BatchSize: 1, Kind: kind, Txn: segments.Some(txnID(txn)), PublishTime: 1000}
}

func pos(text string) segments.Position {
	p, err := segments.ParsePosition(text)
	if err != nil {
		panic(err)
	}
	return p
}

func txnID(text string) segments.TxnID {
	id, err := segments.ParseTxnID(text)
	if err != nil {
		panic(err)
	}
	return id
}

func endOf(p segments.Position) segments.Position {
	if p.IsNone() {
		return p
	}
	return p.EndOfEntry()
}

func collect[T any](t tb, seq func(func(T, error) bool)) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("after %d: %v", len(all), err)
		}
		all = append(all, v)
	}
	return all
}

// places lists positions around every row: it, its entry, and the entry's end.
func places(rows []segments.Message) []segments.Position {
	all := []segments.Position{segments.None}
	for _, r := range rows {
		e := r.Position.EntryPosition()
		all = append(all, e, r.Position, e.EndOfEntry(), e.NextEntry())
	}
	slices.SortFunc(all, segments.Position.Compare)
	return slices.Compact(all)
}

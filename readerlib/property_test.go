package readerlib_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestEveryAnswerIsThatOfTheList makes random topics out of ingests,
// compactions and trims, with segments and blocks of any size, and asks
// readers of every version, view and isolation everything from every place.
// What they must answer is computed by walking all rows there ever were. Some
// readers are opened early and follow by Refresh.
func TestEveryAnswerIsThatOfTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, g := drawWorld(t)
		var followers []*follower
		for range rapid.IntRange(1, 7).Draw(t, "steps") {
			followers = append(followers, newFollower(t, w))
			drawStep(t, w, g)
			for _, f := range followers {
				f.follow(t, w)
			}
		}
		for v, m := range w.models {
			for _, o := range options() {
				o.Version = readerlib.Numbered(manifest.Version(v))
				checkReads(t, w, m, o)
			}
			checkGets(t, w, m, manifest.Version(v))
			checkFetches(t, w, m, manifest.Version(v))
		}
	})
}

// TestChangesAreTheDifferenceOfTheViews does the same for Changes, with few keys
// that are written and deleted many times.
func TestChangesAreTheDifferenceOfTheViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, g := drawWorld(t)
		g.keys = []string{"a", "b", "c", "-"}
		for range rapid.IntRange(4, 12).Draw(t, "steps") {
			drawStep(t, w, g)
		}
		last := w.head.Version
		for from := range last + 1 {
			checkChanges(t, w, from, last)
			checkChanges(t, w, from, min(from+1, last))
		}
	})
}

func options() []readerlib.Options {
	var all []readerlib.Options
	for _, v := range []readerlib.View{readerlib.Raw, readerlib.Compacted} {
		for _, iso := range []readerlib.Isolation{readerlib.ReadCommitted, readerlib.ReadUncommitted} {
			all = append(all, readerlib.Options{View: v, Isolation: iso})
		}
	}
	return all
}

// gen says what the rows of a random topic are like.
type gen struct {
	keys []string // "-" is none
	txns bool
}

func drawWorld(t *rapid.T) (*world, gen) {
	var settings []string
	if rapid.Bool().Draw(t, "byEvent") {
		settings = append(settings, "order=event_time")
	}
	w := newWorld(t, nil, settings...)
	w.batchBytes = rapid.SampledFrom([]int64{1, 250, 600, 1 << 20}).Draw(t, "batchBytes")
	share := rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "cutOf10")
	w.cut = func() bool { return share > 0 && rapid.IntRange(1, 10).Draw(t, "cut") <= share }
	adopts := rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "adoptOf3")
	w.adopt = func() bool { return adopts > 0 && rapid.IntRange(1, 3).Draw(t, "adopt") <= adopts }
	return w, gen{keys: []string{"a", "b", "c", "d", "", "-"}, txns: rapid.Bool().Draw(t, "txns")}
}

// drawStep changes the topic in one way that it allows.
func drawStep(t *rapid.T, w *world, g gen) {
	var horizons []segments.Position
	for _, e := range entriesOf(w.rows) {
		if !e.Before(w.head.Horizon) && !e.After(w.head.MaxRead) {
			horizons = append(horizons, e)
		}
	}
	trims := w.trimmable()
	switch kind := rapid.IntRange(0, 5).Draw(t, "step"); {
	case kind >= 4 && len(trims) > 0:
		w.trim(t, rapid.SampledFrom(trims).Draw(t, "trim"))
	case kind >= 2 && len(horizons) > 0:
		w.compact(t, rapid.SampledFrom(horizons).Draw(t, "horizon"), func(segments.Message) bool {
			return rapid.Bool().Draw(t, "expire")
		})
	default:
		if rows := drawRows(t, w, g); len(rows) > 0 {
			w.ingest(t, rows...)
		}
	}
}

// drawRows are the rows of some entries that may follow the topic's last one.
func drawRows(t *rapid.T, w *world, g gen) []segments.Message {
	at := w.head.Last
	if at.IsNone() {
		at = segments.At(0, -1)
	}
	txns := w.txns.Clone()
	ended := func(id segments.TxnID) bool { return !g.txns || txns.HasEnded(id) }
	var rows []segments.Message
	for range rapid.IntRange(1, 8).Draw(t, "entries") {
		if at.Entry >= 0 && rapid.IntRange(0, 3).Draw(t, "ledger") == 0 {
			at = segments.At(at.Ledger+rapid.Int64Range(1, 2).Draw(t, "ledgers"), -1)
		}
		at = segments.At(at.Ledger, at.Entry+rapid.SampledFrom([]int64{1, 1, 1, 2, 5}).Draw(t, "gap"))
		shape := rapid.IntRange(0, 5).Draw(t, "shape")
		if shape == 0 && g.txns {
			id := segments.TxnID{Most: 1, Least: rapid.Uint64Range(0, 5).Draw(t, "ends")}
			kind := rapid.SampledFrom([]segments.Kind{segments.KindCommit, segments.KindAbort}).Draw(t, "outcome")
			txns.End(id, kind == segments.KindCommit, segments.Null[uint64]{})
			rows = append(rows, segments.Message{Position: at, BatchSize: 1, Kind: kind, Txn: segments.Some(id)})
			continue
		}
		if shape > 2 {
			rows = append(rows, drawMessage(t, g, at, 1, ended))
			continue
		}
		for i := range int32(4) {
			if rapid.Bool().Draw(t, "index") {
				rows = append(rows, drawMessage(t, g, segments.Position{Ledger: at.Ledger, Entry: at.Entry, Batch: i}, 4, ended))
			}
		}
	}
	return rows
}

func drawMessage(t *rapid.T, g gen, at segments.Position, size int32, ended func(segments.TxnID) bool) segments.Message {
	m := segments.Message{Position: at, BatchSize: size}
	m.PublishTime = segments.Millis(rapid.Int64Range(0, 20).Draw(t, "publish"))
	if key := rapid.SampledFrom(g.keys).Draw(t, "key"); key != "-" {
		m.Key = []byte(key)
	}
	if rapid.IntRange(0, 2).Draw(t, "null") > 0 {
		m.Value = []byte(at.String())
	} else if m.Key != nil {
		m.Kind = segments.KindTombstone
	}
	if rapid.Bool().Draw(t, "hasEvent") {
		m.EventTime = segments.Some(segments.Millis(rapid.Int64Range(0, 5).Draw(t, "event")))
	}
	if id := (segments.TxnID{Most: 1, Least: rapid.Uint64Range(0, 15).Draw(t, "txn")}); id.Least <= 5 && !ended(id) {
		m.Txn = segments.Some(id)
	}
	return m
}

// checkReads asks one reader everything about its list.
func checkReads(t *rapid.T, w *world, m *model, o readerlib.Options) {
	t.Helper()
	list := m.list(o.View, o.Isolation)
	r := open(t, w, o)
	diff(t, o, "all messages", collect(t, r.Messages(w.ctx)), list)
	for _, p := range some(t, places(m.rows), 4) {
		seek(t, w, r, readerlib.After(p))
		checkFrom(t, w, r, fmt.Sprint(o, " after ", p), list, after(list, p))
		seek(t, w, r, readerlib.At(p))
		at := slices.IndexFunc(list, func(r segments.Message) bool { return !r.Position.Before(p) })
		if at < 0 {
			at = len(list)
		}
		checkFrom(t, w, r, fmt.Sprint(o, " at ", p), list, list[at:])
	}
	for _, ms := range some(t, []segments.Millis{-1, 0, 1, 2, 3, 5, 7, 10, 12, 15, 17, 19, 20, 21}, 2) {
		seek(t, w, r, readerlib.Since(ms.Time()))
		checkFrom(t, w, r, fmt.Sprint(o, " since ", int64(ms)), list, since(list, ms))
	}
	seek(t, w, r, readerlib.Latest())
	checkFrom(t, w, r, fmt.Sprint(o, " latest"), list, nil)

	// The place that is kept resumes another reader, and headers are the same
	// messages without their payload.
	if len(list) > 0 {
		stop := rapid.IntRange(0, len(list)-1).Draw(t, "stop")
		seek(t, w, r, readerlib.Earliest())
		for got, err := range r.Messages(w.ctx) {
			if err != nil || got.Position == list[stop].Position {
				break
			}
		}
		kept := pos(r.Place().String())
		o.Start, o.HeadersOnly = readerlib.After(kept), true
		want := slices.Clone(list[stop+1:])
		for i := range want {
			want[i].Value = nil
		}
		diff(t, o, "headers resumed", collect(t, open(t, w, o).Messages(w.ctx)), want)
		diff(t, o, "headers of batches", unbatched(t, collect(t, open(t, w, o).Batches(w.ctx))), outlines(want))
	}
}

// some is every nth of all, n such that there are at most most of them.
func some[T any](t *rapid.T, all []T, most int) []T {
	step := (len(all) + most - 1) / most
	var picked []T
	for i := rapid.IntRange(0, max(0, step-1)).Draw(t, "of"); i < len(all); i += step {
		picked = append(picked, all[i])
	}
	return picked
}

// checkFrom asks a reader that has rest, a tail of list, before it.
func checkFrom(t *rapid.T, w *world, r *readerlib.Reader, what string, list, rest []segments.Message) {
	t.Helper()
	if last, err := r.LastMessageID(w.ctx); err != nil || last != lastOf(list) {
		t.Fatalf("%s: last message id %s, %v, want %s", what, last, err, lastOf(list))
	}
	place := r.Place()
	for i := 0; i <= len(rest); i++ {
		has, err := r.HasMessageAvailable(w.ctx)
		if err != nil || has != (i < len(rest)) {
			t.Fatalf("%s: message available after %s: %v, %v, want %v", what, r.Place(), has, err, i < len(rest))
		}
		got, err := r.Next(w.ctx)
		if has != (err == nil) || !has && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: a message is available: %v, but next is %s, %v", what, has, got.Position, err)
		}
		if has && !reflect.DeepEqual(got, rest[i]) {
			t.Fatalf("%s: next is %+v, want %+v", what, got, rest[i])
		}
	}
	seek(t, w, r, readerlib.After(place))
	diff(t, what, "messages", collect(t, r.Messages(w.ctx)), rest)
	if len(rest) > 0 && r.Place() != lastOf(rest) {
		t.Fatalf("%s: the place is %s after reading through %s", what, r.Place(), lastOf(rest))
	}
	seek(t, w, r, readerlib.After(place))
	diff(t, what, "messages of batches", unbatched(t, collect(t, r.Batches(w.ctx))), outlines(rest))
	if len(rest) > 0 && r.Place() != lastOf(rest) {
		t.Fatalf("%s: the place is %s after batches through %s", what, r.Place(), lastOf(rest))
	}
}

func checkGets(t *rapid.T, w *world, m *model, v manifest.Version) {
	t.Helper()
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("d"), {}, []byte("nosuch")}
	for _, iso := range []readerlib.Isolation{readerlib.ReadCommitted, readerlib.ReadUncommitted} {
		r := open(t, w, readerlib.Options{Isolation: iso, Version: readerlib.Numbered(v), Start: readerlib.Latest()})
		many, err := r.GetMany(w.ctx, keys)
		if err != nil {
			t.Fatalf("version %d: get many: %v", v, err)
		}
		for i, key := range keys {
			want, found := m.get(string(key), iso)
			got, ok, err := r.Get(w.ctx, key)
			if err != nil || ok != found || found && !reflect.DeepEqual(got, want) {
				t.Fatalf("version %d: get %q is %+v, %v, %v, want %+v, %v", v, key, got, ok, err, want, found)
			}
			if many[i].Valid != ok || !reflect.DeepEqual(many[i].V, got) {
				t.Fatalf("version %d: get many has %+v for %q, get %+v", v, many[i], key, got)
			}
		}
		if _, ok, err := r.Get(w.ctx, nil); ok || err != nil {
			t.Fatalf("version %d: the null key has a value, or %v", v, err)
		}
	}
}

func checkFetches(t *rapid.T, w *world, m *model, v manifest.Version) {
	t.Helper()
	r := open(t, w, readerlib.Options{Version: readerlib.Numbered(v)})
	all := places(m.rows)
	for range 5 {
		first, last := rapid.SampledFrom(all).Draw(t, "first"), rapid.SampledFrom(all).Draw(t, "last")
		end := last
		if last.Batch < 0 {
			end = last.EndOfEntry()
		}
		got, err := r.Fetch(w.ctx, first, last)
		if first.After(end) {
			if !errors.Is(err, readerlib.ErrBadRange) {
				t.Fatalf("fetch %s to %s: %v", first, last, err)
			}
			continue
		}
		if err != nil || len(got.Failed) > 0 {
			t.Fatalf("fetch %s to %s: %v, failed %v", first, last, err, got.Failed)
		}
		var want []segments.Message
		for _, r := range m.fetchable() {
			if !r.Position.Before(first) && !r.Position.After(end) {
				want = append(want, r)
			}
		}
		what := fmt.Sprintf("version %d: fetch %s to %s", v, first, last)
		diff(t, what, "messages", got.Messages, want)
		checkSettled(t, what, m, first, end, got)
	}
}

// checkSettled holds what a fetch calls absent and not attempted to the rows
// there ever were.
func checkSettled(t *rapid.T, what string, m *model, first, end segments.Position, got readerlib.FetchResult) {
	t.Helper()
	if open := end.EntryPosition().After(m.maxRead); open != got.NotAttemptedFrom.Valid {
		t.Fatalf("%s: not attempted from %v", what, got.NotAttemptedFrom)
	}
	written := map[int64]int64{}
	for _, r := range m.rows {
		written[r.Position.Ledger] = r.Position.Entry
	}
	has := map[segments.Position]bool{}
	for _, r := range got.Messages {
		has[r.Position.EntryPosition()] = true
	}
	for ledger, last := range written {
		for entry := range last + 3 {
			p := segments.At(ledger, entry)
			absent := slices.ContainsFunc(got.Absent, func(e readerlib.Entries) bool { return e.Contains(p) })
			asked := !p.EndOfEntry().Before(first) && !p.After(end) && !p.After(m.maxRead)
			switch {
			case absent && (!asked || has[p] || entry > last):
				t.Fatalf("%s: %s is absent in %v", what, p, got.Absent)
			case !absent && asked && !has[p] && entry <= last:
				t.Fatalf("%s: %s is not absent in %v", what, p, got.Absent)
			}
		}
	}
	if n := got.NotAttemptedFrom; n.Valid {
		want := m.maxRead.NextEntry()
		if m.maxRead.IsNone() {
			want = segments.At(0, 0)
		}
		if want.Before(first) {
			want = first
		}
		if n.V != want {
			t.Fatalf("%s: not attempted from %s, want %s", what, n.V, want)
		}
	}
	for i, e := range got.Absent {
		if e.Last.Before(e.First) || e.First.Ledger != e.Last.Ledger || i > 0 && !got.Absent[i-1].Last.NextEntry().Before(e.First) {
			t.Fatalf("%s: absent runs are no runs, or touch: %v", what, got.Absent)
		}
	}
}

func checkChanges(t *rapid.T, w *world, from, to manifest.Version) {
	t.Helper()
	got := collect(t, readerlib.Changes(w.ctx, w.topic, from, to))
	want := w.models[to].changes(w.models[from])
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("changes from %d to %d are\n%+v\nwant\n%+v", from, to, got, want)
	}
}

// follower is a reader of the newest version, and what it must see.
type follower struct {
	r     *readerlib.Reader
	o     readerlib.Options
	since segments.Null[segments.Millis] // what it waits for
}

func newFollower(t *rapid.T, w *world) *follower {
	t.Helper()
	f := &follower{o: rapid.SampledFrom(options()).Draw(t, "options")}
	list := w.now().list(f.o.View, f.o.Isolation)
	switch rapid.IntRange(0, 2).Draw(t, "start") {
	case 0:
		f.o.Start = readerlib.Latest()
	case 1:
		f.o.Start = readerlib.After(rapid.SampledFrom(places(w.rows)).Draw(t, "place"))
	default:
		at := segments.Millis(rapid.Int64Range(0, 20).Draw(t, "since"))
		f.o.Start = readerlib.Since(at.Time())
		if len(since(list, at)) == 0 {
			f.since = segments.Some(at)
		}
	}
	f.r = open(t, w, f.o)
	return f
}

// follow refreshes, and reads some of what is there then.
func (f *follower) follow(t *rapid.T, w *world) {
	t.Helper()
	if rapid.Bool().Draw(t, "late") {
		return // several versions at once, next time
	}
	before, place := f.r.Snapshot().Version, f.r.Place()
	moved, err := f.r.Refresh(w.ctx)
	if err != nil || moved != (before != w.head.Version) || f.r.Snapshot().Version != w.head.Version {
		t.Fatalf("refresh from %d to %d: %v, %v", before, w.head.Version, moved, err)
	}
	list := w.now().list(f.o.View, f.o.Isolation)
	rest := after(list, place)
	if f.since.Valid {
		if rest = since(rest, f.since.V); len(rest) > 0 {
			f.since.Valid = false
		}
	}
	what := fmt.Sprintf("%v following to version %d from %s", f.o, w.head.Version, place)
	if last, err := f.r.LastMessageID(w.ctx); err != nil || last != lastOf(list) {
		t.Fatalf("%s: last message id %s, %v, want %s", what, last, err, lastOf(list))
	}
	for range rapid.IntRange(0, 3).Draw(t, "read") {
		has, err := f.r.HasMessageAvailable(w.ctx)
		if err != nil || has != (len(rest) > 0) {
			t.Fatalf("%s: message available: %v, %v, with %d left", what, has, err, len(rest))
		}
		got, err := f.r.Next(w.ctx)
		if !has && errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !reflect.DeepEqual(got, rest[0]) {
			t.Fatalf("%s: next is %+v, %v, want %+v", what, got, err, rest[0])
		}
		rest = rest[1:]
	}
}

func open(t tb, w *world, o readerlib.Options) *readerlib.Reader {
	t.Helper()
	r, err := readerlib.Open(w.ctx, w.topic, o)
	if err != nil {
		t.Fatalf("open %v: %v", o, err)
	}
	return r
}

func seek(t tb, w *world, r *readerlib.Reader, s readerlib.Start) {
	t.Helper()
	if err := r.Seek(w.ctx, s); err != nil {
		t.Fatalf("seek: %v", err)
	}
}

func diff(t tb, o any, what string, got, want []segments.Message) {
	t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("%v: %s are\n%+v\nwant\n%+v", o, what, got, want)
	}
}

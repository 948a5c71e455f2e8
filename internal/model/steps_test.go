package model

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// drawAgain is an input that was sent before: whole, the first lines of it, or
// with more behind.
func (w *world) drawAgain(d dice) input {
	if len(w.inputs) == 0 {
		return input{}
	}
	in := pick(d, w.inputs...)
	in.lines = slices.Clone(in.lines)
	switch d.IntN(4) {
	case 0:
		in.lines = in.lines[:d.IntN(len(in.lines)+1)]
	case 1:
		n := w.nature
		n.withIDs = 0
		if slices.ContainsFunc(in.lines, func(l line) bool { return l.id.Valid }) {
			n.withIDs = 1
		}
		in.lines = append(in.lines, drawLines(d, n, w.t, w.now, &w.values)...)
	}
	return in
}

func (w *world) takeIngest(s *step, in input) {
	in.lines = s.thin(in.lines)
	w.inputs = append(w.inputs, in)
	w.tell("ingest, source %q\n%s", in.source, textOf(in.lines))

	result, cuts, err := w.ingest(textOf(in.lines), in.source)
	base := w.t
	after := base.clone()
	sum, bad := after.ingest(in.lines, in.source, w.now)

	// Segments are cut where the product likes it, but between entries, and
	// each is a version of its own.
	if w.t.settings.SegmentBytes >= 64<<20 && len(cuts) > 1 {
		fail("a small input came in as %d segments", len(cuts))
	}
	if len(cuts) > 1 {
		w.reach("an input in several segments")
	}
	for i, c := range cuts {
		t := base.clone()
		if _, bad := t.ingest(in.lines[:c.Lines], in.source, w.now); bad > 0 {
			fail("a segment brings line %d, which is bad", bad)
		}
		if c.Range.After != w.t.last() || c.Range.Through != t.last() || int(c.Rows) != len(t.rows)-len(w.t.rows) {
			fail("segment %d of the input covers %s with %d rows, want (%s, %s] with %d",
				i, c.Range, c.Rows, w.t.last(), t.last(), len(t.rows)-len(w.t.rows))
		}
		w.commit(t)
	}
	if bad > 0 {
		w.wantRefused(err, bad, after, in.lines[bad-1])
		if len(cuts) > 0 {
			w.reach("an input refused after a segment")
		}
		return
	}
	want := ingest.Result{
		State: ingest.AlreadyIngested, First: segments.None, Last: segments.None,
		Messages: sum.messages, Duplicates: sum.duplicates, Gaps: sum.gaps, Version: w.newest().number, Lines: result.Lines,
	}
	if n := len(base.rows); len(after.rows) > n {
		want.State, want.First, want.Last = ingest.Ingested, after.rows[n].entry(), after.last()
	}
	if err != nil || result != want || len(w.t.rows) != len(after.rows) {
		fail("ingest came to %+v, %v, want %+v", result, err, want)
	}
	w.reach(string(want.State))
	w.reachIngest(base, after, sum)
}

// reachIngest counts what an ingest has made of a topic.
func (w *world) reachIngest(base, after *topic, sum sum) {
	if sum.duplicates > 0 {
		w.reach("duplicates")
	}
	for _, r := range after.rows[len(base.rows):] {
		if got := after.count(func(o *row) bool { return o.entry() == r.entry() }); got < int(r.BatchSize) {
			w.reach("a batch in part")
			break
		}
	}
	if aborted := func(r *row) bool { return r.aborted }; after.count(aborted) > base.count(aborted) {
		w.reach("a transaction aborted")
	}
	if len(after.openTxns()) > 1 {
		w.reach("several transactions open")
	}
}

// wantRefused holds an error to the line that is bad. after is the model in the
// midst of it.
func (w *world) wantRefused(err error, bad int, after *topic, l line) {
	var at *ingest.LineError
	if !errors.As(err, &at) || !errors.Is(err, ingest.ErrBadInput) || int(at.Line) != bad {
		fail("ingest came to %v, want line %d to be bad", err, bad)
	}
	if !errors.Is(err, txnfilter.ErrTransactionEnded) {
		w.reach("refused: " + regexp.MustCompile(`[a-z ]*[a-z]`).FindString(at.Err.Error()))
		return
	}
	w.reach("refused: transaction has ended")
	for _, m := range l.messages {
		words := fmt.Sprintf("line %d: transaction (%s) has ended; start a new transaction", bad, m.Txn.V)
		if m.Txn.Valid && after.ended(m.Txn.V) && strings.HasPrefix(err.Error(), words) {
			return
		}
	}
	fail("ingest came to %v, and no such transaction has ended", err)
}

func (w *world) takeRun() {
	w.tell("run, %+v", w.policy)
	result, err := w.compact()
	must(err)
	t := w.t.clone()
	state, account := w.fold(t, w.now)
	if state == "compacted" {
		w.commit(t)
	} else if result.Version == w.newest().number+1 {
		w.commit(w.t) // the run has rewritten segments, which changes no answer
	}
	got := map[string]int64{
		"in": result.Rows.In, "kept": result.Rows.Kept, "superseded": result.Rows.Superseded, "deleted": result.Rows.Deleted,
		"aborted": result.Rows.Aborted, "markers": result.Rows.Markers, "expired": result.Rows.Expired, "keyless dropped": result.Rows.KeylessDropped,
		"older superseded": result.Older.Superseded, "older deleted": result.Older.Deleted, "older expired": result.Older.Expired,
	}
	maps.DeleteFunc(got, func(_ string, n int64) bool { return n == 0 })
	if string(result.State) != state || result.Version != w.newest().number || result.Horizon != w.t.horizon {
		fail("run came to %s, version %d, horizon %s, want %s, %d, %s",
			result.State, result.Version, result.Horizon, state, w.newest().number, w.t.horizon)
	}
	if account != nil && !maps.Equal(got, account) {
		fail("run accounts for %v, want %v", got, account)
	}
	w.reach("run: " + state)
	if result.Adopted.Segments > 0 {
		w.reach("run that adopts an original")
	}
	for name := range account {
		w.reach("run with rows " + name)
	}
}

func (w *world) takeTrim() {
	w.tell("trim")
	result, err := w.trim()
	must(err)
	var held []*topic
	for _, v := range w.held() {
		held = append(held, w.versions[v].topic)
	}
	want := "nothing_to_do"
	if t := w.t.clone(); t.trim(held, w.now) {
		w.commit(t)
		want = "trimmed"
	} else if t.trim(nil, w.now) {
		w.reach("a trim that leaves what a held version needs")
	}
	if string(result.State) != want || result.Version != w.newest().number || result.Through != w.t.trimmed {
		fail("trim came to %s, version %d, through %s, want %s, %d, %s",
			result.State, result.Version, result.Through, want, w.newest().number, w.t.trimmed)
	}
	w.reach("trim: " + want)
	w.reachTrimmed()
}

// reachTrimmed counts what is only kept because a compacted segment has adopted
// it.
func (w *world) reachTrimmed() {
	m, err := w.topic.Latest(ctx)
	must(err)
	for _, s := range m.Compacted {
		if s.Adopted && !slices.ContainsFunc(m.Originals, func(o manifest.Segment) bool { return o.Object == s.Object }) {
			w.reach("an adopted original that is trimmed")
			if s.Info.Counts.Aborts > 0 {
				w.reach("an adopted original that is trimmed, with an aborted transaction")
			}
			return
		}
	}
}

func (w *world) takeSet(assignment string) {
	w.tell("set %s", assignment)
	must(w.set(assignment))
	s, err := w.t.settings.With(assignment)
	must(err)
	if s != w.t.settings {
		t := w.t.clone()
		t.settings = s
		w.commit(t)
	}
}

// takeCollect collects. What it expires is the product's business, within what
// it was told to keep; that nothing else can be told apart from before is ours.
func (w *world) takeCollect(keep manifest.Keep, shutOut, whole bool) {
	if shutOut { // all jobs so far are done
		keep.MinJob = w.jobID()
	}
	w.tell("collect, keep the last %d and those since %s, shut out %v, whole %v", keep.Versions, keep.Since.Format(time.RFC3339), shutOut, whole)
	expired, err := w.collect(keep, whole)
	must(err)
	most := manifest.Version(0) // that may expire
	for _, v := range w.versions {
		if !v.time.After(keep.Since) {
			most = v.number
		}
	}
	most = max(w.expired, min(most, manifest.Version(max(0, len(w.versions)-max(keep.Versions, 1)))))
	if expired < w.expired || expired > most {
		fail("versions before %d are expired, want %d to %d", expired, w.expired, most)
	}
	if expired > w.expired {
		w.reach("a collection that expires versions")
	}
	w.expired = expired
	if m, err := w.topic.Latest(ctx); err != nil {
		must(err)
	} else if m.Version == w.newest().number+1 && m.Kind == "collect" {
		w.commit(w.t)
	}
	if !whole {
		return
	}
	for v := range w.expired {
		if !w.kept(v) {
			w.gone[v] = true
			w.reach("a version gone")
		}
	}
	again, err := w.topic.PlanCollection(ctx, manifest.Keep{MinJob: keep.MinJob})
	must(err)
	for g, err := range again.Garbage(ctx) {
		must(err)
		fail("a collection has left %s", g.Key)
	}
}

// takeHold tags a version, moves a tag, or pins and unpins a version.
func (w *world) takeHold(d dice) {
	v := w.expired + manifest.Version(d.IntN(len(w.versions)-int(w.expired)))
	switch pinned, ok := w.pins[v]; {
	case d.oneIn(2):
		name, move := pick(d, "x", "y"), d.oneIn(2)
		w.tell("tag %q version %d, move %v", name, v, move)
		err := w.topic.Tag(ctx, name, v, move)
		if was, taken := w.tags[name]; taken && was != v && !move {
			if !errors.Is(err, manifest.ErrTagExists) {
				fail("tag came to %v", err)
			}
			w.reach("refused: tag is taken")
			return
		}
		must(err)
		w.tags[name] = v
	case ok:
		w.tell("unpin version %d", v)
		must(w.topic.Unpin(ctx, v, pinned))
		delete(w.pins, v)
	default:
		w.tell("pin version %d", v)
		w.pins[v] = w.mint("P")
		must(w.topic.Pin(ctx, v, w.pins[v]))
	}
}

package model

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// check asks the product about its newest version, and about an older one;
// about one of the views from everywhere, if it is thorough.
func (w *world) check(d dice, thorough bool) {
	v := w.newest()
	w.checkStatus(v)
	from := pick(d, views...)
	for _, vw := range views {
		w.checkReads(d, v, vw, thorough && vw == from)
	}
	w.checkOlder(d)
}

func (w *world) open(o readerlib.Options) *readerlib.Reader {
	r, err := readerlib.Open(ctx, w.topic, o)
	must(err)
	return r
}

func seek(r *readerlib.Reader, s readerlib.Start) { must(r.Seek(ctx, s)) }

func collect[T any](seq iter.Seq2[T, error]) (all []T) {
	for v, err := range seq {
		must(err)
		all = append(all, v)
	}
	return all
}

func compare(what string, got, want []segments.Message) {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			fail("%s: %d messages, want %d; the next is\n%s", what, len(got), len(want), show(&want[i]))
		case i >= len(want):
			fail("%s: %d messages, want %d; too many from\n%s", what, len(got), len(want), show(&got[i]))
		case !reflect.DeepEqual(got[i], want[i]):
			fail("%s: message %d is\n%s\nwant\n%s", what, i, show(&got[i]), show(&want[i]))
		}
	}
}

// checkReads asks one reader of a version everything about one view.
func (w *world) checkReads(d dice, v *version, vw view, thorough bool) {
	list, o := v.list(vw), vw.options()
	if v != w.newest() || d.oneIn(6) {
		o.Version = readerlib.Numbered(v.number)
	}
	r := w.open(o)
	compare(vw.String(), collect(r.Messages(ctx)), list)
	last := segments.None
	if len(list) > 0 {
		last = list[len(list)-1].Position
	}
	got, err := r.LastMessageID(ctx)
	must(err)
	same("last message id of the "+vw.String(), got, last)

	places := v.places()
	for _, p := range places {
		if thorough || d.oneIn(len(places)/3+1) {
			seek(r, readerlib.After(p))
			w.asked.available(r, after(list, p), vw.String())
			seek(r, readerlib.At(p))
			w.asked.available(r, first(list, func(m *segments.Message) bool { return !m.Position.Before(p) }), vw.String()+", with it")
			continue
		}
		seek(r, readerlib.After(p))
		has, err := r.HasMessageAvailable(ctx)
		must(err)
		if has != last.After(p) {
			fail("%s: a message is available after %s: %v, want %v", vw, p, has, last.After(p))
		}
	}

	// One by one from somewhere to the end.
	p := pick(d, places...)
	seek(r, readerlib.After(p))
	for m := after(list, p); m != nil; m = after(list, m.Position) {
		w.asked.available(r, m, vw.String())
	}
	w.asked.available(r, nil, vw.String())

	w.checkSince(d, v, vw, r, thorough)
	seek(r, readerlib.Latest())
	same("the place of latest", r.Place(), v.end(vw))
	w.asked.available(r, nil, vw.String()+" from latest")

	// What does not depend on the view, or on the place.
	if d.oneIn(2) {
		w.checkGets(v, vw, r)
	}
	for range pick(d, 0, 1, 2) {
		w.checkFetch(d, v, r)
	}
	if d.oneIn(8) {
		o.Start, o.HeadersOnly = readerlib.After(p), true
		headers := slices.Clone(list)
		headers = slices.DeleteFunc(headers, func(m segments.Message) bool { return !m.Position.After(p) })
		for i := range headers {
			headers[i].Value, headers[i].Properties = nil, nil
		}
		compare(vw.String()+", headers", collect(w.open(o).Messages(ctx)), headers)
	}
}

// checkSince starts from times: those of messages, and between.
func (w *world) checkSince(d dice, v *version, vw view, r *readerlib.Reader, thorough bool) {
	list := v.list(vw)
	for _, m := range v.rows {
		if !thorough && !d.oneIn(len(v.rows)/2+1) {
			continue
		}
		for _, t := range []segments.Millis{m.PublishTime, m.PublishTime + 1} {
			from := first(list, func(m *segments.Message) bool { return m.PublishTime >= t })
			seek(r, readerlib.Since(t.Time()))
			w.asked.available(r, from, vw.String()+" since "+t.String())
			if from != nil {
				w.asked.available(r, after(list, from.Position), vw.String()+" since "+t.String())
			}
		}
	}
}

// checkGets gets all keys there can be, and one that never is.
func (w *world) checkGets(v *version, vw view, r *readerlib.Reader) {
	var all [][]byte
	for _, key := range append(keys, "nosuch") {
		all = append(all, []byte(key))
	}
	many, err := r.GetMany(ctx, all)
	must(err)
	for i, key := range all {
		want := v.get(key, vw.uncommitted)
		switch got := many[i]; {
		case want == nil && got.Valid:
			fail("get %q, %s, is %s, want none", key, vw, show(&got.V))
		case want != nil && (!got.Valid || !reflect.DeepEqual(got.V, want.Message)):
			fail("get %q, %s, is %v %s, want %s", key, vw, got.Valid, show(&got.V), show(&want.Message))
		}
	}
}

// checkFetch fetches a range, which may begin after its end.
func (w *world) checkFetch(d dice, v *version, r *readerlib.Reader) {
	places := v.places()
	from, to := pick(d, places...), pick(d, places...)
	if to.Before(from) && !d.oneIn(8) {
		from, to = to, from
	}
	end := to
	if to.Batch < 0 {
		end = to.EndOfEntry()
	}
	got, err := r.Fetch(ctx, from, to)
	if from.After(end) {
		if !errors.Is(err, readerlib.ErrBadRange) {
			fail("fetch %s to %s: %v", from, to, err)
		}
		w.reach("refused: a range that begins after its end")
		return
	}
	must(err)
	if from.IsNone() {
		from = segments.At(0, 0)
	}
	found, absent, unsettled := v.fetch(from, to)
	what := "fetch " + from.String() + " to " + to.String()
	compare(what, got.Messages, messages(found))
	var runs []readerlib.Entries
	for _, p := range absent {
		if n := len(runs); n > 0 && runs[n-1].Last.NextEntry() == p {
			runs[n-1].Last = p
		} else {
			runs = append(runs, readerlib.Entries{First: p, Last: p})
		}
	}
	sameList(what+": absent", got.Absent, runs)
	same(what+": not attempted from", got.NotAttemptedFrom, unsettled)
	same(what+": failed", len(got.Failed), 0)
	if unsettled.Valid {
		w.reach("a fetch that is not settled")
	}
}

// checkOlder compares two kept versions, or travels to one, by number, tag or
// time.
func (w *world) checkOlder(d dice) {
	var kept []*version
	for _, v := range w.versions {
		if w.kept(v.number) {
			kept = append(kept, v)
		} else if d.oneIn(8) {
			_, err := readerlib.Open(ctx, w.topic, readerlib.Options{Version: readerlib.Numbered(v.number)})
			if !errors.Is(err, manifest.ErrVersionNotFound) {
				fail("open version %d, which is expired: %v", v.number, err)
			}
			w.reach("refused: a version that is expired")
		}
	}
	v := pick(d, kept...)
	if d.oneIn(2) {
		w.checkChanges(v, pick(d, kept[len(kept)-1], pick(d, kept...)))
		return
	}
	vw := pick(d, views...)
	o := vw.options()
	switch name := pick(d, "x", "y"); {
	case d.oneIn(2):
		o.Version = readerlib.Numbered(v.number)
	case d.oneIn(2) && w.tags[name] > 0:
		v = w.versions[w.tags[name]]
		o.Version = readerlib.Tagged(name)
		w.reach("a tagged version read")
	default:
		at := w.versions[int(w.expired)+d.IntN(len(w.versions)-int(w.expired))].time
		v = w.asOf(at)
		o.Version = readerlib.AsOf(at)
	}
	r := w.open(o)
	same("version", r.Snapshot().Version, v.number)
	compare(vw.String()+" of an older version", collect(r.Messages(ctx)), v.list(vw))
	moved, err := r.Refresh(ctx)
	must(err)
	same("a reader of an older version moves", moved, false)
}

// asOf is the version that was the newest at a time.
func (w *world) asOf(at time.Time) (found *version) {
	for _, v := range w.versions {
		if !v.time.After(at) {
			found = v
		}
	}
	return found
}

func (w *world) checkChanges(a, b *version) {
	seq := readerlib.Changes(ctx, w.topic, a.number, b.number)
	if a.number > b.number {
		for _, err := range seq {
			if !errors.Is(err, readerlib.ErrBadRange) {
				fail("changes from %d to %d: %v", a.number, b.number, err)
			}
		}
		return
	}
	var added, gone []segments.Message
	for _, c := range collect(seq) {
		switch {
		case c.Deleted:
			gone = append(gone, c.Message)
		case len(gone) > 0:
			fail("changes from %d to %d: a message after a key that is gone", a.number, b.number)
		default:
			added = append(added, c.Message)
		}
	}
	wantAdded, wantGone := b.changes(a.topic)
	what := fmt.Sprintf("changes from version %d to %d", a.number, b.number)
	compare(what+", new", added, messages(wantAdded))
	var want []segments.Message
	for _, r := range wantGone {
		want = append(want, segments.Message{Position: r.Position, Key: r.Key})
	}
	compare(what+", gone", gone, want)
	if len(want) > 0 {
		w.reach("changes with a key that is gone")
	}
}

package model

import (
	"errors"
	"io"

	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// reader is one that was opened on the newest version of its time, and goes on
// living while the topic changes. Now and then it is refreshed.
type reader struct {
	*readerlib.Reader
	view
	at       *version
	every    int                            // in so many steps it is refreshed
	since    segments.Null[segments.Millis] // it waits for the first message published then
	promised segments.Null[bool]            // it said that a message is available, or that none is
}

// readersMost is how many live at a time.
const readersMost = 4

// follow lets readers come and go, and asks those that are there.
func (w *world) follow(d dice) {
	if len(w.readers) < readersMost && d.oneIn(2) {
		w.readers = append(w.readers, w.newReader(d))
	}
	kept := w.readers[:0]
	for _, r := range w.readers {
		if !d.oneIn(12) {
			kept = append(kept, r)
		}
	}
	w.readers = kept
	for _, r := range w.readers {
		if d.oneIn(2) {
			w.ask(d, r)
		}
		if d.oneIn(r.every) {
			w.refresh(r)
			w.ask(d, r)
		}
		w.promise(r)
	}
}

// promise lets r say whether a message is available. What the topic goes
// through until Next is asked for it must not matter.
func (w *world) promise(r *reader) {
	has, err := r.HasMessageAvailable(ctx)
	if errors.Is(err, readerlib.ErrSnapshotExpired) && w.gone[r.at.number] {
		return
	}
	must(err)
	same("a message is available to a reader that lives on", has, w.next(r) != nil)
	r.promised = segments.Some(has)
}

// next is the message that r must return next, or nil.
func (w *world) next(r *reader) *segments.Message {
	if r.since.Valid {
		return nil
	}
	return after(r.at.list(r.view), r.Place())
}

// keepPromises asks each reader for the message that it said to have before the
// last step, or to have not.
func (w *world) keepPromises() {
	for _, r := range w.readers {
		if !r.promised.Valid {
			continue
		}
		want := w.next(r)
		has := w.askSafely(r, want)
		if has != r.promised.V && !w.gone[r.at.number] {
			fail("a reader promised %v, and now it has a message: %v", r.promised.V, has)
		}
		r.promised.Valid = false
		w.reach("a promise kept over a step")
	}
}

func (w *world) newReader(d dice) *reader {
	r := &reader{view: pick(d, views...), at: w.newest(), every: pick(d, 1, 3, 20)}
	o := r.options()
	list := r.at.list(r.view)
	switch d.IntN(4) {
	case 0:
		o.Start = readerlib.Latest()
	case 1:
		if len(r.at.rows) > 0 {
			t := pick(d, r.at.rows...).PublishTime + segments.Millis(d.IntN(2))
			o.Start = readerlib.Since(t.Time())
			if first(list, func(m *segments.Message) bool { return m.PublishTime >= t }) == nil {
				r.since = segments.Some(t)
			}
		}
	case 2:
		o.Start = readerlib.After(pick(d, r.at.places()...))
	}
	r.Reader = w.open(o)
	return r
}

// refresh moves r to the newest version, at the same place.
func (w *world) refresh(r *reader) {
	place := r.Place()
	moved, err := r.Refresh(ctx)
	must(err)
	same("a refresh moves", moved, r.at != w.newest())
	same("version after a refresh", r.Snapshot().Version, w.newest().number)
	r.at = w.newest()
	if !r.since.Valid {
		same("place after a refresh", r.Place(), place)
		return
	}
	// What comes next is the first such message behind all that was there.
	next := first(r.at.list(r.view), func(m *segments.Message) bool {
		return m.Position.After(place) && m.PublishTime >= r.since.V
	})
	if next != nil {
		r.since.Valid = false
		w.reach("a message that was waited for by its time")
		w.asked.available(r.Reader, next, r.view.String()+", waiting")
	}
}

// ask asks r for its last message and a few more. If its version was collected
// it may say so, and else must be right.
func (w *world) ask(d dice, r *reader) {
	for range 1 + d.IntN(3) {
		if !w.askSafely(r, w.next(r)) {
			break
		}
	}
	list := r.at.list(r.view)
	want := segments.None
	if len(list) > 0 {
		want = list[len(list)-1].Position
	}
	last, err := r.LastMessageID(ctx)
	if errors.Is(err, readerlib.ErrSnapshotExpired) && w.gone[r.at.number] {
		return
	}
	must(err)
	same("last message id of a reader that lives on", last, want)
}

// askSafely is available, for a reader whose version may be gone. It reports
// whether there was a message.
func (w *world) askSafely(r *reader, want *segments.Message) bool {
	if !w.gone[r.at.number] {
		w.asked.available(r.Reader, want, r.view.String()+" of a reader that lives on")
		return want != nil
	}
	has, err := r.HasMessageAvailable(ctx)
	if err == nil {
		same("a message is available in a version that is gone", has, want != nil)
	} else if !errors.Is(err, readerlib.ErrSnapshotExpired) {
		must(err)
	}
	got, err := r.Next(ctx)
	switch {
	case errors.Is(err, readerlib.ErrSnapshotExpired):
		w.reach("a reader of a version that is gone says so")
		return false
	case errors.Is(err, io.EOF) && want == nil:
		return false
	case err != nil || want == nil:
		fail("next in a version that is gone: %s, %v", show(&got), err)
	}
	compare("next in a version that is gone", []segments.Message{got}, []segments.Message{*want})
	return true
}

package model

import (
	"errors"
	"io"
	"reflect"
	"slices"

	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// asked counts what was asked about the invariant of readers: is a message
// available exactly when Next returns one?
type asked struct {
	places    map[segments.Position]bool // of this history
	questions int
}

// available asks r both, and compares the message with want, or nothing if it
// is nil.
func (a *asked) available(r *readerlib.Reader, want *segments.Message, what string) {
	place := r.Place()
	if a.places == nil {
		a.places = map[segments.Position]bool{}
	}
	a.places[place] = true
	a.questions++
	has, err := r.HasMessageAvailable(ctx)
	must(err)
	got, err := r.Next(ctx)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		must(err)
	case has != (err == nil):
		fail("%s, after %s: a message is available: %v, but next is %s, %v", what, place, has, show(&got), err)
	case want == nil && has:
		fail("%s, after %s: next is %s, want nothing", what, place, show(&got))
	case want != nil && !has:
		fail("%s, after %s: nothing is available, want %s", what, place, show(want))
	case want != nil && !reflect.DeepEqual(got, *want):
		fail("%s, after %s: next is\n%s\nwant\n%s", what, place, show(&got), show(want))
	}
}

// list is what a view of the version shows.
func (v *version) list(vw view) []segments.Message {
	list, ok := v.lists[vw]
	if !ok {
		list = messages(v.topic.list(vw))
		v.lists[vw] = list
	}
	return list
}

func messages(rows []*row) []segments.Message {
	list := make([]segments.Message, len(rows))
	for i, r := range rows {
		list[i] = r.Message
	}
	return list
}

// end is after all that a view of the version shows, and before all that a
// later version may add to it.
func (v *version) end(vw view) segments.Position {
	end := v.maxRead()
	if vw.uncommitted {
		end = v.last()
	}
	if end.IsNone() {
		return end
	}
	return end.EndOfEntry()
}

// first is the first message of the list that is so, or nil.
func first(list []segments.Message, so func(*segments.Message) bool) *segments.Message {
	for i := range list {
		if so(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

func after(list []segments.Message, p segments.Position) *segments.Message {
	return first(list, func(m *segments.Message) bool { return m.Position.After(p) })
}

// places are all that a reader can be told to start from: entries, indexes,
// holes, and what lies before and behind.
func (v *version) places() []segments.Position {
	all := []segments.Position{segments.None, segments.At(0, 0), segments.At(v.last().Ledger+1, 0)}
	for _, r := range v.rows {
		next := r.Position
		next.Batch++
		all = append(all, r.entry(), r.Position, next, r.entry().EndOfEntry(), r.entry().NextEntry())
	}
	slices.SortFunc(all, segments.Position.Compare)
	return slices.Compact(all)
}

var views = []view{{false, false}, {false, true}, {true, false}, {true, true}}

func (vw view) options() readerlib.Options {
	var o readerlib.Options
	if vw.compacted {
		o.View = readerlib.Compacted
	}
	o.Isolation = vw.isolation()
	return o
}

func (vw view) isolation() readerlib.Isolation {
	if vw.uncommitted {
		return readerlib.ReadUncommitted
	}
	return readerlib.ReadCommitted
}

func (vw view) String() string {
	text := "raw view"
	if vw.compacted {
		text = "compacted view"
	}
	if vw.uncommitted {
		text += ", read-uncommitted"
	}
	return text
}

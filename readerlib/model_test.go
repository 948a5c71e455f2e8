package readerlib_test

import (
	"maps"
	"slices"

	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// model is one version of a topic, known row by row. Its answers are computed
// by walking all rows there ever were.
type model struct {
	rows    []segments.Message
	live    map[segments.Position]bool // rows of the compacted tier that are not dead
	txns    txnfilter.State
	byEvent bool

	retainedAfter, horizon, maxRead, last segments.Position
}

func (w *world) model(live map[segments.Position]bool) *model {
	return &model{
		rows: w.rows, live: maps.Clone(live), txns: w.txns.Clone(), byEvent: w.head.Settings.EventTimeOrder,
		retainedAfter: w.head.RetainedAfter, horizon: w.head.Horizon, maxRead: w.head.MaxRead, last: w.head.Last,
	}
}

// hidden says why no reader of originals sees r; it is empty if one does.
func (m *model) hidden(r segments.Message) string {
	switch {
	case r.Kind.IsMarker():
		return "marker"
	case r.Txn.Valid && m.txns.IsAborted(r.Txn.V):
		return "aborted"
	}
	return ""
}

// list is the view.
func (m *model) list(v readerlib.View, iso readerlib.Isolation) []segments.Message {
	bound := m.maxRead
	if iso == readerlib.ReadUncommitted {
		bound = m.last
	}
	var list []segments.Message
	for _, r := range m.rows {
		entry := r.Position.EntryPosition()
		if v == readerlib.Compacted && !entry.After(m.horizon) {
			if m.live[r.Position] {
				list = append(list, r)
			}
			continue
		}
		if entry.After(m.retainedAfter) && !entry.After(bound) && m.hidden(r) == "" {
			list = append(list, r)
		}
	}
	return list
}

// after is the part of list that follows p.
func after(list []segments.Message, p segments.Position) []segments.Message {
	i := slices.IndexFunc(list, func(r segments.Message) bool { return r.Position.After(p) })
	if i < 0 {
		return nil
	}
	return list[i:]
}

// since is the part of list that begins with the first message of that time.
func since(list []segments.Message, t segments.Millis) []segments.Message {
	i := slices.IndexFunc(list, func(r segments.Message) bool { return r.PublishTime >= t })
	if i < 0 {
		return nil
	}
	return list[i:]
}

func lastOf(list []segments.Message) segments.Position {
	if len(list) == 0 {
		return segments.None
	}
	return list[len(list)-1].Position
}

// beats reports whether r wins its key over best, which is earlier. The zero
// message is no winner yet.
func (m *model) beats(r, best segments.Message) bool {
	if !m.byEvent || best.Key == nil || !best.EventTime.Valid {
		return true
	}
	return r.EventTime.Valid && r.EventTime.V >= best.EventTime.V
}

func (m *model) winner(list []segments.Message, key string) (best segments.Message, found bool) {
	for _, r := range list {
		if r.Key != nil && string(r.Key) == key && m.beats(r, best) {
			best, found = r, true
		}
	}
	return best, found
}

// get is the value of key in the compacted view.
func (m *model) get(key string, iso readerlib.Isolation) (segments.Message, bool) {
	best, found := m.winner(m.list(readerlib.Compacted, iso), key)
	return best, found && best.Kind == segments.KindMessage
}

// fetchable are the messages that a fetch of everything returns.
func (m *model) fetchable() []segments.Message {
	var list []segments.Message
	for _, r := range m.rows {
		if !r.Position.EntryPosition().After(m.retainedAfter) && m.live[r.Position] {
			list = append(list, r)
		}
	}
	return append(list, m.list(readerlib.Raw, readerlib.ReadCommitted)...)
}

// changes is what is new from was to m, and which keys are gone.
func (m *model) changes(was *model) []readerlib.Change {
	old := was.list(readerlib.Compacted, readerlib.ReadCommitted)
	now := m.list(readerlib.Compacted, readerlib.ReadCommitted)
	var changes []readerlib.Change
	for _, r := range now {
		if !slices.ContainsFunc(old, func(o segments.Message) bool { return o.Position == r.Position }) {
			changes = append(changes, readerlib.Change{Message: r})
		}
	}
	for _, r := range old {
		best, _ := was.winner(old, string(r.Key))
		_, still := m.winner(now, string(r.Key))
		if r.Key != nil && r.Kind == segments.KindMessage && best.Position == r.Position && !still {
			changes = append(changes, readerlib.Change{Message: segments.Message{Position: r.Position, Key: r.Key}, Deleted: true})
		}
	}
	return changes
}

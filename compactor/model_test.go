package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// model is a topic and its compacted tier as the design words them, kept in
// memory and folded by looking at everything. It is what the compactor is
// held to.
type model struct {
	settings manifest.Settings
	rows     []row // of all originals ever
	txns     map[segments.TxnID]fate
	horizon  segments.Position
	tier     []compacted
	trimmed  segments.Position
}

type fate int

const (
	isOpen fate = iota + 1
	isCommitted
	isAborted
)

// compacted is a live row of the compacted tier.
type compacted struct {
	row
	at time.Time // when it was first compacted
}

func newModel(s manifest.Settings) *model {
	return &model{settings: s, txns: make(map[segments.TxnID]fate), horizon: segments.None, trimmed: segments.None}
}

func (m *model) append(rows []row) {
	m.rows = append(m.rows, rows...)
	for _, r := range rows {
		switch {
		case !r.Txn.Valid:
		case !r.Kind.IsMarker():
			if m.txns[r.Txn.V] == 0 {
				m.txns[r.Txn.V] = isOpen
			}
		default:
			m.txns[r.Txn.V] = isCommitted
			if r.Kind == segments.KindAbort {
				m.txns[r.Txn.V] = isAborted
			}
			for id, f := range m.txns {
				if r.mark.Valid && f == isOpen && id.Most == r.Txn.V.Most && id.Least <= r.mark.V {
					m.txns[id] = isAborted
				}
			}
		}
	}
}

func (m *model) last() segments.Position {
	if len(m.rows) == 0 {
		return segments.None
	}
	return m.rows[len(m.rows)-1].Position.EntryPosition()
}

// cut is the entry through which a run at now goes.
func (m *model) cut(now time.Time) segments.Position {
	through := segments.None
	for i := 0; i < len(m.rows); {
		entry := m.rows[i].Position.EntryPosition()
		for ; i < len(m.rows) && m.rows[i].Position.EntryPosition() == entry; i++ {
			r := m.rows[i]
			if r.Txn.Valid && m.txns[r.Txn.V] == isOpen {
				return through
			}
			young := r.PublishTime.Time().After(now.Add(-time.Duration(m.settings.MinLag)))
			if m.settings.MinLag > 0 && young && entry.After(m.horizon) {
				return through
			}
		}
		through = entry
	}
	return through
}

// run folds as a run at now does.
func (m *model) run(now time.Time) (State, manifest.Report) {
	var report manifest.Report
	in, old := &report.Rows, &report.Older
	through := m.cut(now)

	type contender struct {
		compacted
		dirty bool
	}
	byKey := make(map[string][]contender)
	var next []compacted
	dirtyKeys := make(map[string]bool)
	for _, r := range m.rows {
		if !r.Position.After(m.horizon.EndOfEntry()) || r.Position.After(through.EndOfEntry()) {
			continue
		}
		in.In++
		switch {
		case r.Kind.IsMarker():
			in.Markers++
		case r.Txn.Valid && m.txns[r.Txn.V] == isAborted:
			in.Aborted++
		case r.Key == nil && m.settings.DropKeyless:
			in.KeylessDropped++
		case r.Key == nil:
			in.Kept++
			next = append(next, compacted{r, now})
		default:
			byKey[string(r.Key)] = append(byKey[string(r.Key)], contender{compacted{r, now}, true})
			dirtyKeys[string(r.Key)] = true
		}
	}
	for _, c := range m.tier {
		if c.Key == nil {
			next = append(next, c)
			continue
		}
		byKey[string(c.Key)] = append(byKey[string(c.Key)], contender{c, false})
	}
	for key, list := range byKey {
		winner := slices.MaxFunc(list, func(a, b contender) int {
			if m.settings.EventTimeOrder {
				if c := compareEvents(a.EventTime, b.EventTime); c != 0 {
					return c
				}
			}
			return a.Position.Compare(b.Position)
		})
		deletes := winner.Kind == segments.KindTombstone
		for _, c := range list {
			switch {
			case c.Position == winner.Position:
			case c.dirty && deletes:
				in.Deleted++
			case c.dirty:
				in.Superseded++
			case deletes:
				old.Deleted++
			default:
				old.Superseded++
			}
		}
		expired := deletes && m.settings.TombstoneRetention.Passed(winner.at, now)
		switch {
		case expired && winner.dirty:
			in.Expired++
		case expired:
			old.Expired++
		case winner.dirty:
			in.Kept++
		}
		if !expired {
			next = append(next, winner.compacted)
		}
		if !dirtyKeys[key] && len(list) != 1 {
			panic("two live rows of one key")
		}
	}
	slices.SortFunc(next, func(a, b compacted) int { return a.Position.Compare(b.Position) })

	state := StateCompacted
	switch {
	case through != m.horizon || len(next) != len(m.tier):
	case m.horizon == m.last() && len(m.rows) > 0:
		state = StateAlreadyCompacted
	default:
		state = StateNothingToDo
	}
	if through.After(m.horizon) {
		m.horizon = through
	}
	m.tier = next
	return state, report
}

// compareEvents orders event times; a missing one is the oldest.
func compareEvents(a, b segments.Null[segments.Millis]) int {
	if !a.Valid || !b.Valid {
		if a.Valid == b.Valid {
			return 0
		} else if a.Valid {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.V, b.V)
}

func (m *model) live() []row {
	var rows []row
	for _, c := range m.tier {
		rows = append(rows, c.row)
	}
	return rows
}

// trim drops what a trim at now drops.
func (m *model) trim(now time.Time) {
	type ledger struct {
		last   segments.Position
		newest segments.Millis
	}
	var ledgers []ledger
	for _, r := range m.rows {
		if !r.Position.After(m.trimmed.EndOfEntry()) {
			continue
		}
		if n := len(ledgers); n == 0 || ledgers[n-1].last.Ledger != r.Position.Ledger {
			ledgers = append(ledgers, ledger{newest: r.PublishTime})
		}
		l := &ledgers[len(ledgers)-1]
		l.last = r.Position.EntryPosition()
		l.newest = max(l.newest, r.PublishTime)
	}
	for i, l := range ledgers {
		if i == len(ledgers)-1 || l.last.After(m.horizon) || !m.settings.Retention.Passed(l.newest.Time(), now) {
			return
		}
		m.trimmed = l.last
	}
}

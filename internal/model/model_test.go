package model

import (
	"maps"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// topic is Ledgerfold once more: a list in memory that is looked through from
// front to back for every question. It is written from the design, whose
// corners (section 10) it names. A version of it is a clone.
type topic struct {
	settings manifest.Settings
	rows     []row             // all there ever were, in order of position
	sources  map[string]int    // lines that are in
	horizon  segments.Position // the compacted view is complete through this entry
	trimmed  segments.Position // originals are gone through this entry
}

// row is a message, a tombstone, or a marker with its low-water mark.
type row struct {
	segments.Message
	mark          segments.Null[uint64]
	open, aborted bool      // its transaction is
	added         time.Time // by the clock of the ingest
	known         bool      // it is the last that is remembered of its producer and epoch
	live          bool      // it is in the compacted tier, and not dead
	first         time.Time // when it was first compacted
}

func (t *topic) clone() *topic {
	c := *t
	c.rows, c.sources = slices.Clone(t.rows), maps.Clone(t.sources)
	return &c
}

func (r *row) entry() segments.Position { return r.Position.EntryPosition() }

// through is the entry before that of the first row that stops, or the last.
func (t *topic) through(stops func(*row) bool) segments.Position {
	before, last := segments.None, segments.None
	for i := range t.rows {
		if e := t.rows[i].entry(); e != last {
			before, last = last, e
		}
		if stops(&t.rows[i]) {
			return before
		}
	}
	return last
}

// last is the last entry of any kind, and maxRead the one before the first
// message of the first open transaction (corner 3).
func (t *topic) last() segments.Position    { return t.through(func(*row) bool { return false }) }
func (t *topic) maxRead() segments.Position { return t.through(func(r *row) bool { return r.open }) }

// ingest adds lines, or tells the number of the first bad one; then the topic
// is left in the midst of it (corners 14 to 20, 26 and 27).
func (t *topic) ingest(lines []line, source string, now time.Time) (sum sum, bad int) {
	was, start, ledger := t.clone(), len(t.rows), t.last().Ledger+1
	for i := range t.rows { // a producer of which nothing was added for so long is forgotten
		t.rows[i].known = t.rows[i].known && t.sent(&t.rows[i].Message, func(o *row) bool {
			return !t.settings.ProducerExpiry.Passed(o.added, now) || o.added.Equal(now)
		})
	}
	looked, read, withID := 0, 0, 0
	for i, l := range lines {
		if l.blank {
			continue
		}
		if looked, read = i+1, read+1; l.id.Valid {
			withID++
		}
		switch {
		case l.bad || withID != 0 && withID != read:
			return sum, looked
		case i < t.sources[source]:
			sum.duplicates += int64(len(l.messages))
		case !t.add(&l, start, ledger, now, &sum):
			return sum, looked
		}
	}
	if len(t.rows) == start {
		*t = *was
	} else if source != "" {
		t.sources[source] = looked
	}
	return sum, 0
}

// add adds what is new of a line to the run that began at row start.
func (t *topic) add(l *line, start int, ledger int64, now time.Time, sum *sum) bool {
	if l.end != segments.KindMessage {
		if t.ended(l.txn) {
			return true // a duplicate
		}
		at, ok := t.place(l, start, ledger)
		t.end(l)
		t.rows = append(t.rows, row{mark: l.mark, added: now, Message: segments.Message{
			Position: at, BatchSize: 1, Kind: l.end, Txn: segments.Some(l.txn), PublishTime: segments.MillisOf(now),
		}})
		return ok
	}
	entry := segments.None
	for k, m := range l.messages {
		if t.sent(&m, func(o *row) bool { return o.Epoch.V == m.Epoch.V && o.Sequence.V >= m.Sequence.V }) {
			sum.duplicates++
			continue
		}
		ok := !t.sent(&m, func(o *row) bool { return o.Epoch.V > m.Epoch.V }) // or it is fenced
		if ok && entry.IsNone() {
			entry, ok = t.place(l, start, ledger)
		}
		if !ok || m.Txn.Valid && t.ended(m.Txn.V) {
			return false
		}
		if m.Position = entry; l.batch {
			m.Position.Batch = int32(k)
		}
		if m.PublishTime == byClock {
			m.PublishTime = segments.MillisOf(now)
		}
		if m.Key != nil && (m.Value == nil || t.settings.EmptyIsTombstone && len(m.Value) == 0) {
			m.Kind = segments.KindTombstone
		}
		if t.sent(&m, func(o *row) bool { return o.Epoch.V == m.Epoch.V && o.Sequence.V+1 < m.Sequence.V }) {
			sum.gaps++ // only the last one is known
		}
		for i := range t.rows { // the last sequence of each epoch is remembered
			r := &t.rows[i]
			r.known = r.known && (r.Producer != m.Producer || r.Epoch.V != m.Epoch.V || !m.Sequence.Valid)
		}
		t.rows = append(t.rows, row{Message: m, open: m.Txn.Valid, added: now, known: m.Producer.Valid && m.Sequence.Valid})
		sum.messages++
	}
	return true
}

// sent tells whether the producer of m is known to have sent such a row.
func (t *topic) sent(m *segments.Message, such func(*row) bool) bool {
	return m.Producer.Valid && m.Sequence.Valid && slices.ContainsFunc(t.rows, func(o row) bool {
		return o.known && o.Producer.V == m.Producer.V && such(&o)
	})
}

// place is where the next row goes, and whether it may (corners 16 and 17).
func (t *topic) place(l *line, start int, ledger int64) (segments.Position, bool) {
	last, id := t.last(), l.id.V
	switch {
	case !l.id.Valid && last.Ledger == ledger:
		return last.NextEntry(), true
	case !l.id.Valid:
		return segments.At(ledger, 0), true
	case len(t.rows) > start && id.Batch >= 0 && id.EntryPosition() == last:
		r := t.rows[len(t.rows)-1] // of the same entry, in the same run
		return id, r.Position.Batch >= 0 && id.After(r.Position) && l.messages[0].BatchSize == r.BatchSize
	}
	return id, id.EntryPosition().After(last)
}

// ended tells whether a transaction has ended here, or by a mark (corner 15).
func (t *topic) ended(id segments.TxnID) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool {
		return r.Kind.IsMarker() && (r.Txn.V == id || r.mark.Valid && r.Txn.V.Most == id.Most && id.Least <= r.mark.V)
	})
}

// end ends a transaction, and then what is open at or below the mark (corner 14).
func (t *topic) end(l *line) {
	for i := range t.rows {
		if r := &t.rows[i]; r.open && r.Txn.V == l.txn {
			r.open, r.aborted = false, l.end == segments.KindAbort
		} else if r.open && l.mark.Valid && r.Txn.V.Most == l.txn.Most && r.Txn.V.Least <= l.mark.V {
			r.open, r.aborted = false, true
		}
	}
}

// compact is one run: it folds the live rows of the compacted tier with the
// committed rows of (H, H'], and then expires tombstones (corners 4 to 9). What
// becomes of a row is counted; of an older one, as older.
func (t *topic) compact(now time.Time) (string, map[string]int64) {
	to := t.through(func(r *row) bool {
		young := t.settings.MinLag > 0 && !t.settings.MinLag.Passed(r.PublishTime.Time(), now)
		return r.entry().After(t.horizon) && (r.open || young)
	})
	fold, account := []*row{}, map[string]int64{}
	for i := range t.rows {
		r := &t.rows[i]
		dirty := r.entry().After(t.horizon) && !r.entry().After(to)
		if dirty {
			account["in"]++
			r.first = now
		}
		switch {
		case dirty && r.Kind.IsMarker():
			account["markers"]++
		case dirty && r.aborted:
			account["aborted"]++
		case dirty && r.Key == nil && t.settings.DropKeyless:
			account["keyless dropped"]++
		case dirty || r.live:
			fold = append(fold, r)
		}
	}
	live, changed := map[*row]bool{}, to != t.horizon
	for _, r := range fold {
		winner, fate := r, "kept"
		if r.Key != nil {
			winner = t.winner(fold, r.Key)
		}
		switch deletes := winner.Kind == segments.KindTombstone; {
		case r != winner && deletes:
			fate = "deleted"
		case r != winner:
			fate = "superseded"
		case deletes && t.settings.TombstoneRetention.Passed(r.first, now):
			fate = "expired"
		}
		live[r] = fate == "kept"
		changed = changed || !live[r]
		if r.live {
			fate = "older " + fate
		}
		account[fate]++
	}
	delete(account, "older kept")
	if !changed {
		if to == t.last() && !to.IsNone() {
			return "already_compacted", account
		}
		return "nothing_to_do", account
	}
	for i := range t.rows {
		t.rows[i].live = live[&t.rows[i]]
	}
	t.horizon = to
	return "compacted", account
}

// winner is the row that counts for a key: the last, or the one with the
// greatest event time and then position (corner 11).
func (t *topic) winner(rows []*row, key []byte) (best *row) {
	for _, r := range rows {
		older := best != nil && t.settings.EventTimeOrder && best.EventTime.Valid && (!r.EventTime.Valid || r.EventTime.V < best.EventTime.V)
		if r.Key != nil && string(r.Key) == string(key) && !older {
			best = r
		}
	}
	return best
}

// trim drops whole ledgers before the first that may not go (corner 10). Held
// versions are those that are tagged or pinned.
func (t *topic) trim(held []*topic, now time.Time) (changed bool) {
	through := t.through(func(r *row) bool {
		stays := func(o row) bool {
			young := !t.settings.Retention.Passed(o.PublishTime.Time(), now)
			needed := slices.ContainsFunc(held, func(h *topic) bool { return o.entry().After(h.trimmed) && !o.entry().After(h.last()) })
			return o.Position.Ledger == r.Position.Ledger && (young || needed || o.entry().After(t.horizon) || o.entry() == t.last())
		}
		return r.entry().After(t.trimmed) && slices.ContainsFunc(t.rows, stays)
	})
	changed, t.trimmed = through != t.trimmed, through
	return changed
}

// list is what a view shows (section 6, corner 13).
func (t *topic) list(v view) (list []*row) {
	end := t.maxRead()
	if v.uncommitted {
		end = t.last()
	}
	for i := range t.rows {
		r := &t.rows[i]
		shown := t.original(r) && !r.entry().After(end)
		if v.compacted && !r.entry().After(t.horizon) {
			shown = r.live
		}
		if shown {
			list = append(list, r)
		}
	}
	return list
}

// original tells whether the retained originals show r.
func (t *topic) original(r *row) bool {
	return r.entry().After(t.trimmed) && !r.Kind.IsMarker() && !r.aborted
}

// get is the message with the value of a key, or nil (corners 11 and 22).
func (t *topic) get(key []byte, uncommitted bool) *row {
	if r := t.winner(t.list(view{true, uncommitted}), key); r == nil || r.Kind != segments.KindTombstone {
		return r
	}
	return nil
}

// fetch finds the messages from first through last, the entries without any,
// and where it becomes unsettled, if it does (corner 21).
func (t *topic) fetch(first, last segments.Position) (found []*row, absent []segments.Position, unsettled segments.Null[segments.Position]) {
	settled, end := t.maxRead(), last
	if last.Batch < 0 {
		end = last.EndOfEntry()
	}
	for i := range t.rows {
		r := &t.rows[i]
		asked := !r.Position.Before(first) && !r.Position.After(end) && !r.entry().After(settled)
		if asked && (t.original(r) || r.live && !r.entry().After(t.trimmed)) {
			found = append(found, r)
		}
	}
	for i, r := range t.rows {
		for entry := range r.Position.Entry + 1 {
			p := segments.At(r.Position.Ledger, entry)
			asked := !p.EndOfEntry().Before(first) && !p.After(end) && !p.After(settled)
			seen := i+1 < len(t.rows) && t.rows[i+1].Position.Ledger == p.Ledger // by a later row of the ledger
			if asked && !seen && !slices.ContainsFunc(found, func(r *row) bool { return r.entry() == p }) {
				absent = append(absent, p)
			}
		}
	}
	if end.EntryPosition().After(settled) {
		next := []segments.Position{first, segments.At(max(settled.Ledger, 0), settled.Entry+1)}
		unsettled = segments.Some(slices.MaxFunc(next, segments.Position.Compare))
	}
	return found, absent, unsettled
}

// changes are the messages that only t's compacted view has, and the values of
// was whose keys are gone without a trace (corner 24).
func (t *topic) changes(was *topic) (added, gone []*row) {
	old, now := was.list(view{compacted: true}), t.list(view{compacted: true})
	for _, r := range now {
		if !slices.ContainsFunc(old, func(o *row) bool { return o.Position == r.Position }) {
			added = append(added, r)
		}
	}
	for _, r := range old {
		if r.Key != nil && r.Kind == segments.KindMessage && was.winner(old, r.Key) == r && t.winner(now, r.Key) == nil {
			gone = append(gone, r)
		}
	}
	return added, gone
}

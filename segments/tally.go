package segments

// tally sums rows up to what Info tells of them.
type tally struct {
	counts     Counts
	minPublish Millis
	maxPublish Millis
	minEvent   Null[Millis]
	maxEvent   Null[Millis]
	ledgers    []Ledger
}

// add counts one row; rows come in position order. Markers have a publish time
// like any row, and are part of their ledger.
func (t *tally) add(m *Message) {
	if t.counts.Rows() == 0 {
		t.minPublish, t.maxPublish = m.PublishTime, m.PublishTime
	}
	t.minPublish = min(t.minPublish, m.PublishTime)
	t.maxPublish = max(t.maxPublish, m.PublishTime)
	if m.EventTime.Valid {
		if !t.minEvent.Valid {
			t.minEvent, t.maxEvent = m.EventTime, m.EventTime
		}
		t.minEvent.V = min(t.minEvent.V, m.EventTime.V)
		t.maxEvent.V = max(t.maxEvent.V, m.EventTime.V)
	}

	p := m.Position
	if n := len(t.ledgers); n == 0 || t.ledgers[n-1].Ledger != p.Ledger {
		t.ledgers = append(t.ledgers, Ledger{Ledger: p.Ledger, First: p.Entry, MaxPublish: m.PublishTime})
	}
	l := &t.ledgers[len(t.ledgers)-1]
	l.Last = p.Entry
	l.MaxPublish = max(l.MaxPublish, m.PublishTime)

	switch m.Kind {
	case KindMessage:
		t.counts.Messages++
		if m.Key == nil {
			t.counts.Keyless++
		}
	case KindTombstone:
		t.counts.Tombstones++
	case KindCommit:
		t.counts.Commits++
	case KindAbort:
		t.counts.Aborts++
	}
	if m.Txn.Valid && !m.Kind.IsMarker() {
		t.counts.InTxn++
	}
}

// fill puts the sums into info.
func (t *tally) fill(info *Info) {
	info.Counts = t.counts
	info.MinPublish, info.MaxPublish = t.minPublish, t.maxPublish
	info.MinEvent, info.MaxEvent = t.minEvent, t.maxEvent
	info.Ledgers = t.ledgers
}

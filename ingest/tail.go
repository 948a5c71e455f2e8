package ingest

import (
	"errors"
	"fmt"
	"math"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// tail is the end of a topic, as far as an append has to know it. It decides
// what becomes of each record: which of its messages are new, where they go,
// and what they change. It does no I/O, so the same records added to the same
// tail always make the same rows.
//
// A record is looked at in this order (corners 14 to 19 of the design):
//
//  1. A line of the source that is in already is skipped.
//  2. Messages that their producers have sent before are duplicates, and so is
//     an end of a transaction that has ended.
//  3. What is new must not come from a fenced producer.
//  4. It gets its position, or has to have one above all that is there.
//  5. Its transaction must not have ended.
//
// So what is in already is never refused, whatever has happened since. When a
// record is refused the tail is left in the midst of it, and of no more use.
type tail struct {
	now              segments.Millis
	emptyIsTombstone bool
	cutoff           segments.Millis

	lines     int64 // of the source, that are in
	through   int64 // the entry that was the last before the run; -1 for none
	last      segments.Position
	txns      txnfilter.State
	producers producers

	// ledger is where positions are assigned; none is as long as nothing was
	// added, so that a run without news opens no ledger.
	ledger segments.Null[int64]

	counts map[uint64]uint64 // the sequence of a coordinator's next transaction, where it is counted

	// before is the entry before the last one. row is the last row of that
	// entry if it is a batch whose rows come line by line, so that more may
	// follow; else it is None.
	before segments.Position
	row    segments.Position
	size   int32
}

// newTail is the tail of the topic at a version. The topic's settings are those
// that the run found when it began: what is set while it is under way is for
// the next.
func newTail(m *manifest.Manifest, s Settings, topic manifest.Settings) (*tail, error) {
	txns, err := txnfilter.Decode(m.Transactions)
	if err != nil {
		return nil, fmt.Errorf("version %d of topic %q: %w", m.Version, m.Name, err)
	}
	t := &tail{
		now:              segments.MillisOf(s.Now),
		emptyIsTombstone: topic.EmptyIsTombstone,
		through:          m.Last.Entry,
		last:             m.Last,
		counts:           make(map[uint64]uint64),
		before:           segments.None,
		row:              segments.None,
		txns:             txns,
	}
	t.txns.Forget(m.RetainedAfter)
	t.cutoff = expiryCutoff(topic.ProducerExpiry, t.now)
	t.producers = load(m.Producers, t.cutoff)
	for _, source := range m.Sources {
		if s.Source != "" && source.Name == s.Source {
			t.lines = source.Lines
		}
	}
	return t, nil
}

// rows takes what a record adds. A segments.Writer does.
type rows interface {
	Append(*segments.Message) error
}

// added is what records came to.
type added struct {
	rows       int64 // markers included
	messages   int64
	duplicates int64
	gaps       int64
}

func (a *added) add(b added) {
	a.rows += b.rows
	a.messages += b.messages
	a.duplicates += b.duplicates
	a.gaps += b.gaps
}

// add adds what is new of rec, and writes its rows to w.
func (t *tail) add(rec *record, w rows) (added, error) {
	switch {
	case rec.line <= t.lines:
		return added{duplicates: int64(len(rec.messages))}, nil
	case rec.kind.IsMarker() && rec.counted:
		return t.addCounted(rec, w)
	case rec.kind.IsMarker():
		return t.addMarker(rec, w)
	case rec.batch:
		return t.addBatch(rec, w)
	}
	m := &rec.messages[0]
	t.unwrap(rec)
	if t.producers.has(m) {
		return added{duplicates: 1}, nil
	}
	if err := t.producers.fences(m); err != nil {
		return added{}, err
	}
	if rec.counted {
		m.Txn.V.Least = t.count(m.Txn.V.Most)
	}
	at, err := t.place(rec, m.BatchSize)
	if err != nil {
		return added{}, err
	}
	return t.addMessage(m, at, w)
}

func (t *tail) addMarker(rec *record, w rows) (added, error) {
	if t.txns.HasEnded(rec.txn) {
		return added{}, nil
	}
	at, err := t.place(rec, 1)
	if err != nil {
		return added{}, err
	}
	t.txns.End(rec.txn, txnfilter.Outcome(rec.kind == segments.KindCommit), rec.mark)
	return added{rows: 1}, w.Append(&segments.Message{
		Position: at, BatchSize: 1, Kind: rec.kind, Txn: segments.Some(rec.txn), PublishTime: t.now,
	})
}

// addBatch adds a batch that comes in one line. The entry is opened for the
// first message that is new; the others keep their indexes whether or not
// those before them are there.
func (t *tail) addBatch(rec *record, w rows) (added, error) {
	var sum added
	for i := range rec.messages {
		m := &rec.messages[i]
		if t.producers.has(m) {
			sum.duplicates++
			continue
		}
		if err := t.producers.fences(m); err != nil {
			return sum, err
		}
		if sum.rows == 0 {
			if _, err := t.place(rec, 1); err != nil {
				return sum, err
			}
		}
		at := t.last
		at.Batch = int32(i)
		one, err := t.addMessage(m, at, w)
		if err != nil {
			return sum, err
		}
		sum.add(one)
	}
	return sum, nil
}

// addMessage adds m at its place in the last entry.
func (t *tail) addMessage(m *segments.Message, at segments.Position, w rows) (added, error) {
	m.Position = at
	m.Kind = segments.KindMessage
	if m.Key != nil && (m.Value == nil || t.emptyIsTombstone && len(m.Value) == 0) {
		m.Kind = segments.KindTombstone
	}
	if m.Txn.Valid {
		if err := t.txns.Add(m.Txn.V, at, t.before); err != nil {
			return added{}, err
		}
	}
	one := added{rows: 1, messages: 1}
	if t.producers.note(m, t.now) {
		one.gaps = 1
	}
	return one, w.Append(m)
}

// place finds the place of the next row, whose entry becomes the last one: the
// place that the record names, or the next of the run's ledger.
func (t *tail) place(rec *record, size int32) (segments.Position, error) {
	if !rec.id.Valid {
		return t.assign(rec.entry)
	}
	at := rec.id.V
	if t.continues(at) {
		if size != t.size {
			return at, fmt.Errorf("position %s has a batch size of %d, and %s one of %d", at, size, t.row, t.size)
		}
		if !at.After(t.row) {
			return at, fmt.Errorf("position %s does not lie above %s", at, t.row)
		}
		t.row = at
		return at, nil
	}
	if !at.EntryPosition().After(t.last) {
		return at, fmt.Errorf("position %s does not lie above %s, the topic's last entry", at, t.last)
	}
	t.advance(at.EntryPosition())
	if at.Batch >= 0 {
		t.row, t.size = at, size
	}
	return at, nil
}

// continues reports whether a row at a place belongs to the entry that is
// filling.
func (t *tail) continues(at segments.Position) bool {
	return !t.row.IsNone() && at.Batch >= 0 && at.EntryPosition() == t.last
}

// assign finds a place in the run's ledger: the next, or the given entry.
func (t *tail) assign(entry segments.Null[int64]) (segments.Position, error) {
	if !t.ledger.Valid {
		if t.last.Ledger == math.MaxInt64 {
			return segments.None, errors.New("the topic has reached the last ledger there can be")
		}
		t.ledger = segments.Some(t.last.Ledger + 1)
	}
	at := segments.At(t.ledger.V, 0)
	if t.last.Ledger == at.Ledger {
		at = t.last.NextEntry()
	}
	if entry.Valid {
		if entry.V < at.Entry {
			return segments.None, fmt.Errorf("it does not lie above offset %d, which came before it", t.last.Entry)
		}
		at.Entry = entry.V
	}
	t.advance(at)
	return at, nil
}

func (t *tail) advance(entry segments.Position) {
	t.before, t.last, t.row = t.last, entry, segments.None
}

// wholly reports whether rec adds nothing, for it is in already.
func (t *tail) wholly(rec *record) bool {
	switch {
	case rec.line <= t.lines:
		return true
	case rec.kind.IsMarker() && rec.counted:
		return t.isOld(rec)
	case rec.kind.IsMarker():
		return t.txns.HasEnded(rec.txn)
	}
	t.unwrap(rec)
	for i := range rec.messages {
		if !t.producers.has(&rec.messages[i]) {
			return false
		}
	}
	return true
}

// opensEntry reports whether rec begins an entry, so that a segment may end
// before it.
func (t *tail) opensEntry(rec *record) bool {
	return !rec.id.Valid || !t.continues(rec.id.V)
}

// edit is the append that brings the segment, with which the topic is as t has
// it. Records through line of the source are in then.
func (t *tail) edit(after segments.Position, segment manifest.Segment, source *manifest.Source) (manifest.Append, error) {
	transactions, err := t.txns.Encode()
	if err != nil {
		return manifest.Append{}, err
	}
	return manifest.Append{
		After:          after,
		Segments:       []manifest.Segment{segment},
		MaxRead:        t.txns.MaxRead(t.last),
		Producers:      t.producers.edit(),
		ProducerCutoff: t.cutoff,
		Source:         source,
		Transactions:   transactions,
	}, nil
}

// settle goes on behind what was committed, as version m. An entry ends with
// its segment.
func (t *tail) settle(m *manifest.Manifest) {
	t.producers.settle()
	t.txns.Forget(m.RetainedAfter)
	t.row = segments.None
}

package ingest

import (
	"sort"
	"strconv"

	"github.com/ledgerfold/ledgerfold/segments"
)

// What a partition of Kafka has besides messages: offsets, which become the
// entries of the ledger that the run opens; sequences of producers, which
// start again at 0 after 2147483647; and transactions, of which only the
// producer is known.
//
// A topic is one partition. So an offset means the same record in every import,
// and a record of a producer that lies beyond the last one of it that is in
// cannot be a duplicate, whatever its sequence is.

// sequenceMask is the bits of a sequence as Kafka counts them.
const sequenceMask = 1<<31 - 1

// unwrap makes the sequence of a record from Kafka one that goes on counting
// where Kafka started again. It may be done any number of times.
func (t *tail) unwrap(rec *record) {
	if !rec.entry.Valid || !rec.messages[0].Sequence.Valid {
		return
	}
	m := &rec.messages[0]
	raw := m.Sequence.V & sequenceMask
	m.Sequence.V = raw
	last, ok := t.producers.last(m.Producer.V, m.Epoch.V)
	if ok && rec.entry.V > last.Position.Entry && raw <= last.Sequence {
		next := last.Sequence + 1
		m.Sequence.V = next + (raw-next)&sequenceMask
	}
}

// count is the sequence of a coordinator's transaction that is open, or that
// will be the next: they are counted from 0, and each end makes it one more.
func (t *tail) count(coordinator uint64) uint64 {
	if n, ok := t.counts[coordinator]; ok {
		return n
	}
	hasEnded := func(n uint64) bool {
		return t.txns.HasEnded(segments.TxnID{Most: coordinator, Least: n})
	}
	most := 1
	for hasEnded(uint64(most-1)) && most < 1<<60 {
		most *= 2
	}
	n := uint64(sort.Search(most, func(n int) bool { return !hasEnded(uint64(n)) }))
	t.counts[coordinator] = n
	return n
}

// addCounted adds a marker whose transaction is counted.
func (t *tail) addCounted(rec *record, w rows) (added, error) {
	if t.isOld(rec) {
		return added{}, nil
	}
	rec.txn.Least = t.count(rec.txn.Most)
	sum, err := t.addMarker(rec, w)
	if err == nil {
		t.counts[rec.txn.Most]++
	}
	return sum, err
}

// isOld reports whether a marker whose transaction is counted is in already: it
// lies before a message of its producer that is; or it ends nothing, in a
// stretch of offsets that was imported before.
func (t *tail) isOld(rec *record) bool {
	last, ok := t.producers.latest(strconv.FormatUint(rec.txn.Most, 10))
	if ok && rec.entry.V <= last.Position.Entry {
		return true
	}
	open := t.txns.IsOpen(segments.TxnID{Most: rec.txn.Most, Least: t.count(rec.txn.Most)})
	return !open && rec.entry.V <= t.through
}

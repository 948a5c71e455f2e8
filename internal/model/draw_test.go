package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// dice is chance from a seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x1ed6e5f01d))} }

// oneIn is true once in n times.
func (d dice) oneIn(n int) bool { return n > 0 && d.IntN(n) == 0 }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// history is what a seed makes: the settings of a topic, a character, and
// steps. Each step has chance of its own and looks at the topic as it finds
// it, so a history stays one when steps are left out.
type history struct {
	seed     uint64
	settings []string
	nature   nature
	steps    []step
}

type step struct {
	kind    string
	seed    uint64
	without map[part]bool // parts of an input that are left out
}

// part is a line of an input, or a message of a batch line.
type part struct{ line, message int }

const wholeLine = -1

// thin leaves out of lines what is to be left out.
func (s *step) thin(lines []line) (left []line) {
	for i, l := range lines {
		if s.without[part{i, wholeLine}] {
			continue
		}
		all := l.messages
		l.messages = nil
		for k, m := range all {
			if len(all) == 1 || !s.without[part{i, k}] {
				l.messages = append(l.messages, m)
			}
		}
		for k := range l.messages {
			if l.batch {
				l.messages[k].BatchSize = int32(len(l.messages))
			}
		}
		if len(all) == 0 || len(l.messages) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// nature is how often something is: once in so many times; 0 is never. A
// history that has a little of everything has too little of most things.
type nature struct {
	keys, keyless, tombstones, empties       int
	txns, markers, marks, batches            int
	producers, epochs, sources, withIDs, bad int
	publish, events, fillers, extras         int
}

// keys are those that messages have. An empty one is a key, and one is no text.
var keys = []string{"a", "b", "", "\xff\x00", "c", "d"}

func newHistory(seed uint64) *history {
	d := newDice(seed)
	h := &history{seed: seed}
	h.nature = nature{
		keys: 1 + d.IntN(len(keys)), keyless: pick(d, 0, 5, 10), tombstones: pick(d, 0, 2, 3, 6), empties: pick(d, 0, 4, 10),
		txns: pick(d, 0, 0, 2, 4, 8), markers: pick(d, 2, 3, 5), marks: pick(d, 0, 2, 5), batches: pick(d, 0, 2, 4),
		producers: pick(d, 0, 0, 1, 3), epochs: pick(d, 0, 4, 15), sources: pick(d, 0, 2, 4), withIDs: pick(d, 0, 1, 2, 3), bad: pick(d, 0, 30, 60),
		publish: pick(d, 0, 2, 5), events: pick(d, 0, 0, 2), fillers: pick(d, 0, 1, 2, 4), extras: pick(d, 0, 5),
	}
	if !d.oneIn(4) {
		h.settings = append(h.settings, "compression=none") // it takes half the time
	}
	if d.oneIn(2) {
		h.settings = append(h.settings, "segment_bytes=1KiB", "batch_bytes=1KiB")
	}
	// There are few keys, so of most originals most is dead.
	h.settings = append(h.settings, pick(d, "max_dead_share=0.2", "max_dead_share=0.5", "max_dead_share=0.9", "max_dead_share=1"))
	if d.oneIn(2) {
		h.settings = append(h.settings, pick(d, "tombstone_retention=0s", "tombstone_retention=1h"))
	}
	if !d.oneIn(4) {
		h.settings = append(h.settings, pick(d, "retention=0s", "retention=0s", "retention=1h"))
	}
	for range d.IntN(4) {
		h.settings = append(h.settings, drawSetting(d))
	}
	weights := []struct {
		kind string
		n    int
	}{
		{"ingest", 12}, {"again", pick(d, 1, 5)}, {"run", pick(d, 4, 8, 12)}, {"trim", pick(d, 0, 2, 5)},
		{"settle", pick(d, 0, 1, 4)}, {"set", pick(d, 0, 1, 4)}, {"clock", pick(d, 1, 4)}, {"collect", pick(d, 0, 1, 3)}, {"hold", pick(d, 0, 2)},
	}
	var kinds []string
	for _, w := range weights {
		for range w.n {
			kinds = append(kinds, w.kind)
		}
	}
	for range 5 + d.IntN(36) {
		h.steps = append(h.steps, step{kind: pick(d, kinds...), seed: d.Uint64()})
	}
	return h
}

func drawSetting(d dice) string {
	return pick(d,
		"tombstone_retention=0s", "tombstone_retention=1h", "tombstone_retention=24h", "tombstone_retention=forever",
		"keyless=keep", "keyless=drop", "empty_is_tombstone=true", "empty_is_tombstone=false",
		"order=position", "order=event_time", "min_lag=0s", "min_lag=30m", "min_lag=20h",
		"max_dead_share=0", "max_dead_share=1", "segment_bytes=1KiB", "segment_bytes=2KiB", "segment_bytes=64MiB",
		"batch_bytes=1KiB", "batch_bytes=1MiB", "compression=none", "compression=lz4", "compression=zstd",
		"retention=forever", "retention=0s", "retention=2h", "retention=30h",
		"producer_expiry=0s", "producer_expiry=2h", "producer_expiry=168h", "producer_expiry=forever")
}

func drawPolicy(d dice) compactor.Policy {
	p := compactor.DefaultPolicy()
	p.RangeBytes = pick[int64](d, 100, 500, 3000, 1<<20)
	p.PieceBytes = pick[int64](d, 1, 500, 1<<20)
	p.ShareBytes = pick[int64](d, 0, 1, 3000)
	p.Parallel = 1 + d.IntN(3)
	return p
}

func drawClock(d dice) time.Duration {
	minutes := pick(d, d.IntN(60), d.IntN(60), d.IntN(40*60), -d.IntN(90), -d.IntN(26*60), 200*60)
	return time.Duration(minutes)*time.Minute + time.Duration(d.IntN(1000))*time.Millisecond
}

func drawKeep(d dice, now time.Time) manifest.Keep {
	return manifest.Keep{
		Since:    pick(d, now, now, now.Add(-3*time.Hour), now.Add(-30*time.Hour), time.Time{}),
		Versions: pick(d, 0, 1, 2, 4),
	}
}

// drawer draws an input for a topic as it is.
type drawer struct {
	dice
	nature
	t      *topic
	now    time.Time
	values *int
	at     segments.Position // the last one that was given
}

func drawLines(d dice, n nature, t *topic, now time.Time, values *int) []line {
	dr := &drawer{dice: d, nature: n, t: t, now: now, values: values, at: t.last()}
	withIDs := d.oneIn(n.withIDs)
	var lines []line
	for range 1 + d.IntN(pick(d, 3, 8, 12)) {
		switch {
		case d.oneIn(25):
			lines = append(lines, line{blank: true})
		case d.oneIn(n.bad):
			lines = append(lines, line{bad: true})
		case withIDs:
			lines = append(lines, dr.entryWithID()...)
		default:
			lines = append(lines, dr.entry())
		}
	}
	if d.oneIn(n.bad) { // all lines have an id, or none
		l := dr.entry()
		l.id = segments.Null[segments.Position]{V: segments.At(dr.at.Ledger+1, 0), Valid: !withIDs}
		lines = append(lines, l)
	}
	return lines
}

// drawEnds ends all transactions that are open.
func drawEnds(d dice, t *topic) (lines []line) {
	for _, id := range t.openTxns() {
		lines = append(lines, line{end: pick(d, segments.KindCommit, segments.KindAbort), txn: id})
	}
	return lines
}

// entry is a line without a position.
func (d *drawer) entry() line {
	if d.txns > 0 && d.oneIn(d.markers) {
		l := line{end: pick(d.dice, segments.KindCommit, segments.KindAbort), txn: d.transaction(true)}
		if d.oneIn(d.marks) {
			l.mark = segments.Some(uint64(max(0, int(l.txn.Least)+d.IntN(4)-2)))
		}
		return l
	}
	if !d.oneIn(d.batches) {
		return line{messages: []segments.Message{d.message(1)}}
	}
	l := line{batch: true}
	size := 1 + d.IntN(4)
	for range size {
		l.messages = append(l.messages, d.message(int32(size)))
	}
	return l
}

// entryWithID is the lines of an entry with its position: mostly the next one,
// over a hole, or in another ledger.
func (d *drawer) entryWithID() []line {
	switch at := d.at; {
	case at.IsNone():
		d.at = segments.At(int64(d.IntN(3)), int64(d.IntN(2)))
	case d.oneIn(4):
		d.at = segments.At(at.Ledger+1+int64(d.IntN(2)), int64(d.IntN(5)/3))
	case d.oneIn(4):
		d.at = segments.At(at.Ledger, at.Entry+2+int64(d.IntN(3)))
	default:
		d.at = at.NextEntry()
	}
	if at := d.at; d.oneIn(d.bad) { // not above what is there
		at = segments.At(max(0, at.Ledger-int64(d.IntN(2))), max(0, at.Entry-1-int64(d.IntN(2))))
		return []line{{id: segments.Some(at), messages: []segments.Message{d.message(1)}}}
	}
	l := d.entry()
	l.id = segments.Some(d.at)
	if !l.batch || d.oneIn(2) {
		return []line{l}
	}
	// The same batch, row by row, maybe with gaps, and maybe with a mistake.
	var lines []line
	for i, m := range l.messages {
		if len(lines) > 0 && d.oneIn(4) {
			continue
		}
		if d.oneIn(d.bad) {
			m.BatchSize++
		}
		at := d.at
		at.Batch = int32(i)
		lines = append(lines, line{id: segments.Some(at), messages: []segments.Message{m}})
	}
	return lines
}

func (d *drawer) message(size int32) segments.Message {
	m := segments.Message{Position: segments.None, BatchSize: size, PublishTime: byClock}
	if !d.oneIn(d.keyless) {
		m.Key = []byte(keys[d.IntN(d.keys)])
	}
	*d.values++
	switch {
	case d.oneIn(d.tombstones):
	case d.oneIn(d.empties):
		m.Value = []byte{}
	case d.oneIn(d.fillers):
		m.Value = fmt.Append(nil, *d.values, strings.Repeat("x", pick(d.dice, 200, 600, 1500)))
	default:
		m.Value = fmt.Append(nil, *d.values)
	}
	if d.oneIn(d.publish) {
		m.PublishTime = segments.MillisOf(d.now.Add(time.Duration(d.IntN(120)-90) * time.Minute))
	}
	if d.oneIn(d.events) {
		m.EventTime = segments.Some(segments.Millis(1000 * (d.IntN(8) - 2)))
	}
	if d.oneIn(d.txns) {
		m.Txn = segments.Some(d.transaction(d.oneIn(20)))
	}
	if d.oneIn(d.producers) {
		d.send(&m)
	}
	if d.oneIn(d.extras) {
		m.OrderingKey = pick(d.dice, nil, []byte{}, []byte("o"))
		m.Properties = []segments.Property{{Key: "p", Value: pick(d.dice, nil, []byte{}, []byte("1"))}, {Key: "p", Value: []byte("\xfe")}}
	}
	return m
}

// transaction is mostly one that is open, or soon will be; if any will do, it
// may be one that has ended, or that was never seen.
func (d *drawer) transaction(any bool) segments.TxnID {
	var open []segments.TxnID
	for _, r := range d.t.rows {
		if r.open {
			open = append(open, r.Txn.V)
		}
	}
	if n := len(open); n > 2 || n > 0 && !d.oneIn(3) {
		return pick(d.dice, open...)
	}
	for {
		id := segments.TxnID{Most: uint64(d.IntN(2)), Least: uint64(len(d.t.rows)/6 + d.IntN(5))}
		if any || !d.t.ended(id) {
			return id
		}
		if d.oneIn(4) {
			return segments.TxnID{Most: 2 + d.Uint64N(3), Least: d.Uint64N(1 << 40)}
		}
	}
}

// send gives m a producer and a sequence, mostly the next one.
func (d *drawer) send(m *segments.Message) {
	m.Producer = segments.Some(pick(d.dice, "p", "q"))
	last := int64(-1)
	for _, r := range d.t.rows {
		if r.known && r.Producer == m.Producer {
			last, m.Epoch = r.Sequence.V, r.Epoch
		}
	}
	m.Sequence = segments.Some(max(0, last+pick[int64](d.dice, 1, 1, 2, 3, 4, 5, 0, -1)))
	if d.oneIn(d.epochs) {
		m.Epoch = pick(d.dice, segments.Null[int32]{}, segments.Some(int32(0)), segments.Some(int32(1)), segments.Some(int32(d.IntN(4))))
	}
	switch d.IntN(20) { // half of it is nothing
	case 0:
		m.Producer = segments.Null[string]{}
	case 1:
		m.Sequence = segments.Null[int64]{}
	}
}

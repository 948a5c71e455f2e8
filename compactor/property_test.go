package compactor

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestEveryHistoryFoldsAsTheModelSays takes a topic through a random life
// (batches, tombstones, messages without key, transactions open, committed and
// aborted, jumps of the clock, changes of settings, runs and trims) and holds
// it to the model after every step: the live rows, the states, the accounts,
// the horizon, what is trimmed, and what segments say they cover. rapid prints
// the seed of a failure.
func TestEveryHistoryFoldsAsTheModelSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) {},
			"append": l.append,
			"run":    l.run,
			"clock":  l.clock,
			"set":    l.set,
			"trim":   l.trim,
		})
		l.run(t)
	})
}

// life is a topic and its model.
type life struct {
	*world
	model *model
	next  segments.Position // where the next entry goes
	open  []segments.TxnID
	txns  uint64
	value int
}

func newLife(t *rapid.T) *life {
	w := newWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB")
	return &life{world: w, model: newModel(w.latest().Settings), next: segments.At(0, 0)}
}

func (l *life) clock(t *rapid.T) {
	l.pass(time.Duration(rapid.IntRange(-60, 40*60).Draw(t, "minutes")) * time.Minute)
}

func (l *life) set(t *rapid.T) {
	l.world.tb = t
	l.world.set(rapid.SampledFrom([]string{
		"tombstone_retention=0s", "tombstone_retention=1h", "tombstone_retention=24h", "tombstone_retention=forever",
		"keyless=keep", "keyless=drop", "order=position", "order=event_time",
		"min_lag=0s", "min_lag=30m", "min_lag=20h", "segment_bytes=1KiB", "segment_bytes=64MiB",
		"retention=forever", "retention=0s", "retention=10h", "compression=none", "compression=zstd",
		"max_dead_share=0", "max_dead_share=0.5", "max_dead_share=1",
	}).Draw(t, "setting"))
	l.model.settings = l.latest().Settings
}

func (l *life) append(t *rapid.T) {
	l.world.tb = t
	var lists [][]row
	for range rapid.IntRange(1, 3).Draw(t, "segments") {
		var rows []row
		for range rapid.IntRange(1, 8).Draw(t, "entries") {
			rows = append(rows, l.entry(t)...)
		}
		lists = append(lists, rows)
	}
	l.world.append(lists...)
	for _, rows := range lists {
		l.model.append(rows)
	}
}

// entry makes the rows of one entry, and moves on by one, or over a hole, or to
// another ledger.
func (l *life) entry(t *rapid.T) []row {
	at := l.next
	switch rapid.IntRange(0, 9).Draw(t, "then") {
	case 0:
		l.next = segments.At(at.Ledger+1+int64(rapid.IntRange(0, 1).Draw(t, "ledgers")), 0)
	case 1:
		l.next = segments.At(at.Ledger, at.Entry+3)
	default:
		l.next = at.NextEntry()
	}
	kind := rapid.IntRange(0, 9).Draw(t, "entry")
	if kind == 0 && len(l.open) > 0 {
		return []row{l.marker(t, at)}
	}
	if kind > 2 {
		return []row{l.message(t, at, 1)}
	}
	size := int32(rapid.IntRange(1, 4).Draw(t, "size"))
	var rows []row
	for i := range size {
		if i > 0 && rapid.IntRange(0, 4).Draw(t, "gap") == 0 {
			continue // an index that is not there
		}
		p := at
		p.Batch = i
		rows = append(rows, l.message(t, p, size))
	}
	return rows
}

func (l *life) marker(t *rapid.T, at segments.Position) row {
	i := rapid.IntRange(0, len(l.open)-1).Draw(t, "ended")
	r := row{Message: segments.Message{
		Position: at, BatchSize: 1, PublishTime: l.published(t), Txn: segments.Some(l.open[i]),
		Kind: rapid.SampledFrom([]segments.Kind{segments.KindCommit, segments.KindAbort}).Draw(t, "outcome"),
	}}
	l.open = append(l.open[:i:i], l.open[i+1:]...)
	if rapid.IntRange(0, 5).Draw(t, "mark") == 0 {
		r.mark = segments.Some(r.Txn.V.Least)
		kept := l.open[:0:0]
		for _, id := range l.open {
			if id.Most != r.Txn.V.Most || id.Least > r.mark.V {
				kept = append(kept, id)
			}
		}
		l.open = kept
	}
	return r
}

func (l *life) message(t *rapid.T, at segments.Position, size int32) row {
	l.value++
	r := row{Message: segments.Message{
		Position: at, BatchSize: size, PublishTime: l.published(t),
		Value: fmt.Append(nil, l.value, strings.Repeat("x", 400*rapid.IntRange(0, 2).Draw(t, "filler"))),
	}}
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case kind == 0: // keyless
		if rapid.Bool().Draw(t, "null value") {
			r.Value = nil
		}
	case kind < 4:
		r.Kind, r.Value = segments.KindTombstone, nil
		fallthrough
	default:
		r.Key = []byte(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}).Draw(t, "key"))
	}
	if rapid.Bool().Draw(t, "has event time") {
		r.EventTime = segments.Some(segments.Millis(rapid.IntRange(-2, 5).Draw(t, "event")))
	}
	if rapid.IntRange(0, 3).Draw(t, "in transaction") == 0 {
		r.Txn = segments.Some(l.transaction(t))
	}
	return r
}

func (l *life) published(t *rapid.T) segments.Millis {
	return segments.MillisOf(l.now.Add(time.Duration(rapid.IntRange(-90, 30).Draw(t, "published")) * time.Minute))
}

// transaction is one that is open, or a new one.
func (l *life) transaction(t *rapid.T) segments.TxnID {
	if n := len(l.open); n > 0 && (n > 2 || rapid.Bool().Draw(t, "old one")) {
		return l.open[rapid.IntRange(0, n-1).Draw(t, "which")]
	}
	l.txns++
	id := segments.TxnID{Most: uint64(rapid.IntRange(0, 1).Draw(t, "coordinator")), Least: l.txns}
	l.open = append(l.open, id)
	return id
}

func (l *life) run(t *rapid.T) {
	l.world.tb = t
	l.policy = Policy{
		RangeBytes: int64(rapid.SampledFrom([]int{100, 500, 3000, 1 << 20}).Draw(t, "range bytes")),
		PieceBytes: int64(rapid.SampledFrom([]int{1, 5000, 1 << 20}).Draw(t, "piece bytes")),
		ShareBytes: int64(rapid.SampledFrom([]int{0, 1, 3000, 1 << 20}).Draw(t, "share bytes")),
		Parallel:   rapid.IntRange(1, 3).Draw(t, "parallel"),
	}
	got := l.world.run()
	state, report := l.model.run(l.now)
	if got.State != state || got.Horizon != l.model.horizon || got.Report != report {
		t.Fatalf("run: %s, horizon %s, %+v\nwant %s, horizon %s, %+v",
			got.State, got.Horizon, got.Report, state, l.model.horizon, report)
	}
	l.check(t)
}

func (l *life) trim(t *rapid.T) {
	l.world.tb = t
	_, err := Trim(context.Background(), l.topic, l.job(1))
	l.must(err)
	l.model.trim(l.now)
	if got := l.latest().RetainedAfter; got != l.model.trimmed {
		t.Fatalf("trimmed through %s, want %s", got, l.model.trimmed)
	}
}

// check compares the compacted tier with the model's.
func (l *life) check(t *rapid.T) {
	m := l.latest()
	got, want := l.liveRows(m), l.model.live()
	if len(got) != len(want) {
		t.Fatalf("%d live rows:\n%s\nwant %d:\n%s", len(got), texts(got), len(want), texts(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i].Message, want[i].Message) {
			t.Fatalf("live row %d is\n%+v\nwant\n%+v", i, got[i].Message, want[i].Message)
		}
	}
	l.checkCover(t, m)
}

// checkCover holds what compacted segments say of ledgers to what originals
// held of them: through the horizon, nothing is left out, nothing is said
// twice, and no publish time is newer than said.
func (l *life) checkCover(t *rapid.T, m *manifest.Manifest) {
	type piece struct {
		segments.Ledger
		in segments.Range
	}
	var pieces []piece
	for _, s := range m.Compacted {
		for _, p := range s.Info.Ledgers {
			if n := len(pieces); n > 0 && !segments.At(p.Ledger, p.First).After(segments.At(pieces[n-1].Ledger.Ledger, pieces[n-1].Last)) {
				t.Fatalf("extents %+v and %+v overlap", pieces[n-1], p)
			}
			if !s.Range.Contains(segments.At(p.Ledger, p.First)) || !s.Range.Contains(segments.At(p.Ledger, p.Last)) {
				t.Fatalf("extent %+v leaves %s", p, s.Range)
			}
			pieces = append(pieces, piece{p, s.Range})
		}
	}
	last := make(map[int64]int64)
	for _, r := range l.model.rows {
		if r.Position.After(m.Horizon.EndOfEntry()) {
			break
		}
		found := false
		for _, p := range pieces {
			if p.Ledger.Ledger == r.Position.Ledger && p.First <= r.Position.Entry && r.Position.Entry <= p.Last {
				found = p.MaxPublish >= r.PublishTime && p.in.Contains(r.Position)
			}
		}
		if !found {
			t.Fatalf("no segment knows of %s, published %s: %+v", r.Position, r.PublishTime, pieces)
		}
		last[r.Position.Ledger] = r.Position.Entry
	}
	for _, p := range pieces {
		if end, ok := last[p.Ledger.Ledger]; !ok || p.Last > end {
			t.Fatalf("extent %+v goes beyond the last entry %d", p, end)
		}
	}
}

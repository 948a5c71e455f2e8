package model

import (
	"maps"
	"slices"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// checkStatus compares what the manifest says, which status shows.
func (w *world) checkStatus(v *version) {
	m, err := w.topic.Latest(ctx)
	must(err)
	txns, err := txnfilter.Decode(m.Transactions)
	must(err)
	var live int64
	for i := range m.Compacted {
		live += m.Compacted[i].LiveRows()
	}
	same("version", m.Version, v.number)
	same("time", m.Time, v.time)
	same("last position", m.Last, v.last())
	same("max read position", m.MaxRead, v.maxRead())
	same("horizon", m.Horizon, v.horizon)
	same("retained after", m.RetainedAfter, v.trimmed)
	same("first retained", m.FirstRetained(), v.firstRetained())
	same("settings", m.Settings, v.settings)
	same("live rows", int(live), v.count(func(r *row) bool { return r.live }))
	sameList("open transactions", txns.Open(), v.openTxns())
	sameList("producers", m.Producers, v.producers())
	sources := map[string]int{}
	for _, s := range m.Sources {
		sources[s.Name] = int(s.Lines)
	}
	if !maps.Equal(sources, v.sources) {
		fail("sources are %v, want %v", sources, v.sources)
	}
}

func same[T comparable](what string, got, want T) {
	if got != want {
		fail("%s is %v, want %v", what, got, want)
	}
}

func sameList[T comparable](what string, got, want []T) {
	if !slices.Equal(got, want) {
		fail("%s are %v, want %v", what, got, want)
	}
}

func (t *topic) count(so func(*row) bool) (n int) {
	for i := range t.rows {
		if so(&t.rows[i]) {
			n++
		}
	}
	return n
}

// firstRetained is the first retained entry of any kind (corner 3).
func (t *topic) firstRetained() segments.Position {
	for _, r := range t.rows {
		if r.entry().After(t.trimmed) {
			return r.entry()
		}
	}
	return segments.None
}

// openTxns lists those that are open, in order of first position (corner 25).
func (t *topic) openTxns() (ids []segments.TxnID) {
	for _, r := range t.rows {
		if r.open && !slices.Contains(ids, r.Txn.V) {
			ids = append(ids, r.Txn.V)
		}
	}
	return ids
}

// producers lists what is remembered, by producer and epoch.
func (t *topic) producers() (list []manifest.Producer) {
	for _, r := range t.rows {
		if !r.known {
			continue
		}
		list = append(list, manifest.Producer{
			Name: r.Producer.V, Epoch: r.Epoch.V, Sequence: r.Sequence.V, Position: r.Position, Added: segments.MillisOf(r.added),
		})
	}
	slices.SortFunc(list, func(a, b manifest.Producer) int {
		if a.Name != b.Name {
			return int(a.Name[0]) - int(b.Name[0])
		}
		return int(a.Epoch) - int(b.Epoch)
	})
	return list
}

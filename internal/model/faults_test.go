package model

import (
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

// faults are mistakes that other systems made, put into the model: then it is
// the model that is wrong, and the comparison must say so.
var faults = map[string]func(t *topic, now time.Time) string{
	"an aborted write supersedes": func(t *topic, now time.Time) string {
		aborted := map[segments.Position]bool{}
		for i := range t.rows {
			aborted[t.rows[i].Position] = t.rows[i].aborted
			t.rows[i].aborted = false
		}
		state, _ := t.compact(now)
		for i := range t.rows {
			if r := &t.rows[i]; aborted[r.Position] {
				r.aborted, r.live = true, false
			}
		}
		return state
	},
	"a tombstone in a batch drops the batch": func(t *topic, now time.Time) string {
		state, _ := t.compact(now)
		deletes := map[segments.Position]bool{}
		for _, r := range t.rows {
			deletes[r.entry()] = deletes[r.entry()] || r.Kind == segments.KindTombstone
		}
		for i := range t.rows {
			if r := &t.rows[i]; deletes[r.entry()] {
				r.live = false
			}
		}
		return state
	},
	"the horizon passes an open transaction": func(t *topic, now time.Time) string {
		open := map[segments.Position]bool{}
		for i := range t.rows {
			open[t.rows[i].Position] = t.rows[i].open
			t.rows[i].open = false
		}
		state, _ := t.compact(now)
		for i := range t.rows {
			t.rows[i].open = open[t.rows[i].Position]
		}
		return state
	},
}

// TestEveryFaultIsFound makes each of the faults, and counts how many histories
// it takes until one tells the model from the product.
func TestEveryFaultIsFound(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wound := func(w *world) {
				w.fold = func(t *topic, now time.Time) (string, map[string]int64) { return fault(t, now), nil }
			}
			for n := uint64(0); n < 1000; n++ {
				h := newHistory(*firstSeed + n)
				if o := lead(h, wound); o.failure != "" {
					t.Logf("found in history %d from seed %d: %s", n+1, *firstSeed, o.failure)
					if testing.Verbose() { // it takes some hundred histories more
						t.Logf("the shortest that tells:\n%s", report(h, wound))
					}
					return
				}
			}
			t.Error("no history of 1000 tells")
		})
	}
}

package compactor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// history is the texts of some segments, drawn from seed: values, tombstones,
// batches, messages without key, and transactions, all of which have ended at
// the end.
func history(seed uint64, count int) []string {
	rng := rand.New(rand.NewPCG(seed, 0))
	var list []string
	entry := 0
	for s := range count {
		var b strings.Builder
		row := func(at, what string) {
			fmt.Fprintf(&b, "%s %s", at, what)
			if rng.IntN(2) == 0 {
				fmt.Fprintf(&b, " event=%d", rng.IntN(9))
			}
			if s%4 == 1 && rng.IntN(2) == 0 {
				fmt.Fprintf(&b, " txn=1,%d", 2*(s/4)+rng.IntN(2))
			}
			b.WriteByte('\n')
		}
		what := func() string {
			switch key := rng.IntN(40); rng.IntN(6) {
			case 0:
				return fmt.Sprintf("k%d", key)
			case 1:
				return fmt.Sprintf("=%d", rng.IntN(1000))
			default:
				return fmt.Sprintf("k%d=%d%s", key, rng.IntN(1000), strings.Repeat("x", rng.IntN(300)))
			}
		}
		for range 30 {
			at := fmt.Sprintf("%d:%d", s/3, entry)
			entry++
			if rng.IntN(5) > 0 {
				row(at, what())
				continue
			}
			for i := range 3 {
				row(fmt.Sprintf("%s:%d/3", at, i), what())
			}
		}
		if s%4 == 3 || s == count-1 {
			for i := range 2 {
				fmt.Fprintf(&b, "%d:%d %s txn=1,%d\n", s/3, entry, []string{"commit", "abort"}[i], 2*(s/4)+i)
				entry++
			}
		}
		list = append(list, b.String())
	}
	return list
}

// TestHowTheWorkIsCutChangesNothing folds one history in many ways: whatever
// the ranges of digests, the size of segments, the runs that it takes, and what
// is reclaimed on the way, the same rows are left, as long as no tombstone
// expires between the runs.
func TestHowTheWorkIsCutChangesNothing(t *testing.T) {
	few, many := DefaultPolicy(), Policy{RangeBytes: 1000, PieceBytes: 1000, Parallel: 3}
	for seed, settings := range []string{"order=position keyless=keep", "order=event_time keyless=drop"} {
		list := history(uint64(seed), 9)
		var want []string
		for _, way := range []struct {
			policy Policy
			size   string
			each   int // segments to a run
			share  string
		}{
			{few, "64MiB", len(list), "1"},
			{few, "64MiB", 1, "0.5"},
			{few, "1KiB", 2, "0"},
			{few, "10KiB", 5, "1"},
			{many, "64MiB", len(list), "0.3"},
			{many, "1KiB", len(list), "1"},
			{many, "10KiB", 1, "0"},
			{many, "64MiB", 4, "0.5"},
			{Policy{RangeBytes: 100, PieceBytes: 1, Parallel: 1}, "10KiB", 3, "0.2"},
		} {
			w := testWorld(t, append(strings.Fields(settings), "segment_bytes="+way.size, "max_dead_share="+way.share, "batch_bytes=1KiB", "tombstone_retention=forever")...)
			w.policy = way.policy
			for part := range slices.Chunk(list, way.each) {
				w.add(part...)
				w.run()
			}
			if r := w.run(); r.State != StateAlreadyCompacted {
				t.Fatalf("seed %d, %s, %+v: %s, want all of it compacted", seed, settings, way, r.State)
			}
			w.wantProved()
			got := w.live()
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %s, %+v: rows\n%s\nwant\n%s", seed, settings, way, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if len(want) < 20 {
			t.Errorf("seed %d: only %d rows are left", seed, len(want))
		}
	}
}

// objects is everything in a store, by key.
func objects(t *testing.T, s objstore.Store) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for entry, err := range s.List(context.Background(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := s.Get(context.Background(), entry.Key, entry.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Key] = string(body)
	}
	return all
}

// TestTheSameInputsMakeTheSameBytes runs one history twice and compares all
// objects of both stores, names and bytes: so whatever is done twice does no
// harm, and what two machines made can be compared.
func TestTheSameInputsMakeTheSameBytes(t *testing.T) {
	for _, order := range []string{"position", "event_time"} {
		var want map[string]string
		for range 3 {
			w := testWorld(t, "order="+order, "segment_bytes=10KiB", "batch_bytes=1KiB")
			w.policy = Policy{RangeBytes: 2000, PieceBytes: 3000, Parallel: 3}
			for part := range slices.Chunk(history(7, 9), 3) {
				w.add(part...)
				w.run()
				w.pass(20 * hour)
			}
			w.run()
			got := objects(t, w.store)
			if want == nil {
				want = got
			}
			for key, body := range want {
				if got[key] != body {
					t.Errorf("%s differs, or is missing", key)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d objects, want %d", len(got), len(want))
			}
		}
	}
}

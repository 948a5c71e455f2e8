package compactor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/segments"
)

// place is a row in one of some sources.
type place struct {
	source int
	row    uint32
}

// TestResolveAgreesWithAMap folds many rows of a few segments in several ranges
// of digests, and in position order in a map.
func TestResolveAgreesWithAMap(t *testing.T) {
	const older, dirty, rows, keys = 2, 3, 6000, 9000 // several buckets
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, "compression=none")
	var lists [][]row
	for n := range older + dirty {
		var list []row
		for i := range rows {
			r := row{}
			r.Position = segments.Position{Ledger: int64(n), Entry: int64(i), Batch: -1}
			r.BatchSize = 1
			r.Key = fmt.Appendf(nil, "k%d", random.IntN(keys))
			r.Value = []byte("v")
			if random.IntN(20) == 0 {
				r.Kind, r.Value = segments.KindTombstone, nil
			}
			list = append(list, r)
		}
		lists = append(lists, list)
	}
	w.append(lists...)
	m := w.latest()
	var sources []*source
	for n := range m.Originals {
		s := &source{segment: &m.Originals[n], older: n < older, out: roaring.New()}
		var err error
		s.file, err = w.topic.OpenSegment(context.Background(), s.segment)
		w.must(err)
		s.tombstones, err = s.file.Tombstones(context.Background())
		w.must(err)
		for i := range rows {
			if random.IntN(10) == 0 {
				s.out.Add(uint32(i))
			}
		}
		sources = append(sources, s)
	}

	type key struct {
		rows  []place
		dirty bool
	}
	all := map[string]*key{}
	for n, s := range sources {
		for i, r := range lists[n] {
			if s.out.Contains(uint32(i)) {
				continue
			}
			k := all[string(r.Key)]
			if k == nil {
				k = new(key)
				all[string(r.Key)] = k
			}
			k.rows = append(k.rows, place{n, uint32(i)})
			k.dirty = k.dirty || !s.older
		}
	}
	want := make([]*roaring.Bitmap, len(sources))
	for n := range want {
		want[n] = roaring.New()
	}
	var lost [2]losses // dirty, older
	for _, k := range all {
		if !k.dirty {
			continue // nothing changes
		}
		winner := k.rows[len(k.rows)-1]
		for _, loser := range k.rows[:len(k.rows)-1] {
			want[loser.source].Add(loser.row)
			of := &lost[0]
			if sources[loser.source].older {
				of = &lost[1]
			}
			if sources[winner.source].tombstones.Contains(winner.row) {
				of.Deleted++
			} else {
				of.Superseded++
			}
		}
	}

	for _, ranges := range []uint64{1, 3} {
		got := newVerdict(sources)
		for i := range ranges {
			v, err := resolve(context.Background(), sources, nthRange(i, ranges), false)
			w.must(err)
			got.add(v)
		}
		for n := range sources {
			if !got.losers[n].bitmap().Equals(want[n]) {
				t.Errorf("seed %d, %d ranges: source %d has %d losers, want %d, or others", seed, ranges, n, got.losers[n].bitmap().GetCardinality(), want[n].GetCardinality())
			}
		}
		if got.dirty != lost[0] || got.older != lost[1] {
			t.Errorf("seed %d, %d ranges: got %+v and %+v, want %+v", seed, ranges, got.dirty, got.older, lost)
		}
	}
}

// TestATableGrows: digests need not be as even as they should be.
func TestATableGrows(t *testing.T) {
	table := newTable()
	for round := range 2 {
		const seats = 5 * bucketEntries
		for i := range uint64(seats) {
			table.take(i%2, i/2*5).dirty = int64(i)
		}
		for i := range uint64(seats) {
			if s := table.find(i%2, i/2*5); s == nil || s.dirty != int64(i) {
				t.Fatalf("round %d: seat %d is %+v", round, i, s)
			}
		}
		if s := table.find(2, 0); s != nil || len(table.seats) != seats {
			t.Errorf("round %d: found %+v among %d seats, want none among %d", round, s, len(table.seats), seats)
		}
		table.clear()
		if s := table.find(0, 0); s != nil {
			t.Errorf("round %d: found %+v in a cleared table", round, s)
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// mapRatio compares resolving by key indexes with a Go map of keys, as other
// compactors have one. Both begin with segments in a store and end with the
// rows that lost their key. Ratio is how many times faster we are.
var mapRatio = benchmark{
	name:  "map-ratio",
	about: "resolve by key indexes against a Go map of keys: time and heap, two rows to a key",
	rows:  1_000_000,
	run:   runMapRatio,
}

func runMapRatio(ctx context.Context, rows int) (report, error) {
	t, err := newTopic(ctx, new(mem.Store), "segment_bytes=16MiB", "compression=none")
	if err != nil {
		return report{}, err
	}
	if err := t.fill(ctx, stretch{rows: rows, keyOf: evenly(rows/2 + 1), valueBytes: 16}); err != nil {
		return report{}, err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return report{}, err
	}
	policy := compactor.Policy{RangeBytes: 4 << 20, PieceBytes: 1 << 20, Parallel: runtime.GOMAXPROCS(0)}
	var mapLost int64
	ours := func() error { return untilResolved(ctx, t, policy) }
	theirs := func() (err error) { mapLost, err = foldByMap(ctx, t, m); return err }

	a, b, err := compare(turns, sides{ours, theirs})
	if err != nil {
		return report{}, err
	}
	aHeap, err := heapPeak(ours)
	if err != nil {
		return report{}, err
	}
	bHeap, err := heapPeak(theirs)
	if err != nil {
		return report{}, err
	}
	whole, err := t.compact(ctx, policy, nil)
	if err != nil {
		return report{}, err
	}
	if lost := whole.Report.Rows.Superseded; lost != mapLost {
		return report{}, fmt.Errorf("%d rows lost their key by key indexes, %d by a map", lost, mapLost)
	}
	r := newReport("", "time", "heap")
	r.table.AppendRow(table.Row{"key indexes", seconds(a), humanize.IBytes(uint64(aHeap))})
	r.table.AppendRow(table.Row{"map of keys", seconds(b), humanize.IBytes(uint64(bHeap))})
	r.table.AppendRow(table.Row{"map / ours", share(b.Seconds(), a.Seconds()), share(float64(bHeap), float64(aHeap))})
	r.ratio = b.Seconds() / a.Seconds()
	r.detail = map[string]any{
		"rows": rows, "keys": rows/2 + 1, "lost": mapLost,
		"seconds": a.Seconds(), "map_seconds": b.Seconds(),
		"heap_bytes": aHeap, "map_heap_bytes": bHeap, "heap_share": float64(aHeap) / float64(bHeap),
	}
	return r, nil
}

// untilResolved runs a compaction until it knows who lost.
func untilResolved(ctx context.Context, t *topic, policy compactor.Policy) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := -1
	_, err := t.compact(ctx, policy, observer(func(e compactor.Event) {
		if e, ok := e.(compactor.Resolved); ok {
			if left < 0 {
				left = e.Of
			}
			if left--; left == 0 {
				cancel()
			}
		}
	}))
	if left == 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("a run that should end when all is resolved: %w", err)
}

// observer hears what a run does.
type observer func(compactor.Event)

func (o observer) Observe(e compactor.Event) { o(e) }

// foldByMap goes over the keys in position order, and has the last row of each
// in a map.
func foldByMap(ctx context.Context, t *topic, m *manifest.Manifest) (int64, error) {
	type place struct {
		segment int
		row     uint32
	}
	winners := make(map[string]place)
	losers := make([][]uint64, len(m.Originals)) // a bit for each row
	var lost int64
	for n := range m.Originals {
		losers[n] = make([]uint64, m.Originals[n].Info.Counts.Rows()/64+1)
		file, err := t.OpenSegment(ctx, &m.Originals[n])
		if err != nil {
			return 0, err
		}
		blocks := make([]int, len(file.Blocks()))
		for i := range blocks {
			blocks[i] = i
		}
		for rows, err := range file.Scan(ctx, blocks, segments.Headers) {
			if err != nil {
				return 0, err
			}
			for i := range rows.Len() {
				key := string(rows.Key(i))
				if was, ok := winners[key]; ok {
					losers[was.segment][was.row/64] |= 1 << (was.row % 64)
				}
				winners[key] = place{n, rows.First() + uint32(i)}
			}
		}
	}
	for _, set := range losers {
		for _, word := range set {
			lost += int64(bits.OnesCount64(word))
		}
	}
	return lost, nil
}

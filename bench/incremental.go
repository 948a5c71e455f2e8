package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/file"
)

// incremental compares the run that follows new messages for one key in a
// hundred with the one that folded them all. Ratio is the bytes moved against
// 1.5 times the dirty ones and 20 for each live key.
var incremental = benchmark{
	name:  "incremental",
	about: "a run over 1 % dirty keys of a large state against the first run: bytes, requests, time; 400-byte values",
	rows:  200_000,
	run:   runIncremental,
}

func runIncremental(ctx context.Context, rows int) (report, error) {
	dir, err := os.MkdirTemp("", "ledgerfold-bench-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	store, err := file.Open(dir)
	if err != nil {
		return report{}, err
	}
	counted := count.New(store)
	t, err := newTopic(ctx, counted)
	if err != nil {
		return report{}, err
	}
	if err := t.fill(ctx, stretch{rows: rows, keyOf: func(row int) int { return row }, valueBytes: 400}); err != nil {
		return report{}, err
	}
	before := counted.Snapshot()
	run := func() error { _, err := t.compact(ctx, compactor.DefaultPolicy(), nil); return err }
	full, err := timed(run)
	if err != nil {
		return report{}, err
	}
	fullUsed := counted.Snapshot().Sub(before)

	r := newReport("run", "dirty", "moved", "allowed", "requests", "time")
	r.table.AppendRow(table.Row{"first", "", humanize.Bytes(moved(fullUsed)), "", fullUsed.Requests(), seconds(full)})
	var times []time.Duration
	var shares []float64
	dirtyRows := max(1, rows/100)
	var runs []any
	for n := range turns {
		before := counted.Snapshot()
		keyOf := func(row int) int { return draw(row, 3, rows) }
		if err := t.fill(ctx, stretch{from: rows + n*dirtyRows, rows: dirtyRows, keyOf: keyOf, valueBytes: 400}); err != nil {
			return report{}, err
		}
		dirty := counted.Snapshot().Sub(before).BytesPut
		before = counted.Snapshot()
		took, err := timed(run)
		if err != nil {
			return report{}, err
		}
		used := counted.Snapshot().Sub(before)
		allowed := dirty*3/2 + 20*int64(rows)
		times = append(times, took)
		shares = append(shares, float64(moved(used))/float64(allowed))
		r.table.AppendRow(table.Row{
			fmt.Sprint(n + 1), humanize.Bytes(uint64(dirty)), humanize.Bytes(moved(used)), humanize.Bytes(uint64(allowed)),
			used.Requests(), seconds(took),
		})
		runs = append(runs, map[string]any{"dirty_bytes": dirty, "allowed_bytes": allowed, "counts": used, "seconds": took.Seconds()})
	}
	r.ratio = median(shares)
	r.detail = map[string]any{
		"rows": rows, "dirty_rows": dirtyRows, "full_seconds": full.Seconds(), "full_counts": fullUsed,
		"seconds": median(times).Seconds(), "time_share": median(times).Seconds() / full.Seconds(), "runs": runs,
	}
	return r, nil
}

// moved is the bytes that went through a store.
func moved(c count.Snapshot) uint64 { return uint64(c.BytesRead + c.BytesPut) }

package main

import (
	"context"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// smallJob folds 64 segments of 1 MB in a folder, as a job from cron would.
// Ratio is the requests against 12 and 3 for each segment.
var smallJob = benchmark{
	name:  "small-job",
	about: "fold 64 small segments in a folder: time and requests; 1 MB each with 64 x 2000 rows",
	rows:  smallSegments * 2000,
	run:   runSmallJob,
}

const smallSegments = 64

func runSmallJob(ctx context.Context, rows int) (report, error) {
	const budget = 12 + 3*smallSegments
	input, err := newTopic(ctx, new(mem.Store))
	if err != nil {
		return report{}, err
	}
	err = input.fill(ctx, stretch{rows: rows, keyOf: evenly(rows/10 + 1), valueBytes: 400, segmentRows: (rows + smallSegments - 1) / smallSegments})
	if err != nil {
		return report{}, err
	}
	var times []time.Duration
	var used count.Snapshot
	for range turns {
		took, counts, err := oneSmallJob(ctx, input)
		if err != nil {
			return report{}, err
		}
		times, used = append(times, took), counts
	}
	took := median(times)
	r := newReport("segments", "rows", "time", "requests", "allowed")
	r.table.AppendRow(table.Row{smallSegments, rows, seconds(took), used.Requests(), budget})
	r.ratio = float64(used.Requests()) / budget
	r.detail = map[string]any{
		"segments": smallSegments, "rows": rows, "seconds": took.Seconds(),
		"requests": used.Requests(), "requests_allowed": budget, "counts": used,
	}
	return r, nil
}

func oneSmallJob(ctx context.Context, input *topic) (took time.Duration, used count.Snapshot, err error) {
	store, remove, err := folder(ctx, input.store)
	if err != nil {
		return 0, used, err
	}
	defer remove()
	counted := count.New(store)
	took, err = timed(func() error {
		t, err := input.through(ctx, counted)
		if err != nil {
			return err
		}
		_, err = t.compact(ctx, compactor.DefaultPolicy(), nil)
		return err
	})
	return took, counted.Snapshot(), err
}

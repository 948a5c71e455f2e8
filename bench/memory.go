package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/objstore/file"
)

// memory runs compact as a process over more and more keys. Ratio is the
// highest peak against the 512 MiB that --max-memory 256MiB may come to.
var memory = benchmark{
	name:   "memory",
	about:  "peak memory of compact run --max-memory 256MiB over N/100, N/10 and N distinct keys, 16-byte values",
	rows:   1_000_000,
	run:    runMemory,
	byHand: true,
}

func runMemory(ctx context.Context, rows int) (report, error) {
	dir, err := os.MkdirTemp("", "ledgerfold-bench-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "compact")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/compact").CombinedOutput(); err != nil {
		return report{}, fmt.Errorf("build: %w\n%s", err, out)
	}
	const limit = 512 << 20
	r := newReport("distinct keys", "segments", "peak memory", "wall", "processor")
	r.detail["limit_bytes"] = limit
	for _, keys := range []int{max(1, rows/100), max(1, rows/10), rows} {
		u, segments, err := foldDistinct(ctx, program, filepath.Join(dir, "store"), keys)
		if err != nil {
			return report{}, err
		}
		r.table.AppendRow(table.Row{humanize.Comma(int64(keys)), segments, humanize.IBytes(uint64(u.peak)), seconds(u.wall), seconds(u.busy)})
		r.detail[fmt.Sprint(keys)] = map[string]any{
			"peak_bytes": u.peak, "segments": segments, "wall_seconds": u.wall.Seconds(), "processor_seconds": u.busy.Seconds(),
		}
		r.ratio = max(r.ratio, float64(u.peak)/limit)
	}
	return r, nil
}

// foldDistinct runs program on a topic in dir, where every message has a key of
// its own.
func foldDistinct(ctx context.Context, program, dir string, keys int) (u usage, segments int, err error) {
	defer os.RemoveAll(dir)
	store, err := file.Open(dir)
	if err != nil {
		return u, 0, err
	}
	t, err := newTopic(ctx, store)
	if err != nil {
		return u, 0, err
	}
	if err := t.fill(ctx, stretch{rows: keys, keyOf: func(row int) int { return row }, valueBytes: 16}); err != nil {
		return u, 0, err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return u, 0, err
	}
	u, err = finish(exec.CommandContext(ctx, program, "run", t.Name(), "--store", dir, "--max-memory", "256MiB"))
	return u, len(m.Originals), err
}

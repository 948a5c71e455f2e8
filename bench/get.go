package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

// get looks keys up by a reader that has looked some up before, so that it
// knows where everything is. Ratio is the ranged reads of a key against the
// three that it may take.
var get = benchmark{
	name:  "get",
	about: "look up random keys in the compacted view: ranged reads, bytes and time of each; 100-byte values",
	rows:  300_000,
	run:   runGet,
}

func runGet(ctx context.Context, rows int) (report, error) {
	const lookups, readsAllowed = 200, 3
	counted := count.New(new(mem.Store))
	t, err := newTopic(ctx, counted)
	if err != nil {
		return report{}, err
	}
	if err := t.fill(ctx, stretch{rows: rows, keyOf: func(row int) int { return row }, valueBytes: 100}); err != nil {
		return report{}, err
	}
	if _, err := t.compact(ctx, compactor.DefaultPolicy(), nil); err != nil {
		return report{}, err
	}
	reader, err := readerlib.Open(ctx, t.Topic, readerlib.Options{View: readerlib.Compacted})
	if err != nil {
		return report{}, err
	}
	opening := counted.Snapshot()
	// Heads are read once: a key that is nowhere asks every segment.
	if _, _, err := reader.Get(ctx, []byte("nobody")); err != nil {
		return report{}, err
	}
	opened := counted.Snapshot()

	var reads, bytes []int64
	var times []time.Duration
	for n := range lookups {
		key := keyText(draw(n, 4, rows))
		before, began := counted.Snapshot(), time.Now()
		if _, ok, err := reader.Get(ctx, key); err != nil || !ok {
			return report{}, fmt.Errorf("get %s: found %t: %w", key, ok, err)
		}
		times = append(times, time.Since(began))
		used := counted.Snapshot().Sub(before)
		reads, bytes = append(reads, used.Requests()), append(bytes, used.BytesRead)
	}
	segments := len(reader.Snapshot().Compacted)
	r := newReport("segments", "keys", "reads, median", "most", "bytes, median", "time, median")
	r.table.AppendRow(table.Row{
		segments, rows, median(reads), most(reads), humanize.IBytes(uint64(median(bytes))), median(times).Round(time.Microsecond),
	})
	r.ratio = float64(median(reads)) / readsAllowed
	heads := opened.Sub(opening)
	r.detail = map[string]any{
		"rows": rows, "segments": segments, "reads": median(reads), "reads_most": most(reads),
		"bytes": median(bytes), "bytes_most": most(bytes), "seconds": median(times).Seconds(),
		"first": map[string]any{"reads": heads.Requests(), "bytes": heads.BytesRead},
	}
	return r, nil
}

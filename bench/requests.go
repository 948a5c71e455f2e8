package main

import (
	"context"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// requests counts what a first compaction asks of the store. Ratio is dollars
// for each GB of input against the 0.001 that it may cost.
var requests = benchmark{
	name:  "requests",
	about: "requests and dollars of a first compaction for each GB of input, 400-byte values, ten rows to a key",
	rows:  300_000,
	run:   runRequests,
}

// Prices of a thousand requests, in dollars: S3 Standard, us-east-1.
const (
	dollarsPut = 0.005
	dollarsGet = 0.0004
	dollarsGB  = 0.001 // allowed
)

// dollars is what S3 bills for requests. Deletes are free.
func dollars(c count.Snapshot) float64 {
	return (float64(c.Puts+c.Lists)*dollarsPut + float64(c.Gets+c.Reads)*dollarsGet) / 1000
}

func runRequests(ctx context.Context, rows int) (report, error) {
	counted := count.New(new(mem.Store))
	t, err := newTopic(ctx, counted)
	if err != nil {
		return report{}, err
	}
	if err := t.fill(ctx, stretch{rows: rows, keyOf: evenly(rows/10 + 1), valueBytes: 400}); err != nil {
		return report{}, err
	}
	input := counted.Snapshot().BytesPut
	before := counted.Snapshot()
	if _, err := t.compact(ctx, compactor.DefaultPolicy(), nil); err != nil {
		return report{}, err
	}
	used := counted.Snapshot().Sub(before)
	perGB := dollars(used) / (float64(input) / 1e9)
	r := newReport("input", "puts", "gets", "lists", "read", "put", "dollars a GB")
	r.table.AppendRow(table.Row{
		humanize.Bytes(uint64(input)), used.Puts, used.Gets + used.Reads, used.Lists,
		humanize.Bytes(uint64(used.BytesRead)), humanize.Bytes(uint64(used.BytesPut)), perGB,
	})
	r.ratio = perGB / dollarsGB
	r.detail = map[string]any{"rows": rows, "input_bytes": input, "counts": used, "dollars_per_gb": perGB}
	return r, nil
}

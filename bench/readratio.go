package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

// readRatio reads the compacted view as Arrow batches, and the same segments by
// arrow-go, which knows of no dead rows, checksums or rules. Ratio is our time
// against its.
var readRatio = benchmark{
	name:  "read-ratio",
	about: "the compacted view to Arrow batches against arrow-go reading the same segments; 400-byte values",
	rows:  400_000,
	run:   runReadRatio,
}

func runReadRatio(ctx context.Context, rows int) (report, error) {
	r := newReport("keys", "rows shown", "rows stored", "bytes", "ours", "arrow-go", "ours / arrow-go")
	for _, c := range []struct {
		name string
		keys func(int) int
	}{
		{"distinct", func(row int) int { return row }},
		{"rows/10", evenly(rows/10 + 1)},
	} {
		t, err := newTopic(ctx, new(mem.Store))
		if err != nil {
			return report{}, err
		}
		if err := t.fill(ctx, stretch{rows: rows, keyOf: c.keys, valueBytes: 400}); err != nil {
			return report{}, err
		}
		if _, err := t.compact(ctx, compactor.DefaultPolicy(), nil); err != nil {
			return report{}, err
		}
		objects, size, err := compactedObjects(ctx, t)
		if err != nil {
			return report{}, err
		}
		var shown, stored int64
		ours, theirs, err := compare(turns, sides{
			func() (err error) { shown, err = readBatches(ctx, t); return err },
			func() (err error) { stored, err = readPlainly(ctx, t.store, objects); return err },
		})
		if err != nil {
			return report{}, err
		}
		ratio := ours.Seconds() / theirs.Seconds()
		r.table.AppendRow(table.Row{c.name, shown, stored, humanize.Bytes(uint64(size)), seconds(ours), seconds(theirs), fmt.Sprintf("%.2f", ratio)})
		r.detail[c.name] = map[string]any{
			"rows_shown": shown, "rows_stored": stored, "bytes": size,
			"seconds": ours.Seconds(), "arrow_seconds": theirs.Seconds(), "ratio": ratio,
		}
		r.ratio = max(r.ratio, ratio)
	}
	return r, nil
}

// compactedObjects are the segments of the compacted tier, as the store knows
// them, and their bytes.
func compactedObjects(ctx context.Context, t *topic) (objects []objstore.Entry, size int64, err error) {
	m, err := t.Latest(ctx)
	if err != nil {
		return nil, 0, err
	}
	for e, err := range t.store.List(ctx, "", "") {
		if err != nil {
			return nil, 0, err
		}
		for i := range m.Compacted {
			if object := m.Compacted[i].Object; object != "" && strings.HasSuffix(e.Key, "/"+object) {
				objects = append(objects, e)
				size += e.Bytes
			}
		}
	}
	return objects, size, nil
}

func readBatches(ctx context.Context, t *topic) (rows int64, err error) {
	reader, err := readerlib.Open(ctx, t.Topic, readerlib.Options{View: readerlib.Compacted})
	if err != nil {
		return 0, err
	}
	for batch, err := range reader.Batches(ctx) {
		if err != nil {
			return 0, err
		}
		rows += batch.NumRows()
	}
	return rows, nil
}

func readPlainly(ctx context.Context, store objstore.Store, objects []objstore.Entry) (rows int64, err error) {
	for _, o := range objects {
		body, err := store.Get(ctx, o.Key, o.Bytes)
		if err != nil {
			return 0, err
		}
		file, err := ipc.NewFileReader(bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		for i := range file.NumRecords() {
			batch, err := file.RecordBatchAt(i)
			if err != nil {
				return 0, err
			}
			rows += batch.NumRows()
			batch.Release()
		}
		if err := file.Close(); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

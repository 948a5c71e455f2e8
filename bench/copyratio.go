package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/open"
)

// copyRatio compares a first compaction with what any that rewrites its state
// must do at least: GET all of its input, and PUT its output. Both go through
// the same store, with as many requests at a time. The ratio is time against
// time.
var copyRatio = benchmark{
	name:  "copy-ratio",
	about: "a first compaction against a plain copy, on a real S3 server: 400-byte values, one key to ten rows",
	rows:  500_000,
	run:   runCopyRatio,

	byHand: true,
}

func runCopyRatio(ctx context.Context, rows int) (r report, err error) {
	server, err := s3server.Start(ctx, s3server.Options{})
	if err != nil {
		return report{}, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	bucket, err := open.Open(ctx, server.URL(), server.Getenv)
	if err != nil {
		return report{}, err
	}
	counted := count.New(bucket)
	store := &forgetful{Store: counted}
	t, err := newTopic(ctx, store)
	if err != nil {
		return report{}, err
	}
	if err := t.fill(ctx, stretch{rows: rows, keyOf: evenly(max(1, rows/10)), valueBytes: 400}); err != nil {
		return report{}, err
	}
	before, err := t.Latest(ctx)
	if err != nil {
		return report{}, err
	}
	store.put = nil // from here on

	policy := compactor.DefaultPolicy()
	var result compactor.Result
	var used count.Snapshot
	var state int64 // bytes of the rows that are left, as stored
	ours := func() error {
		start := counted.Snapshot()
		if result, err = t.compact(ctx, policy, nil); err != nil {
			return err
		}
		used = counted.Snapshot().Sub(start)
		m, err := t.Latest(ctx)
		if err != nil {
			return err
		}
		state = compactor.FootprintOf(m).LiveBytes
		if err := store.forget(ctx); err != nil { // it is in the time, too
			return err
		}
		t, err = t.through(ctx, store)
		return err
	}
	if err := ours(); err != nil { // it tells how much there is to copy
		return report{}, err
	}
	run, plain, err := compare(turns, sides{ours: ours, theirs: func() error {
		return copyPlainly(ctx, counted, before, state, policy.Parallel)
	}})
	if err != nil {
		return report{}, err
	}
	var input int64
	for _, s := range before.Originals {
		input += s.Info.Bytes
	}
	r = newReport("", "time", "read", "written", "requests")
	r.table.AppendRow(table.Row{"compaction", seconds(run), humanize.IBytes(uint64(used.BytesRead)), humanize.IBytes(uint64(used.BytesPut)), used.Requests()})
	r.table.AppendRow(table.Row{"plain copy", seconds(plain), humanize.IBytes(uint64(input)), humanize.IBytes(uint64(state)), 2 * len(before.Originals)})
	r.ratio = run.Seconds() / plain.Seconds()
	r.detail = map[string]any{
		"rows": rows, "keys": max(1, rows/10), "pairs": turns, "parallel": policy.Parallel,
		"run_seconds": run.Seconds(), "copy_seconds": plain.Seconds(),
		"input_bytes": input, "state_bytes": state, "read_bytes": used.BytesRead, "written_bytes": used.BytesPut,
		"adopted": result.Adopted, "kept": result.Rows.Kept,
	}
	return r, nil
}

// copyPlainly gets all originals of m, and puts so many bytes, in objects of
// the size of a segment.
func copyPlainly(ctx context.Context, store objstore.Store, m *manifest.Manifest, output int64, parallel int) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	folder := string(m.Topic) + "/"
	for _, s := range m.Originals {
		g.Go(func() error {
			_, err := store.Get(gctx, folder+s.Object, math.MaxInt64)
			return err
		})
	}
	var made []string
	body := make([]byte, m.Settings.SegmentBytes)
	for ; output > 0; output -= m.Settings.SegmentBytes {
		key := "copy/" + string(jobID())
		made = append(made, key)
		size := min(output, m.Settings.SegmentBytes)
		g.Go(func() error { return store.Put(gctx, key, bytes.NewReader(body[:size])) })
	}
	err := g.Wait()
	for _, key := range made {
		err = errors.Join(err, store.Delete(ctx, key))
	}
	return err
}

// forgetful is a store that can forget what was put last, so that the same
// topic can be compacted for the first time again.
type forgetful struct {
	objstore.Store
	mu  sync.Mutex
	put []string
}

func (s *forgetful) Put(ctx context.Context, key string, body objstore.Body) error {
	s.mu.Lock()
	s.put = append(s.put, key)
	s.mu.Unlock()
	return s.Store.Put(ctx, key, body)
}

func (s *forgetful) forget(ctx context.Context) error {
	for _, key := range s.put {
		if err := s.Store.Delete(ctx, key); err != nil {
			return err
		}
	}
	s.put = nil
	return nil
}

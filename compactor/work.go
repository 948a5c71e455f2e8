package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// work is the doing of a plan: all its tasks in one process, or some of them in
// each of several.
type work struct {
	topic *manifest.Topic
	job   Job
	tell  *teller
	store *shelf

	m    *manifest.Manifest // a version that the plan holds for
	plan *Plan

	notes   *notes // what the plan's tasks have come to, if it is kept; else nil
	resumed bool   // the plan is another job's, which has not committed
	adopted Adopted
}

// do does all tasks of the plan, but for the write tasks that others have done,
// and puts their results together to what is to be committed. It keeps to b,
// unless that is nil.
func (w *work) do(ctx context.Context, b *bounds) (*manifest.Compact, error) {
	sources, err := openSources(ctx, w.topic, w.m, w.plan, w.job.Policy, w.tell)
	if err != nil {
		return nil, err
	}
	v, err := resolveAll(ctx, sources, w.plan, w.m.Settings, w.job.Policy, w.tell)
	if err != nil {
		return nil, err
	}
	f, err := settle(sources, v, w.plan, w.m.Settings)
	if err != nil {
		return nil, err
	}
	shares := []segments.Range{w.plan.Range()}
	if b == nil {
		shares = f.shares(w.plan, w.m.Settings)
	}
	if len(shares) > 1 && w.notes == nil {
		if w.notes, err = takeNotes(ctx, w.topic, w.job.ID, w.m, w.plan); err != nil {
			return nil, err
		}
	}
	all := new(made)
	for i, covers := range shares {
		one, err := w.share(ctx, f, i, covers)
		if err != nil {
			return nil, err
		}
		all.join(one)
	}
	return w.edit(ctx, f, all, b)
}

// share does a write task, unless somebody has done it.
func (w *work) share(ctx context.Context, f *folded, i int, covers segments.Range) (*made, error) {
	if w.notes != nil {
		if one, err := w.notes.made(ctx, i); one != nil || err != nil {
			return one, err
		}
	}
	one, err := w.outputs().make(ctx, f.parts(covers, w.m.Settings, w.job.Policy.PieceBytes), shape{
		from:  overlapping(w.m.Originals, w.plan.Range()),
		since: w.job.Now,
		bytes: w.m.Settings.SegmentBytes,
	})
	if err != nil || w.notes == nil {
		return one, err
	}
	return w.notes.keepMade(ctx, i, one, w.store)
}

func (w *work) outputs() *outputs {
	return &outputs{
		store:  w.store,
		hasher: w.topic.Hasher(),
		writer: segments.WriterSettings{
			Topic:       string(w.m.Topic),
			Writer:      w.job.Writer,
			BatchBytes:  w.m.Settings.BatchBytes,
			Compression: w.m.Settings.Compression,
		},
		policy: w.job.Policy,
		tell:   w.tell,
	}
}

// edit puts the results of the tasks together, and does what is left of a run:
// it reclaims, and writes down what died of older segments. The retention of
// tombstones counts from now, however long ago their segment was written.
func (w *work) edit(ctx context.Context, f *folded, all *made, b *bounds) (*manifest.Compact, error) {
	if all.rows != f.report.Rows.Kept {
		return nil, fmt.Errorf("%w: %d rows were kept, but segments with %d made", manifest.ErrInvariant, f.report.Rows.Kept, all.rows)
	}
	for i := range all.list {
		all.list[i].CompactedAt = w.job.Now
	}
	reclaims, err := reclaim(ctx, w.topic, w.m, f, w.outputs(), b)
	if err != nil {
		return nil, err
	}
	dead, err := bury(ctx, w.store, f, w.tell)
	if err != nil {
		return nil, err
	}
	w.adopted = all.adopted
	return &manifest.Compact{
		From: w.plan.From, To: w.plan.To, Inputs: w.plan.Inputs, Outputs: all.list,
		Dead: dead, Reclaims: reclaims, Report: f.report,
	}, nil
}

// commit makes the version that result is then about.
func (w *work) commit(ctx context.Context, id manifest.CommitID, edit *manifest.Compact, result Result) (Result, error) {
	next, err := w.topic.Commit(ctx, w.job.change(id, *edit))
	if err != nil {
		// Only what is proved to have lost may be deleted. A commit whose
		// answer is lost may still come, and then a version names these
		// objects.
		if errors.Is(err, manifest.ErrConflict) || errors.Is(err, manifest.ErrFenced) || errors.Is(err, manifest.ErrTopicNotFound) {
			w.store.discard(ctx)
		}
		return Result{}, err
	}
	w.store.keep()
	result.made(next)
	result.Report, result.Adopted, result.Wrote = edit.Report, w.adopted, w.store.wrote
	w.tell.tell(Committed{Version: next.Version, Horizon: next.Horizon, Report: edit.Report})
	if w.notes != nil {
		// What is left of them costs space until a collection, and nothing else.
		_ = w.topic.DropWork(ctx, w.notes.job)
	}
	return result, nil
}

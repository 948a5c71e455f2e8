package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Run compacts a topic once: it surveys and plans, does the tasks in this
// process, and commits once. Any number of runs and appends may go on at the
// same time. A run that was overtaken by another discards what it wrote and
// plans again, as often as the job has commit ids; then it is
// manifest.ErrConflict. After manifest.ErrUnknown nothing is discarded, and
// the next run finds out by itself what became of this one.
//
// A job with a deadline may take several commits, and its end is no error.
//
// A segment that cannot be read is no error: it is quarantined, and what lies
// before it is folded (see quarantine).
//
// On any error the topic is as it was, but for its quarantines; for ErrUnknown,
// where it may be as if the run had succeeded; and for what a job with a
// deadline had committed before.
func Run(ctx context.Context, t *manifest.Topic, observer Observer, job Job) (Result, error) {
	r := run{topic: t, job: job, tell: &teller{observer: observer}, store: &shelf{topic: t, job: job.ID}}
	result, err := r.run(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("compact %q: %w", t.Name(), err)
	}
	return result, nil
}

type run struct {
	topic *manifest.Topic
	job   Job
	tell  *teller
	store *shelf
	quarantine

	adopted Adopted // by the last try
}

func (r *run) run(ctx context.Context) (Result, error) {
	if err := r.job.Validate(); err != nil {
		return Result{}, err
	}
	if r.job.Deadline != nil {
		return r.slices(ctx)
	}
	var last error
	for i, commit := range r.job.Commits {
		result, err := r.try(ctx, ctx, commit, nil)
		switch {
		case err == nil:
			result.Tries = i + 1
			return result, nil
		case errors.Is(err, errAgain):
		case errors.Is(err, manifest.ErrConflict):
			r.tell.tell(Overtaken{Try: i + 1, Err: err})
		default:
			return Result{}, err
		}
		last = err
	}
	if errors.Is(last, errAgain) {
		// Every try came upon one more segment that cannot be read.
		if m, err := r.topic.Latest(ctx); err == nil && len(m.Quarantined) > 0 {
			result := Result{Topic: m.Name, Stop: StopQuarantine, Tries: len(r.job.Commits)}
			result.found(m)
			return result, nil
		}
		last = fmt.Errorf("%w: %w", manifest.ErrConflict, last)
	}
	return Result{}, fmt.Errorf("%d tries: %w", len(r.job.Commits), last)
}

// try is one try, from the latest version to a commit. Its work ends with work,
// and the commit with ctx. It keeps to b, unless that is nil.
func (r *run) try(ctx, work context.Context, commit manifest.CommitID, b *bounds) (Result, error) {
	m, err := r.topic.Latest(work)
	if err != nil {
		return Result{}, err
	}
	if err := r.lift(ctx, work, m, commit); err != nil {
		return Result{}, err
	}
	result, err := r.fold(ctx, work, m, commit, b)
	if err == nil {
		return result, nil
	}
	if err = r.setAside(ctx, work, m, commit, err); err == errLie {
		return r.try(ctx, work, commit, b)
	}
	return Result{}, err
}

// fold folds m, if there is anything to fold, and commits that.
func (r *run) fold(ctx, work context.Context, m *manifest.Manifest, commit manifest.CommitID, b *bounds) (Result, error) {
	cut, err := Survey(work, r.topic, m, r.job.Now)
	if err != nil {
		return Result{}, err
	}
	if b != nil {
		cut = b.slice(m, cut)
	}
	plan := PlanRun(m, cut, r.job.Now, r.job.Policy)
	result := Result{Topic: m.Name, Stop: plan.Stop, Estimate: plan.Estimate}
	if plan.IsEmpty() {
		result.found(m)
		return result, nil
	}
	if b != nil && b.isTooMuch() {
		return Result{}, errTimeUp
	}
	r.tell.tell(Planned{Plan: &plan})
	edit, err := r.do(work, m, &plan, b)
	if err != nil {
		r.store.discard(ctx) // no commit was tried
		return Result{}, err
	}
	next, err := r.topic.Commit(ctx, r.job.change(commit, *edit))
	if err != nil {
		// Only what is proved to have lost may be deleted. A commit whose
		// answer is lost may still come, and then a version names these
		// objects.
		if errors.Is(err, manifest.ErrConflict) || errors.Is(err, manifest.ErrFenced) || errors.Is(err, manifest.ErrTopicNotFound) {
			r.store.discard(ctx)
		}
		return Result{}, err
	}
	r.store.keep()
	result.made(next)
	result.Report, result.Adopted, result.Wrote = edit.Report, r.adopted, r.store.wrote
	r.tell.tell(Committed{Version: next.Version, Horizon: next.Horizon, Report: edit.Report})
	return result, nil
}

// do does the tasks of a plan, and puts their results together to what is to
// be committed.
func (r *run) do(ctx context.Context, m *manifest.Manifest, p *Plan, b *bounds) (*manifest.Compact, error) {
	sources, err := openSources(ctx, r.topic, m, p, r.job.Policy, r.tell)
	if err != nil {
		return nil, err
	}
	f, err := fold(ctx, sources, p, m.Settings, r.job.Policy, r.tell)
	if err != nil {
		return nil, err
	}
	o := &outputs{
		store:  r.store,
		hasher: r.topic.Hasher(),
		writer: segments.WriterSettings{
			Topic:       string(m.Topic),
			Writer:      r.job.Writer,
			BatchBytes:  m.Settings.BatchBytes,
			Compression: m.Settings.Compression,
		},
		policy: r.job.Policy,
		tell:   r.tell,
	}
	all, err := o.make(ctx, f.parts(p.Range(), m.Settings, r.job.Policy.PieceBytes), shape{
		from:  overlapping(m.Originals, p.Range()),
		since: p.Now,
		bytes: m.Settings.SegmentBytes,
	})
	if err != nil {
		return nil, err
	}
	if all.rows != f.report.Rows.Kept {
		return nil, fmt.Errorf("%w: %d rows were kept, but segments with %d made", manifest.ErrInvariant, f.report.Rows.Kept, all.rows)
	}
	r.adopted = all.adopted
	reclaims, err := reclaim(ctx, r.topic, m, f, o, b)
	if err != nil {
		return nil, err
	}
	dead, err := bury(ctx, r.store, f, r.tell)
	if err != nil {
		return nil, err
	}
	return &manifest.Compact{
		From: p.From, To: p.To, Inputs: p.Inputs, Outputs: all.list,
		Dead: dead, Reclaims: reclaims, Report: f.report,
	}, nil
}

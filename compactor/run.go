package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
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
}

func (r *run) run(ctx context.Context) (Result, error) {
	if err := r.job.Validate(); err != nil {
		return Result{}, err
	}
	if r.job.Deadline != nil {
		return r.slices(ctx)
	}
	var last error
	var total Result
	for i, commit := range r.job.Commits {
		result, err := r.try(ctx, ctx, commit, nil)
		switch {
		case err == nil:
			if total.State == "" || result.State == StateCompacted {
				total.Tries = i + 1
			}
			total.add(result)
			if !result.Resumed {
				return total, nil
			}
			last = nil // what came since that plan is left to fold
			continue
		case errors.Is(err, errAgain):
		case errors.Is(err, manifest.ErrConflict):
			r.tell.tell(Overtaken{Try: i + 1, Err: err})
		default:
			return Result{}, err
		}
		last = err
	}
	if total.Resumed {
		return total, nil // and the next run has the rest
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
func (r *run) fold(ctx, working context.Context, m *manifest.Manifest, commit manifest.CommitID, b *bounds) (Result, error) {
	cut, err := Survey(working, r.topic, m, r.job.Now)
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
	r.store.begin(r.job.ID, "")
	w := &work{topic: r.topic, job: r.job, tell: r.tell, store: r.store, m: m, plan: &plan}
	if b == nil && plan.of(TaskWrite) > 1 {
		if err := w.resume(working); err != nil {
			return Result{}, err
		}
	}
	r.tell.tell(Planned{Plan: w.plan})
	edit, err := w.do(working, b)
	if err != nil {
		w.store.discard(ctx) // no commit was tried
		return Result{}, err
	}
	result.Estimate, result.Resumed = w.plan.Estimate, w.resumed
	return w.commit(ctx, commit, edit, result)
}

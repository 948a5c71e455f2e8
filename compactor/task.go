package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// ErrNoPlan says that no plan of a name is kept (any more).
var ErrNoPlan = errors.New("no such plan")

// ErrNoTask says that a plan has no task of a number.
var ErrNoTask = errors.New("no such task")

// Keep keeps a plan of m, so that Do and Finish can be called for it by its
// job's id, anywhere. It must not be empty.
func Keep(ctx context.Context, t *manifest.Topic, m *manifest.Manifest, job manifest.JobID, p *Plan) error {
	notes, err := takeNotes(ctx, t, job, m, p)
	if err == nil && notes == nil {
		err = fmt.Errorf("%w: job %s has a plan", manifest.ErrInvariant, job)
	}
	if err != nil {
		return fmt.Errorf("plan %q: %w", t.Name(), err)
	}
	return nil
}

// Done is what became of a task.
type Done struct {
	Topic string         `json:"topic"`
	Plan  manifest.JobID `json:"plan"`
	Index int            `json:"index"`
	Kind  TaskKind       `json:"kind"`
	State string         `json:"state"` // done, or already_done: by whoever did it before
}

// Do does one task of a kept plan, and notes what it came to. It can be done
// by several processes at once, and again; the first that is done counts. The
// id of job names what this process puts; it must be new. Errors are ErrNoPlan,
// ErrNoTask, ErrNotDone where a write task comes before the resolve tasks are
// done, and manifest.ErrConflict where the plan does not hold any more.
func Do(ctx context.Context, t *manifest.Topic, plan manifest.JobID, index int, observer Observer, job Job) (Done, error) {
	w, err := planned(ctx, t, plan, observer, job)
	if err != nil {
		return Done{}, err
	}
	if index < 0 || index >= len(w.plan.Tasks) {
		return Done{}, fmt.Errorf("plan %s: task %d: %w: it has %d, from 0", plan, index, ErrNoTask, len(w.plan.Tasks))
	}
	done := Done{Topic: t.Name(), Plan: plan, Index: index, Kind: w.plan.Tasks[index].Kind, State: "done"}
	already, err := w.doOne(ctx, index)
	if err != nil {
		return Done{}, fmt.Errorf("plan %s: task %d: %w", plan, index, err)
	}
	if already {
		done.State = "already_done"
	}
	return done, nil
}

// doOne does the task with an index, and reports whether it was done before.
func (w *work) doOne(ctx context.Context, index int) (bool, error) {
	found, err := w.topic.Work(ctx, w.notes.job, w.notes.name(index), new(struct{}))
	if found || err != nil {
		return found, err
	}
	sources, err := openSources(ctx, w.topic, w.m, w.plan, w.job.Policy, w.tell)
	if err != nil {
		return false, err
	}
	task := w.plan.Tasks[index]
	if task.Kind == TaskResolve {
		v, err := resolve(ctx, sources, task.Digests, w.m.Settings.EventTimeOrder)
		if err != nil {
			return false, err
		}
		return false, w.notes.keepVerdict(ctx, index, v)
	}
	f, err := w.settled(ctx, sources)
	if err != nil {
		return false, err
	}
	i := task.Share
	shares := f.shares(w.plan, w.m.Settings)
	if i >= len(shares) { // the others take all there is
		_, err := w.notes.keepMade(ctx, i, new(made), w.store)
		return false, err
	}
	_, err = w.share(ctx, f, i, shares[i])
	if err != nil {
		w.store.discard(ctx) // what is not noted
	}
	return false, err
}

// settled tells which rows of the sources are left, by what all resolve tasks
// have come to.
func (w *work) settled(ctx context.Context, sources []*source) (*folded, error) {
	v, err := w.notes.verdicts(ctx, sources)
	if err != nil {
		return nil, err
	}
	return settle(sources, v, w.plan, w.m.Settings)
}

// Finish commits a kept plan, all of whose tasks are done. Its errors are those
// of Do; after manifest.ErrUnknown it can be called again.
func Finish(ctx context.Context, t *manifest.Topic, plan manifest.JobID, observer Observer, job Job) (Result, error) {
	w, err := planned(ctx, t, plan, observer, job)
	if err != nil {
		return Result{}, err
	}
	result := Result{Topic: t.Name(), Stop: w.plan.Stop, Estimate: w.plan.Estimate, Tries: 1}
	edit, err := w.gathered(ctx)
	if err != nil {
		w.store.discard(ctx)
		return Result{}, fmt.Errorf("plan %s: %w", plan, err)
	}
	result, err = w.commit(ctx, job.Commits[0], edit, result)
	if err != nil {
		return Result{}, fmt.Errorf("plan %s: %w", plan, err)
	}
	return result, nil
}

// gathered puts together what all tasks were noted to have come to.
func (w *work) gathered(ctx context.Context) (*manifest.Compact, error) {
	all := new(made)
	var missing []int
	for i := range w.plan.of(TaskWrite) {
		one, err := w.notes.made(ctx, i)
		switch {
		case err != nil:
			return nil, err
		case one == nil:
			missing = append(missing, w.notes.index(TaskWrite, i))
		default:
			all.join(one)
		}
	}
	if len(missing) > 0 {
		return nil, w.notes.notDone(ctx, missing)
	}
	sources, err := openSources(ctx, w.topic, w.m, w.plan, w.job.Policy, w.tell)
	if err != nil {
		return nil, err
	}
	f, err := w.settled(ctx, sources)
	if err != nil {
		return nil, err
	}
	return w.edit(ctx, f, all, nil)
}

// planned is the work on a kept plan that still holds.
func planned(ctx context.Context, t *manifest.Topic, plan manifest.JobID, observer Observer, job Job) (*work, error) {
	if err := job.Validate(); err != nil {
		return nil, err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	var noted Noted
	found, err := t.Plan(ctx, plan, &noted)
	switch {
	case err != nil:
		return nil, err
	case !found || noted.Job != plan:
		return nil, fmt.Errorf("plan %s: %w", plan, ErrNoPlan)
	case !noted.holds(m):
		return nil, fmt.Errorf("plan %s: %w: the topic has changed since", plan, manifest.ErrConflict)
	}
	w := &work{topic: t, job: job, tell: &teller{observer: observer}, store: &shelf{topic: t}, m: m}
	w.goOn(&noted)
	return w, nil
}

package compactor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// notes are what a job keeps of its plan in the store: the plan, and what each
// task of it has come to. So a run that was killed is gone on with by the next
// one, and several processes can share the tasks of one plan.
//
// They are no lock and no promise. Whoever finds the notes of a job, and sees
// that its plan still holds, may do what is not done yet, at the same time as
// others: of two that do one task, the one that is noted first counts. All that
// is noted was put under the id of the job, and is committed under it, so a
// collection that shuts out the job shuts out all of them.
type notes struct {
	topic *manifest.Topic
	job   manifest.JobID
	plan  *Plan
	id    string // of the plan; see Noted
}

// Noted is a plan that is kept.
type Noted struct {
	Job manifest.JobID `json:"job"`

	// ID is a digest of the plan. What tasks come to is noted under it: a job
	// that was overtaken may plan again when its first plan is done with, while
	// somebody still works on that.
	ID    string `json:"id"`
	Basis string `json:"basis"` // digest of what the plan was made from
	Plan  *Plan  `json:"plan"`
}

// basisOf is a digest of all that the results of p depend on: what it folds,
// the compacted segments, their dead rows, and the settings. Originals and
// their transactions do not change below a horizon that was possible once.
func basisOf(m *manifest.Manifest, p *Plan) (string, error) {
	type segment struct{ Object, Dead string }
	var tier []segment
	for i := range m.Compacted {
		s := segment{Object: m.Compacted[i].Object}
		if d := m.Compacted[i].Dead; d != nil {
			s.Dead = d.Object
		}
		tier = append(tier, s)
	}
	var originals []string
	for _, s := range overlapping(m.Originals, p.Range()) {
		originals = append(originals, s.Object)
	}
	body, err := json.Marshal([]any{m.Topic, m.Horizon, p.To, originals, tier, m.Quarantined, m.Settings})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}

// holds reports whether the plan can still be committed to m.
func (n *Noted) holds(m *manifest.Manifest) bool {
	if n.Job < m.MinJob || slices.Contains(m.Fenced, n.Job) {
		return false
	}
	basis, err := basisOf(m, n.Plan)
	return err == nil && basis == n.Basis
}

// takeNotes begins the notes of a job. A job that plans again while its old plan
// is there has none.
func takeNotes(ctx context.Context, t *manifest.Topic, job manifest.JobID, m *manifest.Manifest, p *Plan) (*notes, error) {
	basis, err := basisOf(m, p)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	id := hex.EncodeToString(sum[:8])
	mine, err := t.KeepPlan(ctx, job, Noted{job, id, basis, p})
	if err != nil {
		return nil, fmt.Errorf("keep the plan: %w", err)
	}
	if !mine {
		return nil, nil
	}
	return &notes{t, job, p, id}, nil
}

// resume goes on with the newest plan of another job that still holds, if there
// is one.
func (w *work) resume(ctx context.Context) error {
	jobs, err := w.topic.Planned(ctx)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		var noted Noted
		found, err := w.topic.Plan(ctx, job, &noted)
		if err != nil {
			return err
		}
		if found && noted.Job == job && noted.holds(w.m) {
			w.goOn(&noted)
			return nil
		}
	}
	return nil
}

// goOn makes w the work of a process on the plan of another job.
func (w *work) goOn(n *Noted) {
	w.store.begin(n.Job, string(w.job.ID))
	w.job.ID, w.plan, w.resumed = n.Job, n.Plan, true
	w.notes = &notes{w.topic, n.Job, n.Plan, n.ID}
}

// notedMade is what a write task has come to.
type notedMade struct {
	Segments []manifest.Segment `json:"segments"`
	Rows     int64              `json:"rows"`
	Adopted  Adopted            `json:"adopted"`
}

// name is that of what the task with an index has come to.
func (n *notes) name(index int) string { return fmt.Sprintf("%s-%d", n.id, index) }

// index is the number of the ith task of a kind among all of the plan.
func (n *notes) index(kind TaskKind, i int) int {
	if kind == TaskWrite {
		i += n.plan.of(TaskResolve)
	}
	return i
}

// made is what the ith write task has come to, or nil.
func (n *notes) made(ctx context.Context, i int) (*made, error) {
	var noted notedMade
	found, err := n.topic.Work(ctx, n.job, n.name(n.index(TaskWrite, i)), &noted)
	if !found || err != nil {
		return nil, err
	}
	return &made{noted.Segments, noted.Rows, noted.Adopted}, nil
}

// keepMade notes what the ith write task has come to, and returns what it was
// noted to have come to first. From the attempt on, others may commit what was
// put, so it is not pending any more.
func (n *notes) keepMade(ctx context.Context, i int, one *made, store *shelf) (*made, error) {
	put := store.keep()
	mine, err := n.topic.KeepWork(ctx, n.job, n.name(n.index(TaskWrite, i)), notedMade{one.list, one.rows, one.adopted})
	if err != nil {
		return nil, fmt.Errorf("note write task %d: %w", i, err)
	}
	if mine {
		return one, nil
	}
	_ = n.topic.Discard(ctx, put) // an error wastes space and nothing else
	first, err := n.made(ctx, i)
	if first == nil && err == nil {
		err = fmt.Errorf("%w: the job has ended", manifest.ErrConflict)
	}
	return first, err
}

// notedVerdict is what a resolve task has come to.
type notedVerdict struct {
	Losers [][]byte `json:"losers"` // by source: a bitmap in its portable form
	Dirty  losses   `json:"dirty"`
	Older  losses   `json:"older"`
}

// verdict is what the ith resolve task has come to, or nil.
func (n *notes) verdict(ctx context.Context, i int, sources []*source) (*verdict, error) {
	var noted notedVerdict
	found, err := n.topic.Work(ctx, n.job, n.name(i), &noted)
	if !found || err != nil {
		return nil, err
	}
	if len(noted.Losers) != len(sources) {
		return nil, fmt.Errorf("%w: resolve task %d is about %d segments, want %d", manifest.ErrInvariant, i, len(noted.Losers), len(sources))
	}
	v := newVerdict(sources)
	v.dirty, v.older = noted.Dirty, noted.Older
	for place, body := range noted.Losers {
		losers := roaring.New()
		if err := losers.UnmarshalBinary(body); err != nil {
			return nil, fmt.Errorf("what resolve task %d has come to: %w", i, err)
		}
		for rows := losers.Iterator(); rows.HasNext(); {
			v.losers[place].add(rows.Next())
		}
	}
	return v, nil
}

func (n *notes) keepVerdict(ctx context.Context, i int, v *verdict) error {
	noted := notedVerdict{Dirty: v.dirty, Older: v.older}
	for _, losers := range v.losers {
		rows, err := bitmapBytes(losers.bitmap())
		if err != nil {
			return err
		}
		noted.Losers = append(noted.Losers, rows)
	}
	if _, err := n.topic.KeepWork(ctx, n.job, n.name(i), noted); err != nil {
		return fmt.Errorf("note resolve task %d: %w", i, err)
	}
	return nil
}

// ErrNotDone says that tasks must be done before what was asked for.
var ErrNotDone = errors.New("tasks are not done yet")

// verdicts puts together what all resolve tasks have come to.
func (n *notes) verdicts(ctx context.Context, sources []*source) (*verdict, error) {
	all := newVerdict(sources)
	var missing []int
	for i := range n.plan.of(TaskResolve) {
		v, err := n.verdict(ctx, i, sources)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			missing = append(missing, i)
		default:
			all.add(v)
		}
	}
	if len(missing) > 0 {
		return nil, n.notDone(ctx, missing)
	}
	return all, nil
}

// notDone says that tasks are missing, unless the plan is gone with all that
// was noted.
func (n *notes) notDone(ctx context.Context, missing []int) error {
	found, err := n.topic.Plan(ctx, n.job, new(Noted))
	switch {
	case err != nil:
		return err
	case !found:
		return ErrNoPlan
	}
	return fmt.Errorf("%w: %v", ErrNotDone, missing)
}

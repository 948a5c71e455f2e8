package compactor

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// wideWorld has an older run, and originals of which a dozen shares can be
// made.
func wideWorld(t *testing.T) *world {
	w := testWorld(t, "segment_bytes=2KiB", "batch_bytes=1KiB", "max_dead_share=0.2")
	list := history(3, 8)
	w.add(list[:2]...)
	w.run()
	w.add(list[2:]...)
	return w
}

// keepPlan plans so many tasks of each kind, and keeps the plan.
func (w *world) keepPlan(tasks int) (manifest.JobID, *Plan) {
	w.Helper()
	ctx := context.Background()
	m := w.latest()
	cut, err := Survey(ctx, w.topic, m, w.now)
	w.must(err)
	policy := w.policy
	policy.Tasks = tasks
	p := PlanRun(m, cut, w.now, policy)
	job := w.jobID()
	w.must(Keep(ctx, w.topic, m, job, &p))
	return job, &p
}

func (w *world) do(plan manifest.JobID, index int) (Done, error) {
	return Do(context.Background(), w.topic, plan, index, nil, w.job(1))
}

func (w *world) finish(plan manifest.JobID) (Result, error) {
	return Finish(context.Background(), w.topic, plan, nil, w.job(1))
}

// work lists what is kept of jobs.
func (w *world) work() []string {
	w.Helper()
	var keys []string
	for entry, err := range w.store.List(context.Background(), "", "") {
		w.must(err)
		if strings.Contains(entry.Key, "/j/") || strings.HasPrefix(entry.Key, "plans/") {
			keys = append(keys, entry.Key)
		}
	}
	return keys
}

// TestTasksOfManyProcessesMakeWhatOneRunMakes does the tasks of a plan in any
// order, some of them twice.
func TestTasksOfManyProcessesMakeWhatOneRunMakes(t *testing.T) {
	whole := wideWorld(t)
	want := whole.run()
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := wideWorld(t)
		plan, p := w.keepPlan(3)
		if n := p.of(TaskResolve); n != 3 || len(p.Tasks) != 6 {
			t.Fatalf("tasks %+v, want 3 and 3", p.Tasks)
		}
		if _, err := w.do(plan, 4); !errors.Is(err, ErrNotDone) {
			t.Errorf("a write task says %v before the resolve tasks are done", err)
		}
		for _, from := range []int{0, 3} {
			for n, i := range append(rng.Perm(3), rng.IntN(3)) {
				if from == 0 || n < 3 {
					if _, err := w.finish(plan); !errors.Is(err, ErrNotDone) {
						t.Fatalf("it is finished with %v before all is done", err)
					}
				}
				first := len(w.work())
				done, err := w.do(plan, from+i)
				if err != nil {
					t.Fatal(err)
				}
				if again := len(w.work()) == first; again != (done.State == "already_done") || done.Index != from+i {
					t.Errorf("task %d: %+v", from+i, done)
				}
			}
		}
		w.pass(hour)
		got, err := w.finish(plan)
		if err != nil {
			t.Fatal(err)
		}
		if got.Report != want.Report || got.Horizon != want.Horizon || got.State != StateCompacted {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
		if !slices.Equal(w.live(), whole.live()) {
			t.Errorf("seed %d: rows\n%s\nwant\n%s", seed, strings.Join(w.live(), "\n"), strings.Join(whole.live(), "\n"))
		}
		for _, s := range w.latest().Compacted[len(whole.latest().Compacted):] {
			if !s.CompactedAt.Equal(w.now) {
				t.Errorf("retention counts from %s, and it was committed at %s", s.CompactedAt, w.now)
			}
		}
		w.wantProved()
		w.wantNoWaste()
		if left := w.work(); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
		if _, err := w.finish(plan); !errors.Is(err, ErrNoPlan) {
			t.Errorf("finished again: %v", err)
		}
	}
}

// TestOfTwoThatDoOneTaskTheFirstCounts lets another process do the same task
// just before this one notes what it came to.
func TestOfTwoThatDoOneTaskTheFirstCounts(t *testing.T) {
	w := wideWorld(t)
	plan, p := w.keepPlan(2)
	for i := range p.Tasks {
		raced := false
		store := fault.New(w.store, func(op fault.Op) fault.Fault {
			if op.Verb == fault.Put && strings.Contains(op.Key, "/j/") && !raced {
				raced = true
				if _, err := w.do(plan, i); err != nil {
					t.Error(err)
				}
			}
			return fault.None
		})
		if _, err := Do(t.Context(), w.through(store, often), plan, i, nil, w.job(1)); err != nil || !raced {
			t.Fatalf("task %d: %v", i, err)
		}
	}
	if _, err := w.finish(plan); err != nil {
		t.Fatal(err)
	}
	w.wantProved()
	w.wantNoWaste()
}

// tooLate reports whether err says that a plan is not to be finished any more.
func tooLate(err error) bool {
	return errors.Is(err, manifest.ErrConflict) || errors.Is(err, ErrNoPlan)
}

// TestOfTwoThatFinishOneCommits lets another process finish the plan before
// each store call of this one.
func TestOfTwoThatFinishOneCommits(t *testing.T) {
	whole := wideWorld(t)
	whole.run()
	for n := int64(0); ; n += stride {
		w := wideWorld(t)
		plan, p := w.keepPlan(2)
		for i := range p.Tasks {
			_, err := w.do(plan, i)
			w.must(err)
		}
		before, other := w.compactions(), false
		store := fault.New(w.store, func(op fault.Op) fault.Fault {
			if op.N == n {
				other = true
				if _, err := w.finish(plan); !tooLate(err) {
					w.must(err)
				}
			}
			return fault.None
		})
		topic := w.through(store, often)
		w.policy.Parallel = 1
		_, err := Finish(t.Context(), topic, plan, nil, w.job(1))
		if err != nil && (!other || !tooLate(err)) {
			t.Errorf("before call %d: %v", n, err)
		}
		if got := w.compactions() - before; got != 1 {
			t.Fatalf("before call %d: %d compactions", n, got)
		}
		if !slices.Equal(w.live(), whole.live()) {
			t.Errorf("before call %d: rows\n%s", n, strings.Join(w.live(), "\n"))
		}
		w.wantProved()
		if !other {
			return
		}
	}
}

// TestAPlanThatWasOvertakenIsRefused: what it was made from is not there any
// more.
func TestAPlanThatWasOvertakenIsRefused(t *testing.T) {
	for name, other := range map[string]func(*world){
		"a compaction": func(w *world) { w.run() },
		"a setting":    func(w *world) { w.set("keyless=drop") },
		"a collection that shuts the job out": func(w *world) {
			c, err := w.topic.PlanCollection(context.Background(), manifest.Keep{Since: w.now.Add(hour), Versions: 1, MinJob: w.jobID()})
			w.must(err)
			w.must(c.Commit(context.Background(), manifest.Change{Commit: w.commitID(), Job: w.jobID(), Now: w.now}))
			w.must(c.Delete(context.Background(), func(manifest.Garbage) {}))
			if left := w.work(); len(left) > 0 {
				w.Fatalf("%q are left", left)
			}
		},
	} {
		w := wideWorld(t)
		plan, p := w.keepPlan(2)
		_, err := w.do(plan, 0)
		w.must(err)
		other(w)
		for i := range p.Tasks {
			if _, err := w.do(plan, i); !tooLate(err) {
				t.Errorf("after %s: task %d: %v", name, i, err)
			}
		}
		if _, err := w.finish(plan); !tooLate(err) {
			t.Errorf("after %s: finish: %v", name, err)
		}
		w.run()
		w.wantProved()
	}
}

// TestAKilledRunIsGoneOnWith stops a run at each store call. The next one does
// not do again what was finished, also when something was appended since, and
// comes to the same view as one that was not killed.
func TestAKilledRunIsGoneOnWith(t *testing.T) {
	const more = "90:0 a=last\n 90:1 z=last"
	whole := wideWorld(t)
	whole.policy.ShareBytes = 1500
	all := whole.run()
	whole.add(more)
	whole.run()
	want := whole.live()

	resumed, saved := 0, int64(0)
	for n := int64(1); ; n += stride {
		w := wideWorld(t)
		w.policy.ShareBytes, w.policy.Parallel = 1500, 1
		ctx, kill := context.WithCancel(t.Context())
		var calls atomic.Int64
		armed := false
		store := fault.New(w.store, func(op fault.Op) fault.Fault {
			if calls.Add(1) >= n && armed {
				kill()
				return fault.Before
			}
			return fault.None
		})
		topic := w.through(store, never)
		calls.Store(0)
		armed = true
		_, err := Run(ctx, topic, nil, w.job(1))
		kill()
		if calls.Load() < n {
			w.must(err)
			break
		}
		done := w.latest().Horizon == w.latest().Last // and nobody goes on with it
		w.add(more)
		r, err := Run(t.Context(), w.topic, nil, w.job(3))
		w.must(err)
		if r.Resumed {
			resumed++
			saved = max(saved, all.Wrote.Bytes-r.Wrote.Bytes)
		}
		if got := w.live(); !slices.Equal(got, want) {
			t.Fatalf("killed at call %d: rows\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if m := w.latest(); m.Horizon != m.Last {
			t.Errorf("killed at call %d: the horizon is %s, want %s", n, m.Horizon, m.Last)
		}
		w.wantProved()
		if left := w.work(); len(left) > 0 && !done {
			t.Errorf("killed at call %d: %q are left", n, left)
		}
	}
	if resumed < 3 || saved < all.Wrote.Bytes/2 {
		t.Errorf("%d runs went on, and %d bytes of %d were not written again at best", resumed, saved, all.Wrote.Bytes)
	}
}

package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/segments"
)

// perCall is how long a store call takes, in the time of a synctest bubble. It
// is short, for what is to be done is little.
const perCall = time.Second / 10_000

func slow(fault.Op) fault.Fault {
	time.Sleep(perCall)
	return fault.None
}

// deadlineIn is a deadline after a while.
func deadlineIn(d time.Duration) *Deadline {
	end := time.Now().Add(d)
	up := make(chan struct{})
	if d <= 0 {
		close(up)
	} else {
		time.AfterFunc(d, func() { close(up) })
	}
	return &Deadline{Left: func() time.Duration { return time.Until(end) }, Up: up}
}

// longWorld has some older segments, and many originals to fold.
func longWorld(t *testing.T) *world {
	w := testWorld(t, "segment_bytes=64KiB", "batch_bytes=1KiB")
	w.policy.Parallel = 1
	list := history(7, 12)
	w.add(list[:4]...)
	w.run()
	w.add(list[4:]...)
	return w
}

// TestARunEndsInTimeAndKeepsWhatItHas lets the time be up after each number of
// store calls. The run ends well, soon after, what it says is true, nothing is
// wasted, and the run after it comes to the same view as one without deadline.
func TestARunEndsInTimeAndKeepsWhatItHas(t *testing.T) {
	whole := longWorld(t)
	whole.run()
	want := whole.live()
	commits := make(map[int]bool)
	done := false
	for limit := 0; !done; limit += stride {
		synctest.Test(t, func(t *testing.T) { done = runFor(t, limit, want, commits) })
	}
	if len(commits) < 4 {
		t.Errorf("runs made so many commits: %v", commits)
	}
}

// runFor runs for so many calls. It reports whether they were enough for all.
func runFor(t *testing.T, limit int, want []string, commits map[int]bool) bool {
	w := longWorld(t)
	before := w.latest()
	topic := w.through(fault.New(w.store, slow), never)
	job := w.job(50)
	began := time.Now()
	job.Deadline = deadlineIn(time.Duration(limit) * perCall)
	r, err := Run(t.Context(), topic, nil, job)
	if err != nil {
		t.Fatalf("limit %d: %v", limit, err)
	}
	took := int(time.Since(began) / perCall)
	m := w.latest()
	commits[int(m.Version-before.Version)] = true
	if r.Version != m.Version || r.Horizon != m.Horizon || (r.State == StateCompacted) != (m.Version > before.Version) {
		t.Fatalf("limit %d: %+v, and the topic has version %d, horizon %s", limit, r, m.Version, m.Horizon)
	}
	// A commit that is under way is ended, what is left is looked at, and what
	// was dropped is deleted.
	if took > limit+16 {
		t.Errorf("limit %d: it took %d calls", limit, took)
	}
	if m.Horizon == m.Last {
		if r.Left != nil || r.Stop != StopEnd {
			t.Errorf("limit %d: all is done, but %+v", limit, r)
		}
	} else {
		left := segments.Range{After: m.Horizon, Through: m.Last}
		if r.Left == nil || r.Stop != StopDeadline || r.Left.Through != m.Last || r.Left.Segments != int64(len(overlapping(m.Originals, left))) {
			t.Errorf("limit %d: %+v, left %+v", limit, r, r.Left)
		}
	}
	w.wantNoWaste()
	if limit%8 == 0 {
		w.wantProved()
	}
	next := w.run()
	if got := w.live(); !slices.Equal(got, want) {
		t.Fatalf("limit %d: rows\n%s\nwant\n%s", limit, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if in, all := r.Rows.In+next.Rows.In, rowsAfter(before); in != all {
		t.Errorf("limit %d: %d rows went in, then %d, of %d", limit, r.Rows.In, next.Rows.In, all)
	}
	return r.Left == nil
}

func rowsAfter(m *manifest.Manifest) int64 {
	return leftOf(m, m.Last).Rows
}

// With time to spare, a run takes one commit, as it does without a deadline.
func TestARunWithTimeToSpareCommitsOnce(t *testing.T) {
	w := longWorld(t)
	before := w.latest().Version
	job := w.job(5)
	job.Deadline = &Deadline{Left: func() time.Duration { return time.Hour }}
	r, err := Run(t.Context(), w.topic, nil, job)
	if err != nil || r.Left != nil || r.Version != before+1 || r.Tries != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What comes while a run is under way is left alone, so that it ends.
func TestARunWithADeadlineHasAGoal(t *testing.T) {
	w := longWorld(t)
	goal := w.latest().Last
	came := 0
	job := w.job(50)
	job.Deadline = &Deadline{Left: func() time.Duration { return time.Millisecond }} // so slices are small
	r, err := Run(t.Context(), w.topic, onPlan(func() {
		w.add(fmt.Sprintf("90:%d z=1", came))
		came++
	}), job)
	if err != nil || r.Horizon != goal || r.Left != nil || came < 3 {
		t.Errorf("%+v, %v, and %d entries came", r, err, came)
	}
}

// onPlan is an observer that does something with each plan.
type onPlan func()

func (f onPlan) Observe(e Event) {
	if _, ok := e.(Planned); ok {
		f()
	}
}

// An error in a later slice leaves what was committed before.
func TestAnErrorInALaterSliceLosesNothing(t *testing.T) {
	for n := int64(0); ; n += stride {
		w := longWorld(t)
		faulty := fault.New(w.store, fault.Rule{N: n, Fault: fault.Before, Verb: fault.Put}.Hook())
		job := w.job(50)
		job.Deadline = &Deadline{Left: func() time.Duration { return time.Millisecond }, Up: nil}
		_, err := Run(context.Background(), w.through(faulty, never), nil, job)
		if faulty.Struck() == 0 {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, fault.ErrInjected) {
			t.Fatalf("put %d: %v", n, err)
		}
		w.wantProved()
		w.run()
	}
}

func TestSlices(t *testing.T) {
	m := &manifest.Manifest{Horizon: segments.At(0, 1)}
	for i := range int64(4) {
		m.Originals = append(m.Originals, manifest.Segment{
			Range: segments.Range{After: segments.At(0, 2*i-1), Through: segments.At(0, 2*i+1)},
			Info:  segments.Info{Bytes: 100, Index: segments.IndexInfo{Bytes: 10}},
		})
	}
	end := Cut{Through: segments.At(0, 6), Stop: StopMinLag}
	for _, c := range []struct {
		spend   int64
		through string
		stop    Stop
		work    int64
	}{
		{0, "0:3", StopDeadline, 210},
		{419, "0:3", StopDeadline, 210},
		{420, "0:5", StopDeadline, 420},
		{630, "0:6", StopMinLag, 630},
		{1 << 40, "0:6", StopMinLag, 630},
	} {
		b := bounds{spend: c.spend}
		got := b.slice(m, end)
		if got.Through.String() != c.through || got.Stop != c.stop || b.work != c.work || b.whole != (c.stop == StopMinLag) {
			t.Errorf("spend %d: %+v, %+v; want %+v", c.spend, got, b, c)
		}
	}
	b := bounds{spend: 1 << 40}
	b.slice(m, Cut{Through: segments.At(0, 3), Stop: StopEnd})
	if got := b.slice(m, end); got.Through != segments.At(0, 3) || !b.whole {
		t.Errorf("beyond the goal: %+v", got)
	}
	if b := (bounds{work: 100, spend: 49}); b.isTooMuch() {
		t.Error("a slice is refused by a guess")
	}
	if b := (bounds{work: 100, spend: 49, known: true}); !b.isTooMuch() {
		t.Error("a slice that takes twice the time is begun")
	}
}

package manifest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestTheFirstWorkOfATaskCounts: what is noted of a task is noted once, and a
// job has one plan.
func TestTheFirstWorkOfATaskCounts(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	ctx := t.Context()
	var got string
	if found, err := topic.Work(ctx, "J1", "0", &got); found || err != nil {
		t.Errorf("Work = %v, %v before there is any", found, err)
	}
	for i, text := range []string{"first", "second", "first"} {
		mine, err := topic.KeepWork(ctx, "J1", "0", text)
		if err != nil || mine != (text == "first") {
			t.Errorf("try %d: mine is %v, %v", i, mine, err)
		}
		if found, err := topic.Work(ctx, "J1", "0", &got); !found || err != nil || got != "first" {
			t.Errorf("try %d: Work = %q, %v, %v", i, got, found, err)
		}
	}
	for i, job := range []JobID{"J1", "J2", "J2"} {
		if kept, err := topic.KeepPlan(ctx, job, i); err != nil || kept != (i < 2) {
			t.Errorf("plan %d of %s: kept is %v, %v", i, job, kept, err)
		}
	}
	if jobs, err := topic.Planned(ctx); err != nil || !slices.Equal(jobs, []JobID{"J2", "J1"}) {
		t.Errorf("Planned = %v, %v, want J2, J1", jobs, err)
	}
	if name, err := TopicOfPlan(ctx, s, "J2"); name != "orders" || err != nil {
		t.Errorf("TopicOfPlan = %q, %v", name, err)
	}
	var plan int
	if found, err := topic.Plan(ctx, "J2", &plan); !found || plan != 1 || err != nil {
		t.Errorf("Plan = %d, %v, %v", plan, found, err)
	}

	if err := topic.DropWork(ctx, "J1"); err != nil {
		t.Fatal(err)
	}
	if jobs, err := topic.Planned(ctx); err != nil || !slices.Equal(jobs, []JobID{"J2"}) {
		t.Errorf("Planned = %v, %v, want J2", jobs, err)
	}
	if name, err := TopicOfPlan(ctx, s, "J1"); name != "" || err != nil {
		t.Errorf("TopicOfPlan = %q, %v, and it was dropped", name, err)
	}
}

// TestNotesGoWithTheirJob: a collection leaves the notes of a job that may still
// commit, and takes those of one that may not; a delete takes them all.
func TestNotesGoWithTheirJob(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	ctx := t.Context()
	for _, job := range []JobID{"J1", "J2", "J3"} {
		if _, err := topic.KeepPlan(ctx, job, "plan"); err != nil {
			t.Fatal(err)
		}
		if _, err := topic.KeepWork(ctx, job, "0", "work"); err != nil {
			t.Fatal(err)
		}
	}
	c, err := topic.PlanCollection(ctx, Keep{Since: epoch.Add(time.Hour), Versions: 1, MinJob: "J2"})
	if err == nil {
		err = c.Commit(ctx, change("1", nil))
	}
	if err == nil {
		err = c.Delete(ctx, func(Garbage) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	for job, want := range map[JobID]string{"J1": "", "J2": "orders", "J3": "orders"} {
		if name, err := TopicOfPlan(ctx, s, job); name != want || err != nil {
			t.Errorf("the plan of %s is for %q, %v, want %q", job, name, err, want)
		}
		if found, err := topic.Work(ctx, job, "0", new(string)); found != (want != "") || err != nil {
			t.Errorf("the work of %s is there: %v, %v", job, found, err)
		}
	}
	if err := topic.Delete(ctx, change("2", nil)); err != nil {
		t.Fatal(err)
	}
	for entry := range s.List(ctx, "", "") {
		if strings.Contains(entry.Key, "/j/") || strings.HasPrefix(entry.Key, "plans/") {
			t.Errorf("%s is left", entry.Key)
		}
	}
}

// TestNotesThatCannotBeTrusted: damage and faults are errors that name the
// object, never work that is missing or done.
func TestNotesThatCannotBeTrusted(t *testing.T) {
	ctx := context.Background()
	s := new(mem.Store)
	topic := newTopic(t, s)
	for _, key := range []string{"plans/J1", topic.workKey("J1", "0")} {
		if err := s.Put(ctx, key, strings.NewReader(`{"format":1,"reader_required":[],"writer_required":[],"work":"orders","sha256":"0"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := TopicOfPlan(ctx, s, "J1"); !errors.Is(err, segments.ErrCorrupt) {
		t.Errorf("TopicOfPlan = %v, want ErrCorrupt", err)
	}
	if _, err := topic.Work(ctx, "J1", "0", new(string)); !errors.Is(err, segments.ErrCorrupt) || !strings.Contains(err.Error(), "j/J1/0") {
		t.Errorf("Work = %v, want ErrCorrupt with the name", err)
	}
	for n := range int64(4) {
		for _, f := range []fault.Fault{fault.Before, fault.After} {
			s := new(mem.Store)
			base := newTopic(t, s)
			faulty := fault.New(s, fault.At(n, f))
			kept, err := through(base, faulty).KeepPlan(ctx, "J1", "plan")
			if faulty.Struck() > 0 && err == nil {
				// The answer was lost, and what was put is found to be one's own.
				if !kept {
					t.Errorf("fault %d at call %d: a plan of somebody else", f, n)
				}
			}
			if err != nil && !errors.Is(err, ErrUnknown) {
				t.Errorf("fault %d at call %d: %v", f, n, err)
			}
		}
	}
	deaf := through(topic, fault.New(s, func(fault.Op) fault.Fault { return fault.Before }))
	if _, err := deaf.Planned(ctx); !errors.Is(err, fault.ErrInjected) {
		t.Errorf("Planned = %v", err)
	}
	if err := deaf.DropWork(ctx, "J1"); !errors.Is(err, fault.ErrInjected) {
		t.Errorf("DropWork = %v", err)
	}
}

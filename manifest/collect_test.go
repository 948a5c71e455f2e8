package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// putAll puts an object at each key of the topic.
func putAll(t *testing.T, topic *Topic, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := topic.Put(t.Context(), key, bytes.NewReader([]byte(key))); err != nil {
			t.Fatal(err)
		}
	}
}

// lived is a topic with five versions, an hour apart, the objects they name,
// and what two jobs have put that no version names.
//
//	1  J1 appends 0:4    2  J2 compacts it    3  J3 appends 1:2
//	4  J4 compacts that, and a row of J2's segment dies
//	5  J5 trims ledger 0
func lived(t *testing.T, s objstore.Store) *Topic {
	topic := newTopic(t, s)
	putAll(t, topic, "d/J1/0", "x/J1/0", "d/J2/0", "x/J2/0", "d/J3/0", "x/J3/0", "d/J4/0", "x/J4/0", "b/J4/0", "d/H9/0", "d/J9/0")
	m, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, edit := range []func() Edit{
		func() Edit { return appendTo(m, "J1", at(0, 4)) },
		func() Edit {
			return Compact{From: segments.None, To: at(0, 4), Outputs: []Segment{stretch("J2/0", segments.None, at(0, 4))}}
		},
		func() Edit { return appendTo(m, "J3", at(1, 2)) },
		func() Edit {
			return Compact{From: at(0, 4), To: at(1, 2), Outputs: []Segment{stretch("J4/0", at(0, 4), at(1, 2))},
				Dead: []DeadUpdate{{Object: "d/J2/0", Now: DeadRows{Object: "b/J4/0", Rows: 1}}}}
		},
		func() Edit { return Trim{Through: at(0, 4)} },
	} {
		c := change(fmt.Sprint(i+1), edit())
		c.Now = epoch.Add(time.Duration(i+1) * time.Hour)
		if m, err = topic.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return topic
}

// objectsOf lists what lies in the topic's folders of data and manifests.
func objectsOf(t *testing.T, topic *Topic) []string {
	t.Helper()
	var keys []string
	for _, folder := range []string{"b/", "d/", "m/", "p/", "x/"} {
		for entry, err := range topic.store.List(t.Context(), topic.key(folder), "") {
			if err != nil {
				t.Fatal(err)
			}
			key := strings.TrimPrefix(entry.Key, topic.key(""))
			keys = append(keys, strings.Replace(key, "0000000000000000000", "", 1))
		}
	}
	return keys
}

var collections atomic.Int64

func collect(t *testing.T, topic *Topic, keep Keep) error {
	t.Helper()
	c, err := topic.PlanCollection(t.Context(), keep)
	if err != nil {
		return err
	}
	if err := c.Commit(t.Context(), change(fmt.Sprint("gc", collections.Add(1)), nil)); err != nil {
		return err
	}
	return c.Delete(t.Context(), func(Garbage) {})
}

func TestACollectionLeavesWhatIsStillNamed(t *testing.T) {
	all := Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J0"}
	for _, c := range []struct {
		name string
		hold func(*Topic) error
		keep Keep
		want []string
	}{
		{"all but the latest", nil, all,
			[]string{"b/J4/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/5", "m/6", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"no job is shut out", nil, Keep{Since: all.Since, Versions: 1},
			[]string{"b/J4/0", "d/H9/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/5", "m/6", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"nothing is old enough", nil, Keep{Since: epoch, Versions: 1},
			[]string{"b/J4/0", "d/H9/0", "d/J1/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/0", "m/1", "m/2", "m/3", "m/4", "m/5", "x/J1/0", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"a version that was the newest at the time", nil, Keep{Since: epoch.Add(4*time.Hour + time.Minute), Versions: 1, MinJob: "J0"},
			[]string{"b/J4/0", "d/J1/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/4", "m/5", "m/6", "x/J1/0", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"a number of versions", nil, Keep{Since: all.Since, Versions: 3, MinJob: "J0"},
			[]string{"b/J4/0", "d/J1/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/3", "m/4", "m/5", "m/6", "x/J1/0", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"a tag", func(topic *Topic) error { return topic.Tag(t.Context(), "first", 1, false) }, all,
			[]string{"b/J4/0", "d/J1/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/1", "m/5", "m/6", "x/J1/0", "x/J2/0", "x/J3/0", "x/J4/0"}},
		{"a pin", func(topic *Topic) error { return topic.Pin(t.Context(), 1, "reader") }, all,
			[]string{"b/J4/0", "d/J1/0", "d/J2/0", "d/J3/0", "d/J4/0", "d/J9/0", "m/1", "m/5", "m/6", "x/J1/0", "x/J2/0", "x/J3/0", "x/J4/0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			topic := lived(t, new(mem.Store))
			if c.hold != nil {
				if err := c.hold(topic); err != nil {
					t.Fatal(err)
				}
			}
			// The second finds nothing to do, and makes no version.
			for range 2 {
				if err := collect(t, topic, c.keep); err != nil {
					t.Fatal(err)
				}
				if got := objectsOf(t, topic); !slices.Equal(got, c.want) {
					t.Errorf("left\n%q, want\n%q", got, c.want)
				}
			}
		})
	}
}

// TestACollectionThatStoppedIsFinishedByTheNext fails each store call of a
// collection. What the latest version names is there at every moment (B41),
// and the next collection ends where an undisturbed one does.
func TestACollectionThatStoppedIsFinishedByTheNext(t *testing.T) {
	keep := Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J0"}
	undisturbed := lived(t, new(mem.Store))
	if err := collect(t, undisturbed, keep); err != nil {
		t.Fatal(err)
	}
	want := objectsOf(t, undisturbed)
	for _, f := range []fault.Fault{fault.Before, fault.After, fault.Short} {
		for n := int64(0); ; n++ {
			base := new(mem.Store)
			topic := lived(t, base)
			faulty := fault.New(base, fault.At(n, f))
			_ = collect(t, through(topic, faulty), keep)
			if faulty.Struck() == 0 {
				break
			}
			latest, err := topic.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for object := range latest.objects() {
				if _, err := base.Get(t.Context(), topic.key(object), 100); err != nil {
					t.Errorf("fault %d at call %d: %v", f, n, err)
				}
			}
			if err := collect(t, topic, keep); err != nil {
				t.Errorf("fault %d at call %d: the next collection says %v", f, n, err)
			}
			got := slices.DeleteFunc(objectsOf(t, topic), func(key string) bool { return strings.HasPrefix(key, "m/") })
			if want := slices.DeleteFunc(slices.Clone(want), func(key string) bool { return strings.HasPrefix(key, "m/") }); !slices.Equal(got, want) {
				t.Errorf("fault %d at call %d: left\n%q, want\n%q", f, n, got, want)
			}
		}
	}
}

// TestWhatIsAboutToBeCommittedStays is B36: outputs are put, a collection goes
// over the topic, and then they are committed.
func TestWhatIsAboutToBeCommittedStays(t *testing.T) {
	topic := lived(t, new(mem.Store))
	m, _ := topic.Latest(t.Context())
	putAll(t, topic, "d/J6/0", "x/J6/0")
	if err := collect(t, topic, Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J6"}); err != nil {
		t.Fatal(err)
	}
	m = mustCommit(t, topic, "6", appendTo(m, "J6", at(2, 0)))
	for object := range m.objects() {
		if _, err := topic.store.Get(t.Context(), topic.key(object), 100); err != nil {
			t.Error(err)
		}
	}
	// A job that was shut out learns of it instead of naming what is gone.
	if _, err := topic.Commit(t.Context(), Change{Commit: "Cx", Job: "J3", Edit: appendTo(m, "J3", at(3, 0))}); !errors.Is(err, ErrFenced) {
		t.Errorf("Commit = %v, want ErrFenced", err)
	}
}

// TestACommitterThatSleptThroughACollection is B13 with the collection itself.
func TestACommitterThatSleptThroughACollection(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	sleeper := through(topic, &between{base, topic.versionKey(1), func() {
		settings := m.Settings
		for i := range 4 {
			was := settings
			settings.MinLag++
			mustCommit(t, topic, fmt.Sprint("x", i), Set{Was: was, Now: settings})
		}
		if err := collect(t, topic, Keep{Since: epoch.Add(100 * time.Hour), Versions: 1}); err != nil {
			t.Fatal(err)
		}
	}})
	if _, err := sleeper.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, ErrConflict) {
		t.Errorf("Commit = %v, want ErrConflict", err)
	}
	if latest, err := topic.Latest(t.Context()); err != nil || latest.contains("C1") || latest.Kind != "collect" {
		t.Errorf("latest is %+v, %v", latest, err)
	}
}

func TestAPlannedCollectionDeletesNothing(t *testing.T) {
	topic := lived(t, new(mem.Store))
	before := objectsOf(t, topic)
	c, err := topic.PlanCollection(t.Context(), Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J0"})
	if err != nil {
		t.Fatal(err)
	}
	reasons := make(map[Reason]int)
	for g, err := range c.Garbage(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		reasons[g.Reason]++
	}
	if want := map[Reason]int{ReasonExpired: 2, ReasonFenced: 1, ReasonManifest: 5}; fmt.Sprint(reasons) != fmt.Sprint(want) {
		t.Errorf("garbage %v, want %v", reasons, want)
	}
	if after := objectsOf(t, topic); !slices.Equal(before, after) {
		t.Errorf("left\n%q, want\n%q", after, before)
	}
}

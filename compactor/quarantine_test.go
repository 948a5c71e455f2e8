package compactor

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/segments"
)

// lose takes an object of the topic away, and returns what brings it back.
func (w *world) lose(object string) (restore func()) {
	w.Helper()
	ctx := context.Background()
	key := string(w.topic.ID()) + "/" + object
	body, err := w.store.Get(ctx, key, 1<<30)
	w.must(err)
	w.must(w.store.Delete(ctx, key))
	return func() {
		w.must(w.store.Delete(ctx, key))
		w.must(w.store.Put(ctx, key, bytes.NewReader(body)))
	}
}

// spoil changes a byte of an object of the topic.
func (w *world) spoil(object string) (restore func()) {
	w.Helper()
	ctx := context.Background()
	key := string(w.topic.ID()) + "/" + object
	body, err := w.store.Get(ctx, key, 1<<30)
	w.must(err)
	restore = w.lose(object)
	body = slices.Clone(body)
	body[len(body)/2] ^= 1
	w.must(w.store.Put(ctx, key, bytes.NewReader(body)))
	return restore
}

// runs is run with as many tries as it takes.
func (w *world) runs() Result {
	w.Helper()
	r, err := Run(context.Background(), w.topic, nil, w.job(5))
	w.must(err)
	return r
}

// wantHeld fails unless a run ends in quarantine of a segment, with the
// horizon at a place.
func (w *world) wantHeld(object, horizon string) {
	w.Helper()
	r := w.runs()
	if r.State != StateQuarantined || r.Horizon.String() != horizon || r.Stop != StopQuarantine {
		w.Fatalf("run: %s, horizon %s, stopped by %s, want it held at %s", r.State, r.Horizon, r.Stop, horizon)
	}
	m := w.latest()
	if len(r.Quarantined) != 1 || r.Quarantined[0].Object != object || len(m.Quarantined) != 1 || m.Quarantined[0] != r.Quarantined[0] {
		w.Fatalf("quarantined are %+v, want %s", r.Quarantined, object)
	}
}

// TestADamagedOriginalHoldsTheHorizon loses or spoils the second of four
// originals, or its key index, runs, appends, runs and brings it back. What
// lies before it is folded, nothing after it, and in the end all is as if
// nothing had been.
func TestADamagedOriginalHoldsTheHorizon(t *testing.T) {
	for name, damage := range map[string]func(*world, manifest.Segment) func(){
		"a segment is gone":      func(w *world, s manifest.Segment) func() { return w.lose(s.Object) },
		"a segment is damaged":   func(w *world, s manifest.Segment) func() { return w.spoil(s.Object) },
		"a key index is gone":    func(w *world, s manifest.Segment) func() { return w.lose(s.Index) },
		"a key index is damaged": func(w *world, s manifest.Segment) func() { return w.spoil(s.Index) },
	} {
		t.Run(name, func(t *testing.T) {
			w := testWorld(t)
			w.add("1:0 a=1\n 1:1 b=1", "1:2 a=2\n 1:3 c=2", "1:4 c=3\n 1:5 b", "1:6 d=1")
			bad := w.latest().Originals[1]
			restore := damage(w, bad)

			w.wantHeld(bad.Object, "1:1")
			w.wantLive("1:0 a=1", "1:1 b=1")
			version := w.latest().Version
			w.wantHeld(bad.Object, "1:1")
			if now := w.latest().Version; now != version {
				t.Errorf("a run with nothing to do made version %d of %d", now, version)
			}
			w.add("2:0 a=9")
			w.pass(time.Hour)
			since := w.latest().Quarantined[0].Since
			w.wantHeld(bad.Object, "1:1")
			if now := w.latest().Quarantined[0].Since; !now.Equal(since) {
				t.Errorf("quarantined since %s, and then since %s", since, now)
			}

			restore()
			w.wantRunTo(StateCompacted, "2:0")
			w.wantLive("1:4 c=3", "1:5 b", "1:6 d=1", "2:0 a=9")
		})
	}
}

// wantRunTo is wantRun without the account.
func (w *world) wantRunTo(state State, horizon string) {
	w.Helper()
	if r := w.runs(); r.State != state || r.Horizon.String() != horizon || len(r.Quarantined) > 0 {
		w.Fatalf("run: %+v, want %s to %s", r, state, horizon)
	}
}

// TestADamagedCompactedSegmentHoldsEverything: any key may be in there, so no
// fold can be right without it. Neither is a tombstone expired.
func TestADamagedCompactedSegmentHoldsEverything(t *testing.T) {
	for _, which := range []string{"segment", "index", "dead rows"} {
		for _, damage := range []func(*world, string) func(){(*world).lose, (*world).spoil} {
			w := busyWorld(t)
			w.run()
			m := w.latest()
			i := slices.IndexFunc(m.Compacted, func(s manifest.Segment) bool { return s.Dead != nil })
			if i < 0 {
				t.Fatal("no compacted segment has dead rows")
			}
			bad := m.Compacted[i]
			restore := damage(w, map[string]string{"segment": bad.Object, "index": bad.Index, "dead rows": bad.Dead.Object}[which])
			w.add("5:0 a=9\n 5:1 =9\n 5:2 b=9\n 5:3 e=9\n 5:4 f=9")
			w.pass(2 * hour)
			r := w.runs()
			if which == "segment" && r.State == StateCompacted {
				restore() // a fold reads key indexes, and had no need of the rest
				continue
			}
			w.wantHeld(bad.Object, m.Horizon.String())
			restore()
			w.wantRunTo(StateCompacted, "5:4")
			w.wantProved()
		}
	}
}

// A store that gives wrong bytes once has damaged nothing: nothing is set
// aside, and the run goes on.
func TestALieOfTheStoreIsNoDamage(t *testing.T) {
	for _, lie := range []string{"wrong", "missing"} {
		for _, object := range []string{"/d/", "/x/"} {
			w := testWorld(t, "order=event_time")
			w.add("1:0 a=1\n 1:1 b=1", "1:2 a=2\n 1:3 c=2")
			var lies atomic.Int64
			once := func(op fault.Op) fault.Fault {
				if op.Verb == fault.ReadAt && strings.Contains(op.Key, object) && lies.CompareAndSwap(0, 1) {
					if lie == "missing" {
						return fault.Missing
					}
					return fault.Wrong
				}
				return fault.None
			}
			r, err := Run(context.Background(), w.through(fault.New(w.store, once), never), nil, w.job(1))
			if err != nil || r.State != StateCompacted || lies.Load() == 0 {
				t.Errorf("%s once in %s: %s, %v", lie, object, r.State, err)
			}
			w.wantLive("1:1 b=1", "1:2 a=2", "1:3 c=2")
			for m, err := range w.topic.Versions(context.Background()) {
				if w.must(err); m.Kind == "quarantine" {
					t.Errorf("%s once in %s: it was set aside", lie, object)
				}
			}
		}
	}
}

// A run with a deadline sets aside too, and folds what lies before.
func TestARunWithADeadlineSetsAside(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1", "1:1 b=1", "1:2 c=1")
	bad := w.latest().Originals[1]
	restore := w.lose(bad.Object)
	for _, want := range []string{"1:0", "1:0"} {
		job := w.job(9)
		job.Deadline = &Deadline{Left: func() time.Duration { return time.Hour }, Up: make(chan struct{})}
		r, err := Run(context.Background(), w.topic, nil, job)
		if err != nil || r.State != StateQuarantined || r.Horizon.String() != want || len(r.Quarantined) != 1 {
			t.Fatalf("run: %+v, %v", r, err)
		}
	}
	restore()
	w.wantRunTo(StateCompacted, "1:2")
}

// A run that comes upon more damage than it has commit ids says what it has
// set aside, and the next one goes on.
func TestMuchDamageIsSetAsideInTheEnd(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1", "1:1 b=1", "1:2 c=1", "1:3 d=1")
	w.policy.Parallel = 1
	for _, s := range w.latest().Originals[1:] {
		w.lose(s.Object)
	}
	for range 4 {
		r := w.run()
		if r.State != StateQuarantined {
			t.Fatalf("run: %+v", r)
		}
	}
	if m := w.latest(); m.Horizon.String() != "1:0" {
		t.Errorf("horizon %s, quarantined %+v", m.Horizon, m.Quarantined)
	}
}

// TestALiftLooksBeforeItLifts: by hand, nothing can be lifted that is not
// whole, and nothing is lifted that was not named.
func TestALiftLooksBeforeItLifts(t *testing.T) {
	ctx := context.Background()
	w := testWorld(t)
	w.add("1:0 a=1", "1:1 b=1", "1:2 c=1")
	first, second := w.latest().Originals[1], w.latest().Originals[2]
	restoreSecond := w.lose(second.Object)
	w.wantHeld(second.Object, "1:1")
	// It was folded, so it cannot hold anything any more.
	w.lose(first.Object)

	r, err := Lift(ctx, w.topic, nil, w.job(1), []string{second.Object})
	if !errors.Is(err, ErrQuarantined) || len(r.Lifted) != 0 || len(r.Left) != 1 {
		t.Errorf("lift of what is not whole: %+v, %v", r, err)
	}
	restoreSecond()
	if r, err = Lift(ctx, w.topic, nil, w.job(1), []string{first.Object}); err != nil || len(r.Lifted) != 0 || len(r.Left) != 1 {
		t.Errorf("lift of something else: %+v, %v", r, err)
	}
	if r, err = Lift(ctx, w.topic, nil, w.job(1), []string{second.Object}); err != nil || !slices.Equal(r.Lifted, []string{second.Object}) || len(r.Left) != 0 {
		t.Errorf("lift: %+v, %v", r, err)
	}
	w.wantRunTo(StateCompacted, "1:2")
}

// TestDamageChangesNoViewForGood takes a topic through a random life in which
// objects vanish, or change, and come back, and holds it to the model in the
// end. Meanwhile every run says what it is held by, and none fails.
func TestDamageChangesNoViewForGood(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLife(t)
		l.world.set("tombstone_retention=forever", "retention=0s")
		l.model.settings = l.latest().Settings
		damaged := make(map[string]func())

		run := func(t *rapid.T) {
			l.world.tb = t
			r := l.runs()
			if r.State == StateQuarantined {

				if len(damaged) == 0 {
					t.Fatalf("nothing is damaged, and held by %+v", r.Quarantined)
				}
			}
			if m := l.latest(); (r.State == StateQuarantined) != (len(m.Quarantined) > 0) {
				t.Fatalf("%s, and quarantined are %+v", r.State, m.Quarantined)
			}
		}
		mend := func(t *rapid.T) {
			l.world.tb = t
			for object, restore := range damaged {
				restore()
				delete(damaged, object)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) {},
			"append": l.append,
			"run":    run,
			"trim": func(t *rapid.T) {
				l.world.tb = t
				_, err := Trim(context.Background(), l.topic, l.job(1))
				l.must(err)
			},
			"damage": func(t *rapid.T) {
				l.world.tb = t
				m := l.latest()
				var all []string
				for _, s := range slices.Concat(m.Originals, m.Compacted) {
					if s.Object != "" {
						all = append(all, s.Object, s.Index)
					}
					if s.Dead != nil {
						all = append(all, s.Dead.Object)
					}
				}
				all = slices.DeleteFunc(all, func(object string) bool { return damaged[object] != nil })
				if len(all) == 0 {
					t.Skip("there is nothing to damage")
				}
				object := rapid.SampledFrom(all).Draw(t, "object")
				how := rapid.SampledFrom([]func(string) func(){l.lose, l.spoil}).Draw(t, "how")
				damaged[object] = how(object)
			},
			"mend": mend,
		})
		mend(t)
		run(t)
		l.model.run(l.now)
		if m := l.latest(); m.Horizon != l.model.horizon || len(m.Quarantined) > 0 {
			t.Fatalf("horizon %s, want %s; quarantined %+v", m.Horizon, l.model.horizon, m.Quarantined)
		}
		l.check(t)
		l.wantProved()

	})
}

// A segment that was set aside stays in the raw tier, and who reads it is told
// its name.
func TestAQuarantinedSegmentIsReadAsItIs(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1", "1:1 b=1")
	bad := w.latest().Originals[1]
	w.spoil(bad.Object)
	w.wantHeld(bad.Object, "1:0")
	m := w.latest()
	if len(m.Originals) != 2 || m.Originals[1].Object != bad.Object {
		t.Fatalf("originals are %+v", m.Originals)
	}
	file, err := w.topic.OpenSegment(context.Background(), &m.Originals[1])
	w.must(err)
	for _, err := range file.Scan(context.Background(), []int{0}, segments.All) {
		if !errors.Is(err, segments.ErrCorrupt) || !strings.Contains(err.Error(), bad.Object) {
			t.Errorf("%v, want it to name %s", err, bad.Object)
		}
	}
}

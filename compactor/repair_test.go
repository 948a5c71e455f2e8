package compactor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// TestARepairMakesKeyIndexesAnew loses or spoils each key index of a topic in
// turn, and all of them. A repair puts back the very bytes that were there.
func TestARepairMakesKeyIndexesAnew(t *testing.T) {
	ctx := context.Background()
	w := busyWorld(t)
	w.run()
	m := w.latest()
	before := objects(t, w.store)
	var all []string
	for _, s := range slices.Concat(m.Originals, m.Compacted) {
		if s.Object != "" {
			all = append(all, s.Index)
		}
	}
	for _, damage := range []func(string) func(){w.lose, w.spoil} {
		for _, some := range append([][]string{all}, slices.Collect(slices.Chunk(all, 1))...) {
			for _, index := range some {
				damage(index)
			}
			repaired, err := Repair(ctx, w.topic, m)
			w.must(err)
			var got []string
			for _, r := range repaired {
				got = append(got, r.Object)
			}
			if !slices.Equal(got, some) {
				t.Errorf("repaired %v, want %v", repaired, some)
			}
			for key, body := range objects(t, w.store) {
				if string(body) != string(before[key]) {
					t.Errorf("%s is another one", key)
				}
			}
			w.wantProved()
		}
	}
}

// What cannot be made anew is left as it is, for Verify to name.
func TestARepairLeavesWhatItCannotMake(t *testing.T) {
	ctx := context.Background()
	for _, damage := range []func(*world, string) func(){(*world).lose, (*world).spoil} {
		w := busyWorld(t)
		w.run()
		m := w.latest()
		i := slices.IndexFunc(m.Compacted, func(s manifest.Segment) bool { return s.Dead != nil })
		damage(w, m.Originals[0].Object)
		damage(w, m.Originals[0].Index)
		damage(w, m.Compacted[i].Dead.Object)
		before := objects(t, w.store)
		repaired, err := Repair(ctx, w.topic, m)
		w.must(err)
		if len(repaired) > 0 {
			t.Errorf("repaired %v", repaired)
		}
		for key, body := range objects(t, w.store) {
			if string(body) != string(before[key]) {
				t.Errorf("%s is another one", key)
			}
		}
		proof, err := Verify(ctx, w.topic, m)
		w.must(err)
		if len(proof.Findings) < 2 {
			t.Errorf("findings are %v", proof.Findings)
		}
	}
}

// A repair whose requests fail is finished by the next.
func TestARepairThatStoppedIsFinishedByTheNext(t *testing.T) {
	ctx := context.Background()
	w := busyWorld(t)
	m := w.latest()
	for _, f := range []fault.Fault{fault.Before, fault.After, fault.Short} {
		for n := int64(0); ; n++ {
			w.spoil(m.Originals[0].Index)
			faulty := fault.New(w.store, nil)
			armed := fault.New(w.store, fault.At(n+opening(w, faulty), f))
			_, err := Repair(ctx, w.through(armed, never), m)
			if armed.Struck() == 0 {
				w.must(err)
				break
			}
			if err != nil && !errors.Is(err, fault.ErrInjected) && !strings.Contains(err.Error(), "exists") {
				t.Errorf("call %d: %v", n, err)
			}
			_, err = Repair(ctx, w.topic, m)
			w.must(err)
			w.wantProved()
		}
	}
}

// opening is the number of calls that opening a topic takes.
func opening(w *world, s *fault.Store) int64 {
	w.through(s, never)
	return s.Calls()
}

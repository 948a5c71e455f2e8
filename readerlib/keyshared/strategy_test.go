package keyshared

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// owners prints who owns the slots from 1 to n, as runs.
func owners(d division, n int) string {
	var b strings.Builder
	var was *Worker
	t := new(table)
	d.fill(t)
	for s := 1; s <= n; s++ {
		if w := t[s]; w != was {
			name := "-"
			if w != nil {
				name = w.name
			}
			fmt.Fprintf(&b, " %d:%s", s, name)
			was = w
		}
	}
	return strings.TrimSpace(b.String())
}

// The example of Pulsar's documentation: 64 slots and four consumers.
func TestAutoSplitHalvesTheLongestRun(t *testing.T) {
	d := &autoSplit{size: 64}
	var c [5]*Worker
	for i := 1; i <= 4; i++ {
		c[i] = &Worker{name: fmt.Sprintf("c%d", i)}
		if err := d.join(c[i], nil); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		leaves int
		want   string
	}{
		{0, "1:c3 17:c2 33:c4 49:c1"},
		{2, "1:c3 17:c4 49:c1"}, // to the neighbour above
		{1, "1:c3 17:c4"},       // there is none above
		{4, "1:c3"},
		{3, ""},
	}
	for _, step := range steps {
		if step.leaves > 0 {
			d.leave(c[step.leaves])
		}
		if got := owners(d, 64); got != step.want {
			t.Errorf("after c%d left: %q, want %q", step.leaves, got, step.want)
		}
	}
}

func TestAutoSplitRefusesMoreWorkersThanSlots(t *testing.T) {
	d := &autoSplit{size: 4}
	for range 4 {
		if err := d.join(&Worker{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.join(&Worker{}, nil); !errors.Is(err, ErrSlots) {
		t.Errorf("a fifth worker of 4 slots: %v, want ErrSlots", err)
	}
}

// Slots move only to the one who joins, and only from the one who leaves, also
// among many workers, whose points collide.
func TestConsistentHashingMovesNothingBetweenOthers(t *testing.T) {
	d := new(ring)
	var workers []*Worker
	all := func() (t table) {
		d.fill(&t)
		return t
	}
	before := all()
	check := func(who *Worker) {
		t.Helper()
		after := all()
		for s := range after {
			if before[s] != after[s] && before[s] != who && after[s] != who {
				t.Fatalf("slot %d moved from %s to %s when %s came or went", s, before[s].name, after[s].name, who.name)
			}
		}
		before = after
	}
	for i := range 60 {
		w := &Worker{name: fmt.Sprintf("w%d", i/2)} // two of each name
		if err := d.join(w, nil); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
		if i > 0 {
			check(w)
		}
		before = all()
	}
	collisions := 0
	for _, p := range d.points {
		collisions += len(p.workers) - 1
	}
	if collisions == 0 {
		t.Error("no points collided, so the test shows nothing")
	}
	for i := range 55 {
		d.leave(workers[i])
		check(workers[i])
	}
}

func TestPointsOnTheRingAreThoseOfPulsar(t *testing.T) {
	d := new(ring)
	w := &Worker{name: "consumer"}
	if err := d.join(w, nil); err != nil {
		t.Fatal(err)
	}
	for point := range 100 {
		s := SlotOf(fmt.Appendf(nil, "consumer\x000\x00%d", point))
		found := false
		for _, p := range d.points {
			found = found || p.slot == s
		}
		if !found {
			t.Errorf("point %d, slot %d, is not on the ring", point, s)
		}
	}
}

func TestDeclaredRunsMustNotOverlap(t *testing.T) {
	d := NewDispatcher(Settings{Strategy: Declared}, Frontier{})
	join := func(name string, wants ...Slots) (*Worker, error) { return d.Join(name, wants, time.Time{}) }
	if _, err := join("a", Slots{1, 100}, Slots{200, 300}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]Slots{nil, {{5, 1}}, {{100, 101}}, {{50, 60}}, {{150, 250}}, {{101, 110}, {110, 120}}} {
		if _, err := join("b", bad...); !errors.Is(err, ErrSlots) {
			t.Errorf("slots %v: %v, want ErrSlots", bad, err)
		}
	}
	if _, err := join("b", Slots{101, 199}); err != nil {
		t.Error(err)
	}
	if got := owners(d.division, 400); got != "1:a 101:b 200:a 301:-" {
		t.Errorf("owners are %q", got)
	}
}

package keyshared

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Strategy says how slots are divided among workers.
type Strategy int

// The strategies.
const (
	// AutoSplit gives the first worker all slots, and each further one the
	// lower half of the longest run. Who leaves gives its run to the neighbour
	// above, or below where there is none above. Few slots move, and runs may
	// become uneven.
	AutoSplit Strategy = iota

	// ConsistentHashing gives each worker 100 points on a ring of slots; a slot
	// belongs to the next point. A worker that joins or leaves moves about its
	// share of the slots, from or to all the others.
	ConsistentHashing

	// Declared gives each worker the runs that it names. Slots that nobody
	// names are handed to nobody.
	Declared
)

// ErrSlots says that a worker can't have the slots it wants.
var ErrSlots = errors.New("slots not to be had")

// division keeps who owns which slot.
type division interface {
	// join gives w its slots; on an error nothing has changed.
	join(w *Worker, wants []Slots) error
	// leave takes them away; w has joined.
	leave(w *Worker)
	// fill says who owns each slot; nil is nobody. The slots of t are nil.
	fill(t *table)
}

// table is who owns each slot.
type table [slots]*Worker

// give gives w the slots from first through last.
func (t *table) give(first, last int, w *Worker) {
	for s := first; s <= last; s++ {
		t[s] = w
	}
}

func (s Strategy) newDivision() division {
	switch s {
	case ConsistentHashing:
		return new(ring)
	case Declared:
		return new(declared)
	}
	return &autoSplit{size: slots}
}

// autoSplit keeps runs in order; each begins after the end of the one before.
type autoSplit struct {
	size int // the end of the last run
	runs []splitRun
}

type splitRun struct {
	end    int // its last slot
	worker *Worker
}

// after is the slot before the first one of run i.
func (a *autoSplit) after(i int) int {
	if i == 0 {
		return 0
	}
	return a.runs[i-1].end
}

func (a *autoSplit) join(w *Worker, _ []Slots) error {
	if len(a.runs) == 0 {
		a.runs = []splitRun{{a.size, w}}
		return nil
	}
	longest := 0
	length := func(i int) int { return a.runs[i].end - a.after(i) }
	for i := range a.runs {
		if length(i) > length(longest) {
			longest = i
		}
	}
	n := length(longest)
	if n <= 1 {
		return fmt.Errorf("%w: %d workers share %d already", ErrSlots, len(a.runs), a.size)
	}
	a.runs = slices.Insert(a.runs, longest, splitRun{a.runs[longest].end - n/2, w})
	return nil
}

func (a *autoSplit) leave(w *Worker) {
	i := slices.IndexFunc(a.runs, func(r splitRun) bool { return r.worker == w })
	if i == len(a.runs)-1 && i > 0 {
		a.runs[i-1].end = a.runs[i].end
	}
	a.runs = slices.Delete(a.runs, i, i+1)
}

func (a *autoSplit) fill(t *table) {
	for i, r := range a.runs {
		t.give(a.after(i)+1, min(r.end, slots-1), r.worker)
	}
}

// pointsEach is how many points a worker has on the ring.
const pointsEach = 100

// ring keeps the points in order. Where two workers have the same point it is
// the older one's: if it changed hands, slots would move between two workers
// when a third one leaves.
type ring struct {
	points []ringPoint
	named  []ringName
}

type ringPoint struct {
	slot    Slot
	workers []*Worker // the first one has it, the others wait for it
}

// ringName tells workers of one name apart.
type ringName struct {
	worker *Worker
	index  int
}

func (r *ring) join(w *Worker, _ []Slots) error {
	index := 0
	for slices.ContainsFunc(r.named, func(n ringName) bool { return n.worker.name == w.name && n.index == index }) {
		index++
	}
	r.named = append(r.named, ringName{w, index})
	for point := range pointsEach {
		s := SlotOf([]byte(w.name + "\x00" + strconv.Itoa(index) + "\x00" + strconv.Itoa(point)))
		i, found := slices.BinarySearchFunc(r.points, s, func(p ringPoint, s Slot) int { return int(p.slot) - int(s) })
		if !found {
			r.points = slices.Insert(r.points, i, ringPoint{slot: s})
		}
		r.points[i].workers = append(r.points[i].workers, w)
	}
	return nil
}

func (r *ring) leave(w *Worker) {
	r.named = slices.DeleteFunc(r.named, func(n ringName) bool { return n.worker == w })
	for i := range r.points {
		r.points[i].workers = slices.DeleteFunc(r.points[i].workers, func(other *Worker) bool { return other == w })
	}
	r.points = slices.DeleteFunc(r.points, func(p ringPoint) bool { return len(p.workers) == 0 })
}

func (r *ring) fill(t *table) {
	next := 0
	for _, p := range r.points {
		t.give(next, int(p.slot), p.workers[0])
		next = int(p.slot) + 1
	}
	if len(r.points) > 0 {
		t.give(next, slots-1, r.points[0].workers[0])
	}
}

// declared keeps the runs that workers have named.
type declared struct {
	runs []declaredRun
}

type declaredRun struct {
	Slots
	worker *Worker
}

func (d *declared) join(w *Worker, wants []Slots) error {
	runs := slices.Clone(d.runs)
	if len(wants) == 0 {
		return fmt.Errorf("%w: worker %q names none", ErrSlots, w.name)
	}
	for _, want := range wants {
		if want.First > want.Last {
			return fmt.Errorf("%w: %s ends before it begins", ErrSlots, want)
		}
		for _, r := range runs {
			if r.overlaps(want) {
				return fmt.Errorf("%w: %s overlaps %s of worker %q", ErrSlots, want, r.Slots, r.worker.name)
			}
		}
		runs = append(runs, declaredRun{want, w})
	}
	d.runs = runs
	return nil
}

func (d *declared) leave(w *Worker) {
	d.runs = slices.DeleteFunc(d.runs, func(r declaredRun) bool { return r.worker == w })
}

func (d *declared) fill(t *table) {
	for _, r := range d.runs {
		t.give(int(r.First), int(r.Last), r.worker)
	}
}

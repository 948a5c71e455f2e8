package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

var sweepAll = flag.Bool("sweep", false, "fail every call of every deed, and many pairs of calls, instead of some")

// sweepKind is a way in which a call fails, and how services show it. That
// their clients make just these of it is the bucket suite's to prove.
type sweepKind struct {
	name  string
	fault fault.Fault

	// With retries, one such failure is nobody's trouble.
	cured bool
}

var sweepKinds = []sweepKind{
	{"500, 503, 409, before", fault.Before, true},
	{"500, reset, after", fault.After, true},
	{"timeout, lands late", fault.Late, true},
	{"412 of its own write", fault.Twice, true},
	{"short body", fault.Short, true},
	{"wrong bytes, list twice", fault.Wrong, false},
	{"404 of what is there", fault.Missing, false},
	{"403", fault.Denied, false},
}

// struck is a failure of a sweep: the nth call, from 0, and how it fails.
type struck struct {
	n    int64
	kind sweepKind
}

// TestNoFaultMakesAWrongAnswer does each deed over and over on a store that
// fails one call of it, or two: each call in turn, in each way. A deed that
// succeeds has given the answer that it gives without a fault, and has done
// what it does then. One that fails says so by a documented error, and what it
// left behind is in nobody's way: done once more, without a fault, it succeeds
// with the same outcome, and the topic verifies. A listing that is empty is
// not among the failures, since all rests on listings that lack nothing.
//
// All of it is swept by
//
//	go test ./internal/sim -run TestNoFaultMakesAWrongAnswer -v -sweep
func TestNoFaultMakesAWrongAnswer(t *testing.T) {
	start, err := sweepStart()
	if err != nil {
		t.Fatal(err)
	}
	singles, pairs := 8, 3 // of each deed, bare and with retries
	switch {
	case *sweepAll:
		pairs = 50
	case raceDetector:
		singles, pairs = 1, 0
	}
	d := newDice(*firstSeed, 1<<61)
	var table strings.Builder
	total := 0
	sweeps := make([]*sweep, len(deeds))
	for i, what := range deeds {
		sweeps[i] = newSweep(t, start, what)
	}
	for _, retries := range []bool{false, true} {
		fmt.Fprintf(&table, "\n%-28s %5s %8s", map[bool]string{false: "bare", true: "with retries"}[retries], "calls", "faults")
		for _, k := range sweepKinds {
			fmt.Fprintf(&table, "  %23s", k.name)
		}
		fmt.Fprintf(&table, "  %10s\n", "pairs")
		for _, s := range sweeps {
			s.retries, s.done, s.counts = retries, 0, map[string]*sweepCount{}
			var singly []struck
			for n := range s.calls {
				for _, k := range sweepKinds {
					singly = append(singly, struck{n, k})
				}
			}
			if !*sweepAll {
				d.Shuffle(len(singly), func(i, j int) { singly[i], singly[j] = singly[j], singly[i] })
				singly = singly[:min(singles, len(singly))]
			}
			for _, f := range singly {
				s.fail(f)
			}
			for range pairs {
				s.fail(struck{d.Int64N(s.calls), pick(d, sweepKinds...)}, struck{d.Int64N(s.calls + 3), pick(d, sweepKinds...)})
			}
			total += s.done
			fmt.Fprintf(&table, "%-28s %5d %8d", s.name, s.calls, s.done)
			for _, k := range sweepKinds {
				fmt.Fprintf(&table, "  %23s", s.counts[k.name])
			}
			fmt.Fprintf(&table, "  %10s\n", s.counts["pairs"])
		}
	}
	t.Logf("seed %d: %d faults; in each column: right answers / errors\n%s", *firstSeed, total, table.String())
}

// sweep is one deed, and what it comes to when nothing fails.
type sweep struct {
	*testing.T
	deed
	start         *mem.Store
	retries       bool
	calls         int64
	answer, state string

	done   int
	counts map[string]*sweepCount
}

type sweepCount struct{ right, failed int }

func (c *sweepCount) String() string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("%d / %d", c.right, c.failed)
}

func newSweep(t *testing.T, start *mem.Store, what deed) *sweep {
	t.Helper()
	s := &sweep{T: t, deed: what, start: start}
	store := copyOf(start)
	counted := fault.New(store, nil)
	var err error
	if s.answer, err = what.do(&hand{ctx: t.Context(), store: counted, ids: 1000}); err == nil {
		s.calls = counted.Calls()
		s.state, err = stateOf(store)
	}
	if err != nil {
		t.Fatalf("%s, without a fault: %v", what.name, err)
	}
	return s
}

// known are the errors that a deed may end with when its store fails.
var known = []error{
	fault.ErrInjected, objstore.ErrDenied, objstore.ErrExists, objstore.ErrNotFound,
	manifest.ErrUnknown, manifest.ErrConflict, manifest.ErrMissing, manifest.ErrUnsupported,
	manifest.ErrTopicNotFound, manifest.ErrTopicExists, manifest.ErrVersionNotFound, manifest.ErrTagExists,
	segments.ErrCorrupt, readerlib.ErrSnapshotExpired, compactor.ErrQuarantined,
}

// fail does the deed with some calls failing, and judges what comes of it.
func (s *sweep) fail(faults ...struck) {
	s.Helper()
	ctx := context.Background()
	store := copyOf(s.start)
	faulty := fault.New(store, func(op fault.Op) fault.Fault {
		for _, f := range faults {
			if f.n == op.N && (op.Verb != fault.List || f.kind.fault != fault.Missing) {
				return f.kind.fault
			}
		}
		return fault.None
	})
	h := &hand{ctx: ctx, store: faulty, ids: 1000}
	if s.retries {
		h.store = retry.New(faulty, retry.Settings{Tries: 5}, func(context.Context, time.Duration) error { return nil })
	}
	what := func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s (retries: %v)", s.name, s.retries)
		for _, f := range faults {
			fmt.Fprintf(&b, ", call %d: %s", f.n, f.kind.name)
		}
		return b.String()
	}
	answer, err := s.do(h)
	if faulty.Struck() == 0 {
		return
	}
	s.done++
	column := faults[0].kind.name
	if len(faults) > 1 {
		column = "pairs"
	}
	if s.counts[column] == nil {
		s.counts[column] = new(sweepCount)
	}
	if err == nil {
		s.counts[column].right++
	} else {
		s.counts[column].failed++
	}
	land := func() {
		if err := faulty.Land(ctx); err != nil && !errors.Is(err, objstore.ErrExists) {
			s.Fatal(err)
		}
	}
	landsFirst := faults[0].n%2 == 0
	if landsFirst {
		land()
	}
	switch {
	case err == nil && answer != s.answer:
		s.Errorf("%s: the answer is\n%s\nwant\n%s", what(), answer, s.answer)
	case err == nil:
		s.wantState(store, what(), "")
	case s.retries && len(faults) == 1 && faults[0].kind.cured:
		s.Errorf("%s: %v, though there are retries", what(), err)
	case !isOne(err, known):
		s.Errorf("%s: %v, which is no error that it may have", what(), err)
	}
	if _, err := s.do(&hand{ctx: ctx, store: store, ids: 2000}); err != nil && (s.then == nil || !errors.Is(err, s.then)) {
		s.Errorf("%s: %v, when it is done again", what(), err)
	}
	if !landsFirst {
		land()
	}
	s.wantState(store, what(), " once it is done again")
}

func isOne(err error, of []error) bool {
	for _, one := range of {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

func (s *sweep) wantState(store *mem.Store, what, when string) {
	s.Helper()
	state, err := stateOf(store)
	if err != nil {
		s.Errorf("%s: the topic%s: %v", what, when, err)
	} else if state != s.state {
		s.Errorf("%s: the topic is%s\n%s\nwant\n%s", what, when, state, s.state)
	}
}

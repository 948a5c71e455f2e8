package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// dice is chance from a seed.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// oneIn is true once in n times, and never if n is 0.
func (d dice) oneIn(n int) bool { return n > 0 && d.IntN(n) == 0 }

// perMille is true n times in a thousand.
func (d dice) perMille(n int) bool { return d.IntN(1000) < n }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// world is one simulation.
//
// Its actors are goroutines that run real code. Each request that they make,
// and each pause between two tries, waits at a turnstile. When all actors wait
// there, one request is let through, is made, and is answered; then its actor
// runs on to its next one, while the others still wait. So requests happen one
// after the other in an order that the seed decides, and nothing of the world
// is ever touched by two goroutines at once.
type world struct {
	seed   uint64
	dice   dice
	nature nature
	rules  rules

	store mem.Store
	now   time.Time // by a clock that is right; each actor has its own
	step  int

	actors  []*actor // that are running, in the order in which they began
	begun   int
	minted  int
	late    []lateCall
	calm    bool // nothing fails any more, nobody sleeps, and nobody is killed
	clients []*client
	ops     map[string]*operation
	truth   truth

	counting sync.Mutex
	counts   map[string]int
	trace    *strings.Builder // nil: nobody wants it
	broken   string           // the first thing that must not be; empty: nothing was
}

// call is a request, or a pause, that waits for its turn.
type call struct {
	verb  fault.Verb
	key   string
	more  string       // tells it from other calls of its actor with the same key
	do    func() error // makes the request; nil if it is a pause
	halve func()       // after do: takes away half of the answer; nil if it has no halves
	let   chan error
}

// waiting is the verb of a pause.
const waiting fault.Verb = "pause"

func (c *call) compare(other *call) int {
	return cmp.Or(cmp.Compare(c.verb, other.verb), cmp.Compare(c.key, other.key), cmp.Compare(c.more, other.more))
}

// lateCall is a request whose sender has given up, and which is still on its
// way.
type lateCall struct {
	what string
	do   func() error
}

// actor is a process: it does one thing, and ends.
type actor struct {
	w    *world
	name string
	kind string
	dice dice
	ctx  context.Context
	stop context.CancelFunc

	topic  *manifest.Topic // that it has opened
	skew   time.Duration   // of its clock
	tries  int             // of a commit, before it gives up
	asleep int             // until this step
	dead   bool            // it was killed: what it still asks for never happens
	ended  bool

	mu     sync.Mutex
	parked []*call
}

// errKilled is what the code of a dead actor hears, so that its goroutine
// comes to an end. Nobody else hears of it.
var errKilled = errors.New("this actor was killed")

// start begins an actor.
func (w *world) start(kind string, work func(*actor)) *actor {
	w.begun++
	a := &actor{w: w, kind: kind, name: fmt.Sprintf("%s-%d", kind, w.begun)}
	a.dice = newDice(w.seed, uint64(w.begun))
	a.ctx, a.stop = context.WithCancel(context.Background())
	if !w.calm {
		a.skew = w.nature.skew(a.dice)
	}
	a.tries = w.nature.tries(a.dice)
	w.actors = append(w.actors, a)
	w.count(kind)
	w.log("%s begins", a.name)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				w.fail("%s: panic: %v\n%s", a.name, r, debug.Stack())
			}
			a.stop()
			a.ended = true
		}()
		work(a)
	}()
	synctest.Wait() // for its first request: nobody else runs meanwhile
	return a
}

// clock is what the actor's clock shows.
func (a *actor) clock() time.Time { return a.w.now.Add(a.skew) }

// pass waits for the turn of c and returns its answer.
func (a *actor) pass(c *call) error {
	if a.dead {
		return errKilled
	}
	c.let = make(chan error)
	a.mu.Lock()
	a.parked = append(a.parked, c)
	a.mu.Unlock()
	return <-c.let
}

// pause is the actor's manifest.Pause.
func (a *actor) pause(ctx context.Context, n int) error {
	if n >= a.tries {
		return fmt.Errorf("gave up after %d tries", n)
	}
	if err := a.pass(&call{verb: waiting, key: fmt.Sprint(n)}); err != nil {
		return err
	}
	return ctx.Err()
}

// mint makes a text that there was not before. Those of a later time sort after
// those of an earlier one.
func (w *world) mint(kind string, at time.Time) string {
	w.minted++
	return fmt.Sprintf("%s%013d.%06d", kind, at.UnixMilli(), w.minted)
}

// turn lets one call through, or lets time pass where all that wait are
// asleep. It reports whether anybody is left.
func (w *world) turn() bool {
	w.actors = slices.DeleteFunc(w.actors, func(a *actor) bool { return a.ended })
	w.step++
	w.now = w.now.Add(w.nature.tick)
	if len(w.actors) == 0 || w.broken != "" {
		return false
	}
	var awake []*actor
	wake := w.actors[0].asleep
	for _, a := range w.actors {
		if len(a.parked) == 0 {
			w.fail("%s waits for something that is no request", a.name)
			return false
		}
		if a.asleep <= w.step || w.calm {
			awake = append(awake, a)
		}
		wake = min(wake, a.asleep)
	}
	if len(awake) == 0 {
		w.now = w.now.Add(time.Duration(wake-w.step) * w.nature.tick)
		w.step = wake
		return true
	}
	a := pick(w.dice, awake...)
	slices.SortFunc(a.parked, (*call).compare)
	i := w.dice.IntN(len(a.parked))
	c := a.parked[i]
	if answer, ok := w.decide(a, c); ok {
		a.parked = slices.Delete(a.parked, i, i+1)
		c.let <- answer
		synctest.Wait() // for its next request
	}
	return true
}

// kill ends an actor. All that it waits for is never done.
func (w *world) kill(a *actor) {
	a.dead = true
	a.stop()
	parked := a.parked
	a.parked = nil
	for _, c := range parked {
		c.let <- errKilled
	}
	synctest.Wait() // for its end
}

// end kills all that are left, and lets their goroutines end.
func (w *world) end() {
	for _, a := range w.actors {
		if !a.ended {
			w.kill(a)
		}
	}
	w.actors = nil
}

// fail notes that something is as it must never be. Only the first such thing
// is kept: the others may come of it.
func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
		w.log("BROKEN: %s", w.broken)
	}
}

// count may be called by actors between two of their requests, and so at the
// same time.
func (w *world) count(what string) {
	w.counting.Lock()
	defer w.counting.Unlock()
	w.counts[what]++
}

func (w *world) log(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%5d ", w.step)
		fmt.Fprintf(w.trace, format, args...)
		w.trace.WriteByte('\n')
	}
}

package model

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	histories = flag.Int("histories", few, "random histories that TestHistories leads through the product and the model")
	firstSeed = flag.Uint64("seed", 1, "of the first of them; the others have the seeds after it")
)

// outcome is what became of a history.
type outcome struct {
	failure string // empty where product and model agree
	steps   int    // that were taken
	asked   asked
	reached map[string]int
	story   []string
}

// lead leads a history through the product and the model, and compares them
// after each step. wound may make a fault in the model.
func lead(h *history, wound func(*world)) (o outcome) {
	var w *world
	defer func() {
		if w != nil {
			o.asked, o.reached, o.story = w.asked, w.reached, w.story
		}
		switch r := recover().(type) {
		case nil:
		case mismatch:
			o.failure = string(r)
		default:
			o.failure = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w = newWorld(h.settings, h.nature)
	if wound != nil {
		wound(w)
	}
	for i := range h.steps {
		s := &h.steps[i]
		o.steps++
		before := len(w.versions)
		w.take(s)
		w.keepPromises()
		d := newDice(s.seed + 1)
		if len(w.versions) == before {
			w.checkStatus(w.newest()) // nothing has changed, and so it must be
		} else {
			w.check(d, false)
		}
		w.follow(d)
	}
	w.check(newDice(h.seed+1), true)
	return o
}

// shrink leaves out steps of a history that fails, then parts of inputs, then
// settings, as long as what is left still fails in some way.
func shrink(h *history, wound func(*world)) (*history, outcome) {
	o := lead(h, wound)
	try := func(settings []string, steps []step) bool {
		c := &history{h.seed, settings, h.nature, steps}
		next := lead(c, wound)
		if next.failure != "" {
			h, o = c, next
		}
		return next.failure != ""
	}
	try(h.settings, h.steps[:o.steps])
	for was := len(h.steps) + 1; len(h.steps) < was; {
		was = len(h.steps)
		for size := max(1, len(h.steps)/2); size > 0; size /= 2 {
			for at := 0; at+size <= len(h.steps); {
				if !try(h.settings, slices.Delete(slices.Clone(h.steps), at, at+size)) {
					at += size
				}
			}
		}
		for i := range h.steps {
			thinner(h, i, func(steps []step) bool { return try(h.settings, steps) })
		}
	}
	for i := 0; i < len(h.settings); {
		if !try(slices.Delete(slices.Clone(h.settings), i, i+1), h.steps) {
			i++
		}
	}
	return h, o
}

// thinner tries h without parts of the input of step i.
func thinner(h *history, i int, try func([]step) bool) {
	if kind := h.steps[i].kind; kind != "ingest" && kind != "again" {
		return
	}
	steps := h.steps
	for n := range 20 { // lines, and messages of each
		for k := wholeLine; k < 4; k++ {
			if steps[i].without[part{n, k}] {
				continue
			}
			fewer := slices.Clone(steps)
			fewer[i].without = map[part]bool{{n, k}: true}
			maps.Copy(fewer[i].without, steps[i].without)
			if try(fewer) {
				steps = fewer
				if k == wholeLine {
					break
				}
			}
		}
	}
}

// report is a failure for people: the shortest history that fails.
func report(h *history, wound func(*world)) string {
	long := len(h.steps)
	h, o := shrink(h, wound)
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d of %d steps, settings %v\n", h.seed, len(h.steps), long, h.settings)
	for i, s := range o.story {
		for strings.Contains(s, "xxxxxx") {
			s = strings.ReplaceAll(s, "xxxxxx", "xx")
		}
		fmt.Fprintf(&b, "%2d  %s\n", i+1, strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n      "))
	}
	b.WriteString(o.failure)
	return b.String()
}

// TestHistories is the comparison of the product with the model.
func TestHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // histories are small, and make much garbage
	start := time.Now()
	var all struct {
		sync.Mutex
		begun, done, steps, places, questions int
		reached                               map[string]int
	}
	all.reached = map[string]int{}
	turn := func() (uint64, bool) {
		all.Lock()
		defer all.Unlock()
		all.begun++
		return *firstSeed + uint64(all.begun-1), all.begun <= *histories && !t.Failed()
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed, ok := turn(); ok; seed, ok = turn() {
				h := newHistory(seed)
				o := lead(h, nil)
				if o.failure != "" {
					t.Errorf("%s\nto see it again: go test ./internal/model -run TestHistories -histories 1 -seed %d", report(h, nil), seed)
					return
				}
				all.Lock()
				all.done++
				all.steps += o.steps
				all.places += len(o.asked.places)
				all.questions += o.asked.questions
				for name, n := range o.reached {
					all.reached[name] += n
				}
				if all.done%1000 == 0 {
					fmt.Printf("%d histories, %s\n", all.done, time.Since(start).Round(time.Second))
				}
				all.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("histories of the seeds %d to %d: %d led, %d steps, %s", *firstSeed, *firstSeed+uint64(*histories)-1, all.done, all.steps, time.Since(start).Round(time.Second))
	t.Logf("a message is available exactly when Next returns one: %d pairs of a history and a place, asked %d times", all.places, all.questions)
	for _, name := range slices.Sorted(maps.Keys(all.reached)) {
		t.Logf("%9d  %s", all.reached[name], name)
	}
	if t.Failed() || *histories < 1000 && (*histories < 200 || *firstSeed != 1) {
		return // too few to come to everything
	}
	for _, name := range corners {
		if all.reached[name] == 0 {
			t.Errorf("no history has come to %q", name)
		}
	}
}

// corners are what random histories must have come to, to mean anything.
var corners = []string{
	"ingested", "already_ingested", "duplicates", "a batch in part", "an input in several segments", "an input refused after a segment",
	"refused: transaction has ended", "a transaction aborted", "several transactions open",
	"run: compacted", "run: already_compacted", "run: nothing_to_do",
	"run with rows kept", "run with rows superseded", "run with rows deleted", "run with rows aborted", "run with rows markers",
	"run with rows expired", "run with rows keyless dropped",
	"run with rows older superseded", "run with rows older deleted", "run with rows older expired",
	"run that adopts an original", "an adopted original that is trimmed",
	"trim: trimmed", "trim: nothing_to_do", "a trim that leaves what a held version needs", "a collection that expires versions", "a version gone",
	"a promise kept over a step", "a message that was waited for by its time",
	"a tagged version read", "refused: tag is taken", "refused: a version that is expired", "refused: a range that begins after its end",
	"a fetch that is not settled", "changes with a key that is gone",
}

package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
)

var (
	seeds     = flag.Int("seeds", 0, "worlds that TestSimulation simulates; 200 when 0")
	firstSeed = flag.Uint64("seed", 1, "of the first of them; the others have the seeds after it")
	traceFile = flag.String("trace", "", "file for what happens in the last of them")
)

// simulate lets the world of a seed live and end.
func simulate(t *testing.T, seed uint64, r rules, trace *strings.Builder) *world {
	w := &world{
		seed: seed, dice: newDice(seed, 0), nature: newNature(seed), rules: r, now: began,
		counts: map[string]int{}, trace: trace, truth: truth{topics: map[manifest.TopicID]*topic{}},
	}
	d := newDice(seed, 1<<62)
	w.clients = newClients(d, &w.nature)
	w.ops = operations(w.clients)
	synctest.Test(t, func(t *testing.T) { w.live() })
	return w
}

// few is n, or a tenth of it under the race detector.
func few(n int) int {
	if raceDetector {
		return n / 10
	}
	return n
}

// tail is the end of a trace.
func tail(trace string) string {
	lines := strings.SplitAfter(trace, "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "")
}

// TestSimulation lets many worlds live, and looks for one that breaks. Every
// kind of fault, and every way in which they can be met, must have come up.
func TestSimulation(t *testing.T) {
	if *seeds == 0 {
		*seeds = few(200)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // worlds are small, and make much garbage
	start := time.Now()
	var all struct {
		sync.Mutex
		begun, done, steps int
		counts             map[string]int
	}
	all.counts = map[string]int{}
	turn := func() (uint64, bool) {
		all.Lock()
		defer all.Unlock()
		all.begun++
		return *firstSeed + uint64(all.begun-1), all.begun <= *seeds && !t.Failed()
	}
	t.Run("worlds", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for seed, ok := turn(); ok; seed, ok = turn() {
					var trace *strings.Builder
					if *traceFile != "" {
						trace = new(strings.Builder)
					}
					w := simulate(t, seed, rules{}, trace)
					if *traceFile != "" {
						if err := os.WriteFile(*traceFile, []byte(trace.String()), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					if w.broken != "" {
						again := new(strings.Builder)
						simulate(t, seed, rules{}, again)
						t.Errorf("%s\nseed %d: %s\nto see it again: go test ./internal/sim -run TestSimulation -seeds 1 -seed %d", tail(again.String()), seed, w.broken, seed)
						return
					}
					all.Lock()
					all.done++
					all.steps += w.step
					for what, n := range w.counts {
						all.counts[what] += n
					}
					all.Unlock()
				}
			})
		}
	})
	t.Logf("seeds %d to %d: %d worlds, %d steps, in %v", *firstSeed, *firstSeed+uint64(*seeds)-1, all.done, all.steps, time.Since(start).Round(time.Millisecond))
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(all.counts)) {
		fmt.Fprintf(&lines, "\n%9d  %s", all.counts[what], what)
	}
	t.Log(lines.String())
}

// TestTheSameSeedMakesTheSameTrace is what makes a failure one that can be
// looked into. A trace has each request with its answer, and of each object
// that is put the digest of its bytes.
func TestTheSameSeedMakesTheSameTrace(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+uint64(few(20)); seed++ {
		first, second := new(strings.Builder), new(strings.Builder)
		simulate(t, seed, rules{}, first)
		simulate(t, seed, rules{}, second)
		a, b := strings.Split(first.String(), "\n"), strings.Split(second.String(), "\n")
		if len(a) < 100 {
			t.Errorf("seed %d: a trace of %d lines", seed, len(a))
		}
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("seed %d, line %d is\n%s\nand then\n%s", seed, i+1, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Fatalf("seed %d: %d lines, and then %d", seed, len(a), len(b))
		}
	}
}

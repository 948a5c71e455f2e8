package endtoend

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestACrowdLosesNothing has eight processes ingest into one topic on a real
// S3 server while four compact it. Each exits with a code that the contract
// has for it, and whoever was told to try again does. In the end every message
// is there once, in the raw view and, as all keys differ, in the compacted one.
func TestACrowdLosesNothing(t *testing.T) {
	const ingesters, compactors, rounds, perRound = 8, 4, 4, 50
	w := newWorld(t, "s3")
	w.run(nil, "compact", "create", "crowd")

	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := make(map[string]int)
	// again runs a command until it succeeds. Only codes that ask for it are
	// tried again, and not for ever.
	again := func(what string, stdin string, args ...string) {
		for range 20 {
			r := w.try(t.Context(), strings.NewReader(stdin), "compact", args...)
			mu.Lock()
			codes[fmt.Sprint(what, " exit ", r.code)]++
			mu.Unlock()
			switch r.code {
			case 0:
				return
			case 4, 5:
				continue
			}
			t.Errorf("%s: exit %d: %s", what, r.code, r.err)
			return
		}
		t.Errorf("%s never succeeded", what)
	}
	for i := range ingesters {
		wg.Go(func() {
			for round := range rounds {
				var lines strings.Builder
				for n := range perRound {
					seq := round*perRound + n
					fmt.Fprintf(&lines, `{"key":"%d-%d","value":"%d","producer":"p%d","sequence":"%d"}`+"\n", i, seq, seq, i, seq)
				}
				again("ingest", lines.String(), "ingest", "crowd")
			}
		})
	}
	for range compactors {
		wg.Go(func() {
			for range rounds {
				again("run", "", "run", "crowd")
			}
		})
	}
	wg.Wait()
	w.run(nil, "compact", "run", "crowd")
	t.Logf("%v", codes)

	for _, args := range [][]string{
		{"read", "crowd", "-o", "ndjson", "--fields", "id,key,sequence"},
		{"read", "crowd", "--compacted", "-o", "ndjson", "--fields", "id,key,sequence"},
	} {
		seen := make(map[string]int)
		next := make(map[string]int) // by producer: its messages come in order
		for line := range strings.Lines(w.run(nil, "reader", args...)) {
			var m struct{ Key, Sequence string }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			seen[m.Key]++
			producer, _, _ := strings.Cut(m.Key, "-")
			if m.Sequence != fmt.Sprint(next[producer]) {
				t.Errorf("producer %s: sequence %s after %d messages", producer, m.Sequence, next[producer])
			}
			next[producer]++
		}
		if len(seen) != ingesters*rounds*perRound {
			t.Errorf("%v: %d keys, want %d", args, len(seen), ingesters*rounds*perRound)
		}
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%v: %s is there %d times", args, key, n)
			}
		}
	}
}

package endtoend

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

var crowd = flag.Duration("crowd", 0, "how long the processes of TestSixteenProcessesCommit go on; two rounds when 0")

// TestSixteenProcessesCommit has sixteen processes ingest into one topic on a
// real S3 server, all the time, and each tells its commit by its version. In
// the end the chain has each of them, once, without a gap, and so the topic
// has each message. For two minutes:
//
//	go test ./internal/endtoend -run Sixteen -timeout 0 -v -crowd 2m
func TestSixteenProcessesCommit(t *testing.T) {
	const processes, lines = 16, 5
	w := newWorld(t, "s3")
	w.run(nil, "compact", "create", "crowd")
	begin := time.Now()
	var mu sync.Mutex
	versions := map[string]string{} // who made them
	tries, acked := 0, make([]int, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			for round := 0; round < 2 || time.Since(begin) < *crowd; round++ {
				var in strings.Builder
				for n := range lines {
					fmt.Fprintf(&in, `{"key":"%d","value":"%d","producer":"p%d","sequence":"%d"}`+"\n", i, round, i, round*lines+n)
				}
				for {
					r := w.try(t.Context(), strings.NewReader(in.String()), "compact", "ingest", "crowd", "-o", "json")
					mu.Lock()
					tries++
					mu.Unlock()
					if r.code == 4 || r.code == 5 {
						continue
					}
					var answer struct{ State, Version string }
					if err := json.Unmarshal([]byte(r.out), &answer); r.code != 0 || err != nil {
						t.Errorf("exit %d, %v: %s", r.code, err, r.err)
						return
					}
					mu.Lock()
					who := fmt.Sprintf("process %d, round %d", i, round)
					if other, ok := versions[answer.Version]; ok && answer.State == "ingested" {
						t.Errorf("version %s is that of %s and of %s", answer.Version, other, who)
					}
					versions[answer.Version] = who
					acked[i] += lines
					mu.Unlock()
					break
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)

	next := 0
	for line := range strings.Lines(w.run(nil, "reader", "versions", "crowd", "-o", "ndjson")) {
		var v struct{ Version, Kind string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Version != fmt.Sprint(next) {
			t.Errorf("version %s comes where %d should", v.Version, next)
		}
		next++
	}
	got := map[string]int{}
	for line := range strings.Lines(w.run(nil, "reader", "read", "crowd", "-o", "ndjson", "--fields", "producer,sequence")) {
		var m struct{ Producer, Sequence string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Sequence != fmt.Sprint(got[m.Producer]) {
			t.Errorf("sequence %s of %s comes after %d messages", m.Sequence, m.Producer, got[m.Producer])
		}
		got[m.Producer]++
	}
	for i, n := range acked {
		if have := got[fmt.Sprint("p", i)]; have != n {
			t.Errorf("process %d has added %d messages, and %d are there", i, n, have)
		}
	}
	w.run(nil, "compact", "verify", "crowd")
	t.Logf("%d commits by %d processes in %v: %.1f a second; %d runs", next-1, processes, took.Round(time.Millisecond), float64(next-1)/took.Seconds(), tries)
}

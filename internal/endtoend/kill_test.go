package endtoend

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	kills    = flag.Int("kills", 20, "processes to kill on a folder")
	s3Kills  = flag.Int("s3kills", 5, "processes to kill on an S3 server")
	killSeed = flag.Uint64("killseed", 1, "decides what is killed, and about when")
)

// TestAKilledCommandLosesNothing kills commands with SIGKILL at random moments,
// and looks at the topic after each: what was acknowledged is there, everything
// is there once and in order, and the topic verifies. More are killed with
//
//	go test ./internal/endtoend -run Killed -timeout 0 -kills 1000 -s3kills 200
//
// When exactly a process is struck is the machine's to decide, so a seed does
// not replay a run; what the processes were given, it does.
func TestAKilledCommandLosesNothing(t *testing.T) {
	for _, c := range []struct {
		kind string
		n    int
	}{{"folder", *kills}, {"s3", *s3Kills}} {
		t.Run(c.kind, func(t *testing.T) {
			v := &victim{
				world: newWorld(t, c.kind), dice: rand.New(rand.NewPCG(*killSeed, 0)),
				took: map[string]time.Duration{}, counts: map[string]int{},
			}
			for v.killed < c.n && !t.Failed() {
				v.live(min(c.n, v.killed+40))
			}
			t.Logf("seed %d: %d killed, %v", *killSeed, v.killed, v.counts)
		})
	}
}

// victim is a topic whose commands are killed.
type victim struct {
	*world
	dice   *rand.Rand
	killed int
	counts map[string]int
	took   map[string]time.Duration // about how long each command takes

	sent, acked int // messages that were given to an ingest, and that one said are in
}

// live takes a topic from its making to its end.
func (v *victim) live(until int) {
	v.sent, v.acked = 0, 0
	v.run(nil, "compact", "create", "killed", "--set", "segment_bytes=1KiB", "--set", "batch_bytes=1KiB", "--set", "retention=0s")
	for v.killed < until && !v.t.Failed() {
		switch n := v.dice.IntN(10); {
		case n < 4:
			v.ingest(true)
		case n < 7:
			v.strike("", "run", "killed")
		case n < 9:
			v.strike("", "gc", "killed", "--keep-age", "0s")
		default:
			v.strike("", "trim", "killed")
		}
		v.look()
	}
	v.ingest(false)
	for _, args := range [][]string{{"run", "killed"}, {"trim", "killed"}, {"gc", "killed", "--keep-age", "0s"}} {
		v.run(nil, "compact", args...)
	}
	v.look()
	// An end that was cut short is an end all the same, or none at all.
	v.strike("", "delete", "killed")
	if r := v.try(v.t.Context(), nil, "compact", "delete", "killed"); r.code != 0 && r.code != 3 {
		v.t.Errorf("delete: exit %d: %s", r.code, r.err)
	}
}

// messages each ingest is given: some that are in already, and some more.
const again, more = 5, 30

// ingest ingests, and may be killed.
func (v *victim) ingest(mayBeKilled bool) {
	from := max(0, v.acked-again)
	v.sent = max(v.sent, v.acked+more)
	var lines strings.Builder
	for n := from; n < v.sent; n++ {
		key := fmt.Sprint("k", n)
		if n%3 == 2 {
			key = "hot"
		}
		fmt.Fprintf(&lines, `{"key":%q,"value":"%d %s","producer":"p","sequence":"%d"}`+"\n", key, n, strings.Repeat("x", 90), n)
	}
	if !mayBeKilled {
		v.run(strings.NewReader(lines.String()), "compact", "ingest", "killed")
	} else if !v.strike(lines.String(), "ingest", "killed") {
		return
	}
	v.acked = v.sent
}

// strike runs a command and kills it somewhere on its way, and reports whether
// it came to its end before that.
func (v *victim) strike(stdin string, args ...string) (done bool) {
	name := args[0]
	usual := v.took[name]
	if usual == 0 {
		usual = 100 * time.Millisecond
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(v.t.Context(), usual/5+time.Duration(v.dice.Int64N(int64(usual))))
	defer cancel()
	r := v.try(ctx, strings.NewReader(stdin), "compact", args...)
	switch {
	case r.code == 0:
		v.took[name] = (usual + time.Since(begin)) / 2 // half of the next ones are struck
		v.counts[name+" done"]++
		return true
	case r.code == -1 && ctx.Err() != nil:
		v.took[name] = usual + usual/10
		v.killed++
		v.counts[name+" killed"]++
	default:
		v.t.Errorf("%q: exit %d: %s", args, r.code, r.err)
	}
	return false
}

// look holds the topic to what was promised of it.
func (v *victim) look() {
	v.run(nil, "compact", "verify", "killed")
	got := map[string]int{}
	last, hot := -1, -1
	for line := range strings.Lines(v.run(nil, "reader", "read", "killed", "--compacted", "-o", "ndjson", "--fields", "key,sequence")) {
		var m struct {
			Key      string
			Sequence int `json:",string"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			v.t.Fatal(err)
		}
		if m.Sequence <= last {
			v.t.Errorf("%d comes after %d", m.Sequence, last)
		}
		last = m.Sequence
		if m.Key == "hot" {
			hot = m.Sequence
			continue
		}
		if got[m.Key]++; m.Key != fmt.Sprint("k", m.Sequence) {
			v.t.Errorf("key %s has sequence %d", m.Key, m.Sequence)
		}
	}
	if last < v.acked-1 || last >= v.sent {
		v.t.Errorf("the last message is %d: %d are acknowledged, and %d sent", last, v.acked, v.sent)
	}
	for n := range last + 1 {
		if key := fmt.Sprint("k", n); n%3 != 2 && got[key] != 1 {
			v.t.Errorf("message %d of %d is there %d times", n, last+1, got[key])
		}
	}
	if want := last - (last+1)%3; want >= 2 && hot != want {
		v.t.Errorf("the hot key shows %d, want %d", hot, want)
	}
}

package compactor

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestManySmallRunsStayCheap lets a topic live through very many small runs,
// as the policy sees it, and counts. With each joining a row goes up by a tier,
// and a byte that is freed pays for one that is written, so what is written is
// bounded by what was ingested, and so is the number of segments.
func TestManySmallRunsStayCheap(t *testing.T) {
	const segmentBytes, rowBytes = 1 << 20, 200
	tiers := tier(segmentBytes/2/rowBytes) + 1
	for _, c := range []struct {
		name  string
		most  int64   // rows to a run
		keys  float64 // that a new row supersedes an older one, chance
		share float64
	}{
		{"a row at a time", 1, 0, 0.5},
		{"some rows at a time", 40, 0, 0.5},
		{"a row that often supersedes one", 1, 0.9, 0.5},
		{"some rows that nearly always do", 40, 0.99, 0.5},
		{"hardly any dead rows allowed", 10, 0.5, 0.1},
		{"any dead rows allowed", 10, 0.9, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			var list []stretch
			var ingested, rewrote, live int64
			most := 0
			for range 20_000 {
				rows := 1 + rng.Int64N(c.most)
				ingested += rows
				for range rows {
					if live > 0 && rng.Float64() < c.keys {
						kill(list, rng.Int64N(live))
						live--
					}
				}
				list = append(list, stretch{rows: rows, live: rows, size: rows * rowBytes})
				live += rows
				for again := reclaimable(list, c.share, segmentBytes); len(again) > 0; again = reclaimable(list, c.share, segmentBytes) {
					s := again[0]
					_, n, _ := sum(list[s.from:s.to])
					rewrote += n
					made := joined(list[s.from:s.to], segmentBytes, rowBytes)
					list = append(append(list[:s.from:s.from], made...), list[s.to:]...)
				}
				most = max(most, len(list))
			}
			amplification := float64(rewrote) / float64(ingested)
			waste := (1 - c.share) / c.share
			bound := float64(tiers) + waste + max(1, waste)
			_, _, size := sum(list)
			full := int(size / (segmentBytes / 4))
			t.Logf("%d rows in, rewritten %.2f times (at most %.2f), %d segments at most, %d at the end, of %d bytes",
				ingested, amplification, bound, most, len(list), size)
			if amplification > bound {
				t.Errorf("each row was rewritten %.2f times, want at most %.2f", amplification, bound)
			}
			if n := joinLeast * tiers * 2; len(list) > full+n {
				t.Errorf("%d segments, want at most %d and %d small ones", len(list), full, n)
			}
		})
	}
}

// kill makes the nth live row a dead one.
func kill(list []stretch, n int64) {
	for i := range list {
		s := &list[i]
		if n < s.live {
			s.size -= s.size / s.live
			s.live--
			return
		}
		n -= s.live
	}
}

// joined is what comes of rewriting neighbours.
func joined(list []stretch, segmentBytes, rowBytes int64) []stretch {
	_, live, size := sum(list)
	if live == 0 {
		return []stretch{{}}
	}
	n := ceil(size, segmentBytes)
	var made []stretch
	for i := range n {
		rows := live*(i+1)/n - live*i/n
		made = append(made, stretch{rows: rows, live: rows, size: rows * rowBytes})
	}
	return made
}

// TestManySmallRunsOfATopic does the same with real runs, and with deletes.
func TestManySmallRunsOfATopic(t *testing.T) {
	w := testWorld(t, "tombstone_retention=1h", "segment_bytes=64KiB")
	rng := rand.New(rand.NewPCG(2, 2))
	const runs, keys = 120, 32
	last := make(map[string]string)
	var in, written int64
	known := make(map[string]bool)
	for run := range runs {
		var texts strings.Builder
		for entry := range 1 + rng.IntN(3) {
			key := fmt.Sprintf("k%d", rng.IntN(keys))
			text := fmt.Sprintf("%d:%d %s=%d", run, entry, key, run)
			if rng.IntN(8) == 0 {
				text = fmt.Sprintf("%d:%d %s", run, entry, key)
			}
			last[key] = text
			texts.WriteString(text + "\n")
			in++
		}
		w.add(texts.String())
		w.pass(hour / 10)
		r := w.run()
		if r.State != StateCompacted {
			t.Fatalf("run %d: %s", run, r.State)
		}
		m := w.latest()
		withRows := 0
		for i := range m.Compacted {
			s := &m.Compacted[i]
			if s.Object == "" {
				continue
			}
			withRows++
			if !known[s.Object] {
				known[s.Object] = true
				written += s.Info.Counts.Rows()
			}
			if s.Dead != nil && 2*s.Dead.Rows >= s.Info.Counts.Rows() {
				t.Fatalf("run %d: %d of %d rows of %s are dead", run, s.Dead.Rows, s.Info.Counts.Rows(), s.Object)
			}
		}
		// Ten runs are within the retention.
		if most := joinLeast*(bits.Len(keys)/tierBits+1) + 11; withRows > most {
			t.Fatalf("run %d: %d segments, want at most %d", run, withRows, most)
		}
	}
	if times := float64(written) / float64(in); times > 5 {
		t.Errorf("%d rows were written %.2f times", in, times)
	} else {
		t.Logf("%d rows were written %.2f times", in, times)
	}
	w.wantProved()
	// A tombstone stays for ten runs.
	live := make(map[string]bool)
	for _, row := range w.liveRows(w.latest()) {
		live[row.String()] = true
	}
	for key, text := range last {
		if !live[text] && text[len(text)-len(key)-1:] != " "+key {
			t.Errorf("%q is not in the view", text)
		}
		delete(live, text)
	}
	if len(live) > 0 {
		t.Errorf("the view has %v, which were superseded", live)
	}
}

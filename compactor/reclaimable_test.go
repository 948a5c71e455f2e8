package compactor

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// parseStretches reads a tier: "8" is 8 live rows, "8/10" 8 of 10, "8/10@3"
// has live tombstones that were first compacted in run 3, and "-" no objects.
// Rows are of a byte each.
func parseStretches(t *testing.T, text string) []stretch {
	t.Helper()
	var list []stretch
	for _, field := range strings.Fields(text) {
		var s stretch
		if field != "-" {
			field, run, tombstones := strings.Cut(field, "@")
			live, rows, dead := strings.Cut(field, "/")
			if !dead {
				rows = live
			}
			w := &world{tb: t}
			s.live, s.rows = w.number(live), w.number(rows)
			s.size = s.live
			s.since = start
			if tombstones {
				s.tombstones = 1
				s.since = start.Add(time.Duration(w.number(run)) * time.Hour)
			}
		}
		list = append(list, s)
	}
	return list
}

// Segments have 1000 bytes, unless a case says otherwise, and may be half dead.
func TestWhatIsReclaimed(t *testing.T) {
	for _, c := range []struct {
		name, tier, want string
	}{
		{"nothing", "", ""},
		{"nothing but a stretch without rows", "-", ""},
		{"full segments", "1000 1000 1000", ""},
		{"a few crumbs", "1 1 1 1 1 1 1", ""},
		{"eight crumbs", "1 1 1 1 1 1 1 1", "[0 8)"},
		{"eight crumbs beside a full segment", "1000 1 1 1 1 1 1 1 1", "[1 9)"},
		{"crumbs apart", "1 1 1 1 1000 1 1 1 1", ""},
		{"crumbs around a stretch without rows", "1 1 1 1 - 1 1 1 1", "[0 9)"},
		{"a stretch without rows at each end", "- 1 1 1 1 1 1 1 1 - 1000", "[0 10)"},
		{"eight of the next tier, and what lies between", "8 8 1 8 9 8 2 8 8 8", "[0 10)"},
		{"seven of the next tier, and seven crumbs", "9 9 9 9 9 9 9 1 1 1 1 1 1 1", "[0 14)"},
		{"two of the next tier, and seven crumbs", "9 9 1 1 1 1 1 1 1", ""},
		{"two of the next tier, and eight crumbs", "9 9 1 1 1 1 1 1 1 1", "[2 10)"},
		{"joined, they are no segment's half, and no higher tier", "60 60 60 60 60 60 60 60 1000", "[0 8)"},
		{"so many that two segments come of it", "400 400 400 400 400 400 400 400", "[0 8)"},
		{"half a segment is small", "500 500 500 500 500 500 500 500", "[0 8)"},
		{"more than half is not", "501 501 501 501 501 501 501 501", ""},

		{"half dead", "500/1000", "[0 1)"},
		{"not quite", "501/1000", ""},
		{"all dead", "0/1000", "[0 1)"},
		{"neighbours half dead", "1000 400/1000 500/1000 0/1000 1000", "[1 4)"},
		{"half dead, and a stretch without rows", "- 500/1000 - 1000 - 500/1000", "[0 3) [4 6)"},
		{"between two, it goes with the first", "600/1200 - 1 1 1 1 1 1 1 1", "[0 2) [2 10)"},
		{"half dead crumbs", "1/2 1/2 1/2 1/2 1/2 1/2 1/2 1/2", "[0 8)"},
		{"half dead among crumbs that are too few", "1 1/2 1", "[1 2)"},

		{"tombstones of one run", "1@3 1 1 1@3 1 1 1 1@3", "[0 8)"},
		{"tombstones of two runs", "1@3 1 1 1@4 1 1 1 1@4", ""},
		{"tombstones of two runs, and enough for one", "1@3 1 1 1@4 1 1 1 1@4 1 1 1", "[3 11)"},
		{"half dead, of two runs", "500/1000@1 500/1000@2 500/1000", "[0 1) [1 3)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range reclaimable(parseStretches(t, c.tier), 0.5, 1000) {
				got = append(got, fmt.Sprintf("[%d %d)", s.from, s.to))
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("reclaimed are %s, want %s", text, c.want)
			}
		})
	}
}

func TestAShareOfNoneAndOfAll(t *testing.T) {
	list := parseStretches(t, "1000 999/1000 1/1000 0/1000")
	for share, want := range map[float64][]span{0: {{1, 4}}, 1: {{3, 4}}} {
		if got := reclaimable(list, share, 1000); !reflect.DeepEqual(got, want) {
			t.Errorf("share %v: %v, want %v", share, got, want)
		}
	}
}

// TestReclaimComesToAnEnd takes random tiers, and rewrites what is picked until
// nothing is. What is picked never overlaps, is in order, keeps tombstones of
// different runs apart, and there is an end to it; then nothing wasteful is
// left.
func TestReclaimComesToAnEnd(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var list []stretch
		for range rng.IntN(60) {
			s := stretch{since: start.Add(time.Duration(rng.IntN(3)) * time.Hour)}
			if rng.IntN(6) > 0 {
				s.rows = 1 + rng.Int64N(1<<rng.IntN(11))
				s.live = s.rows - rng.Int64N(s.rows+1)*rng.Int64N(2)
				s.size = s.live * (1 + rng.Int64N(3))
				if s.live > 0 && rng.IntN(3) == 0 {
					s.tombstones = 1
				}
			}
			list = append(list, s)
		}
		share := []float64{0, 0.3, 0.5, 1}[rng.IntN(4)]
		rounds := 0
		for ; ; rounds++ {
			spans := reclaimable(list, share, 1000)
			if len(spans) == 0 {
				break
			}
			last := 0
			var next []stretch
			for _, s := range spans {
				if s.from < last || s.to <= s.from || s.to > len(list) {
					t.Fatalf("seed %d: spans %v of %d", seed, spans, len(list))
				}
				next = append(next, list[last:s.from]...)
				next = append(next, rewritten(t, list[s.from:s.to])...)
				last = s.to
			}
			list = append(next, list[last:]...)
			if rounds > 10 {
				t.Fatalf("seed %d: still %v after %d rounds", seed, spans, rounds)
			}
		}
		for _, s := range list {
			if s.isWaste(share) {
				t.Fatalf("seed %d: %+v is left", seed, s)
			}
		}
	}
}

// rewritten is what comes of stretches that are rewritten together.
func rewritten(t *testing.T, list []stretch) []stretch {
	t.Helper()
	var joined stretch
	for _, s := range list {
		joined.live, joined.size, joined.tombstones = joined.live+s.live, joined.size+s.size, joined.tombstones+s.tombstones
		if s.tombstones > 0 {
			if !joined.since.IsZero() && joined.since != s.since {
				t.Fatalf("tombstones of %s and of %s are joined", joined.since, s.since)
			}
			joined.since = s.since
		}
	}
	n := max(1, ceil(joined.size, 1000))
	var made []stretch
	for i := range n {
		s := joined
		s.live = joined.live*(i+1)/n - joined.live*i/n
		s.rows = s.live
		s.size = joined.size / n
		made = append(made, s)
	}
	return made
}

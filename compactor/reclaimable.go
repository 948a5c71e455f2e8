package compactor

import (
	"math/bits"
	"time"
)

// A stretch is a compacted segment as reclaim looks at it, with what has just
// died of it counted as dead.
type stretch struct {
	rows int64 // stored, dead or not; 0 where it has no objects
	live int64
	size int64 // of the live rows before compression, about

	tombstones int64     // live
	since      time.Time // when these were first compacted
}

// span is the stretches [from, to) of a list.
type span struct{ from, to int }

// wasteSegments is about how many segments are made of wasteful ones at a time.
// More would not be better segments, and a run that has little time could not
// take a part of them.
const wasteSegments = 4

// When segments are joined for being small.
const (
	joinLeast = 8 // no fewer are joined, and rows then move into one eight times as long
	tierBits  = 3 // log2 of joinLeast
)

// reclaimable picks the neighbours that are worth rewriting together, in
// order. It is pure, and these are its reasons.
//
// Waste. A segment whose dead share is maxDeadShare or more is rewritten. With
// a share of s, (1-s)/s bytes are written for each byte that is freed, and a
// byte is freed once: with the default of a half, this writes no more than was
// ingested. After a run that folds, so, no segment has as high a dead share.
//
// Crumbs. A run makes at least one segment, however little it folds, and every
// read and every run opens all of them. A segment that is small, at most half
// of segmentBytes, has a tier, which is the logarithm to the base of 8 of its
// rows. Neighbours of tiers up to t are joined when they are at least 8, and
// what they make is of a higher tier than t, or not small any more:
//
//	tier 2                        [ 70 ]
//	tier 1   [9][8][12][8][8][8][9][8]           joined, they are 70 rows
//	tier 0                               [1][2][1]
//
// So with each joining a row goes up by a tier. It falls only when the rows
// beside it die, and those pay for its coming up again: one that is joined
// anew for each that died. In all, what is rewritten is at most
//
//	log8(rows that fill half a segment) + (1-s)/s + max(1, (1-s)/s)
//
// times what was ingested: with the default share, and messages of 200 bytes in
// segments of 64 MiB, 6 + 2 times, and most often far less. Where each run adds
// about as much as the one before, fewer than 8 neighbours of each tier are
// left, so segments are as few as the data fills, and some 7 for each tier.
//
// The retention of tombstones counts from the commit that first compacted
// them, and a segment has one such time. So of segments with live tombstones
// only those of the same time are joined: none is dropped early, and none
// late. Until its tombstones have expired, or have been superseded, a segment
// thus may stay small; that is at most one for each run within the retention.
//
// A stretch without rows is taken along by a neighbour, since it costs nothing
// and is one less.
func reclaimable(list []stretch, maxDeadShare float64, segmentBytes int64) []span {
	taken := make([]bool, len(list))
	var spans []span
	take := func(s span) {
		for i := s.from; i < s.to; i++ {
			taken[i] = true
		}
		spans = append(spans, s)
	}
	top := -1
	for i := range list {
		top = max(top, list[i].tier(segmentBytes))
	}
	// The highest tier goes first: what lies between its segments is taken
	// along, and so goes up several tiers at once.
	for t := top; t >= 0; t-- {
		for _, s := range runs(list, func(i int) bool {
			tier := list[i].tier(segmentBytes)
			return !taken[i] && 0 <= tier && tier <= t
		}) {
			if n, live, size := sum(list[s.from:s.to]); n >= joinLeast && (tier(live) > t || size > segmentBytes/2) {
				take(s)
			}
		}
	}
	for _, s := range runs(list, func(i int) bool {
		return !taken[i] && list[i].isWaste(maxDeadShare)
	}) {
		for _, part := range s.parts(list, wasteSegments*segmentBytes) {
			take(part)
		}
	}
	return inOrder(spans, len(list))
}

// isWaste reports whether so much of s is dead that it is rewritten for that.
func (s *stretch) isWaste(maxDeadShare float64) bool {
	return s.live < s.rows && float64(s.rows-s.live) >= maxDeadShare*float64(s.rows)
}

// tier of a segment with so many rows, of which there is at least one.
func tier(rows int64) int { return (bits.Len64(uint64(rows)) - 1) / tierBits }

// weight is what s counts for when it is asked how small it is: what is stored,
// which stays the same until it is rewritten, else a single death could make
// it smaller. Only where half of it is dead, that pays for it.
func (s *stretch) weight() (rows, size int64) {
	if 2*s.live > s.rows {
		return s.rows, int64(float64(s.size) / float64(s.live) * float64(s.rows))
	}
	return s.live, s.size
}

// tier is that of its weight. It is -1 where s is not small, or nothing.
func (s *stretch) tier(segmentBytes int64) int {
	rows, size := s.weight()
	if rows == 0 || size > segmentBytes/2 {
		return -1
	}
	return tier(rows)
}

// sum adds up the stretches that have live rows.
func sum(list []stretch) (n int, live, size int64) {
	for i := range list {
		if s := &list[i]; s.live > 0 {
			n++
			live += s.live
			size += s.size
		}
	}
	return n, live, size
}

// runs cuts the stretches that are in, and those without rows between and
// around them, into the longest spans whose tombstones are all of one time. A
// span has at least one that is in.
func runs(list []stretch, in func(int) bool) []span {
	var spans []span
	var current span
	var since time.Time // of its tombstones; zero while there are none
	any := false
	end := func(next int) {
		if any {
			spans = append(spans, current)
		}
		current, since, any = span{next, next}, time.Time{}, false
	}
	for i := range list {
		s := &list[i]
		if s.rows == 0 {
			current.to = i + 1
			continue
		}
		if !in(i) {
			end(i + 1)
			continue
		}
		if s.tombstones > 0 {
			if !since.IsZero() && !since.Equal(s.since) {
				end(i)
			}
			since = s.since
		}
		current.to, any = i+1, true
	}
	end(len(list))
	return spans
}

// parts cuts s into spans that have no more than size, where they are of more
// than one stretch.
func (s span) parts(list []stretch, size int64) []span {
	var parts []span
	part, has := span{s.from, s.from}, int64(0)
	for i := s.from; i < s.to; i++ {
		if part.to > part.from && has+list[i].size > size {
			parts = append(parts, part)
			part, has = span{i, i}, 0
		}
		part.to = i + 1
		has += list[i].size
	}
	return append(parts, part)
}

// inOrder sorts spans of a list of n. Where two have taken the same stretch
// without rows, the first keeps it.
func inOrder(spans []span, n int) []span {
	starts := make([]int, n)
	for _, s := range spans {
		starts[s.from] = s.to
	}
	ordered := spans[:0:0]
	last := 0
	for from, to := range starts {
		if to > 0 {
			ordered = append(ordered, span{max(from, last), to})
			last = to
		}
	}
	return ordered
}

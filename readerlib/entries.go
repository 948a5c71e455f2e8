package readerlib

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Entries is a run of entries of one ledger, First through Last, both without
// batch index. The text form is 3:1 for one entry and 3:4..3:9 for several.
type Entries struct {
	First, Last segments.Position
}

// Contains reports whether p, or the entry of p, is one of e.
func (e Entries) Contains(p segments.Position) bool {
	entry := p.EntryPosition()
	return !entry.Before(e.First) && !entry.After(e.Last)
}

// String gives the text form.
func (e Entries) String() string {
	if e.First == e.Last {
		return e.First.String()
	}
	return e.First.String() + ".." + e.Last.String()
}

// MarshalText gives the text form.
func (e Entries) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// ledgers tells up to which entry each ledger is known to be written, in order
// of ledger. What lies past that, or in no ledger of these, was never written,
// so it is neither there nor absent.
type ledgers []segments.Position

// knownLedgers collects what m knows of its ledgers. Segments list the ledgers
// of their rows, and the ends of their ranges are entries too: of a ledger
// whose tail was compacted away these may be all that is left.
func knownLedgers(m *manifest.Manifest) ledgers {
	last := map[int64]int64{}
	note := func(ledger, entry int64) {
		if seen, ok := last[ledger]; ledger >= 0 && entry >= 0 && (!ok || seen < entry) {
			last[ledger] = entry
		}
	}
	for _, tier := range [][]manifest.Segment{m.Compacted, m.Originals} {
		for i := range tier {
			s := &tier[i]
			note(s.Range.After.Ledger, s.Range.After.Entry)
			note(s.Range.Through.Ledger, s.Range.Through.Entry)
			for _, l := range s.Info.Ledgers {
				note(l.Ledger, l.Last)
			}
		}
	}
	for _, p := range []segments.Position{m.RetainedAfter, m.Horizon, m.MaxRead, m.Last} {
		note(p.Ledger, p.Entry)
	}
	var known ledgers
	for ledger, entry := range last {
		known = append(known, segments.At(ledger, entry))
	}
	slices.SortFunc(known, segments.Position.Compare)
	return known
}

// within lists the known entries from first on and before end.
func (k ledgers) within(first, end segments.Position) []Entries {
	var runs []Entries
	end = end.EntryPosition()
	for i := sort.Search(len(k), func(i int) bool { return k[i].Ledger >= first.Ledger }); i < len(k); i++ {
		e := Entries{First: segments.At(k[i].Ledger, 0), Last: k[i]}
		if e.First.Before(first) {
			e.First = first.EntryPosition()
		}
		if !e.Last.Before(end) {
			if e.Last = entryBefore(end); e.Last.Ledger < k[i].Ledger {
				break
			}
		}
		if !e.Last.Before(e.First) {
			runs = append(runs, e)
		}
	}
	return runs
}

// entryBefore is the entry before the entry of p; in the ledger before, if p
// is the first of its own.
func entryBefore(p segments.Position) segments.Position {
	if p.Entry > 0 {
		return segments.At(p.Ledger, p.Entry-1)
	}
	return segments.At(p.Ledger-1, math.MaxInt64)
}

// entryAfter is the entry after the entry of p; in the next ledger, if p is the
// last that its own can have.
func entryAfter(p segments.Position) segments.Position {
	switch {
	case p.Entry < math.MaxInt64:
		return p.NextEntry()
	case p.Ledger < math.MaxInt64:
		return segments.At(p.Ledger+1, 0)
	}
	return p.EndOfEntry()
}

// without is what is left of runs, which are in order, when the entries of
// gone are taken out.
func without(runs, gone []Entries) []Entries {
	slices.SortFunc(gone, func(a, b Entries) int {
		return cmp.Or(a.First.Compare(b.First), a.Last.Compare(b.Last))
	})
	var left []Entries
	for _, run := range runs {
		for len(gone) > 0 && gone[0].Last.Before(run.First) {
			gone = gone[1:]
		}
		rest, empty := run, false
		for _, g := range gone {
			if g.First.After(rest.Last) {
				break
			}
			if g.Last.Before(rest.First) {
				continue
			}
			if g.First.After(rest.First) {
				left = append(left, Entries{First: rest.First, Last: entryBefore(g.First)})
			}
			if !g.Last.Before(rest.Last) {
				empty = true
				break
			}
			rest.First = entryAfter(g.Last)
		}
		if !empty {
			left = append(left, rest)
		}
	}
	return left
}

package readerlib

import (
	"math"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Start is where a reader begins. The zero value is Earliest.
type Start struct {
	from startFrom
	pos  segments.Position
	time segments.Millis
}

type startFrom int

const (
	fromEarliest startFrom = iota
	fromLatest
	fromAfter
	fromTime
)

// Earliest begins with the first message of the view.
func Earliest() Start { return Start{} }

// Latest begins after everything the view shows now: only what a later version
// adds to it is read, after a Refresh. Under ReadCommitted that includes
// messages that are stored already, behind a transaction that is still open.
func Latest() Start { return Start{from: fromLatest} }

// At begins with the message at p or, where the view has none there, with the
// first one after it. A position without batch index is before the messages of
// a batch at that entry, so the batch comes whole.
func At(p segments.Position) Start { return Start{from: fromAfter, pos: before(p)} }

// After begins with the first message after p. A position without batch index
// is before the messages of a batch at that entry, so the batch comes whole
// here too.
func After(p segments.Position) Start {
	if p.Before(segments.None) {
		p = segments.None
	}
	return Start{from: fromAfter, pos: p}
}

// Since begins with the first message of the view published at t or later, in
// order of position, and goes on with all that follow it, whatever their
// publish times. If there is none yet it begins with the first such message
// that a Refresh brings.
func Since(t time.Time) Start {
	ms := segments.MillisOf(t)
	if ms.Time().Before(t) {
		ms++ // publish times are whole milliseconds: the next one is the first not before t
	}
	return Start{from: fromTime, time: ms}
}

// before is the greatest position before p, so that "at p" can be kept as
// "after before(p)". Nothing is written before None.
func before(p segments.Position) segments.Position {
	switch {
	case !p.After(segments.At(0, 0)):
		return segments.None
	case p.Batch >= 0:
		p.Batch--
		return p
	case p.Entry > 0:
		return segments.At(p.Ledger, p.Entry-1).EndOfEntry()
	}
	return segments.At(p.Ledger-1, math.MaxInt64).EndOfEntry()
}

// endOf is the last position of an entry that bounds something; nothing lies
// through None.
func endOf(entry segments.Position) segments.Position {
	if entry.IsNone() {
		return entry
	}
	return entry.EndOfEntry()
}

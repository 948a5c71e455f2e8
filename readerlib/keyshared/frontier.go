package keyshared

import (
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Frontier is how far a group is: every message through Through is finished,
// but for the unfinished ones. It never passes a message that is not. Its size
// is bounded by the look-ahead, however long one message is stuck and however
// much was finished behind it. The zero value is before the first message.
//
//	              finished                 not read yet
//	...======x====x=xx========|...........................
//	         ^                ^
//	         Unfinished       Through
type Frontier struct {
	Through    segments.Null[segments.Position] // missing: nothing was read
	Unfinished []Unfinished                     // in order of position, all through Through
}

// Unfinished is a message that was read and is not finished.
type Unfinished struct {
	Position segments.Position
	Attempts int // that failed
}

// through is Through as a position.
func (f Frontier) through() segments.Position {
	if f.Through.Valid {
		return f.Through.V
	}
	return segments.None
}

// Start is where a reader begins that goes on from here.
func (f Frontier) Start() readerlib.Start {
	if len(f.Unfinished) > 0 {
		return readerlib.At(f.Unfinished[0].Position)
	}
	return readerlib.After(f.through())
}

// Frontier is how far the group is now. It is the caller's to keep. It takes
// time with the number of messages that are not finished.
func (d *Dispatcher) Frontier() Frontier {
	var f Frontier
	if !d.through.IsNone() {
		f.Through = segments.Some(d.through)
	}
	for it := d.first; it != nil; it = it.after {
		u := Unfinished{it.message.Position, it.attempts}
		if it.worker != nil {
			u.Attempts-- // it has not failed yet, and that a process is killed is no failure of its messages
		}
		f.Unfinished = append(f.Unfinished, u)
	}
	f.Unfinished = append(f.Unfinished, d.resumed...)
	return f
}

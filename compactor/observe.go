package compactor

import (
	"fmt"
	"sync"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Observer hears what a run does, as it does it. It hears one event at a time,
// maybe on different goroutines, and must not block.
type Observer interface {
	Observe(Event)
}

// Event is something that a run did. Its text is the log line.
type Event interface {
	fmt.Stringer
	event()
}

// Planned says what a run is going to do. It comes again when the run was
// overtaken and plans anew.
type Planned struct{ Plan *Plan }

// Scanned says that the headers of a dirty original are known.
type Scanned struct {
	Object string
	Rows   int64
}

// Resolved says that resolve task N of Of is done.
type Resolved struct{ N, Of int }

// Written says that a compacted segment is stored.
type Written struct {
	Object string
	Range  segments.Range
	Rows   int64
	Bytes  int64
}

// TookOver says that an original was adopted.
type TookOver struct {
	Object string
	Range  segments.Range
	Rows   int64 // that are shown
	Bytes  int64 // of the file
}

// Reclaimed says that neighbouring compacted segments were rewritten.
type Reclaimed struct {
	Range           segments.Range
	Inputs, Outputs int // segments with rows
	Rows, Dead      int64
}

// Buried says that the dead rows of an older segment are stored.
type Buried struct {
	Object string // the segment
	Rows   int64  // dead in all
}

// Overtaken says that a try was in vain, because somebody else has changed
// what it was planned from.
type Overtaken struct {
	Try int // from 1
	Err error
}

// SetAside says that a segment cannot be read, and is quarantined now.
type SetAside struct{ Object, Cause string }

// Lifted says that segments were quarantined, and are whole.
type Lifted struct{ Objects []string }

// OutOfTime says what a run leaves because its time is up.
type OutOfTime struct{ Left Left }

// Committed says that the run made a version.
type Committed struct {
	Version manifest.Version
	Horizon segments.Position
	Report  manifest.Report
}

func (Planned) event()   {}
func (Scanned) event()   {}
func (Resolved) event()  {}
func (Written) event()   {}
func (TookOver) event()  {}
func (Reclaimed) event() {}
func (Buried) event()    {}
func (Overtaken) event() {}
func (SetAside) event()  {}
func (Lifted) event()    {}
func (OutOfTime) event() {}
func (Committed) event() {}

func (e Planned) String() string {
	return fmt.Sprintf("planned from version %d: fold %s (%s), %d originals, %d tasks",
		e.Plan.Version, e.Plan.Range(), e.Plan.Stop, len(e.Plan.Inputs), len(e.Plan.Tasks))
}

func (e Scanned) String() string { return fmt.Sprintf("scanned %s: %d rows", e.Object, e.Rows) }

func (e Resolved) String() string { return fmt.Sprintf("resolved range %d of %d", e.N, e.Of) }

func (e Written) String() string {
	return fmt.Sprintf("wrote %s: %s, %d rows, %d bytes", e.Object, e.Range, e.Rows, e.Bytes)
}

func (e TookOver) String() string {
	return fmt.Sprintf("adopted %s: %s, %d rows, %d bytes", e.Object, e.Range, e.Rows, e.Bytes)
}

func (e Reclaimed) String() string {
	return fmt.Sprintf("reclaimed %s: %d rows in %d segments, before in %d, with %d dead ones",
		e.Range, e.Rows, e.Outputs, e.Inputs, e.Dead)
}

func (e Buried) String() string {
	return fmt.Sprintf("wrote dead rows of %s: %d rows", e.Object, e.Rows)
}

func (e Overtaken) String() string { return fmt.Sprintf("overtaken in try %d: %v", e.Try, e.Err) }

func (e SetAside) String() string { return fmt.Sprintf("quarantined %s: %s", e.Object, e.Cause) }

func (e Lifted) String() string { return fmt.Sprintf("lifted the quarantine of %v", e.Objects) }

func (e OutOfTime) String() string {
	return fmt.Sprintf("out of time: %d originals through %s are left, with %d rows in %d bytes",
		e.Left.Segments, e.Left.Through, e.Left.Rows, e.Left.Bytes)
}

func (e Committed) String() string {
	return fmt.Sprintf("committed version %d: horizon %s, %d rows in, %d kept",
		e.Version, e.Horizon, e.Report.Rows.In, e.Report.Rows.Kept)
}

// teller lets one event pass at a time. It is where nobody listens, too.
type teller struct {
	mu       sync.Mutex
	observer Observer
}

func (t *teller) tell(e Event) {
	if t.observer == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observer.Observe(e)
}

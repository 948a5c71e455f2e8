package manifest

import (
	"encoding/json"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Edit is a change to a topic, as data: what must still hold, and what it
// makes of it. Apply is the only place that gives an edit its meaning.
type Edit interface {
	// kind is the word that manifests keep of the edit.
	kind() string
	// apply changes m, a copy of the base, or says why it cannot.
	apply(m *Manifest) error
}

// Append adds original segments at the end of the topic. It was made from a
// topic whose last entry was After, and conflicts with any other append.
type Append struct {
	After    segments.Position
	Segments []Segment // at least one; they tile from After
	MaxRead  segments.Position

	// Producers lists those that changed. Producers whose last row was added
	// before ProducerCutoff are forgotten.
	Producers      []Producer
	ProducerCutoff segments.Millis

	Source       *Source // the named input, with all its lines that are in now
	Transactions json.RawMessage
}

// Compact folds the originals of (From, To]. It conflicts if the horizon is
// not From any more, if one of Inputs is gone, or if the dead rows of a
// segment that it rewrites, or has new ones for, have changed; appends and
// settings do not matter to it. To may be From: then only older rows die.
type Compact struct {
	From, To segments.Position
	Inputs   []string  // objects of the originals it read
	Outputs  []Segment // they tile (From, To]
	Dead     []DeadUpdate
	Reclaims []Reclaim // of none that Dead names
	Report   Report
}

// Reclaim puts Outputs, which hold the rows that are left of Inputs, in their
// place. It changes no view: what dies with it is in the account of the
// compaction, and every tombstone keeps the time that its retention counts
// from.
type Reclaim struct {
	Inputs  []Reclaimed // neighbours among the compacted segments, in order
	Outputs []Segment   // they tile what the inputs cover
	Died    int64       // rows that were live in the inputs, and are not in Outputs
}

// Reclaimed is a compacted segment as it was when its rewriting was planned.
// A stretch without objects has its range alone.
type Reclaimed struct {
	Range  segments.Range
	Object string
	Dead   *DeadRows
}

// DeadUpdate gives a compacted segment its new dead rows.
type DeadUpdate struct {
	Object         string    // of the segment
	Was            *DeadRows // what it had when the compaction was planned
	Now            DeadRows
	LiveTombstones int64
}

// Trim drops the originals through Through, which ends a ledger at or below
// the horizon. The last ledger that holds rows always stays.
type Trim struct {
	Through segments.Position
}

// Set replaces the settings. It conflicts if they are not Was any more.
type Set struct {
	Was, Now Settings
}

// Delete ends the topic.
type Delete struct{}

// Collect is the first half of a garbage collection: it expires the versions
// below ExpiredBefore, and shuts out the jobs below MinJob. Both only go up.
type Collect struct {
	ExpiredBefore Version
	MinJob        JobID
}

package manifest

import (
	"encoding/json"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Version numbers the versions of a topic: 0, 1, 2 ... It is text in JSON.
type Version uint64

// The ids of things, all ULIDs in text form, minted by whoever acts. CommitID
// is unique to one attempt to change a topic and survives its retries; JobID
// is the folder of everything that one run writes.
type (
	TopicID  string
	JobID    string
	CommitID string
)

// Manifest describes a topic at one version, whole and for good: whoever holds
// one needs nothing else to answer any question about that version. It is
// never changed; an Edit makes the next one of it.
type Manifest struct {
	Topic   TopicID  `json:"topic"`
	Name    string   `json:"name"`
	Version Version  `json:"version,string"`
	Commit  CommitID `json:"commit"`
	Parent  CommitID `json:"parent,omitempty"` // Commit of the version before
	Kind    string   `json:"kind"`             // of the edit that made it
	Job     JobID    `json:"job,omitempty"`

	// Time is when it was committed, by the committer's clock but never before
	// the parent's, so that versions can be searched by time.
	Time time.Time `json:"time"`

	// Recent lists the commit ids of the last versions, newest last and this
	// one included. A committer whose slot was collected under it finds here
	// whether it won.
	Recent []CommitID `json:"recent"`

	Settings Settings `json:"settings"`

	// Last is the last entry of any kind, ever; MaxRead the entry before the
	// first message of the first open transaction, or Last when none is open.
	// Horizon is the entry through which the compacted view is complete, and
	// RetainedAfter the entry through which originals were trimmed. All are
	// None until there is such an entry.
	//
	//	RetainedAfter <= Horizon <= MaxRead <= Last
	Last          segments.Position `json:"last"`
	MaxRead       segments.Position `json:"max_read"`
	Horizon       segments.Position `json:"horizon"`
	RetainedAfter segments.Position `json:"retained_after"`

	// Originals tile (RetainedAfter or before, Last] and Compacted tile
	// (None, Horizon]; both in order.
	Originals []Segment `json:"-"`
	Compacted []Segment `json:"-"`

	Producers []Producer `json:"-"` // by name, then epoch
	Sources   []Source   `json:"sources,omitempty"`

	// Transactions is the state that package txnfilter keeps; empty before the
	// first transaction.
	Transactions json.RawMessage `json:"transactions,omitempty"`

	// Report accounts for the rows of the compaction that made this version.
	Report *Report `json:"report,omitempty"`

	// Quarantined lists the segments that could not be read, in the order in
	// which that was found. They hold the horizon.
	Quarantined []Quarantined `json:"quarantined,omitempty"`

	// MinJob and Fenced name the jobs that may not commit any more: those
	// below MinJob, and the listed ones. Versions below ExpiredBefore are no
	// longer kept, but for tagged and pinned ones.
	MinJob        JobID   `json:"min_job,omitempty"`
	Fenced        []JobID `json:"fenced,omitempty"`
	ExpiredBefore Version `json:"expired_before,string"`

	// Deleted says that the topic is gone and takes no further edit.
	Deleted bool `json:"deleted,omitempty"`
}

// Segment is one segment of a topic as its manifest knows it. Object and Index
// are keys below the topic's folder, so a manifest cannot name what is not its
// topic's. A stretch of which nothing is left is a Segment without objects.
type Segment struct {
	Range  segments.Range `json:"range"` // what it covers, whether or not rows are left
	Object string         `json:"object,omitempty"`
	Index  string         `json:"index,omitempty"`
	Info   segments.Info  `json:"info"`

	// RowBytes is the size of its rows before compression, which is what
	// Settings.SegmentBytes bounds.
	RowBytes int64 `json:"row_bytes,omitempty"`

	// Of compacted segments: whether its objects are those of an original,
	// which may be trimmed by now; the rows that are not shown, in an adopted
	// file also those that never were; the live tombstones; and the time of the
	// commit that first compacted them, from which their retention counts.
	Adopted        bool      `json:"adopted,omitempty"`
	Dead           *DeadRows `json:"dead,omitempty"`
	LiveTombstones int64     `json:"live_tombstones,omitempty"`
	CompactedAt    time.Time `json:"compacted_at,omitzero"`
}

// LiveRows is the number of rows that the compacted view still shows.
func (s *Segment) LiveRows() int64 {
	if s.Dead == nil {
		return s.Info.Counts.Rows()
	}
	return s.Info.Counts.Rows() - s.Dead.Rows
}

// DeadRows names an object that holds a bitmap of row numbers (Roaring,
// portable format).
type DeadRows struct {
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rows   int64  `json:"rows"`
}

// Producer is what is remembered of a producer in one epoch, whatever became
// of its rows. Everything up to Sequence counts as seen.
type Producer struct {
	Name     string            `json:"name"`
	Epoch    int32             `json:"epoch"`
	Sequence int64             `json:"sequence,string"`
	Position segments.Position `json:"position"` // of its last added row
	Added    segments.Millis   `json:"added"`    // when that was, by the ingest's clock
}

// Source is what is remembered of a named input.
type Source struct {
	Name  string `json:"name"`
	Lines int64  `json:"lines"` // that are in, from the first
}

// Report accounts for the rows of one compaction: Rows for those of the
// originals it folded, Older for rows of earlier compactions that died in it.
type Report struct {
	Rows  RowAccount   `json:"rows"`
	Older OlderAccount `json:"older"`
}

// RowAccount says what became of the rows that a compaction took in.
// In = Kept + Superseded + Deleted + Aborted + Markers + Expired + KeylessDropped.
type RowAccount struct {
	In             int64 `json:"in"`
	Kept           int64 `json:"kept"`
	Superseded     int64 `json:"superseded"`
	Deleted        int64 `json:"deleted"`
	Aborted        int64 `json:"aborted"`
	Markers        int64 `json:"markers"`
	Expired        int64 `json:"expired"`
	KeylessDropped int64 `json:"keyless_dropped"`
}

// OlderAccount says why rows that an earlier compaction kept are gone.
type OlderAccount struct {
	Superseded int64 `json:"superseded"`
	Deleted    int64 `json:"deleted"`
	Expired    int64 `json:"expired"`
}

// FirstRetained is the first entry that the originals still hold, or None.
func (m *Manifest) FirstRetained() segments.Position {
	for i := range m.Originals {
		for _, l := range m.Originals[i].Info.Ledgers {
			if first := segments.At(l.Ledger, l.First); first.After(m.RetainedAfter) {
				return first
			}
		}
	}
	return segments.None
}

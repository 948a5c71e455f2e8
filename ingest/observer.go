package ingest

import (
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Observer hears what a run does, as it does it. Methods are called in order,
// on Run's goroutine, and must not block. The String of an event is its line
// in a log.
type Observer interface {
	// Progressed comes every few thousand records, and at the end of the input.
	Progressed(Progress)
	// SegmentCommitted comes when all lines of a segment are in.
	SegmentCommitted(SegmentCommitted)
	// Overtaken comes when another ingest was faster, and the lines since the
	// last commit are added again behind its own.
	Overtaken(Overtaken)
}

// Progress is how far a run is. Lines, here and below, are what the format
// counts: of an input of Kafka it is the offset after the last.
type Progress struct {
	Bytes      int64 // of the input as it comes, compressed if it is
	Lines      int64 // through the last record
	Messages   int64 // added, if what is pending can be committed
	Duplicates int64
}

func (p Progress) String() string {
	return fmt.Sprintf("read %d lines, %d bytes: %d messages, %d duplicates", p.Lines, p.Bytes, p.Messages, p.Duplicates)
}

// SegmentCommitted is a segment that is in.
type SegmentCommitted struct {
	Object  string // its key below the topic's folder
	Range   segments.Range
	Rows    int64
	Bytes   int64 // as stored
	Lines   int64 // of the input that are in now, from the first
	Version manifest.Version
}

func (s SegmentCommitted) String() string {
	return fmt.Sprintf("version %d: segment %s %s, %d rows, %d bytes; lines through %d are in",
		s.Version, s.Object, s.Range, s.Rows, s.Bytes, s.Lines)
}

// Overtaken is a commit that lost to another.
type Overtaken struct {
	Try int // from 1
	Err error
}

func (o Overtaken) String() string { return fmt.Sprintf("try %d: %v", o.Try, o.Err) }

// deaf is the Observer of those who give none.
type deaf struct{}

func (deaf) Progressed(Progress)               {}
func (deaf) SegmentCommitted(SegmentCommitted) {}
func (deaf) Overtaken(Overtaken)               {}

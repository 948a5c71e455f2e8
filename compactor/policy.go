package compactor

import (
	"errors"
	"fmt"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// Job is one attempt to work on a topic: everything that a run must not make
// up by itself.
type Job struct {
	ID manifest.JobID // folder of all that the run writes; never used before

	// Commits are ids that were never used before, one for each try. A run
	// that was overtaken as often as it has ids gives up.
	Commits []manifest.CommitID

	Now    time.Time // what retention and lag are counted to
	Writer string    // who writes, kept in segments: "ledgerfold 1.2.3"
	Policy Policy

	// Deadline is when the run must have ended, if it has to. It then takes a
	// commit id for each slice.
	Deadline *Deadline
}

// change is edit as the commit that has an id of the job's.
func (j Job) change(commit manifest.CommitID, edit manifest.Edit) manifest.Change {
	return manifest.Change{Commit: commit, Job: j.ID, Now: j.Now, Edit: edit}
}

// Validate reports everything that is wrong with j.
func (j Job) Validate() error {
	var errs []error
	if j.ID == "" {
		errs = append(errs, errors.New("the job has no id"))
	}
	if len(j.Commits) == 0 {
		errs = append(errs, errors.New("the job has no commit id"))
	}
	if j.Now.IsZero() {
		errs = append(errs, errors.New("the job has no time"))
	}
	return errors.Join(append(errs, j.Policy.Validate())...)
}

// Policy says how work is cut up. It changes what a run costs, and never what
// comes out of it.
type Policy struct {
	// RangeBytes is about how many bytes of key indexes one resolve task
	// merges. It never holds more of them at once, but for a page of 80 KiB
	// for each segment.
	RangeBytes int64

	// PieceBytes is about how much of an original is read at a time, when what
	// is left of it is written.
	PieceBytes int64

	// ShareBytes is the least that a write task writes. A run with more than one
	// keeps what each has come to, so that it need not be done again if the run
	// is killed. With 0 there is one.
	ShareBytes int64

	// Tasks is how many tasks of each kind are made for several processes to
	// share, or 0 for as many as the other bounds ask for.
	Tasks int

	// Parallel is how many things are read at a time: heads and headers of
	// segments, then ranges of digests, then pieces of originals.
	Parallel int
}

// DefaultPolicy suits one process with two processors and half a GiB.
func DefaultPolicy() Policy { return PolicyFor(defaultMemory, 0) }

const defaultMemory = 512 << 20

// defaultShare takes some seconds to write: less is not worth the requests that
// keep it, and more is much to lose.
const defaultShare = 512 << 20

// pageMemory is what a resolve task holds of each segment, whatever the range.
const pageMemory = 80 << 10

// PolicyFor suits a process that may take so much memory, and a topic of so
// many segments. What is read side by side gets a quarter of the memory, first
// as ranges of key indexes and pages of them, then as pieces of segments, which
// grow to a few times their size when they are taken apart. The rest is for the
// segments that are being written, about three of the topic's segment_bytes,
// and for garbage.
//
// So runs over segments of 64 MiB take 300 to 400 MiB with 512 MiB, however
// many keys there are. A policy cannot make segments smaller: with less than
// four of them, they are what memory follows.
func PolicyFor(memory int64, segments int) Policy {
	parallel := between(memory/(128<<20), 1, 16)
	share := memory / 4
	if pages := int64(segments) * pageMemory; pages > 0 {
		parallel = between(share/pages, 1, parallel)
	}
	return Policy{
		RangeBytes: between(share/parallel, 1<<20, 64<<20),
		PieceBytes: between(share/parallel/8, 256<<10, 8<<20),
		ShareBytes: defaultShare,
		Parallel:   int(parallel),
	}
}

func between(n, least, most int64) int64 { return max(least, min(n, most)) }

// Validate reports every setting that is out of range.
func (p Policy) Validate() error {
	var errs []error
	if p.RangeBytes < 1 {
		errs = append(errs, fmt.Errorf("range bytes are %d, want at least 1", p.RangeBytes))
	}
	if p.PieceBytes < 1 {
		errs = append(errs, fmt.Errorf("piece bytes are %d, want at least 1", p.PieceBytes))
	}
	if p.ShareBytes < 0 {
		errs = append(errs, fmt.Errorf("share bytes are %d, want at least 0", p.ShareBytes))
	}
	if p.Tasks < 0 || p.Tasks > maxTasks {
		errs = append(errs, fmt.Errorf("tasks are %d, want 0 to %d", p.Tasks, maxTasks))
	}
	if p.Parallel < 1 {
		errs = append(errs, fmt.Errorf("parallel is %d, want at least 1", p.Parallel))
	}
	return errors.Join(errs...)
}

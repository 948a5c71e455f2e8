package program

import (
	"context"
	"errors"
	"syscall"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Code is how a program ends. Schedulers act on it: 4 and 5 are worth running
// again as they are, the others need somebody to look.
type Code int

// The codes, a contract with every script that calls us.
const (
	Done       Code = 0 // done, or nothing to do
	Failed     Code = 1 // any other failure
	Usage      Code = 2 // arguments, settings, or credentials are wrong
	NotFound   Code = 3 // a topic, version, tag, key or file is not there
	Again      Code = 4 // store unreachable, or commit unknown: run it again
	Conflict   Code = 5 // others were faster every time, or the name is taken
	Corrupt    Code = 6 // bad input lines, or stored bytes are not what was written
	Interrupt  Code = 130
	Terminated Code = 143
)

// fates maps every error that somebody below tells apart to what becomes of
// the program. The first that matches counts, so what is more telling stands
// first: a corrupt object met while a commit was tried is corrupt.
var fates = []struct {
	is   error
	code Code
}{
	{ErrUsage, Usage},

	// A version that was collected while it was read: reading again takes a
	// newer one. It wraps ErrMissing, so it stands before it.
	{readerlib.ErrSnapshotExpired, Again},

	{readerlib.ErrBadRange, Usage},
	{readerlib.ErrTrimmed, NotFound},
	{ingest.ErrFormat, Usage},

	// What a line brings is wrong, whatever is wrong with it.
	{ingest.ErrBadInput, Corrupt},

	{compactor.ErrNoPlan, NotFound},
	{compactor.ErrNoTask, Usage},
	{compactor.ErrNotDone, Again},

	{compactor.ErrQuarantined, Corrupt},
	{segments.ErrCorrupt, Corrupt},
	{manifest.ErrMissing, Corrupt}, // what a manifest names is part of the topic

	{manifest.ErrTopicNotFound, NotFound},
	{manifest.ErrVersionNotFound, NotFound},
	{manifest.ErrTagNotFound, NotFound},

	{manifest.ErrTopicExists, Conflict},
	{manifest.ErrTagExists, Conflict},
	{manifest.ErrConflict, Conflict},
	{manifest.ErrFenced, Conflict}, // a new run has a new job, which is not shut out

	{manifest.ErrTakenOver, Conflict},

	{manifest.ErrUnknown, Again},

	{manifest.ErrTopicName, Usage},
	{manifest.ErrSetting, Usage},
	{segments.ErrPosition, Usage},
	{segments.ErrTxnID, Usage},

	// A newer program is needed, which is neither corrupt data nor cured by
	// trying again.
	{manifest.ErrUnsupported, Failed},

	// Another store is needed. It is an objstore.ErrInvalid too, so it stands
	// before it.
	{doctor.ErrUnfit, Failed},

	// Whoever set the store and its credentials has to look.
	{objstore.ErrDenied, Usage},
	{objstore.ErrInvalid, Usage},

	// Nobody above the store asks for an object that need not be there without
	// acting on its absence.
	{objstore.ErrNotFound, Corrupt},

	// A disk that is full or read-only stays so until somebody looks.
	{syscall.ENOSPC, Failed},
	{syscall.EDQUOT, Failed},
	{syscall.EROFS, Failed},

	{errUnreachable, Again},
	{context.DeadlineExceeded, Again},
}

// CodeOf is the one place that turns an error into an exit code.
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	if failures := (*Failures)(nil); errors.As(err, &failures) {
		return failures.code()
	}
	if absent := (missing{}); errors.As(err, &absent) {
		return NotFound
	}
	for _, fate := range fates {
		if errors.Is(err, fate.is) {
			return fate.code
		}
	}
	return Failed
}

// Failures are the errors of a command that did one thing after another and
// went on after each.
type Failures struct{ errs []error }

// Add notes an error; nil is none.
func (f *Failures) Add(err error) {
	if err != nil {
		f.errs = append(f.errs, err)
	}
}

// Err is f, or nil when nothing failed.
func (f *Failures) Err() error {
	if len(f.errs) == 0 {
		return nil
	}
	return f
}

func (f *Failures) Error() string { return errors.Join(f.errs...).Error() }

// severity orders codes by how much somebody has to look: a scheduler that
// sees 4 or 5 may try again by itself, and must not if another topic of the
// same run needs a person.
var severity = []Code{Done, Again, Conflict, NotFound, Usage, Failed, Corrupt}

// code is the gravest of all.
func (f *Failures) code() Code {
	gravest := 0
	for _, err := range f.errs {
		for rank, code := range severity {
			if code == CodeOf(err) {
				gravest = max(gravest, rank)
			}
		}
	}
	return severity[gravest]
}

// missing is an error that means NotFound by where it was met.
type missing struct{ error }

// Missing makes err mean NotFound.
func Missing(err error) error { return missing{err} }

func (m missing) Unwrap() error { return m.error }

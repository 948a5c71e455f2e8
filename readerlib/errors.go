package readerlib

import (
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
)

// The outcomes that a caller may act on; all are told apart with errors.Is.
// What comes from below passes through: manifest.ErrTopicNotFound,
// ErrVersionNotFound, ErrTagNotFound and ErrUnsupported, segments.ErrCorrupt
// (the stored bytes are damaged, trying again does not help), and the errors
// of the context and of the store.
var (
	// ErrSnapshotExpired says that the version being read names an object that
	// a collection has removed. What was yielded before is right, and more is
	// not to be had from this version: Refresh the reader, or open another on
	// a newer version, at the same place.
	ErrSnapshotExpired = errors.New("snapshot expired")

	// ErrBadRange says that a range begins after its end.
	ErrBadRange = errors.New("range begins after its end")
)

// expired marks the errors that mean ErrSnapshotExpired. That an object is
// missing must never look like an object without rows.
func expired(err error) error {
	if errors.Is(err, manifest.ErrMissing) || errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrSnapshotExpired, err)
	}
	return err
}

// Package objstore is the only door to object storage. Objects are written
// once and never replaced; everything above relies on that: there is no cache
// to keep coherent, no torn read, and doing a thing twice is doing it once.
package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// The outcomes that a caller may act on. Errors are told apart with errors.Is.
// After any other error of Put or Delete the outcome is unknown: the call may
// have taken effect, or may still take effect later.
var (
	// ErrNotFound says that no object has this key.
	ErrNotFound = errors.New("object not found")

	// ErrExists says that an object has this key already.
	ErrExists = errors.New("object exists")

	// ErrRange says that a range leaves its object.
	ErrRange = errors.New("range outside object")

	// ErrTooLarge says that an object has more bytes than the caller allows.
	ErrTooLarge = errors.New("object larger than allowed")

	// ErrDenied says that the store refused the credentials, or what they may
	// do. Trying again does not help.
	ErrDenied = errors.New("access denied")
)

// Body is what Put uploads. Its size is known and it can be read again from
// any place, so a retry needs no help from the caller. *bytes.Reader and
// *io.SectionReader are Bodies.
type Body interface {
	io.ReaderAt
	Size() int64
}

// Entry is one listed object.
type Entry struct {
	Key      string
	Bytes    int64
	Modified time.Time // by the store's clock
}

// Store holds write-once objects under keys of the alphabet [A-Za-z0-9_.=-]
// and "/", without an empty path element; no key is a folder of another.
// Implementations are safe for concurrent use and pass objstoretest.Run.
type Store interface {
	// Put creates key with the bytes of body. If key exists, Put changes
	// nothing and returns ErrExists. On any other error the object may or may
	// not exist, now or later; it is never seen in part. Put does not try
	// again by itself: an ErrExists is about an object that was there before
	// the call.
	Put(ctx context.Context, key string, body Body) error

	// Get returns the bytes of key, the caller's to keep. An object of more
	// than max bytes is ErrTooLarge, and no more than max bytes are read.
	Get(ctx context.Context, key string, max int64) ([]byte, error)

	// ReadAt fills p from the bytes of key at off. It never fills p in part
	// without an error: a range that leaves the object is ErrRange.
	ReadAt(ctx context.Context, key string, p []byte, off int64) error

	// List yields the objects whose keys begin with prefix and sort strictly
	// after after, in key order (bytewise). It stops at the first error. What
	// was put before List began is listed.
	List(ctx context.Context, prefix, after string) iter.Seq2[Entry, error]

	// Delete removes key. Deleting a missing key succeeds.
	Delete(ctx context.Context, key string) error
}

package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Put tries again with the same bytes at the same key, so doing it twice is
// doing it once. What needs care is who did it:
//
//	try 1   the object is created, and the answer is lost
//	try 2   ErrExists
//
// Taken for a lost race, that would make the caller clean up after a commit
// that it won. So an ErrExists that follows a try of unknown outcome is settled
// by reading the object: the same bytes are success, other bytes are ErrExists,
// and if it cannot be read the outcome stays unknown. A caller that must know
// itself from another who puts the same bytes gives them an id.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	err, unknown := s.write(ctx, func() error { return s.next.Put(ctx, key, body) })
	switch {
	case unknown == nil || !known(err) || err == nil:
		return err
	case errors.Is(err, objstore.ErrExists):
		return s.settle(ctx, key, body, unknown)
	}
	return stillUnknown("put", key, unknown, err)
}

// Delete tries again; a key that a lost try has deleted is missing, which is
// success.
func (s *Store) Delete(ctx context.Context, key string) error {
	err, unknown := s.write(ctx, func() error { return s.next.Delete(ctx, key) })
	if unknown == nil || !known(err) || err == nil {
		return err
	}
	return stillUnknown("delete", key, unknown, err)
}

// write makes call until its outcome is known. It also returns the error of the
// first try whose outcome is unknown, if there was one.
func (s *Store) write(ctx context.Context, call func() error) (err, unknown error) {
	err = s.until(ctx, func() error {
		err := call()
		if unknown == nil && !known(err) {
			unknown = err
		}
		return err
	})
	return err, unknown
}

// stillUnknown keeps an answer to a later try, such as that the credentials
// have expired, from passing for the outcome. It settles that try alone; the
// one before it may have taken effect. So then is told, but not wrapped.
func stillUnknown(act, key string, unknown, then error) error {
	return objstore.Failed(act, key, fmt.Errorf("outcome unknown: %w (and then: %v)", unknown, then))
}

// settle decides whether the object that exists is the one of body.
func (s *Store) settle(ctx context.Context, key string, body objstore.Body, unknown error) error {
	same, err := s.same(ctx, key, body)
	switch {
	case err != nil:
		return stillUnknown("put", key, unknown, err)
	case !same:
		return objstore.Failed("put", key, objstore.ErrExists)
	}
	return nil
}

// same reports whether the object has the bytes of body, a stretch at a time.
func (s *Store) same(ctx context.Context, key string, body objstore.Body) (bool, error) {
	const stretch = 4 << 20
	size := body.Size()
	want := make([]byte, min(stretch, size))
	got := make([]byte, len(want)+1)
	for off := int64(0); off < size; off += stretch {
		n := min(stretch, size-off)
		if _, err := io.ReadFull(io.NewSectionReader(body, off, n), want[:n]); err != nil {
			return false, err
		}
		err := s.ReadAt(ctx, key, got[:n], off)
		if errors.Is(err, objstore.ErrRange) {
			return false, nil // shorter
		}
		if err != nil {
			return false, err
		}
		if !bytes.Equal(got[:n], want[:n]) {
			return false, nil
		}
	}
	err := s.ReadAt(ctx, key, got[:1], size)
	if errors.Is(err, objstore.ErrRange) {
		return true, nil // it ends where body does
	}
	return false, err // longer, or unreadable
}

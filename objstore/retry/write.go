package retry

import (
	"context"
	"errors"
	"fmt"

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
	same, err := objstore.Same(ctx, s, key, body)
	switch {
	case err != nil:
		return stillUnknown("put", key, unknown, err)
	case !same:
		return objstore.Failed("put", key, objstore.ErrExists)
	}
	return nil
}

// Package limit wraps an objstore.Store so that no more than a number of calls
// are under way at once.
package limit

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/semaphore"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Store is an objstore.Store with a bound on its calls.
type Store struct {
	next  objstore.Store
	slots *semaphore.Weighted
}

var _ objstore.Store = (*Store)(nil)

// New wraps next. At most n calls are under way at once; others wait, first
// come first served, until there is room or their context ends.
func New(next objstore.Store, n int64) *Store {
	return &Store{next: next, slots: semaphore.NewWeighted(n)}
}

func (s *Store) enter(ctx context.Context, act, key string) error {
	if err := s.slots.Acquire(ctx, 1); err != nil {
		return objstore.Failed(act, key, fmt.Errorf("wait for other requests: %w", err))
	}
	return nil
}

func (s *Store) leave() { s.slots.Release(1) }

func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	if err := s.enter(ctx, "put", key); err != nil {
		return err
	}
	defer s.leave()
	return s.next.Put(ctx, key, body)
}

func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	if err := s.enter(ctx, "get", key); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.next.Get(ctx, key, max)
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if err := s.enter(ctx, "read", key); err != nil {
		return err
	}
	defer s.leave()
	return s.next.ReadAt(ctx, key, p, off)
}

// List counts while it fetches entries, and not while the loop over them looks
// at one. A loop may so make calls of its own, even if only one call is allowed.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		if err := s.enter(ctx, "list", prefix); err != nil {
			yield(objstore.Entry{}, err)
			return
		}
		inside := true
		defer func() {
			if inside {
				s.leave()
			}
		}()
		for e, err := range s.next.List(ctx, prefix, after) {
			s.leave()
			inside = false
			if !yield(e, err) || err != nil {
				return
			}
			if err := s.enter(ctx, "list", prefix); err != nil {
				yield(objstore.Entry{}, err)
				return
			}
			inside = true
		}
	}
}

func (s *Store) Delete(ctx context.Context, key string) error {
	if err := s.enter(ctx, "delete", key); err != nil {
		return err
	}
	defer s.leave()
	return s.next.Delete(ctx, key)
}

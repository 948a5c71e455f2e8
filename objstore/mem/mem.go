// Package mem is an objstore.Store in memory, for tests and simulations.
package mem

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Store is an objstore.Store in memory. The zero value is empty and ready; it
// must not be copied.
type Store struct {
	// Now is the store's clock, the source of Entry.Modified. If it is nil the
	// clock is logical: the first Put happens at the first second of 2000, UTC,
	// and each later one a second after the one before it. It is set before
	// the store is used and called under a lock.
	Now func() time.Time

	mu      sync.Mutex
	keys    []string // sorted
	objects map[string]object
	puts    int
}

// object is never changed once it is in the map, so its bytes are read without
// the lock.
type object struct {
	bytes    []byte
	modified time.Time
}

var _ objstore.Store = (*Store)(nil)

// Put keeps a copy of body.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	return objstore.Failed("put", key, s.put(ctx, key, body))
}

func (s *Store) put(ctx context.Context, key string, body objstore.Body) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	b := make([]byte, body.Size())
	if _, err := io.ReadFull(io.NewSectionReader(body, 0, body.Size()), b); err != nil {
		return fmt.Errorf("read body: %w", err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := slices.BinarySearch(s.keys, key)
	if found {
		return objstore.ErrExists
	}
	if s.objects == nil {
		s.objects = make(map[string]object)
	}
	s.keys = slices.Insert(s.keys, i, key)
	s.objects[key] = object{bytes: b, modified: s.now()}
	return nil
}

func (s *Store) now() time.Time {
	s.puts++
	if s.Now != nil {
		return s.Now()
	}
	return time.Date(2000, 1, 1, 0, 0, s.puts-1, 0, time.UTC)
}

func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	o, err := s.object(ctx, key)
	if err == nil && int64(len(o.bytes)) > max {
		err = objstore.ErrTooLarge
	}
	if err != nil {
		return nil, objstore.Failed("get", key, err)
	}
	return slices.Clone(o.bytes), nil
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	o, err := s.object(ctx, key)
	size := int64(len(o.bytes))
	if err == nil && (off < 0 || off > size || int64(len(p)) > size-off) {
		err = objstore.ErrRange
	}
	if err != nil {
		return objstore.Failed("read", key, fmt.Errorf("%d bytes at %d: %w", len(p), off, err))
	}
	copy(p, o.bytes[off:])
	return nil
}

func (s *Store) object(ctx context.Context, key string) (object, error) {
	if err := check(ctx, key); err != nil {
		return object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, objstore.ErrNotFound
	}
	return o, nil
}

// pageSize is how many entries List takes at a time. Between pages the store
// may change under it, as S3 does.
const pageSize = 1000

func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		if err := objstore.CheckPrefix(prefix); err != nil {
			yield(objstore.Entry{}, objstore.Failed("list", prefix, err))
			return
		}
		for last := after; ; {
			if err := ctx.Err(); err != nil {
				yield(objstore.Entry{}, objstore.Failed("list", prefix, err))
				return
			}
			page := s.page(prefix, last)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			last = page[len(page)-1].Key
		}
	}
}

// page returns the first entries after after.
func (s *Store) page(prefix, after string) []objstore.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, found := slices.BinarySearch(s.keys, max(prefix, after))
	if found && s.keys[i] == after {
		i++
	}
	var page []objstore.Entry
	for _, key := range s.keys[i:] {
		if !strings.HasPrefix(key, prefix) || len(page) == pageSize {
			break
		}
		o := s.objects[key]
		page = append(page, objstore.Entry{Key: key, Bytes: int64(len(o.bytes)), Modified: o.modified})
	}
	return page
}

func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return objstore.Failed("delete", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, found := slices.BinarySearch(s.keys, key); found {
		s.keys = slices.Delete(s.keys, i, i+1)
		delete(s.objects, key)
	}
	return nil
}

func check(ctx context.Context, key string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

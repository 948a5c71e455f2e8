// Package count wraps an objstore.Store and counts what goes through it: what a
// bill is made of, and what a test asserts that a plan does not exceed.
package count

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Snapshot is what went through a Store up to one moment. Calls count whether
// or not they succeeded.
type Snapshot struct {
	Puts    int64
	Gets    int64
	Reads   int64 // calls of ReadAt
	Lists   int64 // one for each thousand entries begun, as stores bill it
	Deletes int64

	BytesPut  int64 // of all bodies, also those that were refused
	BytesRead int64 // of the successful Gets and ReadAts
}

// Sub returns what went through between before and s.
func (s Snapshot) Sub(before Snapshot) Snapshot {
	return Snapshot{
		Puts:      s.Puts - before.Puts,
		Gets:      s.Gets - before.Gets,
		Reads:     s.Reads - before.Reads,
		Lists:     s.Lists - before.Lists,
		Deletes:   s.Deletes - before.Deletes,
		BytesPut:  s.BytesPut - before.BytesPut,
		BytesRead: s.BytesRead - before.BytesRead,
	}
}

// Requests returns the number of calls of all verbs.
func (s Snapshot) Requests() int64 {
	return s.Puts + s.Gets + s.Reads + s.Lists + s.Deletes
}

// Store is an objstore.Store that counts.
type Store struct {
	next objstore.Store

	puts, gets, reads, lists, deletes atomic.Int64
	bytesPut, bytesRead               atomic.Int64
}

var _ objstore.Store = (*Store)(nil)

// New wraps next.
func New(next objstore.Store) *Store { return &Store{next: next} }

// Snapshot returns the counts so far. While calls are running, each count is
// right by itself.
func (s *Store) Snapshot() Snapshot {
	return Snapshot{
		Puts:      s.puts.Load(),
		Gets:      s.gets.Load(),
		Reads:     s.reads.Load(),
		Lists:     s.lists.Load(),
		Deletes:   s.deletes.Load(),
		BytesPut:  s.bytesPut.Load(),
		BytesRead: s.bytesRead.Load(),
	}
}

func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	s.puts.Add(1)
	s.bytesPut.Add(body.Size())
	return s.next.Put(ctx, key, body)
}

func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	s.gets.Add(1)
	b, err := s.next.Get(ctx, key, max)
	s.bytesRead.Add(int64(len(b)))
	return b, err
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	s.reads.Add(1)
	err := s.next.ReadAt(ctx, key, p, off)
	if err == nil {
		s.bytesRead.Add(int64(len(p)))
	}
	return err
}

func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		const page = 1000
		s.lists.Add(1)
		n := 0
		for e, err := range s.next.List(ctx, prefix, after) {
			if n > 0 && n%page == 0 {
				s.lists.Add(1)
			}
			n++
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s *Store) Delete(ctx context.Context, key string) error {
	s.deletes.Add(1)
	return s.next.Delete(ctx, key)
}

// Package fault wraps an objstore.Store with faults, for tests and simulations.
// A fault is not noise: each is one thing that object stores are known to do,
// struck at a call that the test chooses.
package fault

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// ErrInjected is the error of every fault but Missing and Denied. It is none of
// the outcomes that a caller may act on.
var ErrInjected = errors.New("injected fault")

// Verb is a method of objstore.Store.
type Verb string

const (
	Put    Verb = "put"
	Get    Verb = "get"
	ReadAt Verb = "read"
	List   Verb = "list"
	Delete Verb = "delete"
)

// Fault is how one call fails.
type Fault int

const (
	// None lets the call through.
	None Fault = iota

	// Before fails the call, and nothing is done.
	Before

	// After does the call and loses its answer. A List yields everything
	// before it fails.
	After

	// Late fails a Put or Delete whose request is still on its way: it takes
	// effect at the next Land, or never. On other verbs it is Before.
	Late

	// Short cuts the answer off in the middle: ReadAt fills half of its bytes,
	// List yields one entry, then there is an error. On Put and Delete it is
	// After.
	Short

	// Missing makes Get and ReadAt answer ErrNotFound, and List nothing at
	// all, though the objects are there. On Put and Delete it is Before.
	Missing

	// Wrong makes Get and ReadAt answer success with a byte that is not the
	// object's, the middle one, and List yield all entries twice, as a service
	// does that takes no notice of where a listing is to go on. On Put and
	// Delete it is Before.
	Wrong

	// Twice does a Put a second time and gives that one's answer, ErrExists, as
	// clients and proxies do that repeat a request whose answer was lost. On
	// other verbs it is Before.
	Twice

	// Denied answers ErrDenied, as after credentials have expired.
	Denied
)

// Op is a call that is about to be made.
type Op struct {
	N    int64 // how many calls were made before it, of any verb
	Verb Verb
	Key  string // the prefix, if Verb is List
}

// Hook decides the fate of each call before it begins. It is called from
// whatever goroutines call the store. A nil Hook lets all calls through.
type Hook func(Op) Fault

// At fails the nth call, counting from zero.
func At(n int64, f Fault) Hook {
	return Rule{N: n, Fault: f}.Hook()
}

// Rule fails the Nth, counting from zero, of the calls that it matches.
type Rule struct {
	N     int64
	Fault Fault
	Verb  Verb   // "" matches every verb
	Key   string // matches the keys that contain it
}

// Hook returns a Hook that keeps count for r.
func (r Rule) Hook() Hook {
	var matched atomic.Int64
	return func(op Op) Fault {
		if r.Verb != "" && r.Verb != op.Verb || !strings.Contains(op.Key, r.Key) {
			return None
		}
		if matched.Add(1)-1 != r.N {
			return None
		}
		return r.Fault
	}
}

// Store is an objstore.Store whose calls fail as its Hook says.
type Store struct {
	next objstore.Store
	hook Hook

	calls  atomic.Int64
	struck atomic.Int64

	mu   sync.Mutex
	late []func(context.Context) error
}

var _ objstore.Store = (*Store)(nil)

// New wraps next.
func New(next objstore.Store, hook Hook) *Store {
	return &Store{next: next, hook: hook}
}

// Calls returns how many calls were made. A test that fails every call in turn
// counts them first, without a fault.
func (s *Store) Calls() int64 { return s.calls.Load() }

// Struck returns how many calls were failed. A test that expects a fault asks
// whether it came.
func (s *Store) Struck() int64 { return s.struck.Load() }

// Land lets the Late calls take effect, oldest first, and returns what they
// would have returned.
func (s *Store) Land(ctx context.Context) error {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	var errs []error
	for _, call := range late {
		errs = append(errs, call(ctx))
	}
	return errors.Join(errs...)
}

func (s *Store) fate(verb Verb, key string) Fault {
	n := s.calls.Add(1) - 1
	if s.hook == nil {
		return None
	}
	f := s.hook(Op{N: n, Verb: verb, Key: key})
	if f != None {
		s.struck.Add(1)
	}
	return f
}

func injected(verb Verb, key string) error {
	return objstore.Failed(string(verb), key, ErrInjected)
}

func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	return s.write(ctx, Put, key, func(ctx context.Context) error { return s.next.Put(ctx, key, body) })
}

func (s *Store) Delete(ctx context.Context, key string) error {
	return s.write(ctx, Delete, key, func(ctx context.Context) error { return s.next.Delete(ctx, key) })
}

func (s *Store) write(ctx context.Context, verb Verb, key string, call func(context.Context) error) error {
	switch s.fate(verb, key) {
	case None:
		return call(ctx)
	case Denied:
		return objstore.Failed(string(verb), key, objstore.ErrDenied)
	case After, Short:
		_ = call(ctx) // whatever the answer was, it is lost
	case Twice:
		if verb == Put {
			_ = call(ctx)
			return call(ctx)
		}
	case Late:
		s.mu.Lock()
		s.late = append(s.late, call)
		s.mu.Unlock()
	}
	return injected(verb, key)
}

func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	switch s.fate(Get, key) {
	case None:
		return s.next.Get(ctx, key, max)
	case Denied:
		return nil, objstore.Failed("get", key, objstore.ErrDenied)
	case Missing:
		return nil, objstore.Failed("get", key, objstore.ErrNotFound)
	case Wrong:
		body, err := s.next.Get(ctx, key, max)
		return flip(body), err
	case After, Short:
		_, _ = s.next.Get(ctx, key, max)
	}
	return nil, injected(Get, key)
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	switch s.fate(ReadAt, key) {
	case None:
		return s.next.ReadAt(ctx, key, p, off)
	case Denied:
		return objstore.Failed("read", key, objstore.ErrDenied)
	case Missing:
		return objstore.Failed("read", key, objstore.ErrNotFound)
	case Wrong:
		err := s.next.ReadAt(ctx, key, p, off)
		flip(p)
		return err
	case After:
		_ = s.next.ReadAt(ctx, key, p, off)
	case Short:
		_ = s.next.ReadAt(ctx, key, p[:len(p)/2], off)
	}
	return injected(ReadAt, key)
}

// flip changes the byte in the middle of p, and returns p.
func flip(p []byte) []byte {
	if len(p) > 0 {
		p[len(p)/2] ^= 1
	}
	return p
}

func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		fate := s.fate(List, prefix)
		switch fate {
		case Denied:
			yield(objstore.Entry{}, objstore.Failed("list", prefix, objstore.ErrDenied))
			return
		case Missing:
			return
		case Wrong:
			for range 2 {
				for e, err := range s.next.List(ctx, prefix, after) {
					if !yield(e, err) || err != nil {
						return
					}
				}
			}
			return
		case None, After, Short:
			n := 0
			for e, err := range s.next.List(ctx, prefix, after) {
				if fate == Short && n == 1 {
					break
				}
				n++
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
		if fate != None {
			yield(objstore.Entry{}, injected(List, prefix))
		}
	}
}

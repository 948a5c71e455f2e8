package program

import (
	"context"
	"errors"
	"iter"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// errUnreachable says that a store did not do what it was asked, after all the
// tries, for a reason that it does not know by name: it cannot be reached, or
// is in trouble.
var errUnreachable = errors.New("store unreachable")

// unreachableError marks an error of a store, so that far above it is known
// where it came from. It adds no words.
type unreachableError struct{ error }

func (e unreachableError) Is(target error) bool { return target == errUnreachable }
func (e unreachableError) Unwrap() error        { return e.error }

// mark marks err, unless it is an outcome that the store's contract names, or
// the caller's own end.
func mark(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, named := range []error{
		objstore.ErrNotFound, objstore.ErrExists, objstore.ErrRange,
		objstore.ErrTooLarge, objstore.ErrDenied, objstore.ErrInvalid,
	} {
		if errors.Is(err, named) {
			return err
		}
	}
	return unreachableError{err}
}

// marked is a store whose unnamed errors are marked.
type marked struct{ next objstore.Store }

func (m marked) Put(ctx context.Context, key string, body objstore.Body) error {
	return mark(ctx, m.next.Put(ctx, key, body))
}

func (m marked) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	b, err := m.next.Get(ctx, key, max)
	return b, mark(ctx, err)
}

func (m marked) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	return mark(ctx, m.next.ReadAt(ctx, key, p, off))
}

func (m marked) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		for e, err := range m.next.List(ctx, prefix, after) {
			if !yield(e, mark(ctx, err)) {
				return
			}
		}
	}
}

func (m marked) Delete(ctx context.Context, key string) error {
	return mark(ctx, m.next.Delete(ctx, key))
}

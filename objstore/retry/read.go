package retry

import (
	"context"
	"iter"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func (s *Store) Get(ctx context.Context, key string, max int64) (b []byte, err error) {
	err = s.until(ctx, func() error {
		b, err = s.next.Get(ctx, key, max)
		return err
	})
	return b, err
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	return s.until(ctx, func() error { return s.next.ReadAt(ctx, key, p, off) })
}

// List goes on after the last entry that it yielded. Entries are progress: the
// tries begin anew after one.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		last, t := after, s.tries()
		for {
			var failure error
			for e, err := range s.next.List(ctx, prefix, last) {
				if err != nil {
					failure = err
					break
				}
				if !yield(e, nil) {
					return
				}
				last, t = e.Key, s.tries()
			}
			if failure == nil {
				return
			}
			if err, again := t.failed(ctx, failure); !again {
				yield(objstore.Entry{}, err)
				return
			}
		}
	}
}

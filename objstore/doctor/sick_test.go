package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// sick is a store that has some of its methods from elsewhere; the others are
// those of a store that is well.
type sick struct {
	*mem.Store
	put    func(ctx context.Context, key string, body objstore.Body) error
	get    func(ctx context.Context, key string, max int64) ([]byte, error)
	readAt func(ctx context.Context, key string, p []byte, off int64) error
	list   func(prefix, after string) []objstore.Entry
	delete func(ctx context.Context, key string) error
}

func (s *sick) Put(ctx context.Context, key string, body objstore.Body) error {
	if s.put != nil {
		return s.put(ctx, key, body)
	}
	return s.Store.Put(ctx, key, body)
}

func (s *sick) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	if s.get != nil {
		return s.get(ctx, key, max)
	}
	return s.Store.Get(ctx, key, max)
}

func (s *sick) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if s.readAt != nil {
		return s.readAt(ctx, key, p, off)
	}
	return s.Store.ReadAt(ctx, key, p, off)
}

func (s *sick) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	if s.list == nil {
		return s.Store.List(ctx, prefix, after)
	}
	return func(yield func(objstore.Entry, error) bool) {
		for _, e := range s.list(prefix, after) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *sick) Delete(ctx context.Context, key string) error {
	if s.delete != nil {
		return s.delete(ctx, key)
	}
	return s.Store.Delete(ctx, key)
}

// listed is what a store that is well lists.
func (s *sick) listed(prefix, after string) []objstore.Entry {
	var entries []objstore.Entry
	for e := range s.Store.List(context.Background(), prefix, after) {
		entries = append(entries, e)
	}
	return entries
}

// overwrite puts an object whatever is there.
func (s *sick) overwrite(ctx context.Context, key string, body objstore.Body) error {
	if err := s.Store.Delete(ctx, key); err != nil {
		return err
	}
	if err := s.Store.Put(ctx, key, body); !errors.Is(err, objstore.ErrExists) {
		return err
	}
	return nil // another one was overwriting at the same time
}

// sickness is a way of not keeping a promise that was seen in stores, and the
// checks that find it.
type sickness struct {
	name  string
	catch func(s *sick)
	fails []string // checks of the long form
	warns []string
	short []string // checks of the short form
}

var sicknesses = []sickness{
	{
		name:  "takes no notice of the condition",
		catch: func(s *sick) { s.put = s.overwrite },
		fails: []string{"create-over-existing", "racing-creates", "lost-answer", "empty-object", "large-object"},
		short: []string{"create-over-existing", "racing-creates"},
	},
	{
		name: "looks first and writes later",
		catch: func(s *sick) {
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				if _, err := s.Store.Get(ctx, key, 1<<30); err == nil {
					return objstore.ErrExists
				}
				time.Sleep(time.Second) // in a bubble: all who race have looked by then
				return s.overwrite(ctx, key, body)
			}
		},
		fails: []string{"racing-creates", "large-object"},
		short: []string{"racing-creates"},
	},
	{
		name: "takes no notice of the condition for uploads in parts",
		catch: func(s *sick) {
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				if body.Size() > 16<<20 {
					return s.overwrite(ctx, key, body)
				}
				return s.Store.Put(ctx, key, body)
			}
		},
		fails: []string{"large-object"},
	},
	{
		name: "overwrites and says that it did not",
		catch: func(s *sick) {
			var mu sync.Mutex
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				mu.Lock()
				defer mu.Unlock()
				_, err := s.Store.Get(ctx, key, 1<<30)
				if err := s.overwrite(ctx, key, body); err != nil {
					return err
				}
				if err == nil {
					return objstore.ErrExists
				}
				return nil
			}
		},
		fails: []string{"create-over-existing", "racing-creates", "empty-object", "large-object"},
		short: []string{"create-over-existing"},
	},
	{
		name: "says that it created and did not",
		catch: func(s *sick) {
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				if err := s.Store.Put(ctx, key, body); !errors.Is(err, objstore.ErrExists) {
					return err
				}
				return nil
			}
		},
		fails: []string{"create-over-existing", "racing-creates", "lost-answer", "empty-object", "large-object"},
		short: []string{"create-over-existing", "racing-creates"},
	},
	{
		name: "refuses everybody who races",
		catch: func(s *sick) {
			var mu sync.Mutex
			waiting := map[string]int{}
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				mu.Lock()
				waiting[key]++
				mu.Unlock()
				time.Sleep(time.Second) // in a bubble
				mu.Lock()
				raced := waiting[key] > 1
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				waiting[key]--
				mu.Unlock()
				err := s.Store.Put(ctx, key, body)
				if raced {
					return objstore.ErrExists
				}
				return err
			}
		},
		fails: []string{"racing-creates", "large-object"},
		short: []string{"racing-creates"},
	},
	{
		name: "does not know conditions",
		catch: func(s *sick) {
			s.put = func(_ context.Context, key string, _ objstore.Body) error {
				return objstore.Failed("put", key, fmt.Errorf("the store cannot do this (501 NotImplemented): %w", objstore.ErrInvalid))
			}
		},
		fails: []string{"clock", "create-over-existing", "racing-creates", "lost-answer", "empty-object", "large-object", "list-after-put", "list-order", "list-pages", "range-reads", "delete-then-create"},
		short: []string{"create-over-existing"},
	},
	{
		name: "lists what was there a listing ago",
		catch: func(s *sick) {
			before := map[string][]objstore.Entry{}
			s.list = func(prefix, after string) []objstore.Entry {
				place := strings.Join([]string{prefix, after}, " after ")
				stale := before[place]
				before[place] = s.listed(prefix, after)
				return stale
			}
		},
		fails: []string{"empty-object", "list-after-put", "list-order", "list-pages"},
		warns: []string{"clock"},
		short: []string{"list-after-put"},
	},
	{
		name: "lists in the order of folders",
		catch: func(s *sick) {
			s.list = func(prefix, after string) []objstore.Entry {
				entries := s.listed(prefix, after)
				slices.SortFunc(entries, func(a, b objstore.Entry) int {
					return slices.Compare(strings.Split(a.Key, "/"), strings.Split(b.Key, "/"))
				})
				return entries
			}
		},
		fails: []string{"list-order"},
	},
	{
		name: "lists the key that it was to begin after",
		catch: func(s *sick) {
			s.list = func(prefix, after string) []objstore.Entry {
				var entries []objstore.Entry
				for _, e := range s.listed(prefix, "") {
					if e.Key >= after {
						entries = append(entries, e)
					}
				}
				return entries
			}
		},
		fails: []string{"list-after-put", "list-order", "list-pages"},
	},
	{
		name: "takes the place to begin after for a prefix",
		catch: func(s *sick) {
			s.list = func(prefix, after string) []objstore.Entry {
				return s.listed(prefix+strings.TrimPrefix(after, prefix), "")
			}
		},
		fails: []string{"list-after-put", "list-order", "list-pages"},
	},
	{
		name: "lists a page and says that it is all",
		catch: func(s *sick) {
			s.list = func(prefix, after string) []objstore.Entry {
				entries := s.listed(prefix, after)
				return entries[:min(len(entries), 1000)]
			}
		},
		fails: []string{"list-pages"},
	},
	{
		name: "lists wrong sizes",
		catch: func(s *sick) {
			s.list = func(prefix, after string) []objstore.Entry {
				entries := s.listed(prefix, after)
				for i := range entries {
					entries[i].Bytes++
				}
				return entries
			}
		},
		fails: []string{"empty-object", "list-after-put"},
	},
	{
		name: "reads from the beginning",
		catch: func(s *sick) {
			s.readAt = func(ctx context.Context, key string, p []byte, off int64) error {
				if err := s.Store.ReadAt(ctx, key, p, off); err != nil {
					return err
				}
				return s.Store.ReadAt(ctx, key, p, 0)
			}
		},
		fails: []string{"large-object", "range-reads"},
	},
	{
		name: "reads past the end",
		catch: func(s *sick) {
			s.readAt = func(ctx context.Context, key string, p []byte, off int64) error {
				if err := s.Store.ReadAt(ctx, key, p, off); !errors.Is(err, objstore.ErrRange) {
					return err
				}
				return nil
			}
		},
		fails: []string{"range-reads"},
	},
	{
		name: "reads what is not there",
		catch: func(s *sick) {
			s.readAt = func(ctx context.Context, key string, p []byte, off int64) error {
				if err := s.Store.ReadAt(ctx, key, p, off); !errors.Is(err, objstore.ErrNotFound) {
					return err
				}
				return nil
			}
		},
		fails: []string{"range-reads"},
	},
	{
		name: "cannot read ranges",
		catch: func(s *sick) {
			s.readAt = func(context.Context, string, []byte, int64) error {
				return errors.New("checksum did not match")
			}
		},
		fails: []string{"large-object", "range-reads"},
	},
	{
		name: "cuts large objects off",
		catch: func(s *sick) {
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				return s.Store.Put(ctx, key, io.NewSectionReader(body, 0, min(body.Size(), 16<<20)))
			}
		},
		fails: []string{"large-object"},
	},
	{
		name: "keeps what was deleted for reading",
		catch: func(s *sick) {
			var gone sync.Map
			s.delete = func(ctx context.Context, key string) error {
				if b, err := s.Store.Get(ctx, key, 100); err == nil {
					gone.Store(key, b)
				}
				return s.Store.Delete(ctx, key)
			}
			s.get = func(ctx context.Context, key string, max int64) ([]byte, error) {
				if b, cached := gone.Load(key); cached {
					return b.([]byte), nil
				}
				return s.Store.Get(ctx, key, max)
			}
		},
		fails: []string{"delete-then-create"},
	},
	{
		name: "does not delete",
		catch: func(s *sick) {
			s.delete = func(context.Context, string) error { return nil }
		},
		fails: []string{"delete-then-create"},
	},
	{
		name: "finds nothing to delete",
		catch: func(s *sick) {
			s.delete = func(ctx context.Context, key string) error {
				if _, err := s.Store.Get(ctx, key, 1<<30); err != nil {
					return fmt.Errorf("delete %s: 404: %w", key, objstore.ErrNotFound)
				}
				return s.Store.Delete(ctx, key)
			}
		},
		fails: []string{"delete-missing"},
	},
	{
		name: "lets nobody delete",
		catch: func(s *sick) {
			s.delete = func(_ context.Context, key string) error {
				return objstore.Failed("delete", key, objstore.ErrDenied)
			}
		},
		warns: []string{"delete-then-create", "delete-missing", "clean-up"},
	},
	{
		name: "has a clock that is an hour slow",
		catch: func(s *sick) {
			s.Store.Now = func() time.Time { return now.Add(-time.Hour) }
		},
		warns: []string{"clock"},
	},
	{
		name: "tells no times",
		catch: func(s *sick) {
			s.Store.Now = func() time.Time { return time.Time{} }
		},
		warns: []string{"clock"},
	},
}

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/objstore"
)

const (
	callsAtOnce    = 8
	discardTimeout = 30 * time.Second
)

// patient is the store that is examined. It remembers what was put, so that
// all of it can be deleted whatever the store lists.
type patient struct {
	stores   []objstore.Store
	settings Settings
	prefix   string
	folder   string // folder of the experiment that is running
	odd      bool   // an experiment was made twice, and went wrong twice

	mu   sync.Mutex
	keys []string // that may be there
}

// begin finds out whether the store answers at all. A bucket that is not there
// and credentials that are refused are no symptoms.
func (p *patient) begin(ctx context.Context) error {
	for e, err := range p.stores[0].List(ctx, p.prefix+"/", "") {
		if err != nil {
			return fmt.Errorf("examine the store: %w", err)
		}
		return fmt.Errorf("examine the store: %s is there already: %w", e.Key, objstore.ErrInvalid)
	}
	return nil
}

// try makes an experiment. A call that goes wrong in a way that nobody knows
// may be the store's manner or a bad moment:
//
//	the experiment again, somewhere else    works     a bad moment
//	a plain GET of nothing                  answered  the store's manner: a result
//	                                        not       the store is down: an error
//
// The calls have tried again by themselves before, for some seconds.
func (p *patient) try(ctx context.Context, e experiment) (result, error) {
	var err error
	for n := 1; n <= 2; n++ {
		p.folder = fmt.Sprintf("%s/%s/%d/", p.prefix, e.name, n)
		var r result
		if r, err = e.run(ctx, p); err == nil {
			return r, nil
		}
		if ctx.Err() != nil || errors.Is(err, objstore.ErrDenied) {
			return result{}, err
		}
		if p.odd {
			break // it is known for its manners, and each try takes seconds
		}
	}
	if _, down := p.stores[0].Get(ctx, p.prefix+"/nothing", 1); !errors.Is(down, objstore.ErrNotFound) {
		return result{}, err
	}
	p.odd = true
	return fail("%v", err), nil
}

// key is a key of the experiment that is running.
func (p *patient) key(name string) string { return p.folder + name }

// create puts a body and reports whether it was this call that created key.
func (p *patient) create(ctx context.Context, writer int, key string, body objstore.Body) (won bool, err error) {
	p.mu.Lock()
	p.keys = append(p.keys, key)
	p.mu.Unlock()
	err = p.stores[writer%len(p.stores)].Put(ctx, key, body)
	if errors.Is(err, objstore.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// put creates a key that is new. That it exists is no outcome then.
func (p *patient) put(ctx context.Context, key string, body string) error {
	switch won, err := p.create(ctx, 0, key, text(body)); {
	case err != nil:
		return err
	case !won:
		return fmt.Errorf("put %s, which is new: %w", key, objstore.ErrExists)
	}
	return nil
}

// putAll creates keys that are new, several at a time.
func (p *patient) putAll(ctx context.Context, keys []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(callsAtOnce)
	for _, key := range keys {
		g.Go(func() error { return p.put(ctx, key, key) })
	}
	return g.Wait()
}

// get reads an object of which no more than max bytes are expected.
func (p *patient) get(ctx context.Context, key string, max int64) ([]byte, error) {
	return p.stores[0].Get(ctx, key, max)
}

// list returns the listed entries.
func (p *patient) list(ctx context.Context, prefix, after string) ([]objstore.Entry, error) {
	var entries []objstore.Entry
	for e, err := range p.stores[0].List(ctx, prefix, after) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// discard deletes what was put, also and above all when ctx has ended. What
// stays takes space and nothing else.
func (p *patient) discard(ctx context.Context) result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	var deleted atomic.Int64
	var g errgroup.Group
	g.SetLimit(callsAtOnce)
	keys := unique(p.keys)
	for _, key := range keys {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := p.stores[0].Delete(ctx, key)
			if err == nil {
				deleted.Add(1)
			} else {
				cancel() // one that fails has tried for seconds
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return warn("%d objects below %s/ could not be deleted: %v", int64(len(keys))-deleted.Load(), p.prefix, err)
	}
	return pass("the %d objects of the examination were deleted", len(keys))
}

func unique(keys []string) []string {
	seen := make(map[string]bool)
	var once []string
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			once = append(once, key)
		}
	}
	return once
}

// text is a small body.
func text(s string) objstore.Body { return bytes.NewReader([]byte(s)) }

// pattern is a big body that is never in memory as a whole: the noise over and
// over, from a place that is the writer's. The noise's length is a prime, so
// bodies differ at every offset that a part might begin at.
type pattern struct {
	writer int
	size   int64
}

var noise = func() []byte {
	b := make([]byte, 65_521)
	x := uint32(1)
	for i := range b {
		x = x*1_664_525 + 1_013_904_223
		b[i] = byte(x >> 24)
	}
	return b
}()

func (p pattern) Size() int64 { return p.size }

func (p pattern) ReadAt(b []byte, off int64) (int, error) {
	n := int(max(0, min(int64(len(b)), p.size-off)))
	for done := 0; done < n; {
		from := (off + int64(done) + int64(p.writer)*7_919) % int64(len(noise))
		done += copy(b[done:n], noise[from:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// isAt reports whether b is what p has at off.
func (p pattern) isAt(b []byte, off int64) bool {
	want := make([]byte, min(len(b), len(noise)))
	for len(b) > 0 {
		n := min(len(b), len(want))
		if _, err := p.ReadAt(want[:n], off); err != nil || !bytes.Equal(b[:n], want[:n]) {
			return false
		}
		b, off = b[n:], off+int64(n)
	}
	return true
}

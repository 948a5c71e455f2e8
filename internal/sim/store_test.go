package sim

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// view is the store as one actor sees it: each of its requests waits for its
// turn, and is made by whoever hands the turns out.
type view struct{ a *actor }

var _ objstore.Store = view{}

func (v view) Put(ctx context.Context, key string, body objstore.Body) error {
	// The body is read now: a request that lands late is on its way with all
	// of its bytes.
	b := make([]byte, body.Size())
	if _, err := io.ReadFull(io.NewSectionReader(body, 0, body.Size()), b); err != nil {
		return err
	}
	w := v.a.w
	c := &call{verb: fault.Put, key: key, do: func() error {
		err := w.store.Put(context.Background(), key, bytes.NewReader(b))
		if err == nil {
			w.truth.put(w, key, b)
		}
		return err
	}}
	if w.trace != nil {
		c.more = fmt.Sprintf("(%d bytes, %08x)", len(b), crc32.ChecksumIEEE(b))
	}
	return v.unlessEnded(ctx, c)
}

func (v view) Get(ctx context.Context, key string, max int64) (body []byte, err error) {
	c := &call{verb: fault.Get, key: key, do: func() (err error) {
		body, err = v.a.w.store.Get(context.Background(), key, max)
		return err
	}}
	if err := v.unlessEnded(ctx, c); err != nil {
		return nil, err
	}
	return body, nil
}

func (v view) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	return v.unlessEnded(ctx, &call{
		verb: fault.ReadAt, key: key, more: fmt.Sprintf("%d bytes at %d", len(p), off),
		do:    func() error { return v.a.w.store.ReadAt(context.Background(), key, p, off) },
		halve: func() { clear(p[len(p)/2:]) },
	})
}

func (v view) Delete(ctx context.Context, key string) error {
	w := v.a.w
	return v.unlessEnded(ctx, &call{verb: fault.Delete, key: key, do: func() error {
		w.truth.delete(w, key)
		return w.store.Delete(context.Background(), key)
	}})
}

// unlessEnded is what every store does: a request under a context that has
// ended is not made. A write that waits for its turn is on its way, though, and
// is made whatever becomes of its sender.
func (v view) unlessEnded(ctx context.Context, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if do := c.do; !isWrite(c.verb) {
		c.do = func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do()
		}
	}
	return v.a.pass(c)
}

// List asks for a page at a time, as lists of buckets do: what happens between
// two pages is seen or not.
func (v view) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		w := v.a.w
		if w.rules.hideFloors && strings.HasSuffix(prefix, "/floor/") {
			return
		}
		for last := after; ; {
			var page []objstore.Entry
			err := v.unlessEnded(ctx, &call{
				verb: fault.List, key: prefix, more: "after " + last,
				do: func() error {
					page = page[:0]
					for e, err := range w.store.List(context.Background(), prefix, last) {
						if err != nil {
							return err
						}
						if page = append(page, e); len(page) == w.nature.page {
							break
						}
					}
					return nil
				},
				halve: func() { page = page[:len(page)/2] },
			})
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(objstore.Entry{}, err)
				return
			}
			if len(page) < w.nature.page {
				return
			}
			last = page[len(page)-1].Key
		}
	}
}

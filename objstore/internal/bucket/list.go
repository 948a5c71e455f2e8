package bucket

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// List relies on the service for the order and checks it. A service that lists
// out of order, or the same again and again, cannot hold a message log, and it
// is better to stop than to miss something.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		if err := s.list(ctx, prefix, after, yield); err != nil {
			yield(objstore.Entry{}, objstore.Failed("list", prefix, s.outcome(err)))
		}
	}
}

// list returns nil when the loop does not want more.
func (s *Store) list(ctx context.Context, prefix, after string, yield func(objstore.Entry, error) bool) error {
	if err := objstore.CheckPrefix(prefix); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	start, ok := s.startAfter(prefix, after)
	if !ok {
		return nil
	}
	last := ""
	for e, err := range s.client.List(ctx, s.base+prefix, start) {
		if err != nil {
			return err
		}
		key, ours := strings.CutPrefix(e.Key, s.base)
		if !ours || !strings.HasPrefix(key, prefix) || objstore.CheckKey(key) != nil {
			continue // put there by something else, such as a console's empty folder
		}
		if key <= last {
			return fmt.Errorf("the store listed %s after %s, which is out of order", key, last)
		}
		last = key
		if key <= after {
			continue
		}
		e.Key = key
		if !yield(e, nil) {
			return nil
		}
	}
	return ctx.Err() // a client may take it for the end of the listing
}

// startAfter returns where the service is to begin, or false if nothing with
// prefix can sort after after.
//
// What it sends is kept to what services agree on. Some take only a place
// within the prefix, and XML has no room for some bytes. A place that is a
// little earlier does no harm, as list leaves out what comes before after.
func (s *Store) startAfter(prefix, after string) (start string, ok bool) {
	if after > prefix && !strings.HasPrefix(after, prefix) {
		return "", false
	}
	for i := range len(after) {
		if !objstore.InAlphabet(after[i]) && after[i] != '/' {
			after = after[:i]
			break
		}
	}
	if after <= prefix {
		return "", true
	}
	return s.base + after, true
}

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// listAfterPut does what commits do: it puts a key that follows the last one,
// and lists from there.
func listAfterPut(ctx context.Context, p *patient) (result, error) {
	const rounds = 10
	last := ""
	for round := range rounds {
		key := p.key(fmt.Sprintf("%020d", round))
		if err := p.put(ctx, key, key); err != nil {
			return result{}, err
		}
		entries, err := p.list(ctx, p.folder, last)
		if err != nil {
			return result{}, err
		}
		if wrong := differ(keysOf(entries), []string{key}); wrong != "" {
			return fail("after a put, from the key before: %s", wrong), nil
		}
		if n := entries[0].Bytes; n != int64(len(key)) {
			return fail("an object of %d bytes is listed with %d", len(key), n), nil
		}
		last = key
	}
	return pass("%d times an object was listed right after its put", rounds), nil
}

func keysOf(entries []objstore.Entry) []string {
	var keys []string
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

// differ says how a listing is another than the one that is wanted, or nothing
// if it is not.
func differ(got, want []string) string {
	for i, key := range want {
		switch {
		case i == len(got):
			return fmt.Sprintf("%d keys are listed where %d are there; the first that is missing is %s", len(got), len(want), key)
		case got[i] != key:
			return fmt.Sprintf("key %d of the listing is %s, want %s", i+1, got[i], key)
		}
	}
	if len(got) > len(want) {
		return fmt.Sprintf("%d keys are listed where %d are there; %s is one too many", len(got), len(want), got[len(want)])
	}
	return ""
}

// listOrder puts keys whose order is easily got wrong: "-" and "." sort before
// "/", so a walk through folders comes to another order; capitals sort before
// small letters. It lists them from every place.
func listOrder(ctx context.Context, p *patient) (result, error) {
	var keys []string
	for _, name := range []string{"a-b", "a.b", "a/b", "a/b-", "a/c.d/e", "a0", "a=b", "aB/c", "a_b", "aa", "B", "m/00000000000000000009", "m/00000000000000000010", "z"} {
		keys = append(keys, p.key(name))
	}
	slices.Sort(keys)
	if err := p.putAll(ctx, keys); err != nil {
		return result{}, err
	}
	for i := range len(keys) + 1 {
		after := ""
		if i > 0 {
			after = keys[i-1]
		}
		entries, err := p.list(ctx, p.folder, after)
		if err != nil {
			return result{}, err
		}
		if wrong := differ(keysOf(entries), keys[i:]); wrong != "" {
			return fail("after %q: %s", after, wrong), nil
		}
	}
	between, err := p.list(ctx, p.key("m/"), p.key("m/000000000000000000095"))
	if err != nil {
		return result{}, err
	}
	if wrong := differ(keysOf(between), []string{p.key("m/00000000000000000010")}); wrong != "" {
		return fail("from a place between two keys: %s", wrong), nil
	}
	return pass("%d keys are listed in order of their bytes, from any place", len(keys)), nil
}

// listPages needs more than a page: services list a thousand keys at a time.
func listPages(ctx context.Context, p *patient) (result, error) {
	const n, from = 1_100, 50
	var keys []string
	for i := range n {
		keys = append(keys, p.key(fmt.Sprintf("%06d", i)))
	}
	if err := p.putAll(ctx, keys); err != nil {
		return result{}, err
	}
	for _, from := range []int{0, from} {
		after := ""
		if from > 0 {
			after = keys[from-1]
		}
		entries, err := p.list(ctx, p.folder, after)
		if err != nil {
			return result{}, err
		}
		if wrong := differ(keysOf(entries), keys[from:]); wrong != "" {
			return fail("%s", wrong), nil
		}
	}
	return pass("%d keys are listed, page by page", n), nil
}

func rangeReads(ctx context.Context, p *patient) (result, error) {
	const size = 64 << 10
	key := p.key("a")
	whole := make([]byte, size)
	if _, err := (pattern{0, size}).ReadAt(whole, 0); err != nil && err != io.EOF {
		return result{}, err
	}
	if err := p.put(ctx, key, string(whole)); err != nil {
		return result{}, err
	}
	inside := []struct{ off, n int64 }{{0, 1}, {0, size}, {size - 1, 1}, {size / 2, 1000}, {3, 4}}
	for _, r := range inside {
		b := make([]byte, r.n)
		if err := p.stores[0].ReadAt(ctx, key, b, r.off); err != nil {
			return result{}, err
		}
		if !bytes.Equal(b, whole[r.off:r.off+r.n]) {
			return fail("%d bytes at %d of an object are not those that were put there", r.n, r.off), nil
		}
	}
	for _, r := range []struct{ off, n int64 }{{0, size + 1}, {size - 1, 2}, {size, 1}, {2 * size, 1}} {
		err := p.stores[0].ReadAt(ctx, key, make([]byte, r.n), r.off)
		if err == nil {
			return fail("%d bytes at %d of an object of %d were answered, though it ends before", r.n, r.off, size), nil
		}
		if !errors.Is(err, objstore.ErrRange) {
			return result{}, err
		}
	}
	err := p.stores[0].ReadAt(ctx, p.key("never"), make([]byte, 1), 0)
	if gone, err := absent(err); err != nil || !gone {
		return fail("an object that is not there can be read"), err
	}
	return pass("%d ranges are right, and those that leave the object are refused", len(inside)), nil
}

// absent reports whether err of a read says that there is no object. Any other
// error stays one.
func absent(err error) (bool, error) {
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		return true, nil
	case err == nil:
		return false, nil
	}
	return false, err
}

func isDenied(err error) bool { return errors.Is(err, objstore.ErrDenied) }

func clock(ctx context.Context, p *patient) (result, error) {
	if p.settings.Now.IsZero() {
		return pass("not compared"), nil
	}
	key := p.key("a")
	if err := p.put(ctx, key, "now"); err != nil {
		return result{}, err
	}
	entries, err := p.list(ctx, key, "")
	if err != nil {
		return result{}, err
	}
	if len(entries) == 0 || entries[0].Modified.IsZero() {
		return warn("the store does not say when an object was put"), nil
	}
	return judgeClock(entries[0].Modified.Sub(p.settings.Now)), nil
}

// clockBound is how far a clock may be off before somebody is told. It leaves
// out the time that the calls take, and stays well below the quarter of an hour
// from which S3 refuses requests.
const clockBound = time.Minute

// judgeClock judges by how much the store's clock is ahead.
func judgeClock(ahead time.Duration) result {
	ahead = ahead.Round(time.Second)
	switch {
	case ahead > clockBound:
		return warn("the store's clock is %v ahead of this machine's", ahead)
	case ahead < -clockBound:
		return warn("the store's clock is %v behind this machine's", -ahead)
	}
	return pass("the store's clock and this machine's differ by less than %v", clockBound)
}

func checksums(_ context.Context, p *patient) (result, error) {
	if p.settings.Checksums == "" {
		return pass("not known; every object is checked by digests of its own when it is read"), nil
	}
	return pass("%s", p.settings.Checksums), nil
}

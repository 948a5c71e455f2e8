package objstoretest

import (
	"errors"
	"math"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func getOfAMissingKey(t *testing.T, s objstore.Store) {
	put(t, s, "a/b", []byte("x"))
	for _, key := range []string{"missing", "a", "a/b/c", "a/bb"} {
		if b, err := s.Get(t.Context(), key, 100); !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("Get(%q) = %q, %v; want ErrNotFound", key, b, err)
		}
	}
}

func getReadsNoMoreThanAllowed(t *testing.T, s objstore.Store) {
	put(t, s, "a", []byte("12345"))
	for _, max := range []int64{5, 6, math.MaxInt64} {
		if b, err := s.Get(t.Context(), "a", max); err != nil || string(b) != "12345" {
			t.Errorf("Get(max %d) = %q, %v; want all bytes", max, b, err)
		}
	}
	for _, max := range []int64{4, 1, 0} {
		if b, err := s.Get(t.Context(), "a", max); !errors.Is(err, objstore.ErrTooLarge) || b != nil {
			t.Errorf("Get(max %d) = %q, %v; want ErrTooLarge", max, b, err)
		}
	}
}

func getIsTheCallersToKeep(t *testing.T, s objstore.Store) {
	put(t, s, "a", []byte("12345"))
	b, err := s.Get(t.Context(), "a", 5)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	wantObject(t, s, "a", []byte("12345"))
}

func readAtFillsExactly(t *testing.T, s objstore.Store) {
	put(t, s, "a", []byte("0123456789"))
	for _, c := range []struct {
		off  int64
		want string
	}{
		{0, "0123456789"}, {0, "0"}, {9, "9"}, {3, "3456"},
		{0, ""}, {5, ""}, {10, ""}, // nothing is inside, up to and at the end
	} {
		p := make([]byte, len(c.want))
		if err := s.ReadAt(t.Context(), "a", p, c.off); err != nil || string(p) != c.want {
			t.Errorf("ReadAt(%d bytes at %d) = %q, %v; want %q", len(p), c.off, p, err, c.want)
		}
	}
}

func readAtOutsideIsErrRange(t *testing.T, s objstore.Store) {
	put(t, s, "a", []byte("12345"))
	for _, c := range []struct{ off, size int64 }{
		{0, 6}, {4, 2}, {5, 1}, {99, 1}, {6, 0}, {-1, 1}, {-1, 0}, {math.MaxInt64, 1}, {math.MaxInt64, 0}, {math.MinInt64, 1},
	} {
		if err := s.ReadAt(t.Context(), "a", make([]byte, c.size), c.off); !errors.Is(err, objstore.ErrRange) {
			t.Errorf("ReadAt(%d bytes at %d) = %v, want ErrRange", c.size, c.off, err)
		}
	}
}

func readAtOfAMissingKey(t *testing.T, s objstore.Store) {
	for _, size := range []int{1, 0} {
		if err := s.ReadAt(t.Context(), "missing", make([]byte, size), 0); !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("ReadAt(%d bytes) = %v, want ErrNotFound", size, err)
		}
	}
}

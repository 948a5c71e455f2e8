package objstoretest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func putAll(t *testing.T, s objstore.Store, keys ...string) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for _, key := range keys {
		g.Go(func() error { return s.Put(ctx, key, bytes.NewReader([]byte(key))) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Elsewhere a start key was taken for a prefix once, and a follower saw one
// object where many were waiting.
func listAfterIsARange(t *testing.T, s objstore.Store) {
	putAll(t, s, "l/9", "m/0001", "m/0002", "m/0010", "n/0003")
	wantList(t, s, "m/", "m/0001", "m/0002", "m/0010") // a key that exists
	wantList(t, s, "m/", "m/0000", "m/0001", "m/0002", "m/0010")
	wantList(t, s, "m/", "m/0003", "m/0010")            // a key that does not
	wantList(t, s, "m/", "m/0001x", "m/0002", "m/0010") // longer than a key
	wantList(t, s, "m/", "m/000", "m/0001", "m/0002", "m/0010")
	wantList(t, s, "m/", "m/", "m/0001", "m/0002", "m/0010")
	wantList(t, s, "m/", "a", "m/0001", "m/0002", "m/0010") // before the prefix
	wantList(t, s, "m/", "m/0010")                          // the last
	wantList(t, s, "m/", "m/9")                             // after the last
	wantList(t, s, "m/", "n")                               // after the prefix
	wantList(t, s, "", "m/0002", "m/0010", "n/0003")
	wantList(t, s, "", "m", "m/0001", "m/0002", "m/0010", "n/0003")
	wantList(t, s, "", "m0", "n/0003") // after a whole folder
	wantList(t, s, "", "\xff\x00")     // no key, yet a place in the order
	wantList(t, s, "", "m/0002\x00", "m/0010", "n/0003")
}

// "-" and "." sort before "/", digits and letters after it. A walk over folders
// that forgets it yields "a/b" before "a-b".
func listIsInByteOrder(t *testing.T, s objstore.Store) {
	keys := []string{
		"a-b", "a.b", "a/b", "a/b-", "a/b.c/d", "a/b0", "a/c/d", "a/c0", "a0/b", "a=b", "aB/c", "a_b", "aa",
		"B", "b/-/x", "b/.x", "Z/z", "0", "-", "=", "_/a",
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	putAll(t, s, keys...)
	wantList(t, s, "", "", keys...)
	for i, key := range keys {
		wantList(t, s, "", key, keys[i+1:]...)
	}
}

func listPrefixMayCutAnElement(t *testing.T, s objstore.Store) {
	putAll(t, s, "ab", "abc/1", "abc/2", "abd/1", "b/1")
	wantList(t, s, "ab", "", "ab", "abc/1", "abc/2", "abd/1")
	wantList(t, s, "abc", "", "abc/1", "abc/2")
	wantList(t, s, "abc/", "", "abc/1", "abc/2")
	wantList(t, s, "abc/2", "", "abc/2")
	wantList(t, s, "ab", "abc/1", "abc/2", "abd/1")
}

func listOfAMissingPrefix(t *testing.T, s objstore.Store) {
	wantList(t, s, "", "")
	wantList(t, s, "m/", "")
	put(t, s, "m/1", []byte("x"))
	wantList(t, s, "n/", "")
	wantList(t, s, "m/1/", "")
	wantList(t, s, "m/2", "")
	wantList(t, s, "m/1/2/3/", "")
}

// Servers answer at most a thousand entries at a time.
func listYieldsEveryPage(t *testing.T, s objstore.Store) {
	keys := make([]string, 1100)
	for i := range keys {
		keys[i] = fmt.Sprintf("p%d/%04d", i/400, i)
	}
	putAll(t, s, keys...)
	wantList(t, s, "", "", keys...)
	wantList(t, s, "p", keys[49], keys[50:]...)
}

func listStopsWhenTheLoopDoes(t *testing.T, s objstore.Store) {
	putAll(t, s, "a", "b/1", "b/2", "c")
	seq := s.List(t.Context(), "", "")
	for range 2 { // a listing may be ranged over again, from its beginning
		var got []string
		for e, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e.Key); len(got) == 2 {
				break
			}
		}
		if want := []string{"a", "b/1"}; !slices.Equal(got, want) {
			t.Errorf("List until two entries = %q, want %q", got, want)
		}
	}
	put(t, s, "d", nil) // nothing is left locked
}

func listKnowsSizesAndTimes(t *testing.T, s objstore.Store) {
	put(t, s, "empty", nil)
	put(t, s, "five", []byte("12345"))
	want := map[string]int64{"empty": 0, "five": 5}
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Bytes != want[e.Key] {
			t.Errorf("%s has %d bytes, want %d", e.Key, e.Bytes, want[e.Key])
		}
		if e.Modified.IsZero() {
			t.Errorf("%s has no time", e.Key)
		}
	}
}

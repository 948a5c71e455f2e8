// Package objstoretest is the contract of objstore.Store as a test suite. What
// the contract's comments promise is checked here, and an implementation or a
// decorator is done when it passes.
package objstoretest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Run checks every promise of objstore.Store. It calls open once per subtest,
// for an empty store.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) {
	for _, promise := range []struct {
		name string
		test func(t *testing.T, s objstore.Store)
	}{
		{"PutNeverReplaces", putNeverReplaces},
		{"PutKeepsAnEmptyBody", putKeepsAnEmptyBody},
		{"PutKeepsABigBody", putKeepsABigBody},
		{"PutKeepsItsOwnCopy", putKeepsItsOwnCopy},
		{"PutOfABrokenBodyLeavesNothing", putOfABrokenBodyLeavesNothing},
		{"OneOfRacingPutsWins", oneOfRacingPutsWins},
		{"OneOfRacingBigPutsWins", oneOfRacingBigPutsWins},
		{"AFreedFolderNameIsFreeForAnObject", aFreedFolderNameIsFree},

		{"GetOfAMissingKeyIsErrNotFound", getOfAMissingKey},
		{"GetReadsNoMoreThanAllowed", getReadsNoMoreThanAllowed},
		{"GetIsTheCallersToKeep", getIsTheCallersToKeep},
		{"ReadAtFillsExactly", readAtFillsExactly},
		{"ReadAtOutsideIsErrRange", readAtOutsideIsErrRange},
		{"ReadAtOfAMissingKeyIsErrNotFound", readAtOfAMissingKey},

		{"ListAfterIsARangeNotAPrefix", listAfterIsARange},
		{"ListIsInByteOrder", listIsInByteOrder},
		{"ListPrefixMayCutAnElement", listPrefixMayCutAnElement},
		{"ListOfAMissingPrefixIsEmpty", listOfAMissingPrefix},
		{"ListYieldsEveryPage", listYieldsEveryPage},
		{"ListStopsWhenTheLoopDoes", listStopsWhenTheLoopDoes},
		{"ListKnowsSizesAndTimes", listKnowsSizesAndTimes},

		{"DeleteOfAMissingKeySucceeds", deleteOfAMissingKey},
		{"DeleteFreesTheKey", deleteFreesTheKey},

		{"ACancelledContextDoesNothing", aCancelledContextDoesNothing},
		{"InvalidKeysAreRefused", invalidKeysAreRefused},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.test(t, open(t)) })
	}
}

// big is above the size at which stores begin to upload in parts, and not a
// multiple of one.
const big = 17<<20 + 5

// pattern returns size bytes that differ between seeds and at every offset that
// a part might begin at: each 4 KiB begin with the seed and their number.
func pattern(seed byte, size int) []byte {
	b := bytes.Repeat([]byte("write once. "), size/12+1)[:size]
	for i := 0; i < size; i += 4 << 10 {
		copy(b[i:], fmt.Sprintf("%d %d ", seed, i))
	}
	return b
}

func put(t *testing.T, s objstore.Store, key string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, bytes.NewReader(body)); err != nil {
		t.Fatalf("Put(%q) = %v", key, err)
	}
}

func wantObject(t *testing.T, s objstore.Store, key string, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key, int64(len(want)))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("Get(%q) = %s, %v; want %s", key, brief(got), err, brief(want))
	}
}

func brief(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%d bytes that begin with %q", len(b), b[:40])
	}
	return fmt.Sprintf("%q", b)
}

// list returns the listed keys.
func list(t *testing.T, s objstore.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	for e, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatalf("List(%q, %q) = %v after %d entries", prefix, after, err, len(keys))
		}
		keys = append(keys, e.Key)
	}
	return keys
}

func wantList(t *testing.T, s objstore.Store, prefix, after string, want ...string) {
	t.Helper()
	if got := list(t, s, prefix, after); !slices.Equal(got, want) {
		t.Errorf("List(%q, %q) = %q, want %q", prefix, after, got, want)
	}
}

// listError returns the first error of a listing.
func listError(ctx context.Context, s objstore.Store, prefix string) error {
	for _, err := range s.List(ctx, prefix, "") {
		if err != nil {
			return err
		}
	}
	return nil
}

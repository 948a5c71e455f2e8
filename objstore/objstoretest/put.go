package objstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func putNeverReplaces(t *testing.T, s objstore.Store) {
	put(t, s, "m/1", []byte("first"))
	for _, body := range []string{"second, and longer", "first", ""} {
		err := s.Put(t.Context(), "m/1", bytes.NewReader([]byte(body)))
		if !errors.Is(err, objstore.ErrExists) {
			t.Errorf("Put of %q = %v, want ErrExists", body, err)
		}
	}
	wantObject(t, s, "m/1", []byte("first"))
	wantList(t, s, "", "", "m/1")
}

func putKeepsAnEmptyBody(t *testing.T, s objstore.Store) {
	put(t, s, "empty", nil)
	wantObject(t, s, "empty", nil)
	if err := s.Put(t.Context(), "empty", bytes.NewReader([]byte("x"))); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("Put over an empty object = %v, want ErrExists", err)
	}
	if err := s.ReadAt(t.Context(), "empty", make([]byte, 1), 0); !errors.Is(err, objstore.ErrRange) {
		t.Errorf("ReadAt of an empty object = %v, want ErrRange", err)
	}
}

func putKeepsABigBody(t *testing.T, s objstore.Store) {
	body := pattern(1, big)
	put(t, s, "s/big.arrow", body)
	wantObject(t, s, "s/big.arrow", body)
	if err := s.Put(t.Context(), "s/big.arrow", bytes.NewReader(pattern(2, big))); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("Put over a big object = %v, want ErrExists", err)
	}
	tail := make([]byte, 1000)
	if err := s.ReadAt(t.Context(), "s/big.arrow", tail, big-1000); err != nil || !bytes.Equal(tail, body[big-1000:]) {
		t.Errorf("ReadAt of the last bytes = %v, or other bytes than were put", err)
	}
}

func putKeepsItsOwnCopy(t *testing.T, s objstore.Store) {
	body := []byte("before")
	put(t, s, "a", body)
	copy(body, "after!")
	wantObject(t, s, "a", []byte("before"))
}

// A body may end early or fail in the middle, small or big. There is an error,
// and never an object.
func putOfABrokenBodyLeavesNothing(t *testing.T, s objstore.Store) {
	broken := errors.New("broken body")
	for i, body := range []brokenBody{
		{size: 10, good: 4, err: io.EOF},
		{size: 10, good: 4, err: broken},
		{size: big, good: 10 << 20, err: broken},
	} {
		if err := s.Put(t.Context(), "a", body); err == nil {
			t.Errorf("Put of broken body %d = nil, want an error", i)
		}
		if b, err := s.Get(t.Context(), "a", big); !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("Get after the Put of broken body %d = %s, %v; want ErrNotFound", i, brief(b), err)
		}
	}
	wantList(t, s, "", "")
}

// brokenBody claims size bytes, has good of them, and then err.
type brokenBody struct {
	size, good int64
	err        error
}

func (b brokenBody) Size() int64 { return b.size }

func (b brokenBody) ReadAt(p []byte, off int64) (int, error) {
	n := max(0, min(int64(len(p)), b.good-off))
	clear(p[:n])
	if n < int64(len(p)) {
		return int(n), b.err
	}
	return int(n), nil
}

// Several writers create one key at once, over and over. Each round has one
// winner, everybody else learns that they lost, and the winner's bytes stay.
func oneOfRacingPutsWins(t *testing.T, s objstore.Store) {
	for round := range 10 {
		race(t, s, fmt.Sprintf("m/%04d", round), 8, 100)
	}
}

func oneOfRacingBigPutsWins(t *testing.T, s objstore.Store) {
	race(t, s, "s/big", 3, big)
}

func race(t *testing.T, s objstore.Store, key string, writers, size int) {
	t.Helper()
	errs := make([]error, writers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range writers {
		body := bytes.NewReader(pattern(byte(i), size))
		wg.Go(func() {
			<-start
			errs[i] = putDecided(t.Context(), s, key, body)
		})
	}
	close(start)
	wg.Wait()

	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("%s: writers %d and %d both won", key, winner, i)
		case !errors.Is(err, objstore.ErrExists):
			t.Errorf("%s: writer %d: %v, want nil or ErrExists", key, i, err)
		}
	}
	if winner < 0 {
		t.Fatalf("%s: nobody won: %v", key, errs)
	}
	wantObject(t, s, key, pattern(byte(winner), size))
}

// putDecided puts until the outcome is known. A store may answer that it has
// decided nothing because another request was in its way; somebody who insists
// learns who won.
func putDecided(ctx context.Context, s objstore.Store, key string, body objstore.Body) error {
	var err error
	for range 100 {
		err = s.Put(ctx, key, body)
		if err == nil || errors.Is(err, objstore.ErrExists) {
			return err
		}
	}
	return err
}

// No key is a folder of another at one time, but one may be after the other.
func aFreedFolderNameIsFree(t *testing.T, s objstore.Store) {
	put(t, s, "x/y/z", []byte("below"))
	if err := s.Delete(t.Context(), "x/y/z"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "x", []byte("above"))
	wantObject(t, s, "x", []byte("above"))
	if err := s.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	put(t, s, "x/y/z", []byte("below again"))
	wantList(t, s, "", "", "x/y/z")
}

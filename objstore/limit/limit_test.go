package limit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/limit"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, n := range []int64{1, 3} {
		objstoretest.Run(t, func(*testing.T) objstore.Store { return limit.New(new(mem.Store), n) })
	}
}

// slow takes a second for each Put, by the clock of synctest, and watches how
// many there are at once.
type slow struct {
	mem.Store
	now, most atomic.Int64
}

func (s *slow) Put(ctx context.Context, key string, body objstore.Body) error {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	return s.Store.Put(ctx, key, body)
}

func TestNoMoreThanTheLimitAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := new(slow)
		s := limit.New(below, 3)
		start := time.Now()
		var wg sync.WaitGroup
		for _, key := range strings.Split("abcdefghij", "") {
			wg.Go(func() {
				if err := s.Put(t.Context(), key, strings.NewReader("x")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if most := below.most.Load(); most != 3 {
			t.Errorf("%d Puts were under way at once, want 3", most)
		}
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("10 Puts of a second each took %v, want 4s", d)
		}
	})
}

func TestWhoWaitsCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limit.New(new(slow), 1)
		var wg sync.WaitGroup
		wg.Go(func() { _ = s.Put(t.Context(), "a", strings.NewReader("x")) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.Put(ctx, "b", strings.NewReader("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Put = %v, want context.DeadlineExceeded", err)
		}
		wg.Wait()
		if err := s.Put(t.Context(), "b", strings.NewReader("x")); err != nil {
			t.Errorf("Put with room = %v", err)
		}
	})
}

func TestALoopOverAListMayMakeCalls(t *testing.T) {
	s := limit.New(new(mem.Store), 1)
	for _, key := range []string{"a", "b", "c"} {
		if err := s.Put(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), e.Key); err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil { // no slot was lost
		t.Error(err)
	}
}

package keyshared_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is the clock of the bubble, or the real one.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

func (clock) Timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// messages yields n messages of so many keys, and then err if it is one.
func messages(n, keys int, err error) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		for i := range n {
			m := segments.Message{Position: segments.At(1, int64(i)), Key: fmt.Appendf(nil, "k%d", i%keys)}
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(segments.Message{}, err)
		}
	}
}

// always gives the same messages.
func always(msgs iter.Seq2[segments.Message, error]) func(context.Context) iter.Seq2[segments.Message, error] {
	return func(context.Context) iter.Seq2[segments.Message, error] { return msgs }
}

// after yields the messages from a frontier on, as a reader does.
func after(f keyshared.Frontier, all iter.Seq2[segments.Message, error]) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		for m, err := range all {
			first := len(f.Unfinished) > 0 && m.Position.Before(f.Unfinished[0].Position)
			if err == nil && (first || len(f.Unfinished) == 0 && f.Through.Valid && !m.Position.After(f.Through.V)) {
				continue
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// account keeps what a group did, and finds what it must not do.
type account struct {
	t    *testing.T
	seed uint64

	mu      sync.Mutex
	by      map[string]string // who is at work on a key
	last    map[string]segments.Position
	handled map[segments.Position]int
	dead    map[segments.Position]bool
	saved   keyshared.Frontier
}

func newAccount(t *testing.T, seed uint64) *account {
	return &account{t: t, seed: seed, by: map[string]string{}, handled: map[segments.Position]int{}, dead: map[segments.Position]bool{}}
}

func (a *account) begin() { a.last = map[string]segments.Position{} }

// handler takes some time over each message, and fails some.
func (a *account) handler(name string, ordered bool, chance func(n int) int) keyshared.Handler {
	return func(ctx context.Context, d keyshared.Delivery) keyshared.Answer {
		key, at := string(d.Message.Key), d.Message.Position
		a.mu.Lock()
		if other, busy := a.by[key]; busy && ordered {
			a.t.Errorf("seed %d: %s and %s are at work on %s at a time", a.seed, name, other, key)
		}
		if last, ok := a.last[key]; ok && ordered && !last.Before(at) {
			a.t.Errorf("seed %d: %s of %s comes after %s", a.seed, at, key, last)
		}
		a.by[key] = name
		pause, fate := chance(20), chance(20)
		a.mu.Unlock()

		timer := time.NewTimer(time.Duration(pause) * time.Millisecond)
		defer timer.Stop()
		<-timer.C

		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.by, key)
		switch {
		case fate == 0:
			return keyshared.Answer{Verdict: keyshared.Refused, Detail: "no"}
		case fate < 3:
			return keyshared.Answer{Verdict: keyshared.Failed, Detail: "not yet"}
		}
		a.last[key] = at
		a.handled[at]++
		return keyshared.Answer{}
	}
}

func (a *account) bury(_ context.Context, dead []keyshared.Dead) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range dead {
		a.dead[one.Message.Position] = true
		a.last[string(one.Message.Key)] = one.Message.Position
	}
	return nil
}

func (a *account) save(_ context.Context, f keyshared.Frontier) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	unfinished := map[segments.Position]bool{}
	for _, u := range f.Unfinished {
		unfinished[u.Position] = true
	}
	if f.Through.Valid {
		for n := range f.Through.V.Entry + 1 {
			at := segments.At(1, n)
			if !unfinished[at] && a.handled[at] == 0 && !a.dead[at] {
				a.t.Errorf("seed %d: the frontier is past %s, which is not finished", a.seed, at)
			}
		}
	}
	a.saved = f
	return nil
}

// TestGroupsKeepOrderWhileWorkersComeAndGo runs groups in bubbles of time:
// workers join and leave, the whole group is cut off and goes on from what it
// has saved, messages fail and are refused.
func TestGroupsKeepOrderWhileWorkersComeAndGo(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		synctest.Test(t, func(t *testing.T) { comeAndGo(t, seed) })
	}
}

func comeAndGo(t *testing.T, seed uint64) {
	const n = 250
	rng := rand.New(rand.NewPCG(seed, 2))
	a := newAccount(t, seed)
	settings := keyshared.Settings{
		Strategy: keyshared.Strategy(rng.IntN(2)), AllowOutOfOrder: rng.IntN(4) == 0, LookAhead: 20 + rng.IntN(100),
		Batch: 1 + rng.IntN(8), BackoffFirst: 10 * time.Millisecond, SaveEvery: 50 * time.Millisecond, MaxAttempts: 3,
	}
	chance := rand.New(rand.NewPCG(seed, 3)).IntN // under the account's lock
	for life := 0; ; life++ {
		a.begin()
		g := keyshared.NewGroup(settings, a.saved, keyshared.Components{Clock: clock{}, Bury: a.bury, Save: a.save})
		ctx, cancel := context.WithCancel(context.Background())
		if life < 3 {
			time.AfterFunc(time.Duration(rng.IntN(1000))*time.Millisecond, cancel)
		}
		var workers errgroup.Group
		for i := range 1 + rng.IntN(6) {
			name := fmt.Sprintf("w%d", i)
			comes, goes := time.Duration(rng.IntN(200))*time.Millisecond, time.Duration(rng.IntN(500))*time.Millisecond
			workers.Go(func() error {
				time.Sleep(comes) // of the bubble
				mine := ctx
				if i > 0 { // the first one stays
					var stop context.CancelFunc
					mine, stop = context.WithTimeout(ctx, goes)
					defer stop()
				}
				return g.Work(mine, name, nil, a.handler(name, !settings.AllowOutOfOrder, chance))
			})
		}
		err := g.Run(ctx, always(after(a.saved, messages(n, 17, nil))))
		_ = workers.Wait()
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if len(a.saved.Unfinished) != 0 || a.saved.Through.V.Entry != n-1 {
		t.Errorf("seed %d: the last frontier is %+v", seed, a.saved)
	}
	for i := range int64(n) {
		if at := segments.At(1, i); a.handled[at] == 0 && !a.dead[at] {
			t.Errorf("seed %d: %s is lost", seed, at)
		}
	}
}

func TestAGroupStopsWithWhatFails(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		msgs iter.Seq2[segments.Message, error]
		c    keyshared.Components
		want error
	}{
		"reading": {messages(10, 3, boom), keyshared.Components{}, boom},
		"saving":  {messages(10, 3, nil), keyshared.Components{Save: func(context.Context, keyshared.Frontier) error { return boom }}, boom},
		"burying": {messages(10, 3, nil), keyshared.Components{Bury: func(context.Context, []keyshared.Dead) error { return boom }}, boom},
		"nowhere": {messages(10, 3, nil), keyshared.Components{}, keyshared.ErrDead},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.c.Clock = clock{}
				g := keyshared.NewGroup(keyshared.Settings{MaxAttempts: 2}, keyshared.Frontier{}, test.c)
				var worker errgroup.Group
				worker.Go(func() error {
					return g.Work(t.Context(), "w", nil, func(_ context.Context, d keyshared.Delivery) keyshared.Answer {
						if d.Message.Position.Entry == 5 && name != "saving" {
							return keyshared.Answer{Verdict: keyshared.Failed}
						}
						return keyshared.Answer{}
					})
				})
				if err := g.Run(t.Context(), always(test.msgs)); !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if err := worker.Wait(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// BenchmarkDispatch sends messages through a group of 8 workers.
func BenchmarkDispatch(b *testing.B) {
	const keys = 5000
	all := make([]segments.Message, keys)
	for i := range all {
		all[i] = segments.Message{Key: fmt.Appendf(nil, "key-%d", i), Value: make([]byte, 100), BatchSize: 1}
	}
	msgs := func(yield func(segments.Message, error) bool) {
		for i := range b.N {
			m := all[i%keys]
			m.Position = segments.At(1, int64(i))
			if !yield(m, nil) {
				return
			}
		}
	}
	b.ReportAllocs()
	g := keyshared.NewGroup(keyshared.Settings{Batch: 256}, keyshared.Frontier{}, keyshared.Components{Clock: clock{}})
	var handled atomic.Int64
	var workers errgroup.Group
	for i := range 8 {
		workers.Go(func() error {
			return g.Work(b.Context(), fmt.Sprint(i), nil, func(context.Context, keyshared.Delivery) keyshared.Answer {
				handled.Add(1)
				return keyshared.Answer{}
			})
		})
	}
	if err := g.Run(b.Context(), always(msgs)); err != nil {
		b.Fatal(err)
	}
	if err := workers.Wait(); err != nil || handled.Load() != int64(b.N) {
		b.Fatalf("%d of %d, %v", handled.Load(), b.N, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

// One worker is stuck with a message. Its slots pile up to the look-ahead and
// no further, and all is handled once it goes on.
func TestOneStuckWorkerTakesNoMoreMemory(t *testing.T) {
	const lookAhead, total = 2000, 50_000
	synctest.Test(t, func(t *testing.T) {
		msgs := func(yield func(segments.Message, error) bool) {
			for i := range total {
				key := fmt.Appendf(nil, "k%d", i%1000)
				if i == 0 {
					key = []byte("stuck")
				}
				if !yield(segments.Message{Position: segments.At(1, int64(i)), Key: key}, nil) {
					return
				}
			}
		}
		var saved keyshared.Frontier
		g := keyshared.NewGroup(keyshared.Settings{Batch: 64, LookAhead: lookAhead}, keyshared.Frontier{}, keyshared.Components{
			Clock: clock{}, Save: func(_ context.Context, f keyshared.Frontier) error { saved = f; return nil },
		})
		release := make(chan struct{})
		var handled atomic.Int64
		var workers errgroup.Group
		for i := range 8 {
			workers.Go(func() error {
				return g.Work(t.Context(), fmt.Sprint(i), nil, func(_ context.Context, d keyshared.Delivery) keyshared.Answer {
					if string(d.Message.Key) == "stuck" {
						<-release
					}
					handled.Add(1)
					return keyshared.Answer{}
				})
			})
		}
		workers.Go(func() error { return g.Run(t.Context(), always(msgs)) })
		time.Sleep(10 * time.Second) // of the bubble: until nothing moves any more, and that is saved
		s := g.Stats()
		if !s.Full || s.Held != lookAhead || len(saved.Unfinished) != lookAhead {
			t.Errorf("%d messages are held, %d saved, want both full at %d", s.Held, len(saved.Unfinished), lookAhead)
		}
		if n := handled.Load(); n < 2*lookAhead {
			t.Errorf("%d messages went past the one that is stuck", n)
		}
		close(release)
		if err := workers.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := handled.Load(); got != total {
			t.Errorf("%d of %d were handled", got, total)
		}
	})
}

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

// noWait lets tests use no real time.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

var settings = retry.Settings{Tries: 4, Min: time.Millisecond, Max: time.Second}

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Store { return retry.New(new(mem.Store), settings, noWait) })
}

// The first call of each verb on each key fails, before or after it takes effect
// or in the middle, and nobody notices.
func TestConformanceWhenEveryFirstTryFails(t *testing.T) {
	for name, f := range map[string]fault.Fault{"Before": fault.Before, "After": fault.After, "Short": fault.Short} {
		t.Run(name, func(t *testing.T) {
			objstoretest.Run(t, func(*testing.T) objstore.Store {
				return retry.New(fault.New(new(mem.Store), firstOfEach(f)), settings, noWait)
			})
		})
	}
}

// firstOfEach fails the first call of each verb and key.
func firstOfEach(f fault.Fault) fault.Hook {
	var seen sync.Map
	return func(op fault.Op) fault.Fault {
		if objstore.CheckKey(op.Key) != nil && op.Verb != fault.List || objstore.CheckPrefix(op.Key) != nil {
			return fault.None
		}
		op.N = 0
		if _, again := seen.LoadOrStore(op, true); again {
			return fault.None
		}
		return f
	}
}

// open returns a retrying store over one that holds objects and fails as hook
// says.
func open(t *testing.T, hook fault.Hook, objects map[string]string) (s *retry.Store, faulty *fault.Store, below *mem.Store) {
	t.Helper()
	below = new(mem.Store)
	for key, body := range objects {
		if err := below.Put(t.Context(), key, strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
	}
	faulty = fault.New(below, hook)
	return retry.New(faulty, settings, noWait), faulty, below
}

func TestALostAnswerIsSettledAsSuccess(t *testing.T) {
	for _, body := range []string{"", "mine", strings.Repeat("m", 9<<20)} {
		s, faulty, _ := open(t, fault.At(0, fault.After), nil)
		if err := s.Put(t.Context(), "m/1", strings.NewReader(body)); err != nil {
			t.Errorf("Put of %d bytes = %v, want nil: the object is ours", len(body), err)
		}
		if faulty.Struck() != 1 {
			t.Errorf("Put of %d bytes: the fault did not come", len(body))
		}
	}
}

func TestALostAnswerToALostRaceIsErrExists(t *testing.T) {
	for _, theirs := range []string{"", "min", "mine!", "time"} {
		s, _, below := open(t, fault.At(0, fault.After), map[string]string{"m/1": theirs})
		if err := s.Put(t.Context(), "m/1", strings.NewReader("mine")); !errors.Is(err, objstore.ErrExists) {
			t.Errorf("Put over %q = %v, want ErrExists", theirs, err)
		}
		if b, _ := below.Get(t.Context(), "m/1", 10); string(b) != theirs {
			t.Errorf("object = %q, want %q untouched", b, theirs)
		}
	}
}

// The answer is lost, and then the object cannot be read either. Whoever hears
// of this must not clean up.
func TestAnUnreadableObjectLeavesTheOutcomeUnknown(t *testing.T) {
	for _, read := range []fault.Fault{fault.Before, fault.Missing, fault.Denied} {
		hook := func(op fault.Op) fault.Fault {
			switch {
			case op.N == 0:
				return fault.After
			case op.Verb == fault.ReadAt:
				return read
			}
			return fault.None
		}
		s, _, _ := open(t, hook, nil)
		err := s.Put(t.Context(), "m/1", strings.NewReader("mine"))
		if !errors.Is(err, fault.ErrInjected) || isOutcome(err) {
			t.Errorf("fault %d: Put = %v, want the injected fault and no outcome", read, err)
		}
	}
}

// Credentials expire between the tries. What the second try was denied, the
// first may have done.
func TestALaterRefusalIsNotTheOutcome(t *testing.T) {
	hook := func(op fault.Op) fault.Fault {
		if op.N == 0 {
			return fault.After
		}
		return fault.Denied
	}
	s, _, _ := open(t, hook, map[string]string{"old": "x"})
	if err := s.Put(t.Context(), "m/1", strings.NewReader("mine")); !errors.Is(err, fault.ErrInjected) || isOutcome(err) {
		t.Errorf("Put = %v, want the injected fault and no outcome", err)
	}
	s, _, _ = open(t, hook, map[string]string{"old": "x"})
	if err := s.Delete(t.Context(), "old"); !errors.Is(err, fault.ErrInjected) || isOutcome(err) {
		t.Errorf("Delete = %v, want the injected fault and no outcome", err)
	}
}

func TestAKnownOutcomeIsNotTriedAgain(t *testing.T) {
	s, faulty, _ := open(t, nil, map[string]string{"a": "12345"})
	ctx := t.Context()
	for i, c := range []struct{ got, want error }{
		{s.Put(ctx, "a", strings.NewReader("")), objstore.ErrExists},
		{second(s.Get(ctx, "missing", 1)), objstore.ErrNotFound},
		{second(s.Get(ctx, "a", 1)), objstore.ErrTooLarge},
		{s.ReadAt(ctx, "a", make([]byte, 1), 5), objstore.ErrRange},
		{s.Put(ctx, "../a", strings.NewReader("")), objstore.ErrInvalid},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("call %d = %v, want %v", i, c.got, c.want)
		}
	}
	if faulty.Calls() != 5 {
		t.Errorf("%d calls were made, want 5", faulty.Calls())
	}
}

func TestTriesEnd(t *testing.T) {
	always := func(fault.Op) fault.Fault { return fault.Before }
	s, faulty, _ := open(t, always, nil)
	for i, call := range []func() error{
		func() error { return s.Put(t.Context(), "a", strings.NewReader("")) },
		func() error { return second(s.Get(t.Context(), "a", 1)) },
		func() error { return s.ReadAt(t.Context(), "a", nil, 0) },
		func() error { return second(list(t.Context(), s)) },
		func() error { return s.Delete(t.Context(), "a") },
	} {
		before := faulty.Calls()
		if err := call(); !errors.Is(err, fault.ErrInjected) || !strings.Contains(err.Error(), "4 tries") {
			t.Errorf("call %d = %v, want the fault and the number of tries", i, err)
		}
		if n := faulty.Calls() - before; n != 4 {
			t.Errorf("call %d was made %d times, want 4", i, n)
		}
	}
}

// Every page but the last breaks off after one entry.
func TestAListGoesOnWhereItBroke(t *testing.T) {
	objects := map[string]string{}
	var want []string
	for i := range 20 {
		key := fmt.Sprintf("m/%02d", i)
		objects[key] = "x"
		want = append(want, key)
	}
	hook := func(op fault.Op) fault.Fault {
		if op.N < 15 {
			return fault.Short
		}
		return fault.None
	}
	s, _, _ := open(t, hook, objects)
	if got, err := list(t.Context(), s); err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %q, %v; want %q", got, err, want)
	}
}

func TestPausesGrowAndStayInBounds(t *testing.T) {
	always := func(fault.Op) fault.Fault { return fault.Before }
	var waits []time.Duration
	settings := retry.Settings{Tries: 12, Min: 50 * time.Millisecond, Max: 2 * time.Second}
	s := retry.New(fault.New(new(mem.Store), always), settings, func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	})
	_ = s.Delete(t.Context(), "a")
	if len(waits) != 11 {
		t.Fatalf("%d pauses, want 11", len(waits))
	}
	for i, d := range waits {
		if d < settings.Min || d > settings.Max {
			t.Errorf("pause %d is %v, want [%v, %v]", i, d, settings.Min, settings.Max)
		}
	}
	if waits[10] < time.Second {
		t.Errorf("the last pause is %v, want at least half of Max", waits[10])
	}
}

func TestAContextThatEndsEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := func(fault.Op) fault.Fault { return fault.Before }
		s := retry.New(fault.New(new(mem.Store), always), retry.Settings{Tries: 1000, Min: time.Second, Max: time.Minute}, retry.Sleep)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		start := time.Now()
		err := s.Put(ctx, "a", strings.NewReader("x"))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, fault.ErrInjected) {
			t.Errorf("Put = %v, want the end of the context and the last fault", err)
		}
		if d := time.Since(start); d != 90*time.Second {
			t.Errorf("Put took %v, want 90s", d)
		}
	})
}

func TestSettingsReportEveryFault(t *testing.T) {
	if err := retry.Default().Validate(); err != nil {
		t.Errorf("Default().Validate() = %v", err)
	}
	err := retry.Settings{Tries: 0, Min: -1, Max: -2}.Validate()
	for _, name := range []string{"Tries", "Min", "Max"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Validate = %v, want it to name %s", err, name)
		}
	}
}

// isOutcome reports whether a caller would take err for an outcome.
func isOutcome(err error) bool {
	for _, o := range []error{objstore.ErrExists, objstore.ErrNotFound, objstore.ErrDenied, objstore.ErrInvalid} {
		if errors.Is(err, o) {
			return true
		}
	}
	return false
}

func second[T any](_ T, err error) error { return err }

func list(ctx context.Context, s objstore.Store) (keys []string, err error) {
	for e, err := range s.List(ctx, "", "") {
		if err != nil {
			return keys, err
		}
		keys = append(keys, e.Key)
	}
	return keys, nil
}

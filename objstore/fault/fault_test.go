package fault_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

func TestConformanceWithoutFaults(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Store { return fault.New(new(mem.Store), nil) })
}

// holding returns a store that holds keys under a hook.
func holding(t *testing.T, hook fault.Hook, keys ...string) (faulty *fault.Store, below *mem.Store) {
	t.Helper()
	below = new(mem.Store)
	for _, key := range keys {
		if err := below.Put(t.Context(), key, strings.NewReader("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	return fault.New(below, hook), below
}

func keys(t *testing.T, s objstore.Store) (keys []string, err error) {
	t.Helper()
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			return keys, err
		}
		keys = append(keys, e.Key)
	}
	return keys, nil
}

func TestAPutFailsBeforeOrAfterItTakesEffect(t *testing.T) {
	for _, c := range []struct {
		fault  fault.Fault
		exists bool
		want   error
	}{
		{fault.Before, false, fault.ErrInjected},
		{fault.After, true, fault.ErrInjected},
		{fault.Late, false, fault.ErrInjected},
		{fault.Short, true, fault.ErrInjected},
		{fault.Missing, false, fault.ErrInjected},
		{fault.Denied, false, objstore.ErrDenied},
	} {
		s, below := holding(t, fault.At(0, c.fault))
		if err := s.Put(t.Context(), "a", strings.NewReader("x")); !errors.Is(err, c.want) {
			t.Errorf("fault %d: Put = %v, want %v", c.fault, err, c.want)
		}
		_, err := below.Get(t.Context(), "a", 1)
		if exists := err == nil; exists != c.exists {
			t.Errorf("fault %d: object exists: %v, want %v", c.fault, exists, c.exists)
		}
		if s.Struck() != 1 {
			t.Errorf("fault %d: Struck = %d, want 1", c.fault, s.Struck())
		}
	}
}

func TestALatePutLandsAfterALaterOneAndLoses(t *testing.T) {
	s, below := holding(t, fault.At(0, fault.Late))
	if err := s.Put(t.Context(), "a", strings.NewReader("first")); !errors.Is(err, fault.ErrInjected) {
		t.Fatalf("late Put = %v", err)
	}
	if err := s.Put(t.Context(), "a", strings.NewReader("second")); err != nil {
		t.Fatalf("second Put = %v", err)
	}
	if err := s.Land(t.Context()); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("Land = %v, want ErrExists", err)
	}
	if b, err := below.Get(t.Context(), "a", 10); string(b) != "second" {
		t.Errorf("object = %q, %v; want the second body", b, err)
	}
	if err := s.Land(t.Context()); err != nil {
		t.Errorf("second Land = %v, want nil: nothing is on its way", err)
	}
}

func TestARuleCountsOnlyWhatItMatches(t *testing.T) {
	s, _ := holding(t, fault.Rule{N: 1, Fault: fault.Before, Verb: fault.Get, Key: "m/"}.Hook(), "m/1", "m/2", "s/1")
	for i, key := range []string{"m/1", "s/1", "m/2", "m/1"} {
		_, err := s.Get(t.Context(), key, 10)
		if failed := err != nil; failed != (i == 2) {
			t.Errorf("call %d, Get(%q) = %v", i, key, err)
		}
		if err := s.Delete(t.Context(), "m/3"); err != nil {
			t.Errorf("Delete is not matched, but = %v", err)
		}
	}
	if s.Calls() != 8 {
		t.Errorf("Calls = %d, want 8", s.Calls())
	}
}

func TestAHookSeesEveryCall(t *testing.T) {
	var ops []fault.Op
	s, _ := holding(t, func(op fault.Op) fault.Fault { ops = append(ops, op); return fault.None }, "a")
	_ = s.Put(t.Context(), "b", strings.NewReader(""))
	_, _ = s.Get(t.Context(), "a", 10)
	_ = s.ReadAt(t.Context(), "a", nil, 0)
	_, _ = keys(t, s)
	_ = s.Delete(t.Context(), "a")
	want := []fault.Op{
		{0, fault.Put, "b"}, {1, fault.Get, "a"}, {2, fault.ReadAt, "a"}, {3, fault.List, ""}, {4, fault.Delete, "a"},
	}
	if !slices.Equal(ops, want) {
		t.Errorf("ops = %v, want %v", ops, want)
	}
}

func TestAShortReadFillsHalf(t *testing.T) {
	s, _ := holding(t, fault.At(0, fault.Short), "a")
	p := []byte("........")
	if err := s.ReadAt(t.Context(), "a", p, 0); !errors.Is(err, fault.ErrInjected) || string(p) != "0123...." {
		t.Errorf("ReadAt = %q, %v; want half and a fault", p, err)
	}
}

func TestMissingIsNotFoundThoughItIsThere(t *testing.T) {
	always := func(fault.Op) fault.Fault { return fault.Missing }
	s, _ := holding(t, always, "a")
	if _, err := s.Get(t.Context(), "a", 10); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	if err := s.ReadAt(t.Context(), "a", make([]byte, 1), 0); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("ReadAt = %v, want ErrNotFound", err)
	}
	if got, err := keys(t, s); got != nil || err != nil {
		t.Errorf("List = %q, %v; want nothing", got, err)
	}
}

func TestAListFailsAtItsStartInTheMiddleOrAtItsEnd(t *testing.T) {
	for _, c := range []struct {
		fault fault.Fault
		want  []string
		err   error
	}{
		{fault.Before, nil, fault.ErrInjected},
		{fault.Short, []string{"a"}, fault.ErrInjected},
		{fault.After, []string{"a", "b", "c"}, fault.ErrInjected},
		{fault.Denied, nil, objstore.ErrDenied},
	} {
		s, _ := holding(t, fault.At(0, c.fault), "a", "b", "c")
		if got, err := keys(t, s); !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("fault %d: List = %q, %v; want %q, %v", c.fault, got, err, c.want, c.err)
		}
	}
}

func TestAWrongAnswerIsASuccess(t *testing.T) {
	always := func(fault.Op) fault.Fault { return fault.Wrong }
	s, _ := holding(t, always, "a", "b")
	if b, err := s.Get(t.Context(), "a", 10); string(b) != "0123446789" || err != nil {
		t.Errorf("Get = %q, %v; want one byte to differ", b, err)
	}
	p := make([]byte, 3)
	if err := s.ReadAt(t.Context(), "a", p, 0); string(p) != "002" || err != nil {
		t.Errorf("ReadAt = %q, %v; want one byte to differ", p, err)
	}
	if got, err := keys(t, s); !slices.Equal(got, []string{"a", "b", "a", "b"}) || err != nil {
		t.Errorf("List = %q, %v; want all of it twice", got, err)
	}
}

func TestAPutThatIsMadeTwiceExists(t *testing.T) {
	s, below := holding(t, fault.At(0, fault.Twice))
	if err := s.Put(t.Context(), "a", strings.NewReader("mine")); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("Put = %v, want ErrExists", err)
	}
	if b, err := below.Get(t.Context(), "a", 10); string(b) != "mine" {
		t.Errorf("object = %q, %v", b, err)
	}
}

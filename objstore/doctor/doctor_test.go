package doctor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "01KA0000000000000000000000"

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// well is a store that keeps its promises, and whose clock is right.
func well() *mem.Store { return &mem.Store{Now: func() time.Time { return now }} }

func settings() doctor.Settings { return doctor.Settings{ID: id, Now: now} }

// having lists the checks that have a verdict.
func having(r doctor.Report, v doctor.Verdict) []string {
	var names []string
	for _, c := range r.Checks {
		if c.Verdict == v {
			names = append(names, c.Name)
		}
	}
	return names
}

func keys(t *testing.T, s objstore.Store) []string {
	t.Helper()
	var keys []string
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

// heard is an observer that remembers.
type heard []string

func (h *heard) Checked(c doctor.Check) { *h = append(*h, c.Name) }

func TestAStoreThatIsWellPassesAndIsLeftAsItWas(t *testing.T) {
	s, h := well(), heard(nil)
	if err := s.Put(t.Context(), "topics/a/0", strings.NewReader("theirs")); err != nil {
		t.Fatal(err)
	}
	r, err := doctor.Examine(t.Context(), []objstore.Store{s, s}, settings(), &h)
	if err != nil || r.Verdict != doctor.Pass || r.Err() != nil {
		t.Fatalf("got %+v, %v", r, err)
	}
	if got := having(r, doctor.Pass); !slices.Equal(got, doctor.Names()) || !slices.Equal(h, doctor.Names()) {
		t.Errorf("passed %q\nheard %q\nwant  %q", got, h, doctor.Names())
	}
	for _, c := range r.Checks {
		if c.Seen == "" || c.Breaks == "" {
			t.Errorf("%s says too little: %+v", c.Name, c)
		}
	}
	if got := keys(t, s); !slices.Equal(got, []string{"topics/a/0"}) {
		t.Errorf("%q is left", got)
	}
}

// Each sickness is found, by the checks that it is one for and by no other.
// Together they make every check fail, or warn: no check is idle.
func TestEverySicknessIsFound(t *testing.T) {
	found := map[string]bool{"checksums": true} // tells, and judges nothing
	for _, sickness := range sicknesses {
		for _, name := range append(sickness.fails, sickness.warns...) {
			found[name] = true
		}
		t.Run(sickness.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sick{Store: well()}
				sickness.catch(s)
				r, err := doctor.Examine(t.Context(), []objstore.Store{s}, settings(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := having(r, doctor.Fail); !slices.Equal(got, sickness.fails) {
					t.Errorf("failed %q\nwant   %q\n%v", got, sickness.fails, r.Err())
				}
				if got := having(r, doctor.Warn); !slices.Equal(got, sickness.warns) {
					t.Errorf("warned %q\nwant   %q", got, sickness.warns)
				}
				if unfit := errors.Is(r.Err(), doctor.ErrUnfit); unfit != (len(sickness.fails) > 0) || unfit != (r.Verdict == doctor.Fail) {
					t.Errorf("verdict %s, error %v", r.Verdict, r.Err())
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s := &sick{Store: well()}
				sickness.catch(s)
				err := doctor.Admit(t.Context(), s, admission(s))
				if got := failedIn(err); !slices.Equal(got, sickness.short) {
					t.Errorf("the short form failed %q, want %q: %v", got, sickness.short, err)
				}
			})
		})
	}
	for _, name := range doctor.Names() {
		if !found[name] {
			t.Errorf("nothing makes %s fail", name)
		}
	}
}

// failedIn lists the checks that an ErrUnfit names.
func failedIn(err error) []string {
	if err == nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(err.Error()) {
		if name, _, ok := strings.Cut(line, ": "); ok {
			names = append(names, name)
		}
	}
	return names
}

// What is no symptom is an error, and then nothing stays behind either.
func TestWhatKeepsItFromBeingExaminedIsAnError(t *testing.T) {
	down := errors.New("connection refused")
	for _, test := range []struct {
		name  string
		catch func(s *sick)
		want  error
	}{
		{"denied", func(s *sick) {
			s.put = func(_ context.Context, key string, _ objstore.Body) error {
				return objstore.Failed("put", key, objstore.ErrDenied)
			}
		}, objstore.ErrDenied},
		{"down in its midst", func(s *sick) {
			var n atomic.Int64
			s.put = func(ctx context.Context, key string, body objstore.Body) error {
				if n.Add(1) > 5 {
					return down
				}
				return s.Store.Put(ctx, key, body)
			}
			s.get = func(ctx context.Context, key string, max int64) ([]byte, error) {
				if n.Load() > 5 {
					return nil, down
				}
				return s.Store.Get(ctx, key, max)
			}
		}, down},
	} {
		s := &sick{Store: well()}
		test.catch(s)
		r, err := doctor.Examine(t.Context(), []objstore.Store{s}, settings(), nil)
		if !errors.Is(err, test.want) || errors.Is(err, doctor.ErrUnfit) || r.Verdict != "" {
			t.Errorf("%s: got %v, %v", test.name, r, err)
		}
		if got := keys(t, s.Store); len(got) > 0 {
			t.Errorf("%s: %q is left", test.name, got)
		}
	}
}

func TestAnExaminationThatIsStoppedCleansUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &sick{Store: well()}
	var n atomic.Int64
	s.put = func(ctx context.Context, key string, body objstore.Body) error {
		if n.Add(1) == 4 {
			cancel()
		}
		return s.Store.Put(ctx, key, body)
	}
	if _, err := doctor.Examine(ctx, []objstore.Store{s}, settings(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := keys(t, s.Store); len(got) > 0 {
		t.Errorf("%q is left", got)
	}
}

func TestAnExaminationIsNotMadeWhereSomethingIs(t *testing.T) {
	s := well()
	if err := s.Put(t.Context(), "doctor/"+id+"/a", strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	if _, err := doctor.Examine(t.Context(), []objstore.Store{s}, settings(), nil); err == nil {
		t.Error("it was made all the same")
	}
	if got := keys(t, s); len(got) != 1 {
		t.Errorf("%q is left", got)
	}
}

// A bad moment is no sickness: each call fails once, before it takes effect or
// after, and a store that tries again passes.
func TestABadMomentIsNoSickness(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After, fault.Short} {
		synctest.Test(t, func(t *testing.T) {
			every := func(op fault.Op) fault.Fault {
				if op.N%3 == 0 {
					return f
				}
				return fault.None
			}
			s := retry.New(fault.New(well(), every), retry.Default(), retry.Sleep)
			r, err := doctor.Examine(t.Context(), []objstore.Store{s}, doctor.Settings{ID: id}, nil)
			if err != nil || r.Verdict != doctor.Pass {
				t.Errorf("fault %d: got %v, %v", f, r.Err(), err)
			}
		})
	}
}

// The price that the package names is the price.
func TestWhatAnExaminationCosts(t *testing.T) {
	s := count.New(well())
	if _, err := doctor.Examine(t.Context(), []objstore.Store{s}, settings(), nil); err != nil {
		t.Fatal(err)
	}
	got := s.Snapshot()
	t.Logf("%+v", got)
	if got.Requests() > 2450 || got.BytesPut > 51<<20 {
		t.Errorf("%d requests and %d bytes", got.Requests(), got.BytesPut)
	}
}

package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
)

func admission(s objstore.Store) doctor.Admission {
	return doctor.Admission{
		Stores: func(context.Context) ([]objstore.Store, error) { return []objstore.Store{s, s}, nil },
		ID:     id,
		Now:    now,
		Writer: "test",
	}
}

// A store is asked once: in ten requests the first time, in one afterwards.
func TestAStoreIsExaminedOnce(t *testing.T) {
	s := count.New(well())
	for i, most := range []int64{10, 1, 1} {
		before := s.Snapshot()
		if err := doctor.Admit(t.Context(), s, admission(s)); err != nil {
			t.Fatal(err)
		}
		if got := s.Snapshot().Sub(before).Requests(); got > most {
			t.Errorf("time %d: %d requests, want at most %d", i+1, got, most)
		}
	}
	if got := keys(t, s); !slices.Equal(got, []string{"doctor/verdict-1/" + id + "-pass"}) {
		t.Errorf("%q is left", got)
	}
}

func TestAStoreThatWasMendedIsLetIn(t *testing.T) {
	s := &sick{Store: well()}
	s.put = s.overwrite
	for range 2 {
		if err := doctor.Admit(t.Context(), s, admission(s)); !errors.Is(err, doctor.ErrUnfit) || !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("got %v, want ErrUnfit", err)
		}
	}
	if got := keys(t, s.Store); len(got) > 0 {
		t.Errorf("%q is left", got)
	}
	s.put = nil
	if err := doctor.Admit(t.Context(), s, admission(s)); err != nil {
		t.Errorf("mended: %v", err)
	}
}

// The last verdict counts, so a store that was found unfit later is let in
// again by the next examination that it passes.
func TestTheLastVerdictCounts(t *testing.T) {
	s := well()
	good := doctor.Report{Verdict: doctor.Pass, Checks: []doctor.Check{}}
	bad := doctor.Report{Verdict: doctor.Fail, Checks: []doctor.Check{{Name: "racing-creates", Verdict: doctor.Fail, Seen: "two won"}}}
	for i, r := range []doctor.Report{good, bad, bad, good} {
		id := fmt.Sprintf("01KA%022d", i)
		if err := doctor.Keep(t.Context(), s, id, now, "test", r); err != nil {
			t.Fatal(err)
		}
		if got, gotID, err := doctor.Last(t.Context(), s); got != r.Verdict || gotID != id || err != nil {
			t.Errorf("Last = %s, %s, %v; want %s, %s", got, gotID, err, r.Verdict, id)
		}
		err := doctor.Admit(t.Context(), s, doctor.Admission{})
		if r.Verdict == doctor.Pass && err != nil {
			t.Errorf("%s is refused: %v", id, err)
		}
		if r.Verdict == doctor.Fail && (!errors.Is(err, doctor.ErrUnfit) || !strings.Contains(err.Error(), id)) {
			t.Errorf("%s is let in, or by another name: %v", id, err)
		}
		if err := doctor.Keep(t.Context(), s, id, now, "test", r); err != nil {
			t.Errorf("kept again: %v", err)
		}
	}
	body, err := s.Get(t.Context(), "doctor/verdict-1/01KA0000000000000000000001-fail", 1<<10)
	var got struct {
		Format                    int
		ID, Time, Writer, Verdict string
		Checks                    []doctor.Check
	}
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil || got.Format != 1 || got.Verdict != "fail" || got.Time != "2026-03-01T12:00:00Z" || len(got.Checks) != 1 {
		t.Errorf("got %s, %v", body, err)
	}
}

// What somebody else put beside the verdicts is none.
func TestWhatIsNoVerdictIsNotLookedAt(t *testing.T) {
	s := well()
	for _, key := range []string{"doctor/verdict-1/readme", "doctor/verdict-1/x-perhaps", "doctor/verdict-2/" + id + "-fail"} {
		if err := s.Put(t.Context(), key, strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
	}
	if v, _, err := doctor.Last(t.Context(), s); v != "" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
}

func TestAStoreThatCannotBeAskedIsNotLetIn(t *testing.T) {
	down := errors.New("connection refused")
	s := &sick{Store: well()}
	s.put = func(context.Context, string, objstore.Body) error { return down }
	s.get = func(context.Context, string, int64) ([]byte, error) { return nil, down }
	if err := doctor.Admit(t.Context(), s, admission(s)); !errors.Is(err, down) || errors.Is(err, doctor.ErrUnfit) {
		t.Errorf("got %v", err)
	}
	a := admission(s)
	a.Stores = func(context.Context) ([]objstore.Store, error) { return nil, down }
	if err := doctor.Admit(t.Context(), well(), a); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}

package mem_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Store { return new(mem.Store) })
}

func TestModifiedIsTheGivenClock(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := &mem.Store{Now: func() time.Time { return now }}
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil || !e.Modified.Equal(now) {
			t.Errorf("List = %v, %v; want Modified %v", e, err, now)
		}
	}
}

func TestWithoutAClockEachPutIsASecondLater(t *testing.T) {
	s := new(mem.Store)
	for _, key := range []string{"a", "b"} {
		if err := s.Put(t.Context(), key, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	var got []time.Time
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Modified)
	}
	if d := got[1].Sub(got[0]); d != time.Second {
		t.Errorf("second Put came %v after the first, want 1s", d)
	}
}

package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// pass commits n versions and collects all but the last.
func pass(t *testing.T, topic *Topic, n int) {
	t.Helper()
	m, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		was := m.Settings
		now := was
		now.MinLag++
		m = mustCommit(t, topic, fmt.Sprint("x", m.Version, i), Set{Was: was, Now: now})
	}
	if err := collect(t, topic, Keep{Since: epoch.Add(100 * time.Hour), Versions: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestAWinnerThatSleptIsToldThatItWon: its write took effect, the answer and
// the reading back failed, and when it tries again its version is collected and
// the name free. What it creates there is no version; but it has won before.
func TestAWinnerThatSleptIsToldThatItWon(t *testing.T) {
	for _, c := range []struct {
		versions int
		want     error
	}{
		{4, nil},
		// More versions than the latest one remembers: nobody can tell.
		{recentCommits + 1, ErrUnknown},
	} {
		base := new(mem.Store)
		topic := newTopic(t, base)
		m, _ := topic.Latest(t.Context())
		sleeper := through(topic, fault.New(base, func(op fault.Op) fault.Fault {
			if op.Key == topic.versionKey(1) && op.N <= 4 {
				return fault.After // LIST, GET, PUT, GET: the last two fail
			}
			return fault.None
		}))
		slept := false
		sleeper.pause = func(ctx context.Context, n int) error {
			if !slept {
				slept = true
				pass(t, topic, c.versions)
			}
			return nil
		}
		_, err := sleeper.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4))))
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("after %d versions: %v, want %v", c.versions, err, c.want)
		}
		if !slept {
			t.Error("it did not sleep")
		}
		latest, err := topic.Latest(t.Context())
		if err != nil || latest.Last != at(0, 4) || len(latest.Recent) > recentCommits {
			t.Errorf("after %d versions the topic ends at %v, %v, and remembers %d commits", c.versions, latest.Last, err, len(latest.Recent))
		}
	}
}

// TestAWinnerWhoseNameWasTakenAgainIsToldThatItWon: the same, but when it tries
// again, what another sleeper has created lies at the name that was freed, and
// its own patience is at an end. Whoever took that for a defeat would delete
// what the topic's versions name. The simulation found it (seed 53112).
func TestAWinnerWhoseNameWasTakenAgainIsToldThatItWon(t *testing.T) {
	for _, c := range []struct {
		versions int
		want     error
	}{{4, nil}, {recentCommits + 1, ErrUnknown}} {
		base := new(mem.Store)
		topic := newTopic(t, base)
		m, _ := topic.Latest(t.Context())
		sleeper := through(topic, fault.New(base, func(op fault.Op) fault.Fault {
			if op.Key == topic.versionKey(1) && op.N <= 4 {
				return fault.After
			}
			return fault.None
		}))
		sleeper.pause = func(ctx context.Context, n int) error {
			if n > 1 {
				return errors.New("no more patience")
			}
			pass(t, topic, c.versions)
			latest, err := topic.Latest(ctx)
			if err != nil {
				t.Fatal(err)
			}
			leaving, err := base.Get(ctx, topic.versionKey(latest.Version), maxManifestBytes)
			if err == nil {
				err = base.Put(ctx, topic.versionKey(1), bytes.NewReader(leaving))
			}
			if err != nil {
				t.Fatal(err)
			}
			sleeper.pause = func(context.Context, int) error { return errors.New("no more patience") }
			return nil
		}
		_, err := sleeper.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4))))
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || errors.Is(err, ErrConflict) {
			t.Errorf("after %d versions: %v, want %v", c.versions, err, c.want)
		}
	}
}

// TestARefusalAfterADoubtIsADoubt: the first write may have taken effect, so
// that the second one is denied proves nothing.
func TestARefusalAfterADoubtIsADoubt(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	puts := 0
	topic.store = fault.New(base, func(op fault.Op) fault.Fault {
		switch {
		case op.Verb == fault.Put:
			if puts++; puts == 1 {
				return fault.Late
			}
			return fault.Denied
		case op.Verb == fault.Get && puts > 0:
			return fault.Denied
		}
		return fault.None
	})
	if _, err := topic.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, ErrUnknown) {
		t.Errorf("Commit = %v, want ErrUnknown", err)
	}
	// Denied from the start, nothing was written, and the store's own error
	// says why.
	topic = newTopic(t, new(mem.Store))
	topic.store = fault.New(topic.store, fault.Rule{Verb: fault.Put, Fault: fault.Denied}.Hook())
	if _, err := topic.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, objstore.ErrDenied) || errors.Is(err, ErrUnknown) {
		t.Errorf("Commit = %v, want ErrDenied", err)
	}
}

// TestNothingFollowsTheEndOfATopic: a delete that stopped right after its last
// version leaves a topic that takes no more commits.
func TestNothingFollowsTheEndOfATopic(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	m, _ := topic.Latest(t.Context())
	mustCommit(t, topic, "1", Delete{})
	if _, err := topic.Commit(t.Context(), change("2", appendTo(m, "J2", at(0, 4)))); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Commit = %v, want ErrTopicNotFound", err)
	}
	if _, err := topic.Latest(t.Context()); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Latest = %v, want ErrTopicNotFound", err)
	}
	if _, err := create(topic.store, t, "orders", "T2"); err != nil {
		t.Errorf("Create = %v: the name is free", err)
	}
}

func TestSilentProducersAreForgotten(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	m, _ := topic.Latest(t.Context())
	first := appendTo(m, "J1", at(0, 0))
	first.Producers = []Producer{{Name: "old", Added: 9}, {Name: "young", Added: 10}}
	m = mustCommit(t, topic, "1", first)
	second := appendTo(m, "J2", at(1, 0))
	second.ProducerCutoff = 10
	if m = mustCommit(t, topic, "2", second); len(m.Producers) != 1 || m.Producers[0].Name != "young" {
		t.Errorf("producers are %v, want the young one", m.Producers)
	}
}

// TestAnExpiredVersionIsNotReadUnlessItIsHeld: what lies at its name need not
// be it any more.
func TestAnExpiredVersionIsNotReadUnlessItIsHeld(t *testing.T) {
	topic := lived(t, new(mem.Store))
	ctx := t.Context()
	if err := topic.Tag(ctx, "tagged", 1, false); err != nil {
		t.Fatal(err)
	}
	if err := topic.Pin(ctx, 2, "reader"); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, topic, "6", Collect{ExpiredBefore: 4})
	for v, want := range []error{ErrVersionNotFound, nil, nil, ErrVersionNotFound, nil, nil, nil} {
		if _, err := topic.At(ctx, Version(v)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("At(%d) = %v, want %v", v, err, want)
		}
	}
	if _, err := topic.AsOf(ctx, epoch.Add(3*time.Hour)); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("as of an expired version: %v, want ErrVersionNotFound", err)
	}
}

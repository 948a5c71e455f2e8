package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestEveryEditCommitsOnce fails each store call of a commit in turn, in each
// way there is, and then runs the same change again, as the next run does. In
// the end it is in the chain exactly once, and whoever was told of success or
// of defeat was told the truth.
func TestEveryEditCommitsOnce(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After, fault.Late, fault.Short, fault.Denied} {
		for n := int64(0); ; n++ {
			base := new(mem.Store)
			topic := newTopic(t, base)
			m, err := topic.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			faulty := fault.New(base, fault.At(n, f))
			late := through(topic, faulty)
			c := change("1", appendTo(m, "J1", at(0, 4)))
			_, firstErr := late.Commit(t.Context(), c)
			if faulty.Struck() == 0 {
				if n == 0 {
					t.Fatal("no call was made")
				}
				break
			}
			landed := commitsOf(t, topic)
			switch {
			case firstErr == nil && !slices.Contains(landed, "C1"):
				t.Errorf("fault %d at call %d: success, but not in the chain", f, n)
			case errors.Is(firstErr, ErrConflict):
				t.Errorf("fault %d at call %d: %v, and nobody else was there", f, n, firstErr)
			case firstErr != nil && !errors.Is(firstErr, ErrUnknown) && slices.Contains(landed, "C1"):
				t.Errorf("fault %d at call %d: in the chain, but %v", f, n, firstErr)
			}
			if err := faulty.Land(t.Context()); err != nil && !errors.Is(err, objstore.ErrExists) {
				t.Fatal(err)
			}
			if _, err := topic.Commit(t.Context(), c); err != nil {
				t.Errorf("fault %d at call %d: the next run says %v", f, n, err)
			}
			if got, want := commitsOf(t, topic), []CommitID{"C0", "C1"}; !slices.Equal(got, want) {
				t.Errorf("fault %d at call %d: chain %v, want %v", f, n, got, want)
			}
		}
	}
}

// TestALostAnswerIsNoDefeat is B9: the write took effect and the answer was a
// 500, so every later answer about that key is "it exists".
func TestALostAnswerIsNoDefeat(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	topic.store = fault.New(base, fault.Rule{Verb: fault.Put, Key: "/m/", Fault: fault.After}.Hook())
	got := mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 0)))
	if got.Version != 1 {
		t.Errorf("version %d, want 1", got.Version)
	}
}

// TestAnUnknownOutcomeIsSaid is B10: the answer is lost, and so is every
// attempt to read the version back.
func TestAnUnknownOutcomeIsSaid(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	healthy := through(topic, base)
	topic.store = fault.New(base, func(op fault.Op) fault.Fault {
		switch {
		case op.Verb == fault.Put && op.N > 0, op.Verb == fault.Get && op.Key == topic.versionKey(1):
			return fault.After
		}
		return fault.None
	})
	c := change("1", appendTo(m, "J1", at(0, 0)))
	if _, err := topic.Commit(t.Context(), c); !errors.Is(err, ErrUnknown) {
		t.Fatalf("Commit = %v, want ErrUnknown", err)
	}
	if m, err := healthy.Commit(t.Context(), c); err != nil || m.Version != 1 {
		t.Errorf("the next run says %v, %v, want version 1", m, err)
	}
}

// TestARefusalToDecideIsTriedAgain is B11: the first answers say nothing, as
// S3's 409 does.
func TestARefusalToDecideIsTriedAgain(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	refusals := 3
	topic.store = fault.New(base, func(op fault.Op) fault.Fault {
		if op.Verb == fault.Put && refusals > 0 {
			refusals--
			return fault.Before
		}
		return fault.None
	})
	if got := mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 0))); got.Version != 1 {
		t.Errorf("version %d, want 1", got.Version)
	}
}

// between calls do before the first Put of a version.
type between struct {
	objstore.Store
	key string
	do  func()
}

func (b *between) Put(ctx context.Context, key string, body objstore.Body) error {
	if do := b.do; do != nil && key == b.key {
		b.do = nil
		do()
	}
	return b.Store.Put(ctx, key, body)
}

func TestAnAppendRebasesOverACompaction(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	m = mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 4)))
	other := through(topic, base)
	topic.store = &between{base, topic.versionKey(2), func() {
		mustCommit(t, other, "2", Compact{From: segments.None, To: at(0, 4), Outputs: []Segment{stretch("J2/0", segments.None, at(0, 4))}})
	}}
	got := mustCommit(t, topic, "3", appendTo(m, "J3", at(1, 0)))
	if got.Version != 3 || got.Horizon != at(0, 4) || got.Last != at(1, 0) {
		t.Errorf("got %+v", got)
	}
}

// TestOfTwoAppendsTheSlowerIsToldOfIt: it must be made again from what the
// faster one left.
func TestOfTwoAppendsTheSlowerIsToldOfIt(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	other := through(topic, base)
	topic.store = &between{base, topic.versionKey(1), func() {
		mustCommit(t, other, "1", appendTo(m, "J1", at(0, 4)))
	}}
	if _, err := topic.Commit(t.Context(), change("2", appendTo(m, "J2", at(0, 9)))); !errors.Is(err, ErrConflict) {
		t.Fatalf("Commit = %v, want ErrConflict", err)
	}
}

// TestANameThatWasFreedIsNoVersion is B13: a committer sleeps before it
// creates version 1, others go on to version 4, and a collection frees the
// name of version 1. The floor is what tells the sleeper.
func TestANameThatWasFreedIsNoVersion(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, _ := topic.Latest(t.Context())
	other := through(topic, base)
	collect := func() {
		settings := m.Settings
		for i := range 4 {
			was := settings
			settings.MinLag++
			mustCommit(t, other, fmt.Sprint("x", i), Set{Was: was, Now: settings})
		}
		if err := other.raise(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		for v := range Version(2) {
			if err := base.Delete(t.Context(), topic.versionKey(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sleeper := through(topic, &between{base, topic.versionKey(1), collect})
	if _, err := sleeper.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, ErrConflict) {
		t.Errorf("Commit = %v, want ErrConflict", err)
	}
	latest, err := topic.Latest(t.Context())
	if err != nil || latest.Version != 4 || latest.contains("C1") || !latest.Last.IsNone() {
		t.Errorf("latest is %+v, %v", latest, err)
	}
}

// TestTwentyWritersLoseNothing has them all append at once, each again until
// it is in.
func TestTwentyWritersLoseNothing(t *testing.T) {
	base := new(mem.Store)
	newTopic(t, base)
	patient := func(ctx context.Context, n int) error { return ctx.Err() }
	const writers = 20
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			topic, err := Open(t.Context(), base, "orders", patient)
			for try := 0; err == nil; try++ {
				var m *Manifest
				if m, err = topic.Latest(t.Context()); err != nil {
					break
				}
				id := fmt.Sprintf("%d.%d", w, try)
				_, err = topic.Commit(t.Context(), change(id, appendTo(m, "J"+id, at(m.Last.Ledger+1, 0))))
				if err == nil || !errors.Is(err, ErrConflict) {
					break
				}
				err = nil
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	topic, err := Open(t.Context(), base, "orders", noPause)
	if err != nil {
		t.Fatal(err)
	}
	m, err := topic.Latest(t.Context())
	if err != nil || m.Version != writers || len(m.Originals) != writers {
		t.Errorf("latest is version %d with %d originals, %v; want %d of each", m.Version, len(m.Originals), err, writers)
	}
}

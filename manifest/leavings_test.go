package manifest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// TestWhatALateWriteNamesIsNotExpired: the first write of a commit is still on
// its way when the committer sees its name taken and goes on. Then the name is
// freed by a collection, and the write lands there. What it names looks like
// what an expired version names; but the committer is about to commit it, at
// another name.
func TestWhatALateWriteNamesIsNotExpired(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	ctx := t.Context()
	m, _ := topic.Latest(ctx)
	putAll(t, topic, "d/J1/0", "x/J1/0")
	slow := fault.New(base, fault.Rule{Verb: fault.Put, Key: topic.versionKey(1), Fault: fault.Late}.Hook())
	committer := through(topic, &between{slow, "", nil})
	rival := func() {
		was := m.Settings
		now := was
		now.MinLag++
		mustCommit(t, topic, "rival", Set{Was: was, Now: now})
	}
	committer.store.(*between).key, committer.store.(*between).do = topic.versionKey(1), rival
	committer.pause = func(context.Context, int) error {
		pass(t, topic, 4)
		if err := slow.Land(ctx); err != nil {
			t.Fatal(err)
		}
		left, err := base.Get(ctx, topic.versionKey(1), maxManifestBytes)
		if err != nil || commitOf(left) != "C1" {
			t.Fatalf("at the freed name is %.100s, %v", left, err)
		}
		latest, err := topic.Latest(ctx)
		if err != nil {
			t.Fatal(err)
		}
		committer.store.(*between).key = topic.versionKey(latest.Version + 1)
		committer.store.(*between).do = func() {
			if err := collect(t, topic, Keep{Since: epoch.Add(100 * time.Hour), Versions: 1}); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	made, err := committer.Commit(ctx, change("1", appendTo(m, "J1", at(0, 4))))
	if err != nil {
		t.Fatal(err)
	}
	for object := range made.objects() {
		if _, err := base.Get(ctx, topic.key(object), 100); err != nil {
			t.Errorf("version %d has lost %v", made.Version, err)
		}
	}
	// The leavings themselves are gone.
	for _, key := range objectsOf(t, topic) {
		if strings.HasSuffix(key, "m/1") {
			t.Errorf("%s is left", key)
		}
	}
}

// TestAListingThatLacksVersionsDeletesNothing: a store that forgets to list
// versions, or another collection that is ahead, leaves a collection without
// the knowledge of what they name. That is no reason to delete it.
func TestAListingThatLacksVersionsDeletesNothing(t *testing.T) {
	for _, f := range []fault.Fault{fault.Missing, fault.Short} {
		base := new(mem.Store)
		topic := lived(t, base)
		before := objectsOf(t, topic)
		c, err := topic.PlanCollection(t.Context(), Keep{Since: epoch, Versions: 6, MinJob: "J9"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Commit(t.Context(), change("gc", nil)); err != nil {
			t.Fatal(err)
		}
		c.topic = through(topic, &forgetful{base, topic.key("m/"), f})
		if err := c.Delete(t.Context(), func(Garbage) {}); !errors.Is(err, ErrConflict) {
			t.Errorf("fault %d: Delete = %v, want ErrConflict", f, err)
		}
		after := slices.DeleteFunc(objectsOf(t, topic), func(key string) bool { return key == "m/6" }) // its own
		if !slices.Equal(before, after) {
			t.Errorf("fault %d: left\n%q, want\n%q", f, after, before)
		}
	}
}

// forgetful lists nothing of a folder, or the first object only, and no error.
type forgetful struct {
	objstore.Store
	prefix string
	fault  fault.Fault
}

func (s *forgetful) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	if prefix != s.prefix {
		return s.Store.List(ctx, prefix, after)
	}
	return func(yield func(objstore.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, prefix, after) {
			if s.fault == fault.Short {
				yield(e, err)
			}
			return
		}
	}
}

// TestALostVersionIsNotPassedOver: a version that is kept is listed, and its
// object is not there.
func TestALostVersionIsNotPassedOver(t *testing.T) {
	base := new(mem.Store)
	topic := lived(t, base)
	lost := through(topic, fault.New(base, fault.Rule{Verb: fault.Get, Key: topic.versionKey(2), Fault: fault.Missing}.Hook()))
	var err error
	for _, err = range lost.Versions(t.Context()) {
	}
	if !errors.Is(err, ErrMissing) {
		t.Errorf("Versions = %v, want ErrMissing", err)
	}
}

package manifest

import (
	"context"
	"strings"
	"testing"
	"time"

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

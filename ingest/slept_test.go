package ingest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// TestARunThatSleptThroughItsOwnVersionGoesOn: the answer to the first commit
// is lost. Until the run looks again, another one has added a line, and both
// versions are collected, so that all it can learn is that its segment is in.
// It must not go on as if it were the last one.
func TestARunThatSleptThroughItsOwnVersionGoesOn(t *testing.T) {
	w := newWorld(t, smallest)
	ctx := t.Context()
	lines := wide(1, `{"value":"a"}`, `{"value":"b"}`)
	slept := false
	faulty := fault.New(w.store, func(op fault.Op) fault.Fault {
		if !slept && strings.HasSuffix(op.Key, "/m/00000000000000000001") {
			return fault.After // the write, and reading it back
		}
		return fault.None
	})
	topic, err := manifest.Open(ctx, faulty, w.topic.Name(), func(context.Context, int) error {
		if slept {
			return nil
		}
		slept = true
		w.must(w.ingest(`{"value":"x"}`))
		key := string(w.topic.ID()) + "/m/00000000000000000001"
		first, err := w.store.Get(ctx, key, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.topic.PlanCollection(ctx, manifest.Keep{Since: w.settings().Now.Add(time.Hour), Versions: 1})
		if err == nil {
			err = c.Commit(ctx, manifest.Change{Commit: w.components().NewCommit(), Job: w.settings().Job, Now: w.settings().Now})
		}
		if err == nil {
			err = c.Delete(ctx, func(manifest.Garbage) {})
		}
		if err != nil {
			t.Fatal(err)
		}
		// Another sleeper takes the name.
		unsealed, _, _ := strings.Cut(string(first), `,"sha256":"`+string(first[len(first)-66:]))
		taken := strings.Replace(unsealed, `"commit":"`, `"commit":"other`, 1)
		taken += fmt.Sprintf(`,"sha256":"%x"}`, sha256.Sum256([]byte(taken+"}")))
		if err := w.store.Put(ctx, key, strings.NewReader(taken)); err != nil {
			t.Fatal(err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Run(ctx, topic, strings.NewReader(text(lines)), w.settings(), w.components()); err != nil {
		t.Fatal(err)
	}
	if !slept {
		t.Error("it did not sleep")
	}
	var got []string
	for _, m := range w.rows() {
		got = append(got, string(m.Value))
	}
	equal(t, "values", got, []string{"a", "x", "b"})
}

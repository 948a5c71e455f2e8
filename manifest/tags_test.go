package manifest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// around does something after the first Put of a key, and before the first Get
// of it.
type around struct {
	objstore.Store
	key       string
	afterPut  func()
	beforeGet func()
}

func (a *around) Put(ctx context.Context, key string, body objstore.Body) error {
	err := a.Store.Put(ctx, key, body)
	if do := a.afterPut; do != nil && key == a.key {
		a.afterPut = nil
		do()
	}
	return err
}

func (a *around) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	if do := a.beforeGet; do != nil && key == a.key {
		a.beforeGet = nil
		do()
	}
	return a.Store.Get(ctx, key, max)
}

// TestATagThatCannotMoveHoldsOnToWhatItNames: a tag is about to move, and a
// collection expires the version that it is to name. So it goes on naming the
// one before, which must still be there, though the collection came when the
// tag seemed to have moved.
func TestATagThatCannotMoveHoldsOnToWhatItNames(t *testing.T) {
	base := new(mem.Store)
	topic := lived(t, base)
	ctx := t.Context()
	all := Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J0"}
	if err := topic.Tag(ctx, "t", 1, false); err != nil {
		t.Fatal(err)
	}
	mover := through(topic, &around{Store: base, key: topic.tagFolder("t") + "00000000000000000001", afterPut: func() {
		if err := collect(t, topic, all); err != nil {
			t.Fatal(err)
		}
	}})
	if err := mover.Tag(ctx, "t", 3, true); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("Tag = %v, want ErrVersionNotFound", err)
	}
	v, err := topic.Tagged(ctx, "t")
	if v != 1 || err != nil {
		t.Errorf("the tag names %d, %v; want 1", v, err)
	}
	m, err := topic.At(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for object := range m.objects() {
		if _, err := base.Get(ctx, topic.key(object), 100); err != nil {
			t.Error(err)
		}
	}
	// When it has moved, the one before is let go.
	latest, err := topic.Latest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := topic.Tag(ctx, "t", latest.Version, true); err != nil {
		t.Fatal(err)
	}
	if held, err := topic.Held(ctx); len(held) != 1 || held[0] != latest.Version || err != nil {
		t.Errorf("held are %v, %v; want %d", held, err, latest.Version)
	}
	if err := collect(t, topic, all); err != nil {
		t.Fatal(err)
	}
	if _, err := topic.At(ctx, 1); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("At = %v, want ErrVersionNotFound", err)
	}
}

// TestATagThatChangesWhileItIsReadIsReadAgain: between the LIST and the GET of
// its object somebody gives the tag up, or moves it on.
func TestATagThatChangesWhileItIsReadIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(ctx context.Context, topic *Topic) error
		want   Version
	}{
		{"given up", func(ctx context.Context, topic *Topic) error {
			return topic.store.Delete(ctx, topic.tagFolder("t")+"00000000000000000001")
		}, 2},
		{"moved on", func(ctx context.Context, topic *Topic) error { return topic.Tag(ctx, "t", 4, true) }, 4},
	} {
		base := new(mem.Store)
		topic := lived(t, base)
		ctx := t.Context()
		if err := topic.Tag(ctx, "t", 2, false); err != nil {
			t.Fatal(err)
		}
		body := sealed([]byte(`{"format":1,"name":"t","version":"3"}`))
		if err := base.Put(ctx, topic.tagFolder("t")+"00000000000000000001", bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		other := through(topic, &around{Store: base, key: topic.tagFolder("t") + "00000000000000000001", beforeGet: func() {
			if err := c.change(ctx, topic); err != nil {
				t.Fatal(err)
			}
		}})
		if tags, err := other.Tags(ctx); len(tags) != 1 || tags["t"] != c.want || err != nil {
			t.Errorf("%s: the tags are %v, %v; want %d", c.what, tags, err, c.want)
		}
	}
}

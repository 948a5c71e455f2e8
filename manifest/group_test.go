package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

func state(n int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }

func take(t *testing.T, topic *Topic, holder string) *Group {
	t.Helper()
	g, err := topic.TakeGroup(t.Context(), "g/1", holder)
	if err != nil {
		t.Fatalf("take the group: %v", err)
	}
	return g
}

func groupObjects(t *testing.T, s objstore.Store) (keys []string) {
	t.Helper()
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Key, "/group/") {
			keys = append(keys, e.Key[strings.Index(e.Key, "/group/"):])
		}
	}
	return keys
}

func TestTheLaterHolderOfAGroupWins(t *testing.T) {
	store := new(mem.Store)
	topic := newTopic(t, store)
	first := take(t, topic, "a")
	if first.State() != nil {
		t.Errorf("a new group has state %s", first.State())
	}
	for n := range 5 {
		if err := first.Save(t.Context(), state(n)); err != nil {
			t.Fatal(err)
		}
	}
	second := take(t, topic, "b")
	if got := string(second.State()); got != `{"n":4}` {
		t.Errorf("the second goes on from %s", got)
	}
	if err := first.Save(t.Context(), state(99)); !errors.Is(err, ErrTakenOver) {
		t.Errorf("the first saves: %v, want ErrTakenOver", err)
	}
	if err := second.Save(t.Context(), state(5)); err != nil {
		t.Error(err)
	}
	if got := groupObjects(t, store); len(got) != 1 || got[0] != "/group/g=2F1/00000000000000000007" {
		t.Errorf("objects are %q, want the last one alone", got)
	}
}

// The names that the first wants next were used and freed while it slept.
func TestAHolderThatSleptFindsItsSuccessor(t *testing.T) {
	store := new(mem.Store)
	topic := newTopic(t, store)
	sleeper := take(t, topic, "a")
	if err := sleeper.Save(t.Context(), state(0)); err != nil {
		t.Fatal(err)
	}
	second := take(t, topic, "b")
	for n := range 5 {
		if err := second.Save(t.Context(), state(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sleeper.Save(t.Context(), state(99)); !errors.Is(err, ErrTakenOver) {
		t.Errorf("the sleeper saves: %v, want ErrTakenOver", err)
	}
	if got := string(take(t, topic, "c").State()); got != `{"n":4}` {
		t.Errorf("the third goes on from %s", got)
	}
}

// Each call to the store fails in turn, before it takes effect or after. What
// was said to be saved is what the next holder finds, or a later state.
func TestASavedStateIsFoundWhateverTheStoreDoes(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After} {
		for call := int64(0); ; call++ {
			store := new(mem.Store)
			topic := newTopic(t, store)
			faulty := fault.New(store, fault.At(call, f))
			through := through(topic, faulty)
			saved := -1
			tried := -1
			if g, err := through.TakeGroup(t.Context(), "g/1", "a"); err == nil {
				for n := range 4 {
					tried = n
					if err := g.Save(t.Context(), state(n)); err == nil {
						saved = n
					} else if errors.Is(err, ErrTakenOver) {
						t.Fatalf("call %d: nobody else is there: %v", call, err)
					}
				}
			}
			got := struct{ N int }{-1}
			if s := take(t, topic, "b").State(); s != nil {
				if err := json.Unmarshal(s, &got); err != nil {
					t.Fatal(err)
				}
			}
			if got.N < saved || got.N > tried {
				t.Errorf("call %d, %v: found state %d, saved was %d", call, f, got.N, saved)
			}
			if faulty.Struck() == 0 {
				break
			}
		}
	}
}

func TestAGroupEndsWithItsTopic(t *testing.T) {
	store := new(mem.Store)
	topic := newTopic(t, store)
	g := take(t, topic, "a")
	if err := topic.Delete(t.Context(), change("c9", nil)); err != nil {
		t.Fatal(err)
	}
	if err := g.Save(t.Context(), state(1)); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("save: %v, want ErrTopicNotFound", err)
	}
	if got := groupObjects(t, store); len(got) != 0 {
		t.Errorf("left are %q", got)
	}
}

package manifest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// beforeFloor does something before the floor is looked at for the first time.
type beforeFloor struct {
	objstore.Store
	do func()
}

func (b *beforeFloor) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	if do := b.do; do != nil && strings.HasSuffix(prefix, "/floor/") {
		b.do = nil
		do()
	}
	return b.Store.List(ctx, prefix, after)
}

// TestNobodyGoesOnFromWhatASleeperLeaves: somebody sleeps while a topic is
// deleted, creates the version that he wanted to create at a name that is free
// again, and is killed. Whoever has the topic open takes that for its latest
// version, and must not be told that an append to it succeeded.
func TestNobodyGoesOnFromWhatASleeperLeaves(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	ctx := t.Context()
	m, _ := topic.Latest(ctx)
	other := through(topic, base)
	killed := false
	sleeper := through(topic, &between{
		fault.New(base, func(op fault.Op) fault.Fault {
			if killed = killed || strings.HasSuffix(op.Key, "/floor/"); killed {
				return fault.Before
			}
			return fault.None
		}),
		topic.versionKey(1), func() {
			if err := topic.Delete(ctx, change("2", nil)); err != nil {
				t.Fatal(err)
			}
		},
	})
	if _, err := sleeper.Commit(ctx, change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, ErrUnknown) {
		t.Errorf("the sleeper is told %v, want ErrUnknown", err)
	}
	left, err := other.Latest(ctx)
	if err != nil || left.Commit != "C1" {
		t.Fatalf("what is left is %+v, %v", left, err)
	}
	if _, err := other.Commit(ctx, change("3", appendTo(left, "J3", at(1, 0)))); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("the other is told %v, want ErrTopicNotFound", err)
	}
}

// TestASleeperDoesNotTakeAFollowerForProof: the same, but the other one goes on
// from what the sleeper has created before the sleeper looks at the floor. The
// latest version then has the sleeper's commit among its recent ones.
func TestASleeperDoesNotTakeAFollowerForProof(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	ctx := t.Context()
	m, _ := topic.Latest(ctx)
	// It stops before it can withdraw what it has written.
	other := through(topic, fault.New(base, fault.Rule{Verb: fault.Delete, Fault: fault.Before}.Hook()))
	sleeper := through(topic, &beforeFloor{
		&between{base, topic.versionKey(1), func() {
			if err := topic.Delete(ctx, change("2", nil)); err != nil {
				t.Fatal(err)
			}
		}},
		func() {
			left, err := other.Latest(ctx)
			if err != nil || left.Commit != "C1" {
				t.Fatalf("what is left is %+v, %v", left, err)
			}
			_, err = other.Commit(ctx, change("3", appendTo(left, "J3", at(1, 0))))
			if !errors.Is(err, ErrTopicNotFound) {
				t.Errorf("the other is told %v, want ErrTopicNotFound", err)
			}
		},
	})
	if _, err := sleeper.Commit(ctx, change("1", appendTo(m, "J1", at(0, 4)))); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("the sleeper is told %v, want ErrTopicNotFound", err)
	}
}

// TestTheEndStaysWhenItsWriterIsLate: somebody commits the end of a topic, and
// before he looks at the floor, others have seen it, have raised the floor, and
// have stopped. He must not take the end for a leaving: without it the topic
// would be there again, and could neither be written nor deleted.
func TestTheEndStaysWhenItsWriterIsLate(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	ctx := t.Context()
	late := through(topic, &beforeFloor{base, func() {
		if err := topic.raise(ctx, floorOfDeleted); err != nil {
			t.Fatal(err)
		}
	}})
	if _, err := late.Commit(ctx, change("1", Delete{})); err != nil && !errors.Is(err, ErrTopicNotFound) {
		t.Fatal(err)
	}
	if _, err := topic.Latest(ctx); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Latest = %v, want ErrTopicNotFound", err)
	}
	if _, err := create(base, t, "orders", "T2"); err != nil {
		t.Errorf("the name cannot be used again: %v", err)
	}
}

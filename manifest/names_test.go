package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// FuzzEscapeName: an escaped name is one path element that every store takes,
// no two names have the same, and short ones can be read back.
func FuzzEscapeName(f *testing.F) {
	for _, name := range []string{"orders", ".", "..", "../b", "a\\..\\b", "C:\\b", "persistent://public/default/x-partition-0", "=2E", "==", "é", strings.Repeat("é", 256), strings.Repeat("a", 512)} {
		f.Add(name, name+"/")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if CheckName(a) != nil {
			return
		}
		escaped := escapeName(a)
		if err := objstore.CheckKey("topics/" + escaped + "/0"); err != nil || strings.Contains(escaped, "/") {
			t.Fatalf("%q escapes to %q: %v", a, escaped, err)
		}
		if a != b && escaped == escapeName(b) {
			t.Fatalf("%q and %q both escape to %q", a, b, escaped)
		}
		if back, ok := unescapeName(escaped); ok && back != a {
			t.Fatalf("%q escapes to %q and comes back as %q", a, escaped, back)
		} else if !ok && len(a) < plainElement/3 {
			t.Fatalf("%q escapes to %q and does not come back", a, escaped)
		}
	})
}

func TestNamesThatCannotBe(t *testing.T) {
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("x", 513)} {
		if _, err := Open(t.Context(), new(mem.Store), name, noPause); !errors.Is(err, ErrTopicName) {
			t.Errorf("Open(%q) = %v, want ErrTopicName", name, err)
		}
	}
}

func create(s objstore.Store, t *testing.T, name, id string) (*Topic, error) {
	return Create(t.Context(), s, NewTopic{Name: name, ID: TopicID(id), Commit: CommitID("C" + id), Now: epoch, Settings: DefaultSettings()}, noPause)
}

func names(t *testing.T, s objstore.Store) []string {
	t.Helper()
	var all []string
	for name, err := range Names(t.Context(), s) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	return all
}

func TestNamesAreListedInOrder(t *testing.T) {
	s := new(mem.Store)
	want := []string{"..", "B", "a", "a/b", "b", strings.Repeat("z", 512), "é"}
	for i, name := range want {
		if _, err := create(s, t, name, fmt.Sprint("T", i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestOfTwoCreatesOfOneNameOneWins(t *testing.T) {
	s := new(mem.Store)
	const racers = 10
	won := make(chan error, racers)
	for i := range racers {
		go func() { _, err := create(s, t, "orders", fmt.Sprint("T", i)); won <- err }()
	}
	wins := 0
	for range racers {
		if err := <-won; err == nil {
			wins++
		} else if !errors.Is(err, ErrTopicExists) {
			t.Error(err)
		}
	}
	if wins != 1 {
		t.Errorf("%d creates won, want 1", wins)
	}
}

func TestADeletedTopicIsGoneAndItsNameFree(t *testing.T) {
	s := new(mem.Store)
	old := newTopic(t, s)
	m, _ := old.Latest(t.Context())
	mustCommit(t, old, "1", appendTo(m, "J1", at(0, 0)))
	if err := old.Delete(t.Context(), change("2", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), s, "orders", noPause); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Open = %v, want ErrTopicNotFound", err)
	}
	// B50: whoever was about to commit learns of it, and nothing comes back.
	if _, err := old.Commit(t.Context(), change("3", appendTo(m, "J3", at(0, 0)))); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Commit = %v, want ErrTopicNotFound", err)
	}
	if got := names(t, s); len(got) != 0 {
		t.Errorf("names %q, want none", got)
	}
	if _, err := create(s, t, "orders", "T2"); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), s, "orders", noPause)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := again.Latest(t.Context()); err != nil || m.Version != 0 || again.ID() != "T2" {
		t.Errorf("the new topic is %+v, %v", m, err)
	}
}

// TestACommitThatADeleteOvertook: the topic goes, versions and all, between a
// committer's last look and its write.
func TestACommitThatADeleteOvertook(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	m, _ := topic.Latest(t.Context())
	sleeper := through(topic, &between{s, topic.versionKey(1), func() {
		if err := topic.Delete(t.Context(), change("2", nil)); err != nil {
			t.Fatal(err)
		}
	}})
	if _, err := sleeper.Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 0)))); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("Commit = %v, want ErrTopicNotFound", err)
	}
}

// nothingLeft checks that of a deleted topic, whose end was version 2, only
// small things are there: its format object, its floors, and its end where a
// delete stopped right after it had dropped the name.
func nothingLeft(t *testing.T, s objstore.Store, id TopicID) {
	t.Helper()
	for entry, err := range s.List(t.Context(), string(id)+"/", "") {
		if err != nil {
			t.Fatal(err)
		}
		folder, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, string(id)+"/"), "/")
		if folder != "format" && folder != "floor" && entry.Key != string(id)+"/m/00000000000000000002" {
			t.Errorf("%s is left", entry.Key)
		}
	}
}

// haltedDelete deletes a topic of one append, and fails call n of that. It
// reports whether there was such a call.
func haltedDelete(t *testing.T, s objstore.Store, n int64, f fault.Fault) bool {
	t.Helper()
	topic := newTopic(t, s)
	m, _ := topic.Latest(t.Context())
	for _, object := range []string{"d/1", "x/1", "pin/1"} {
		if err := s.Put(t.Context(), topic.key(object), strings.NewReader("bytes")); err != nil {
			t.Fatal(err)
		}
	}
	mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 0)))
	faulty := fault.New(s, fault.At(n, f))
	_ = through(topic, faulty).Delete(t.Context(), change("2", nil))
	return faulty.Struck() > 0
}

// TestADeleteThatStoppedHalfWayIsFinished fails each call of a delete in turn.
// A second delete ends it, and then nothing is left.
func TestADeleteThatStoppedHalfWayIsFinished(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After} {
		for n := int64(0); ; n++ {
			s := new(mem.Store)
			if !haltedDelete(t, s, n, f) {
				break
			}
			again, err := Open(t.Context(), s, "orders", noPause)
			if err == nil {
				err = again.Delete(t.Context(), change("3", nil))
			}
			if err != nil && !errors.Is(err, ErrTopicNotFound) {
				t.Errorf("fault %d at call %d: the second delete says %v", f, n, err)
			}
			nothingLeft(t, s, "T1")
			if _, err := create(s, t, "orders", "T2"); err != nil {
				t.Errorf("fault %d at call %d: create says %v", f, n, err)
			}
		}
	}
}

// TestACreateFinishesADelete: the same, but nobody deletes it again. A create
// of that name removes what is left, or says that the topic still exists.
func TestACreateFinishesADelete(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After} {
		for n := int64(0); ; n++ {
			s := new(mem.Store)
			if !haltedDelete(t, s, n, f) {
				break
			}
			var living error
			if again, err := Open(t.Context(), s, "orders", noPause); err == nil {
				_, living = again.Latest(t.Context())
			} else {
				living = err
			}
			_, err := create(s, t, "orders", "T2")
			if living == nil {
				if !errors.Is(err, ErrTopicExists) {
					t.Errorf("fault %d at call %d: create says %v, want ErrTopicExists", f, n, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("fault %d at call %d: create says %v", f, n, err)
			}
			nothingLeft(t, s, "T1")
		}
	}
}

func TestATagHoldsAVersion(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	m, _ := topic.Latest(t.Context())
	mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 0)))
	ctx := t.Context()
	if err := topic.Tag(ctx, "here", 0, false); err != nil {
		t.Fatal(err)
	}
	if err := topic.Tag(ctx, "here", 0, false); err != nil {
		t.Errorf("the same tag again: %v", err)
	}
	if err := topic.Tag(ctx, "here", 1, false); !errors.Is(err, ErrTagExists) {
		t.Errorf("a taken tag: %v, want ErrTagExists", err)
	}
	if err := topic.Tag(ctx, "there", 9, false); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("a tag of no version: %v, want ErrVersionNotFound", err)
	}
	if _, err := topic.Tagged(ctx, "there"); !errors.Is(err, ErrTagNotFound) {
		t.Errorf("Tagged = %v, want ErrTagNotFound", err)
	}
	if err := topic.Tag(ctx, "here", 1, true); err != nil {
		t.Fatal(err)
	}
	if v, err := topic.Tagged(ctx, "here"); err != nil || v != 1 {
		t.Errorf("Tagged = %d, %v, want 1", v, err)
	}
}

// TestAPinThatCameTooLateIsGivenUp: the version expired before the pin was
// there, so a collection need not have seen it.
func TestAPinThatCameTooLateIsGivenUp(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	if err := topic.Pin(t.Context(), 0, "reader"); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, topic, "1", Set{Was: DefaultSettings(), Now: DefaultSettings()})
	mustCommit(t, topic, "2", Collect{ExpiredBefore: 1})
	if err := topic.Pin(t.Context(), 0, "late"); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("Pin = %v, want ErrVersionNotFound", err)
	}
	var pins []string
	for entry, err := range s.List(t.Context(), topic.key("pin/"), "") {
		if err != nil {
			t.Fatal(err)
		}
		pins = append(pins, entry.Key)
	}
	if want := []string{topic.pinKey(0, "reader")}; !slices.Equal(pins, want) {
		t.Errorf("pins %q, want %q", pins, want)
	}
}

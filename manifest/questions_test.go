package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// questions are all that can be asked of a store of topics.
var questions = []struct {
	name string
	ask  func(t *testing.T, s objstore.Store) error
}{
	{"open", func(t *testing.T, s objstore.Store) error {
		_, err := Open(t.Context(), s, "orders", noPause)
		return err
	}},
	{"names", func(t *testing.T, s objstore.Store) error {
		for _, err := range Names(t.Context(), s) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"latest", ofTopic(func(t *testing.T, topic *Topic) error { _, err := topic.Latest(t.Context()); return err })},
	{"at", ofTopic(func(t *testing.T, topic *Topic) error { _, err := topic.At(t.Context(), 3); return err })},
	{"at a tagged version", ofTopic(func(t *testing.T, topic *Topic) error { _, err := topic.At(t.Context(), 1); return err })},
	{"as of", ofTopic(func(t *testing.T, topic *Topic) error {
		_, err := topic.AsOf(t.Context(), epoch.Add(4*time.Hour))
		return err
	})},
	{"versions", ofTopic(func(t *testing.T, topic *Topic) error {
		for _, err := range topic.Versions(t.Context()) {
			if err != nil {
				return err
			}
		}
		return nil
	})},
	{"tagged", ofTopic(func(t *testing.T, topic *Topic) error { _, err := topic.Tagged(t.Context(), "first"); return err })},
	{"held", ofTopic(func(t *testing.T, topic *Topic) error { _, err := topic.Held(t.Context()); return err })},
	{"tag", ofTopic(func(t *testing.T, topic *Topic) error { return topic.Tag(t.Context(), "new", 3, false) })},
	{"unpin", ofTopic(func(t *testing.T, topic *Topic) error { return topic.Unpin(t.Context(), 2, "reader") })},
	{"garbage", ofTopic(func(t *testing.T, topic *Topic) error {
		c, err := topic.PlanCollection(t.Context(), Keep{Since: epoch.Add(100 * time.Hour), Versions: 1, MinJob: "J0"})
		if err != nil {
			return err
		}
		for _, err := range c.Garbage(t.Context()) {
			if err != nil {
				return err
			}
		}
		return nil
	})},
}

// ofTopic asks a topic, opened before the trouble begins.
func ofTopic(ask func(*testing.T, *Topic) error) func(*testing.T, objstore.Store) error {
	return func(t *testing.T, s objstore.Store) error {
		return ask(t, &Topic{store: s, pause: noPause, slot: nameSlot{name: "orders"}, id: "T1"})
	}
}

// questioned is a topic with a tag, a pin, expired versions, and manifest
// parts.
func questioned(t *testing.T) *mem.Store {
	s := new(mem.Store)
	topic := lived(t, s)
	if err := topic.Tag(t.Context(), "first", 1, false); err != nil {
		t.Fatal(err)
	}
	if err := topic.Pin(t.Context(), 2, "reader"); err != nil {
		t.Fatal(err)
	}
	m, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	long := appendTo(m, "J6", at(2, 0))
	for i := range 600 {
		last := long.Segments[len(long.Segments)-1].Range.Through
		long.Segments = append(long.Segments, stretch(fmt.Sprint("J6/", i+1), last, at(int64(3+i), 0)))
	}
	long.MaxRead = long.Segments[len(long.Segments)-1].Range.Through
	mustCommit(t, topic, "6", long)
	mustCommit(t, topic, "7", Collect{ExpiredBefore: 3})
	return s
}

// TestNoQuestionIsAnsweredFromHalfAnAnswer fails each store call of each
// question: then the question fails too, with the store's error, and is never
// answered as if there was less in the store.
func TestNoQuestionIsAnsweredFromHalfAnAnswer(t *testing.T) {
	s := questioned(t)
	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			if err := q.ask(t, s); err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			for _, f := range []fault.Fault{fault.Before, fault.Short} {
				for n := int64(0); ; n++ {
					faulty := fault.New(s, fault.At(n, f))
					err := q.ask(t, faulty)
					if faulty.Struck() == 0 {
						break
					}
					// A write whose answer is lost is settled by reading.
					if err == nil && q.name == "tag" || errors.Is(err, ErrTagExists) {
						continue
					}
					if !errors.Is(err, fault.ErrInjected) {
						t.Errorf("fault %d at call %d: %v, want the store's error", f, n, err)
					}
				}
			}
		})
	}
}

// TestDamagedObjectsAreNamed damages each object of a topic in turn. Whoever
// comes by says which one, and says that it is corrupt.
func TestDamagedObjectsAreNamed(t *testing.T) {
	for _, damage := range []string{"", "{", `{"format":1}`, `[]`, "null"} {
		for _, folder := range []string{"topics/", "T1/format", "T1/m/", "T1/p/", "T1/tag/"} {
			s := questioned(t)
			var keys []string
			for entry, err := range s.List(t.Context(), folder, "") {
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, entry.Key)
			}
			key := keys[len(keys)-1]
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), key, bytes.NewReader([]byte(damage))); err != nil {
				t.Fatal(err)
			}
			named := false
			for _, q := range questions {
				err := q.ask(t, s)
				if err == nil {
					continue
				}
				object := strings.TrimPrefix(key, "T1/")
				if !errors.Is(err, segments.ErrCorrupt) || !strings.Contains(err.Error(), object) {
					t.Errorf("%s is %q: %s says %v", key, damage, q.name, err)
				}
				named = true
			}
			if !named {
				t.Errorf("%s is %q, and nobody says so", key, damage)
			}
		}
	}
}

// TestEachInvariantIsHeld breaks each in turn.
func TestEachInvariantIsHeld(t *testing.T) {
	sound := func() *Manifest {
		m := &Manifest{Last: at(3, 1), MaxRead: at(3, 0), Horizon: at(2, 1), RetainedAfter: at(0, 1),
			Originals: []Segment{stretch("A/1", at(0, 1), at(1, 1)), stretch("A/2", at(1, 1), at(3, 1))},
			Compacted: []Segment{stretch("B/1", segments.None, at(1, 1)), stretch("B/2", at(1, 1), at(2, 1))},
			Producers: []Producer{{Name: "a"}, {Name: "b"}},
		}
		m.Compacted[0].Dead = &DeadRows{Object: "b/B/1", Rows: 1}
		return m
	}
	if err := sound().check(); err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range map[string]func(m *Manifest){
		"a horizon within a batch":        func(m *Manifest) { m.Horizon.Batch = 1 },
		"trimmed above the horizon":       func(m *Manifest) { m.RetainedAfter = at(2, 2) },
		"a horizon above max read":        func(m *Manifest) { m.MaxRead = at(2, 0) },
		"max read above the end":          func(m *Manifest) { m.MaxRead = at(3, 2) },
		"a gap between originals":         func(m *Manifest) { m.Originals[1].Range.After = at(1, 2) },
		"an overlap of originals":         func(m *Manifest) { m.Originals[1].Range.After = at(1, 0) },
		"originals that begin too late":   func(m *Manifest) { m.RetainedAfter = at(0, 0) },
		"originals that end too early":    func(m *Manifest) { m.Last = at(3, 2) },
		"no originals":                    func(m *Manifest) { m.Originals = nil },
		"a gap between compacted ones":    func(m *Manifest) { m.Compacted[1].Range.After = at(1, 2) },
		"compacted ones that begin late":  func(m *Manifest) { m.Compacted = m.Compacted[1:] },
		"compacted ones that end early":   func(m *Manifest) { m.Compacted = m.Compacted[:1] },
		"no compacted ones":               func(m *Manifest) { m.Compacted = nil },
		"an empty range":                  func(m *Manifest) { m.Originals[0].Range.Through = m.Originals[0].Range.After },
		"rows without an object":          func(m *Manifest) { m.Originals[0].Object = "" },
		"rows without an index":           func(m *Manifest) { m.Originals[0].Index = "" },
		"an object without rows":          func(m *Manifest) { m.Compacted[1].Info.Counts = segments.Counts{} },
		"an index where data should lie":  func(m *Manifest) { m.Originals[0].Object = "x/A/1" },
		"data where an index should lie":  func(m *Manifest) { m.Originals[0].Index = "d/A/1" },
		"dead rows where data should lie": func(m *Manifest) { m.Compacted[0].Dead.Object = "d/B/1" },
		"more dead rows than rows":        func(m *Manifest) { m.Compacted[0].Dead.Rows = 99 },
		"quarantined, and nowhere":        func(m *Manifest) { m.Quarantined = []Quarantined{{Object: "d/A/9"}} },
		"quarantined, and folded":         func(m *Manifest) { m.Quarantined = []Quarantined{{Object: "d/A/1", Range: m.Originals[0].Range}} },
		"quarantined as something else":   func(m *Manifest) { m.Quarantined = []Quarantined{{Object: "d/A/2", Range: m.Originals[0].Range}} },
		"quarantined twice": func(m *Manifest) {
			q := Quarantined{Object: "d/A/2", Range: m.Originals[1].Range}
			m.Quarantined = []Quarantined{q, q}
		},
		"producers out of order": func(m *Manifest) { m.Producers[0].Name = "c" },
	} {
		m := sound()
		breakIt(m)
		if err := m.check(); !errors.Is(err, ErrInvariant) {
			t.Errorf("%s: %v, want ErrInvariant", name, err)
		}
	}
}

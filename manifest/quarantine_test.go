package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// TestAQuarantineHoldsTheHorizon goes through the life of two quarantines, of
// an original and of a compacted segment, and tries at each stage what others
// may commit. What was planned before is refused as well: a compaction that
// could read the segment plans anew, and looks at it once more.
func TestAQuarantineHoldsTheHorizon(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	m := mustCommit(t, topic, "1", appendTo(&Manifest{Last: segments.None}, "J1", at(0, 4)))
	m = mustCommit(t, topic, "2", appendTo(m, "J2", at(1, 4)))
	m = mustCommit(t, topic, "3", appendTo(m, "J3", at(2, 4)))
	fold := func(job string, from, to segments.Position) Compact {
		return Compact{From: from, To: to, Outputs: []Segment{stretch(job+"/1", from, to)}}
	}
	refused := func(id string, e Edit) {
		t.Helper()
		if _, err := topic.Commit(t.Context(), change(id, e)); !errors.Is(err, ErrConflict) {
			t.Errorf("commit %s: %v, want a conflict", id, err)
		}
	}
	wantFoldable := func(want segments.Position, wantFrozen bool) {
		t.Helper()
		if through, frozen := m.FoldableThrough(); through != want || frozen != wantFrozen {
			t.Errorf("foldable through %s, frozen %v, want %s, %v", through, frozen, want, wantFrozen)
		}
	}

	wantFoldable(at(2, 4), false)
	m = mustCommit(t, topic, "4", Quarantine{Object: "d/J2/0", Cause: "gone"})
	wantFoldable(at(0, 4), false)
	if q := m.Quarantined[0]; q.Range != m.Originals[1].Range || q.Cause != "gone" || !q.Since.Equal(m.Time) {
		t.Errorf("it is quarantined as %+v", q)
	}
	refused("5", Quarantine{Object: "d/J2/0", Cause: "gone as well"})
	refused("6", fold("J6", segments.None, at(1, 4)))
	m = mustCommit(t, topic, "7", fold("J7", segments.None, at(0, 4)))
	m = mustCommit(t, topic, "8", appendTo(m, "J8", at(3, 4)))
	wantFoldable(at(0, 4), false)

	m = mustCommit(t, topic, "9", Quarantine{Object: "d/J7/1", Cause: "gone"})
	wantFoldable(at(0, 4), true)
	m = mustCommit(t, topic, "10", Lift{Objects: []string{"d/J2/0"}})
	wantFoldable(at(0, 4), true)
	refused("11", fold("J11", at(0, 4), at(1, 4)))
	m = mustCommit(t, topic, "12", Lift{Objects: []string{"d/J7/1"}})
	wantFoldable(at(3, 4), false)
	m = mustCommit(t, topic, "13", fold("J13", at(0, 4), at(3, 4)))
	if len(m.Quarantined) > 0 {
		t.Errorf("%+v is left", m.Quarantined)
	}
	refused("14", Quarantine{Object: "d/J2/0"})
}

// Of an error about an object the segment is found, and nothing of it is kept
// that could tell where the store is.
func TestWhatIsDamagedIsFoundInTheManifest(t *testing.T) {
	s := stretch("A/1", at(0, 1), at(1, 1))
	s.Dead = &DeadRows{Object: "b/A/1"}
	m := &Manifest{Topic: "T1", Originals: []Segment{stretch("A/0", segments.None, at(0, 1))}, Compacted: []Segment{s}}
	secret := objstore.Failed("read", "T1/d/A/1", fmt.Errorf("https://secret: %w", objstore.ErrRange))
	for _, c := range []struct {
		err   error
		want  string // object of the segment
		cause string
	}{
		{&MissingError{Object: "T1/x/A/0", Err: errors.New("https://secret")}, "d/A/0", "x/A/0 is missing"},
		{fmt.Errorf("read: %w", &segments.CorruptError{Object: "T1/d/A/1", Batch: 3, Err: errors.New("bad")}), "d/A/1", "d/A/1, batch 3: corrupt: bad"},
		{&segments.CorruptError{Object: "T1/b/A/1", Batch: -1, Err: secret}, "d/A/1", "b/A/1 is too short"},
		{&segments.CorruptError{Object: "T1/d/A/1", Batch: -1, Err: errors.New(strings.Repeat("x", 999))}, "d/A/1", ""},
		{&segments.CorruptError{Object: "T1/p/A/1", Batch: -1, Err: errors.New("bad")}, "", ""},
		{&segments.CorruptError{Object: "T2/d/A/1", Batch: -1, Err: errors.New("bad")}, "", ""},
		{secret, "", ""},
	} {
		found := m.Damaged(c.err)
		if found == nil {
			found = &Segment{}
		}
		if found.Object != c.want {
			t.Errorf("%v is about %q, want %q", c.err, found.Object, c.want)
		}
		if cause := CauseOf(m, c.err); c.want != "" && (c.cause != "" && cause != c.cause || len(cause) > maxCause) {
			t.Errorf("of %v is kept %q, want %q", c.err, cause, c.cause)
		}
	}
}

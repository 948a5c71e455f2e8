package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// noPause goes on at once, and gives up after a few tries.
func noPause(ctx context.Context, n int) error {
	if n >= 5 {
		return errors.New("out of patience")
	}
	return ctx.Err()
}

// newTopic makes a topic called orders.
func newTopic(t *testing.T, s objstore.Store) *Topic {
	t.Helper()
	topic, err := Create(t.Context(), s, NewTopic{Name: "orders", ID: "T1", Commit: "C0", Now: epoch, Settings: DefaultSettings()}, noPause)
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

// through is the same topic, seen by another process through another store.
func through(t *Topic, s objstore.Store) *Topic {
	return &Topic{store: s, pause: t.pause, slot: t.slot, id: t.id, hasher: t.hasher}
}

func at(ledger, entry int64) segments.Position { return segments.At(ledger, entry) }

// stretch is a segment with one row per entry that covers (after, through],
// which lie in through's ledger. Its objects are names only.
func stretch(object string, after, through segments.Position) Segment {
	first := int64(0)
	if after.Ledger == through.Ledger {
		first = after.Entry + 1
	}
	return Segment{
		Range:  segments.Range{After: after, Through: through},
		Object: "d/" + object, Index: "x/" + object,
		Info: segments.Info{
			Counts:  segments.Counts{Messages: through.Entry - first + 1},
			Ledgers: []segments.Ledger{{Ledger: through.Ledger, First: first, Last: through.Entry}},
		},
	}
}

// appendTo is an append of one segment through the given entry.
func appendTo(m *Manifest, job string, through segments.Position) Append {
	return Append{After: m.Last, Segments: []Segment{stretch(job+"/0", m.Last, through)}, MaxRead: through}
}

// mustCommit commits an edit under a commit id and job of the same name.
func mustCommit(t *testing.T, topic *Topic, id string, e Edit) *Manifest {
	t.Helper()
	m, err := topic.Commit(t.Context(), change(id, e))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func change(id string, e Edit) Change {
	return Change{Commit: CommitID("C" + id), Job: JobID("J" + id), Now: epoch.Add(time.Hour), Edit: e}
}

// commitsOf lists the commit ids of the topic's versions, oldest first.
func commitsOf(t *testing.T, topic *Topic) []CommitID {
	t.Helper()
	var ids []CommitID
	for m, err := range topic.Versions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.Commit)
	}
	return ids
}

// encoding is m as bytes, to compare.
func encoding(t *testing.T, m *Manifest) string {
	t.Helper()
	e, err := encode(m, nil, func(n int) string { return fmt.Sprint("p/J/", n) })
	if err != nil {
		t.Fatal(err)
	}
	return string(e.body)
}

func TestAVersionIsWhatItsEditsMade(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	m, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != 0 || m.Kind != "create" || !m.Last.IsNone() || m.Settings != DefaultSettings() {
		t.Fatalf("version 0 is %+v", m)
	}
	m = mustCommit(t, topic, "1", appendTo(m, "J1", at(0, 4)))
	mustCommit(t, topic, "2", Append{
		After: m.Last, Segments: []Segment{stretch("J2/0", m.Last, at(1, 2))}, MaxRead: at(0, 4),
		Producers: []Producer{{Name: "p", Epoch: 1, Sequence: 7, Position: at(1, 2), Added: 5}},
		Source:    &Source{Name: "file", Lines: 3}, Transactions: []byte(`{"open":[]}`),
	})
	out := stretch("J3/0", segments.None, at(0, 4))
	out.CompactedAt, out.LiveTombstones = epoch, 1
	mustCommit(t, topic, "3", Compact{
		From: segments.None, To: at(0, 4), Inputs: []string{"d/J1/0"}, Outputs: []Segment{out},
		Report: Report{Rows: RowAccount{In: 5, Kept: 5}},
	})
	dead := DeadRows{Object: "b/J4/0", Bytes: 3, SHA256: "00", Rows: 1}
	mustCommit(t, topic, "4", Compact{From: at(0, 4), To: at(0, 4), Dead: []DeadUpdate{{Object: "d/J3/0", Now: dead}}})
	m = mustCommit(t, topic, "5", Trim{Through: at(0, 4)})

	got, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encoding(t, got), encoding(t, m); got != want {
		t.Errorf("read back\n%s, committed\n%s", got, want)
	}
	if got.Version != 5 || got.Horizon != at(0, 4) || got.MaxRead != at(0, 4) || got.Last != at(1, 2) ||
		got.FirstRetained() != at(1, 0) || got.Compacted[0].LiveRows() != 4 || got.Compacted[0].LiveTombstones != 0 ||
		len(got.Originals) != 1 || got.Producers[0].Sequence != 7 || got.Sources[0].Lines != 3 {
		t.Errorf("version 5 is %+v", got)
	}
	if second, err := topic.At(t.Context(), 3); err != nil || second.Report.Rows.In != 5 || len(second.Originals) != 2 {
		t.Errorf("At(3) = %+v, %v", second, err)
	}
	if _, err := topic.At(t.Context(), 6); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("At(6) = %v, want ErrVersionNotFound", err)
	}
}

func TestAnEditIsRefusedWhereItsBaseHasChanged(t *testing.T) {
	base := &Manifest{
		Topic: "T", Name: "orders", Commit: "C", Settings: DefaultSettings(), Time: epoch,
		Last: at(3, 1), MaxRead: at(3, 0), Horizon: at(2, 1), RetainedAfter: at(0, 1), MinJob: "J0", Fenced: []JobID{"J5"},
		Originals: []Segment{
			stretch("A/1", at(0, 1), at(1, 1)), stretch("A/2", at(1, 1), at(2, 1)), stretch("A/3", at(2, 1), at(3, 0)), stretch("A/4", at(3, 0), at(3, 1)),
		},
		Compacted: []Segment{stretch("B/1", segments.None, at(1, 1)), stretch("B/2", at(1, 1), at(2, 1))},
	}
	if err := base.check(); err != nil {
		t.Fatal(err)
	}
	dead := func(rows int64) DeadRows { return DeadRows{Object: "b/J/1", Rows: rows} }
	one := dead(1)
	base.Compacted[1].Dead = &one
	lag := DefaultSettings()
	lag.MinLag = 1
	base.Compacted[0].LiveTombstones, base.Compacted[0].CompactedAt = 1, epoch
	asBefore := []Reclaimed{
		{Range: base.Compacted[0].Range, Object: "d/B/1"},
		{Range: base.Compacted[1].Range, Object: "d/B/2", Dead: &one},
	}
	whole := stretch("J/1", segments.None, at(2, 1))
	whole.Info.Counts.Messages = base.Compacted[0].LiveRows() + base.Compacted[1].LiveRows() - 1
	whole.LiveTombstones, whole.CompactedAt = 1, epoch
	younger := whole
	younger.CompactedAt = epoch.Add(1)
	adopt := func(change func(*Segment)) Compact {
		s := base.Originals[2]
		s.Adopted = true
		change(&s)
		return Compact{From: at(2, 1), To: at(3, 0), Outputs: []Segment{s}}
	}
	reclaim := func(out Segment, died int64, inputs ...Reclaimed) Compact {
		return Compact{From: at(2, 1), To: at(2, 1), Reclaims: []Reclaim{{Inputs: inputs, Outputs: []Segment{out}, Died: died}}}
	}
	for _, c := range []struct {
		name string
		job  JobID
		edit Edit
		want error
	}{
		{"append", "J1", appendTo(base, "J1", at(4, 0)), nil},
		{"append after another", "J1", Append{After: at(3, 0), Segments: []Segment{stretch("J/1", at(3, 0), at(4, 0))}, MaxRead: at(4, 0)}, ErrConflict},
		{"append nothing", "J1", Append{After: at(3, 1), MaxRead: at(3, 1)}, ErrInvariant},
		{"append with a gap", "J1", Append{After: at(3, 1), Segments: []Segment{stretch("J/1", at(3, 2), at(3, 4))}, MaxRead: at(3, 4)}, ErrInvariant},
		{"append that hides again", "J1", Append{After: at(3, 1), Segments: []Segment{stretch("J/1", at(3, 1), at(3, 4))}, MaxRead: at(2, 1)}, ErrInvariant},
		{"append of a foreign object", "J1", Append{After: at(3, 1), Segments: []Segment{func() Segment {
			s := stretch("J/1", at(3, 1), at(3, 4))
			s.Object = "../other/d/J/1"
			return s
		}()}, MaxRead: at(3, 4)}, ErrInvariant},
		{"fenced job", "J5", appendTo(base, "J5", at(4, 0)), ErrFenced},
		{"old job", "I9", appendTo(base, "I9", at(4, 0)), ErrFenced},
		{"compact", "J1", Compact{From: at(2, 1), To: at(3, 0), Inputs: []string{"d/A/3"}, Outputs: []Segment{stretch("J/1", at(2, 1), at(3, 0))}}, nil},
		{"compact from another horizon", "J1", Compact{From: at(1, 1), To: at(3, 0), Outputs: []Segment{stretch("J/1", at(1, 1), at(3, 0))}}, ErrConflict},
		{"compact what is gone", "J1", Compact{From: at(2, 1), To: at(3, 0), Inputs: []string{"d/A/9"}, Outputs: []Segment{stretch("J/1", at(2, 1), at(3, 0))}}, ErrConflict},
		{"compact past an open transaction", "J1", Compact{From: at(2, 1), To: at(3, 1), Outputs: []Segment{stretch("J/1", at(2, 1), at(3, 1))}}, ErrInvariant},
		{"compact with a gap", "J1", Compact{From: at(2, 1), To: at(3, 0)}, ErrInvariant},
		{"adopt", "J1", adopt(func(*Segment) {}), nil},
		{"adopt what is gone", "J1", adopt(func(s *Segment) { s.Object = "d/A/9" }), ErrConflict},
		{"adopt with another index", "J1", adopt(func(s *Segment) { s.Index = "x/A/9" }), ErrInvariant},
		{"adopt other rows", "J1", adopt(func(s *Segment) { s.Info.Counts.Messages-- }), ErrInvariant},
		{"adopt a part", "J1", adopt(func(s *Segment) { s.Range.After = at(2, 0) }), ErrInvariant},
		{"markers in what is not adopted", "J1", adopt(func(s *Segment) { s.Adopted, s.Info.Counts.Commits = false, 1 }), ErrInvariant},
		{"an original that is adopted", "J1", Append{After: at(3, 1), Segments: []Segment{func() Segment {
			s := stretch("J/1", at(3, 1), at(3, 4))
			s.Adopted = true
			return s
		}()}, MaxRead: at(3, 4)}, ErrInvariant},
		{"compact nothing", "J1", Compact{From: at(2, 1), To: at(2, 1)}, ErrInvariant},
		{"more dead rows", "J1", Compact{From: at(2, 1), To: at(2, 1), Dead: []DeadUpdate{{Object: "d/B/2", Was: &one, Now: dead(2)}}}, nil},
		{"dead rows that changed", "J1", Compact{From: at(2, 1), To: at(2, 1), Dead: []DeadUpdate{{Object: "d/B/2", Now: dead(2)}}}, ErrConflict},
		{"dead rows of what is gone", "J1", Compact{From: at(2, 1), To: at(2, 1), Dead: []DeadUpdate{{Object: "d/B/9", Now: dead(2)}}}, ErrConflict},
		{"dead rows that come back", "J1", Compact{From: at(2, 1), To: at(2, 1), Dead: []DeadUpdate{{Object: "d/B/2", Was: &one, Now: dead(0)}}}, ErrInvariant},
		{"more dead rows than rows", "J1", Compact{From: at(2, 1), To: at(2, 1), Dead: []DeadUpdate{{Object: "d/B/2", Was: &one, Now: dead(99)}}}, ErrInvariant},
		{"reclaim", "J1", reclaim(whole, 1, asBefore...), nil},
		{"reclaim what was reclaimed", "J1", reclaim(whole, 1, Reclaimed{Range: asBefore[0].Range, Object: "d/B/9"}, asBefore[1]), ErrConflict},
		{"reclaim what covers something else", "J1", reclaim(whole, 1, Reclaimed{Range: whole.Range, Object: "d/B/1"}, asBefore[1]), ErrConflict},
		{"reclaim from where nothing begins", "J1", reclaim(whole, 1, Reclaimed{Range: segments.Range{After: at(0, 7), Through: at(1, 1)}}), ErrConflict},
		{"reclaim more than there is", "J1", reclaim(whole, 1, append(asBefore, asBefore[1])...), ErrConflict},
		{"reclaim over dead rows that changed", "J1", reclaim(whole, 1, asBefore[0], Reclaimed{Range: asBefore[1].Range, Object: "d/B/2"}), ErrConflict},
		{"reclaim nothing", "J1", reclaim(whole, 1), ErrInvariant},
		{"reclaim that loses a row", "J1", reclaim(whole, 0, asBefore...), ErrInvariant},
		{"reclaim that leaves a gap", "J1", reclaim(stretch("J/1", segments.None, at(1, 0)), 1, asBefore...), ErrInvariant},
		{"reclaim that makes tombstones younger", "J1", reclaim(younger, 1, asBefore...), ErrInvariant},
		{"trim", "J1", Trim{Through: at(1, 1)}, nil},
		{"trim again", "J1", Trim{Through: at(0, 1)}, ErrConflict},
		{"trim above the horizon", "J1", Trim{Through: at(3, 0)}, ErrInvariant},
		{"trim in the midst of a ledger", "J1", Trim{Through: at(2, 0)}, ErrInvariant},
		{"set", "J1", Set{Was: DefaultSettings(), Now: lag}, nil},
		{"quarantine an original", "J1", Quarantine{Object: "d/A/3"}, nil},
		{"quarantine a compacted segment", "J1", Quarantine{Object: "d/B/2", Dead: &one}, nil},
		{"quarantine over dead rows that changed", "J1", Quarantine{Object: "d/B/2"}, ErrConflict},
		{"quarantine what is folded", "J1", Quarantine{Object: "d/A/2"}, ErrConflict},
		{"quarantine what is gone", "J1", Quarantine{Object: "d/A/9"}, ErrConflict},
		{"lift what is not quarantined", "J1", Lift{Objects: []string{"d/A/3"}}, ErrConflict},
		{"set over another", "J1", Set{Was: lag, Now: DefaultSettings()}, ErrConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := fmt.Sprintf("%+v", base)
			m, err := Apply(base, Change{Commit: "C1", Job: c.job, Now: epoch, Edit: c.edit})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("Apply = %v, want %v", err, c.want)
			}
			if err == nil && (m.Version != 1 || m.Parent != "C" || !m.contains("C1")) {
				t.Errorf("Apply made %+v", m)
			}
			if after := fmt.Sprintf("%+v", base); after != before {
				t.Errorf("Apply changed its base from\n%s to\n%s", before, after)
			}
		})
	}
}

// TestNothingFollowsNothing: neighbours without objects become one, whether
// they are rewritten or come anew, and know of each ledger once.
func TestNothingFollowsNothing(t *testing.T) {
	empty := func(after, through segments.Position) Segment {
		s := stretch("", after, through)
		s.Object, s.Index, s.Info.Counts = "", "", segments.Counts{}
		s.Info.Ledgers = []segments.Ledger{{Ledger: 1, First: after.Entry + 1, Last: through.Entry}}
		return s
	}
	m := &Manifest{Last: at(1, 9), MaxRead: at(1, 9), Horizon: at(1, 6), RetainedAfter: segments.None,
		Originals: []Segment{stretch("A/1", segments.None, at(1, 9))},
		Compacted: []Segment{empty(segments.None, at(1, 1)), stretch("B/1", at(1, 1), at(1, 4)), empty(at(1, 4), at(1, 6))},
	}
	got, err := Apply(m, change("1", Compact{
		From: at(1, 6), To: at(1, 9), Outputs: []Segment{empty(at(1, 6), at(1, 9))},
		Reclaims: []Reclaim{{
			Inputs:  []Reclaimed{{Range: m.Compacted[1].Range, Object: "d/B/1"}},
			Outputs: []Segment{empty(at(1, 1), at(1, 4))},
			Died:    m.Compacted[1].LiveRows(),
		}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []segments.Ledger{{Ledger: 1, First: 0, Last: 9}}
	if len(got.Compacted) != 1 || !slices.Equal(got.Compacted[0].Info.Ledgers, want) || got.Compacted[0].Range.Through != at(1, 9) {
		t.Errorf("got %+v", got.Compacted)
	}
	if len(m.Compacted[0].Info.Ledgers) != 1 || m.Compacted[0].Info.Ledgers[0].Last != 1 {
		t.Errorf("the base has become %+v", m.Compacted)
	}
}

func TestProducersAreMergedByNameAndEpoch(t *testing.T) {
	known := []Producer{{Name: "a", Sequence: 1}, {Name: "b", Epoch: 1, Sequence: 1}, {Name: "d", Sequence: 1}}
	changed := []Producer{{Name: "b", Epoch: 2, Sequence: 9}, {Name: "c", Sequence: 9}, {Name: "a", Sequence: 9}}
	want := []Producer{{Name: "a", Sequence: 9}, {Name: "b", Epoch: 1, Sequence: 1}, {Name: "b", Epoch: 2, Sequence: 9}, {Name: "c", Sequence: 9}, {Name: "d", Sequence: 1}}
	if got := mergeProducers(known, changed); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheLastLedgerIsNeverTrimmed(t *testing.T) {
	m := &Manifest{Last: at(1, 5), MaxRead: at(1, 5), Horizon: at(1, 5), RetainedAfter: segments.None,
		Originals: []Segment{stretch("A/1", segments.None, at(0, 3)), stretch("A/2", at(0, 3), at(1, 5))},
		Compacted: []Segment{stretch("B/1", segments.None, at(1, 5))},
	}
	if _, err := Apply(m, change("1", Trim{Through: at(1, 5)})); !errors.Is(err, ErrInvariant) {
		t.Errorf("trim of all = %v, want ErrInvariant", err)
	}
}

func TestTimesOfVersionsNeverGoBack(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	lag := DefaultSettings()
	for i, minute := range []int{10, 5, 20} {
		was := lag
		lag.MinLag++
		c := change(fmt.Sprint(i+1), Set{Was: was, Now: lag})
		c.Now = epoch.Add(time.Duration(minute) * time.Minute)
		if _, err := topic.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		minute int
		want   Version
	}{{0, 0}, {9, 0}, {10, 2}, {19, 2}, {20, 3}, {99, 3}} {
		m, err := topic.AsOf(t.Context(), epoch.Add(time.Duration(c.minute)*time.Minute))
		if err != nil || m.Version != c.want {
			t.Errorf("as of minute %d: %v, %v, want version %d", c.minute, m, err, c.want)
		}
	}
	if _, err := topic.AsOf(t.Context(), epoch.Add(-time.Second)); !errors.Is(err, ErrVersionNotFound) {
		t.Errorf("as of before the topic = %v, want ErrVersionNotFound", err)
	}
}

package readerlib_test

import (
	"fmt"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// The scenarios of Kafka's fetch for dead letters (82 to 96) and of its tiered
// reader (99 to 105), as far as they have a meaning without a broker.

// Scenarios 82, 88 and 89: what is asked for comes with one read of its block,
// and what the block holds beside it does not.
func TestAFetchReadsItsBlockOnce(t *testing.T) {
	w, s := counted(t, func(w *world) {
		w.ingest(t, msg("3:0", "a", "0"), msg("3:1", "b", "1"), msg("3:2", "c", "2"))
	})
	for _, c := range []struct{ first, last, want string }{
		{"3:0", "3:2", "3:0=0, 3:1=1, 3:2=2"},
		{"3:0", "3:0", "3:0=0"},
		{"3:0", "3:1", "3:0=0, 3:1=1"},
	} {
		r := open(t, w, readerlib.Options{})
		before := s.Snapshot()
		got, err := r.Fetch(w.ctx, pos(c.first), pos(c.last))
		if err != nil || line(got) != c.want {
			t.Errorf("fetch %s to %s: %s, %v", c.first, c.last, line(got), err)
		}
		if n := s.Snapshot().Sub(before); n.Requests() != 2 || n.Reads != 2 {
			t.Errorf("fetch %s to %s took %+v, want one read for the head and one for the block", c.first, c.last, n)
		}
	}
}

// Scenarios 84, 85, 93 and 104: a segment that fails is told as failed, is
// neither absent nor hides the one before or behind it; and what was asked
// again is there.
func TestAFetchTellsFailuresFromAbsences(t *testing.T) {
	for _, c := range []struct {
		segment int
		want    string
	}{
		{0, "3:2=2, 3:4=4, absent 3:3, failed 3:0..3:1"},
		{1, "3:0=0, 3:1=1, 3:4=4, absent 3:3, failed 3:2"},
		{2, "3:0=0, 3:1=1, 3:2=2, absent 3:3, failed 3:4"},
	} {
		w := newWorld(t, nil)
		w.ingest(t, msg("3:0", "a", "0"), msg("3:1", "b", "1"))
		w.ingest(t, msg("3:2", "c", "2"))
		w.ingest(t, msg("3:4", "d", "4")) // its segment covers 3:3 too
		object := w.head.Originals[c.segment].Object
		w.through(t, fault.New(w.store, fault.Rule{Verb: fault.ReadAt, Key: object, Fault: fault.Before}.Hook()))
		got := fetched(t, w, "3:0", "3:4")
		if got != c.want {
			t.Errorf("segment %d fails:\n got %s\nwant %s", c.segment, got, c.want)
		}
		if got := fetched(t, w, "3:0", "3:4"); got != "3:0=0, 3:1=1, 3:2=2, 3:4=4, absent 3:3" {
			t.Errorf("asked again: %s", got)
		}
	}
}

// Scenario 86: nothing is there yet, so nothing is settled.
func TestAFetchOfAnEmptyTopicSettlesNothing(t *testing.T) {
	w := newWorld(t, nil)
	if got := fetched(t, w, "0:0", "0:2"); got != "not attempted from 0:0" {
		t.Errorf("got %s", got)
	}
}

// Scenarios 83, 90 and 91: what came later is had by going on from where the
// first one stopped, and nothing comes twice.
func TestAFetchGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("3:0", "a", "0"), msg("3:1", "b", "1"))
	r := open(t, w, readerlib.Options{})
	first, err := r.Fetch(w.ctx, pos("3:0"), pos("3:2"))
	if err != nil || line(first) != "3:0=0, 3:1=1, not attempted from 3:2" {
		t.Fatalf("got %s, %v", line(first), err)
	}
	w.ingest(t, msg("3:2", "c", "2"))
	if _, err := r.Refresh(w.ctx); err != nil {
		t.Fatal(err)
	}
	rest, err := r.Fetch(w.ctx, first.NotAttemptedFrom.V, pos("3:2"))
	if err != nil || line(rest) != "3:2=2" {
		t.Errorf("the rest is %s, %v", line(rest), err)
	}
}

// Scenarios 100, 101 and 105: originals where they are retained, what
// compaction left before, each from its own segments; and where one tier
// fails, the other is there.
func TestEachTierGivesItsOwn(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "0"), msg("1:1", "b", "1"), msg("1:2", "a", "2"))
	w.ingest(t, msg("2:0", "a", "3"), msg("2:1", "c", "4"))
	w.compact(t, w.head.Last, never)
	w.trim(t, pos("1:2"))
	const whole = "1:1=1, 2:0=3, 2:1=4, absent 1:0, absent 1:2"
	if got := fetched(t, w, "1:0", "2:1"); got != whole {
		t.Fatalf("got  %s\nwant %s", got, whole)
	}
	base := w.store
	for object, want := range map[string]string{
		w.head.Compacted[0].Object: "2:0=3, 2:1=4, absent 1:0, failed 1:1..1:2",
		w.head.Originals[0].Object: "1:1=1, absent 1:0, absent 1:2, failed 2:0..2:1",
	} {
		w.through(t, fault.New(base, fault.Rule{Verb: fault.ReadAt, Key: object, Fault: fault.Before}.Hook()))
		if got := fetched(t, w, "1:0", "2:1"); got != want {
			t.Errorf("without %s:\n got %s\nwant %s", object, got, want)
		}
	}
}

// A range of many positions of which compaction has left one in a hundred takes
// no more requests than heads and covering stretches of blocks, and moves on by
// what segments cover.
func TestASparseRangeTakesNoMoreThanItsBlocks(t *testing.T) {
	const n = 100_000
	w := newWorld(t, nil)
	w.batchBytes = 16 << 10
	rows := make([]segments.Message, 0, n)
	for i := range n {
		key := "superseded"
		if i%100 == 0 {
			key = fmt.Sprint("k", i)
		}
		rows = append(rows, msg(fmt.Sprintf("1:%d", i), key, "v"))
	}
	w.ingest(t, rows...)
	w.ingest(t, msg("2:0", "superseded", "v"))
	w.compact(t, w.head.Last, never)
	w.trim(t, pos(fmt.Sprintf("1:%d", n-1)))

	s := count.New(w.store)
	w.through(t, s)
	r := open(t, w, readerlib.Options{})
	before := s.Snapshot()
	got, err := r.Fetch(w.ctx, pos("1:0"), pos(fmt.Sprintf("1:%d", n-1)))
	if err != nil {
		t.Fatal(err)
	}
	spent := s.Snapshot().Sub(before)
	absent := int64(0)
	for _, e := range got.Absent {
		absent += e.Last.Entry - e.First.Entry + 1
	}
	if len(got.Messages) != n/100 || absent != n-n/100 || len(got.Failed) > 0 || got.NotAttemptedFrom.Valid {
		t.Errorf("%d messages, %d absent, %d failed", len(got.Messages), absent, len(got.Failed))
	}
	// One compacted segment: its head, and its blocks, which lie side by side
	// and are less than 8 MiB.
	size := int64(0)
	for i := range w.head.Compacted {
		size += w.head.Compacted[i].Info.Bytes
	}
	if spent.Requests() > int64(2*len(w.head.Compacted)) || spent.BytesRead > 2*size {
		t.Errorf("took %+v for %d segments of %d bytes", spent, len(w.head.Compacted), size)
	}
	t.Logf("%d positions, %d left: %d requests, %d bytes", n, len(got.Messages), spent.Requests(), spent.BytesRead)
}

package readerlib_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// fetched prints a result in one line: messages, absent, failed, and where
// nothing was attempted.
func fetched(t *testing.T, w *world, first, last string) string {
	t.Helper()
	got, err := open(t, w, readerlib.Options{}).Fetch(w.ctx, pos(first), pos(last))
	if err != nil {
		t.Fatalf("fetch %s to %s: %v", first, last, err)
	}
	return line(got)
}

func line(got readerlib.FetchResult) string {
	var parts []string
	for _, m := range got.Messages {
		parts = append(parts, fmt.Sprintf("%s=%.10s", m.Position, m.Value))
	}
	for _, e := range got.Absent {
		parts = append(parts, "absent "+e.String())
	}
	for _, e := range got.Failed {
		parts = append(parts, "failed "+e.String())
	}
	if got.NotAttemptedFrom.Valid {
		parts = append(parts, "not attempted from "+got.NotAttemptedFrom.V.String())
	}
	return strings.Join(parts, ", ")
}

func TestFetchTellsOfEveryPosition(t *testing.T) {
	holes := func(t *testing.T, w *world) {
		w.ingest(t, msg("3:0", "a", "1"), msg("3:1", "b", "1"), msg("3:3", "c", "1"), msg("3:6", "d", "1"))
	}
	ledgers := func(t *testing.T, w *world) {
		w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("1:2", "c", "1"))
		w.ingest(t, msg("4:0", "d", "1"), msg("4:1", "e", "1"))
		w.ingest(t, msg("7:2", "f", "1"), msg("7:3", "g", "1"))
	}
	end := func(t *testing.T, w *world) {
		w.ingest(t, msg("3:0", "a", "1"), msg("3:1", "b", "1"), msg("3:2", "c", "1"))
	}
	superseded := func(t *testing.T, w *world) {
		w.ingest(t, msg("3:0", "a", "old"), msg("3:1", "b", "1"), msg("3:2", "a", "2"), msg("3:3", "b", "-"))
		w.compact(t, pos("3:3"), always)
	}
	horizon := func(t *testing.T, w *world) {
		w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("1:2", "a", "2"))
		w.ingest(t, msg("2:0", "b", "2"))
		w.compact(t, pos("2:0"), always)
		w.trim(t, pos("1:2"))
		w.ingest(t, msg("3:0", "a", "3"), msg("3:1", "c", "1"))
	}
	straddle := func(t *testing.T, w *world) { // one segment on both sides of everything
		w.ingest(t, msg("1:0", "a", "1"), msg("1:1:0", "a", "2"), msg("1:1:1", "b", "1"), msg("2:0", "a", "3"), msg("2:1", "b", "-"))
		w.compact(t, pos("2:1"), always)
		w.trim(t, pos("1:1"))
	}
	open := func(t *testing.T, w *world) {
		w.ingest(t, msg("1:0", "a", "1"), in("1,1", msg("1:1", "b", "1")), marker("1:2", segments.KindAbort, "1,1"),
			in("1,2", msg("1:3", "c", "1")), msg("1:4", "d", "1"))
	}
	for _, c := range []struct {
		topic             func(*testing.T, *world)
		first, last, want string
	}{
		{holes, "3:0", "3:6", "3:0=1, 3:1=1, 3:3=1, 3:6=1, absent 3:2, absent 3:4..3:5"},
		{holes, "3:1", "3:1", "3:1=1"},
		{holes, "3:2", "3:4", "3:3=1, absent 3:2, absent 3:4"},
		{holes, "3:0", "3:1", "3:0=1, 3:1=1"},
		{holes, "-1:-1", "3:0", "3:0=1"},

		{ledgers, "1:1", "7:2", "1:1=1, 1:2=1, 4:0=1, 4:1=1, 7:2=1, absent 7:0..7:1"},
		{ledgers, "1:2", "4:0", "1:2=1, 4:0=1"},
		{ledgers, "2:0", "5:0", "4:0=1, 4:1=1"},
		{ledgers, "1:3", "3:9", ""},
		{ledgers, "1:2", "1:9", "1:2=1"},

		{end, "3:1", "3:9", "3:1=1, 3:2=1, not attempted from 3:3"},
		{end, "9:0", "9:3", "not attempted from 9:0"},
		{end, "9:0:2", "9:3", "not attempted from 9:0:2"},
		{end, "0:0", fmt.Sprint(int64(math.MaxInt64), ":", int64(math.MaxInt64)), "3:0=1, 3:1=1, 3:2=1, not attempted from 3:3"},
		{func(*testing.T, *world) {}, "0:0", "0:3", "not attempted from 0:0"},
		{func(*testing.T, *world) {}, "-1:-1", "-1:-1", ""},

		{superseded, "3:0", "3:3", "3:0=old, 3:1=1, 3:2=2, 3:3="},

		{horizon, "1:0", "3:1", "1:2=2, 2:0=2, 3:0=3, 3:1=1, absent 1:0..1:1"},
		{horizon, "1:1", "2:0", "1:2=2, 2:0=2, absent 1:1"},

		{straddle, "1:0", "2:1", "2:0=3, 2:1=, absent 1:0..1:1"},
		{straddle, "1:1:1", "2:0", "2:0=3, absent 1:1"},

		{open, "1:0", "1:9", "1:0=1, absent 1:1..1:2, not attempted from 1:3"},
		{open, "1:1", "1:2", "absent 1:1..1:2"},
	} {
		w := newWorld(t, nil)
		c.topic(t, w)
		if got := fetched(t, w, c.first, c.last); got != c.want {
			t.Errorf("fetch %s to %s:\n got %s\nwant %s", c.first, c.last, got, c.want)
		}
	}
}

func TestFetchTakesBatchesByIndexOrWhole(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0:0", "a", "0"), msg("1:0:1", "b", "1"), msg("1:0:2", "c", "2"))
	for _, c := range [][3]string{
		{"1:0", "1:0", "1:0:0=0, 1:0:1=1, 1:0:2=2"},
		{"1:0:1", "1:0", "1:0:1=1, 1:0:2=2"},
		{"1:0:1", "1:0:1", "1:0:1=1"},
		{"1:0:3", "1:0", "absent 1:0"},
	} {
		if got := fetched(t, w, c[0], c[1]); got != c[2] {
			t.Errorf("fetch %s to %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestFetchRefusesARangeThatIsNone(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("3:0", "a", "1"), msg("3:1", "b", "1"))
	r := open(t, w, readerlib.Options{})
	for _, c := range [][2]string{{"3:1", "3:0"}, {"4:0", "3:9"}, {"3:1:1", "3:1:0"}} {
		if _, err := r.Fetch(w.ctx, pos(c[0]), pos(c[1])); !errors.Is(err, readerlib.ErrBadRange) {
			t.Errorf("fetch %s to %s: %v", c[0], c[1], err)
		}
	}
}

func TestEntriesAreTextInJSON(t *testing.T) {
	failed := readerlib.FailedEntries{Entries: readerlib.Entries{First: pos("3:4"), Last: pos("3:9")}, Err: errors.New("x")}
	one := readerlib.Entries{First: pos("3:1"), Last: pos("3:1")}
	got, err := json.Marshal([]any{one, failed})
	if want := `["3:1","3:4..3:9"]`; err != nil || string(got) != want {
		t.Errorf("JSON is %s, %v, want %s", got, err, want)
	}
}

// broken is a world of three segments, read through a store that fails.
func broken(t *testing.T, wrap func(objstore.Store) objstore.Store) *world {
	t.Helper()
	below := new(mem.Store)
	w := newWorld(t, below)
	w.batchBytes = 1
	w.ingest(t, msg("1:0", "a", "1"), msg("1:2", "b", "1"))
	w.ingest(t, msg("2:0", "a", "2"), msg("2:2", "b", "2"), msg("3:1", "c", "2"), msg("3:2", "d", "2"))
	w.ingest(t, msg("4:0", "a", "3"))
	w.through(t, wrap(below))
	return w
}

func TestASegmentThatCannotBeReadHidesNoOther(t *testing.T) {
	// Segment objects are d/<job>/..., and the jobs count: the second ingest's
	// is the one that fails here.
	second := "/00000000000000000000000005/"
	for _, c := range []struct {
		name  string
		hook  fault.Hook
		cause error
	}{
		{"no head", failOn("x"+second, fault.Before), fault.ErrInjected},
		{"no data", failOn("d"+second, fault.Before), fault.ErrInjected},
		{"gone", failOn("d"+second, fault.Missing), readerlib.ErrSnapshotExpired},
	} {
		w := broken(t, func(s objstore.Store) objstore.Store { return fault.New(s, c.hook) })
		got, err := open(t, w, readerlib.Options{}).Fetch(w.ctx, pos("1:0"), pos("4:0"))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := "1:0=1, 1:2=1, 4:0=3, absent 1:1, failed 2:0..2:2, failed 3:0..3:2"
		if line(got) != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, line(got), want)
		}
		for _, f := range got.Failed {
			if !errors.Is(f.Err, c.cause) {
				t.Errorf("%s: %s failed: %v, want %v", c.name, f.Entries, f.Err, c.cause)
			}
		}
	}
}

func failOn(key string, f fault.Fault) fault.Hook {
	return func(op fault.Op) fault.Fault {
		if strings.Contains(op.Key, key) {
			return f
		}
		return fault.None
	}
}

// flipping is a store that damages one byte of an object.
type flipping struct {
	objstore.Store
	key string
	at  int64
}

func (s *flipping) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	err := s.Store.ReadAt(ctx, key, p, off)
	if i := s.at - off; strings.Contains(key, s.key) && i >= 0 && i < int64(len(p)) {
		p[i] ^= 0x10
	}
	return err
}

// A damaged block is that block's loss: each byte of a segment is damaged in
// turn, and what the others hold is there.
func TestADamagedBlockHidesNoOther(t *testing.T) {
	const second = "d/00000000000000000000000005/"
	flip := &flipping{key: second}
	w := broken(t, func(s objstore.Store) objstore.Store { flip.Store = s; return flip })
	seen := map[string]bool{}
	for ; flip.at < w.head.Originals[1].Info.Bytes; flip.at += 13 {
		got, err := open(t, w, readerlib.Options{}).Fetch(w.ctx, pos("1:0"), pos("4:0"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Failed {
			if !errors.Is(f.Err, segments.ErrCorrupt) {
				t.Errorf("byte %d: %s failed: %v", flip.at, f.Entries, f.Err)
			}
		}
		seen[line(got)] = true
	}
	for _, want := range []string{
		"1:0=1, 1:2=1, 2:0=2, 2:2=2, 3:1=2, 3:2=2, 4:0=3, absent 1:1, absent 2:1, absent 3:0",
		"1:0=1, 1:2=1, 2:2=2, 3:1=2, 3:2=2, 4:0=3, absent 1:1, absent 2:1, absent 3:0, failed 2:0",
		"1:0=1, 1:2=1, 2:0=2, 3:1=2, 3:2=2, 4:0=3, absent 1:1, absent 2:1, absent 3:0, failed 2:2",
		"1:0=1, 1:2=1, 2:0=2, 2:2=2, 3:2=2, 4:0=3, absent 1:1, absent 2:1, absent 3:0, failed 3:1",
		"1:0=1, 1:2=1, 2:0=2, 2:2=2, 3:1=2, 4:0=3, absent 1:1, absent 2:1, absent 3:0, failed 3:2",
	} {
		if !seen[want] {
			t.Errorf("never seen: %s", want)
		}
		delete(seen, want)
	}
	for other := range seen {
		t.Errorf("seen: %s", other)
	}
}

// When ctx ends, the result says how far the fetch came, and asking for the
// rest gives the rest.
func TestAFetchThatIsCutShortSaysWhereToGoOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := broken(t, func(s objstore.Store) objstore.Store {
		return fault.New(s, func(op fault.Op) fault.Fault {
			if strings.Contains(op.Key, "d/00000000000000000000000005/") && ctx.Err() == nil {
				cancel()
				return fault.Before
			}
			return fault.None
		})
	})
	r := open(t, w, readerlib.Options{})
	got, err := r.Fetch(ctx, pos("1:0"), pos("4:0"))
	if want := "1:0=1, 1:2=1, absent 1:1, not attempted from 2:0"; !errors.Is(err, context.Canceled) || line(got) != want {
		t.Errorf("cut short: %v\n got %s\nwant %s", err, line(got), want)
	}
	got, err = r.Fetch(w.ctx, got.NotAttemptedFrom.V, pos("4:0"))
	if want := "2:0=2, 2:2=2, 3:1=2, 3:2=2, 4:0=3, absent 2:1, absent 3:0"; err != nil || line(got) != want {
		t.Errorf("the rest: %v\n got %s\nwant %s", err, line(got), want)
	}
}

// A batch of which only one half was read before ctx ended is left for later.
func TestAFetchThatIsCutInABatchLeavesItWhole(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	below := new(mem.Store)
	w := newWorld(t, below)
	w.batchBytes = 1
	batch := []segments.Message{msg("1:0", "a", "1"), msg("1:1:0", "b", ""), msg("1:1:1", "c", "")}
	for i := range batch[1:] {
		batch[i+1].Value = noise(6<<20, byte(i)) // so each has a ranged read of its own
	}
	w.ingest(t, batch...)
	var reads atomic.Int64
	w.through(t, fault.New(below, func(op fault.Op) fault.Fault {
		if strings.Contains(op.Key, "/d/") && reads.Add(1) == 2 {
			cancel()
			return fault.Before
		}
		return fault.None
	}))
	got, err := open(t, w, readerlib.Options{}).Fetch(ctx, pos("1:0"), pos("1:1"))
	// The first read is under way while the second is cut, so it may be, too.
	want := []string{"1:0=1, not attempted from 1:1", "not attempted from 1:0"}
	if !errors.Is(err, context.Canceled) || !slices.Contains(want, line(got)) {
		t.Errorf("cut in a batch: %v\n got %s\nwant one of %q", err, line(got), want)
	}
}

// What is damaged of an original does not matter where it is trimmed.
func TestADamagedBlockFailsOnlyWhatIsRetainedOfIt(t *testing.T) {
	below := new(mem.Store)
	w := newWorld(t, below)
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("2:0", "a", "2"), msg("2:1", "c", "1"))
	w.compact(t, pos("2:1"), always)
	w.trim(t, pos("1:1"))
	w.through(t, &flipping{Store: below, key: w.head.Originals[0].Object, at: w.head.Originals[0].Info.Bytes / 2})
	if got, want := fetched(t, w, "1:0", "2:1"), "1:1=1, absent 1:0, failed 2:0..2:1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

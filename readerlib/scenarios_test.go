package readerlib_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

var folded = readerlib.Options{View: readerlib.Compacted}

// mustEnd holds r to being at the end, by all three ways of asking.
func mustEnd(t *testing.T, w *world, r *readerlib.Reader, last string) {
	t.Helper()
	mustLast(t, w, r, last)
	if has, err := r.HasMessageAvailable(w.ctx); has || err != nil {
		t.Errorf("a message is available after %s: %v, %v", r.Place(), has, err)
	}
	if m, err := r.Next(w.ctx); !errors.Is(err, io.EOF) {
		t.Errorf("next after %s is %s, %v, want io.EOF", r.Place(), m.Position, err)
	}
}

func mustLast(t *testing.T, w *world, r *readerlib.Reader, last string) {
	t.Helper()
	if got, err := r.LastMessageID(w.ctx); err != nil || got != pos(last) {
		t.Errorf("last message id is %s, %v, want %s", got, err, last)
	}
}

func mustNext(t *testing.T, w *world, r *readerlib.Reader, at string) {
	t.Helper()
	if has, err := r.HasMessageAvailable(w.ctx); !has || err != nil {
		t.Errorf("a message is available after %s: %v, %v", r.Place(), has, err)
	}
	if m, err := r.Next(w.ctx); err != nil || m.Position != pos(at) {
		t.Fatalf("next is %s, %v, want %s", m.Position, err, at)
	}
}

func mustRefresh(t *testing.T, w *world, r *readerlib.Reader) {
	t.Helper()
	if moved, err := r.Refresh(w.ctx); !moved || err != nil {
		t.Fatalf("refresh: %v, %v", moved, err)
	}
}

// Pulsar #18808, scenario 1: the reader has asked for the last id, which is a
// tombstone, and the tombstone is compacted away before it gets there.
func TestATailTombstoneCompactedAwayAfterItsIDWasAskedDoesNotHang(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("3:0", "k1", "v1"), msg("3:1", "k2", "v2"), msg("3:2", "k2", "-"))
	r := open(t, w, folded)
	mustLast(t, w, r, "3:2")
	mustNext(t, w, r, "3:0")

	w.compact(t, pos("3:2"), always)
	// The snapshot still has them all.
	mustLast(t, w, r, "3:2")
	mustRefresh(t, w, r)
	mustEnd(t, w, r, "3:0")
}

// Scenario 2: the tail of a batch is compacted away, so the batch's last index
// is not the last id.
func TestATailOfABatchCompactedAwayDoesNotHang(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("3:0:0", "k1", "v1"), msg("3:0:1", "k2", "v2"), msg("3:0:2", "k2", "-"))
	r := open(t, w, folded)
	mustLast(t, w, r, "3:0:2")
	mustNext(t, w, r, "3:0:0")

	w.compact(t, pos("3:0"), always)
	mustRefresh(t, w, r)
	mustEnd(t, w, r, "3:0:0")
}

// Scenario 3: the reader asks for the last id only after the compaction, from
// places where messages were.
func TestALastIDAskedAfterTheCompactionIsThatOfTheLastSurvivor(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("3:0:0", "k1", "v1"), msg("3:0:1", "k2", "v2"), msg("3:0:2", "k2", "-"), msg("3:1", "k3", "v"), msg("3:2", "k3", "-"))
	w.compact(t, pos("3:2"), always)
	for _, place := range []string{"3:0:0", "3:0:1", "3:0:2", "3:1", "3:2"} {
		r := open(t, w, readerlib.Options{View: readerlib.Compacted, Start: readerlib.After(pos(place))})
		mustEnd(t, w, r, "3:0:0")
	}
	r := open(t, w, folded)
	mustNext(t, w, r, "3:0:0")
	mustEnd(t, w, r, "3:0:0")
	// The raw reader never looks at what was compacted.
	mustLast(t, w, open(t, w, readerlib.Options{}), "3:2")
}

func TestAMarkerAtTheTailIsNoMessage(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"), in("1,1", msg("1:1", "b", "1")))
	w.ingest(t, marker("2:0", segments.KindCommit, "1,1"))
	for _, o := range []readerlib.Options{{}, folded} {
		r := open(t, w, o)
		mustNext(t, w, r, "1:0")
		mustNext(t, w, r, "1:1")
		mustEnd(t, w, r, "1:1")
	}
	w.compact(t, pos("2:0"), never)
	mustLast(t, w, open(t, w, folded), "1:1")
}

func TestATopicOfWhichAllIsAbortedIsEmpty(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, in("1,1", msg("1:0", "a", "1")), in("1,1", msg("1:1", "b", "1")), marker("1:2", segments.KindAbort, "1,1"))
	for _, o := range options() {
		mustEnd(t, w, open(t, w, o), "-1:-1")
	}
	w.compact(t, pos("1:2"), never)
	for _, o := range options() {
		mustEnd(t, w, open(t, w, o), "-1:-1")
	}
}

func TestAnEmptyTopicEndsAtOnceAndGoesOnLater(t *testing.T) {
	for _, start := range []readerlib.Start{
		readerlib.Earliest(), readerlib.Latest(), readerlib.At(segments.None), readerlib.After(segments.None), readerlib.Since(clock(0)),
	} {
		w := newWorld(t, nil)
		r := open(t, w, readerlib.Options{Start: start})
		mustEnd(t, w, r, "-1:-1")
		m := msg("0:0", "a", "1")
		m.PublishTime = segments.MillisOf(clock(1))
		w.ingest(t, m)
		mustEnd(t, w, r, "-1:-1")
		mustRefresh(t, w, r)
		mustNext(t, w, r, "0:0")
		mustEnd(t, w, r, "0:0")
	}
}

// What is hidden when a reader starts at latest comes later, so it is read.
func TestLatestLosesNothingThatAnOpenTransactionHides(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"), in("1,1", msg("1:1", "b", "1")), msg("1:2", "c", "1"))
	r := open(t, w, readerlib.Options{Start: readerlib.Latest()})
	mustEnd(t, w, r, "1:0")
	w.ingest(t, marker("1:3", segments.KindCommit, "1,1"))
	mustRefresh(t, w, r)
	mustNext(t, w, r, "1:1")
	mustNext(t, w, r, "1:2")
	mustEnd(t, w, r, "1:2")
}

// Old messages may arrive late, but once a start by time has met its message,
// all that follow it are read.
func TestAStartByTimeWaitsForItsMessageAndThenTakesAll(t *testing.T) {
	at := func(at string, ms segments.Millis) segments.Message {
		m := msg(at, "k", "v")
		m.PublishTime = ms
		return m
	}
	w := newWorld(t, nil)
	w.ingest(t, at("1:0", 10), at("1:1", 30), at("1:2", 20))
	r := open(t, w, readerlib.Options{Start: readerlib.Since(segments.Millis(40).Time())})
	mustEnd(t, w, r, "1:2")
	w.ingest(t, at("1:3", 35))
	mustRefresh(t, w, r)
	mustEnd(t, w, r, "1:3")
	w.ingest(t, at("1:4", 39), at("1:5", 40), at("1:6", 1))
	mustRefresh(t, w, r)
	mustNext(t, w, r, "1:5")
	mustNext(t, w, r, "1:6")
	mustEnd(t, w, r, "1:6")

	// Between two milliseconds the later one counts.
	seek(t, w, r, readerlib.Since(segments.Millis(30).Time().Add(1)))
	mustNext(t, w, r, "1:3")
}

func TestAReaderOfAFixedVersionStaysThere(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"))
	if err := w.topic.Tag(w.ctx, "then", 1, false); err != nil {
		t.Fatal(err)
	}
	for _, v := range []readerlib.Version{readerlib.Numbered(1), readerlib.AsOf(clock(1)), readerlib.Tagged("then")} {
		r := open(t, w, readerlib.Options{Version: v})
		w.ingest(t, msg(w.head.Last.NextEntry().String(), "b", "1"))
		if moved, err := r.Refresh(w.ctx); moved || err != nil {
			t.Errorf("refresh: %v, %v", moved, err)
		}
		if got := r.Snapshot().Version; got != 1 {
			t.Errorf("the reader is on version %d, want 1", got)
		}
		mustNext(t, w, r, "1:0")
		mustEnd(t, w, r, "1:0")
	}
}

func TestWhatIsNotThereIsSaidSo(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"))
	for _, c := range []struct {
		version readerlib.Version
		want    error
	}{
		{readerlib.Numbered(9), manifest.ErrVersionNotFound},
		{readerlib.AsOf(clock(-1)), manifest.ErrVersionNotFound},
		{readerlib.Tagged("nosuch"), manifest.ErrTagNotFound},
	} {
		if _, err := readerlib.Open(w.ctx, w.topic, readerlib.Options{Version: c.version}); !errors.Is(err, c.want) {
			t.Errorf("open: %v, want %v", err, c.want)
		}
	}
	for _, err := range readerlib.Changes(w.ctx, w.topic, 9, 9) {
		if !errors.Is(err, manifest.ErrVersionNotFound) {
			t.Errorf("changes of no version: %v", err)
		}
	}
	for _, err := range readerlib.Changes(w.ctx, w.topic, 1, 0) {
		if !errors.Is(err, readerlib.ErrBadRange) {
			t.Errorf("changes backwards: %v", err)
		}
	}
	r := open(t, w, readerlib.Options{})
	w.commit(t, w.id(), manifest.Delete{}, nil)
	if _, err := r.Refresh(w.ctx); !errors.Is(err, manifest.ErrTopicNotFound) {
		t.Errorf("refresh of a deleted topic: %v", err)
	}
	mustNext(t, w, r, "1:0")
}

// Loops over a reader may move it: the next message is the one after the place.
func TestALoopBodyMayMoveTheReader(t *testing.T) {
	w := newWorld(t, nil)
	w.batchBytes = 1
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("1:2", "c", "1"), msg("1:3", "d", "1"), msg("1:4", "e", "1"))
	r := open(t, w, readerlib.Options{})
	var got []string
	for m, err := range r.Messages(w.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Position.String())
		switch len(got) {
		case 1:
			mustNext(t, w, r, "1:1")
		case 2: // 1:2
			seek(t, w, r, readerlib.At(pos("1:4")))
		case 3: // 1:4
			w.ingest(t, msg("2:0", "f", "1"))
			mustRefresh(t, w, r)
		case 4: // 2:0
			seek(t, w, r, readerlib.At(pos("1:3")))
		}
	}
	if want := []string{"1:0", "1:2", "1:4", "2:0", "1:3", "1:4", "2:0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the loop saw %v, want %v", got, want)
	}
}

func TestChangesTellOfNewMessagesAndOfKeysThatAreGone(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("1:2", "c", "1"))
	w.compact(t, pos("1:2"), always)
	was := w.head.Version
	w.ingest(t, msg("1:3", "b", "-"), msg("1:4", "c", "2"), msg("1:5", "e", "1"), msg("1:6", "d", "1"), msg("1:7", "d", "-"))
	w.compact(t, pos("1:7"), always)
	var got []string
	for _, c := range collect(t, readerlib.Changes(w.ctx, w.topic, was, w.head.Version)) {
		got = append(got, fmt.Sprint(c.Message.Position, " ", string(c.Message.Key), " ", c.Deleted))
	}
	if want := []string{"1:4 c false", "1:5 e false", "1:1 b true"}; !reflect.DeepEqual(got, want) {
		t.Errorf("changes are %q, want %q", got, want)
	}
}

// The tombstone that deleted a key lies in an original of which only the rest
// is read: it is no trace of the key.
func TestATombstoneBelowTheHorizonIsNoTrace(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"))
	w.ingest(t, msg("2:0", "a", "-"), msg("2:1", "b", "1"))
	w.compact(t, pos("2:0"), always)
	got := collect(t, readerlib.Changes(w.ctx, w.topic, 1, w.head.Version))
	if len(got) != 2 || got[0].Deleted || !got[1].Deleted || string(got[1].Message.Key) != "a" {
		t.Errorf("changes are %+v, want b and that a is gone", got)
	}
}

// One object is two segments, an original and a compacted one with dead rows,
// and a reader of the raw view that gets a key opens it as both.
func TestAnAdoptedFileIsReadAsBothThatItIs(t *testing.T) {
	w := newWorld(t, nil)
	w.adopt = func() bool { return true }
	w.ingest(t, msg("1:0", "a", "1"), in("1,1", msg("1:1", "b", "1")), msg("1:2", "c", "1"), msg("1:3", "c", "-"), marker("1:4", segments.KindAbort, "1,1"))
	w.ingest(t, msg("2:0", "d", "1"))
	w.compact(t, pos("1:4"), always)
	if s := w.head.Compacted[0]; s.Object != w.head.Originals[0].Object || s.LiveRows() != 1 {
		t.Fatalf("the original is not adopted: %+v", s)
	}
	for _, trimmed := range []bool{false, true} {
		if trimmed {
			w.trim(t, pos("1:4"))
		}
		for _, o := range []readerlib.Options{{}, folded} {
			r := open(t, w, o)
			got := collect(t, r.Messages(w.ctx))
			diff(t, o, fmt.Sprint("messages, trimmed ", trimmed), got, w.now().list(o.View, o.Isolation))
			for _, key := range []string{"a", "b", "c", "d"} {
				m, ok, err := r.Get(w.ctx, []byte(key))
				if want := key == "a" || key == "d"; err != nil || ok != want {
					t.Errorf("get %s is %s, %v, %v, want %v", key, m.Position, ok, err, want)
				}
			}
			found, err := r.Fetch(w.ctx, pos("1:0"), pos("2:0"))
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 4, true: 2}[trimmed]; len(found.Messages) != want || len(found.Failed) > 0 {
				t.Errorf("fetch found %d messages, want %d; failed %v", len(found.Messages), want, found.Failed)
			}
		}
	}
}

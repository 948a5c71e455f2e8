package compactor

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

func TestTheLastValueOfAKeyIsLeftAtItsPosition(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 c=1\n 1:1 a=1\n 1:2 b=1\n 1:3 a=2")
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 4, Kept: 3, Superseded: 1}, older{})
	w.wantLive("1:0 c=1", "1:2 b=1", "1:3 a=2")
	w.add("4:0 d=1\n 4:1 b=2\n 4:2 aa=1")
	w.wantRun(StateCompacted, "4:2", rowsIn{In: 3, Kept: 3}, older{Superseded: 1})
	w.wantLive("1:0 c=1", "1:3 a=2", "4:0 d=1", "4:1 b=2", "4:2 aa=1")
	w.wantRun(StateAlreadyCompacted, "4:2", rowsIn{}, older{})
}

func TestAnEmptyTopicHasNothingToDo(t *testing.T) {
	w := testWorld(t)
	w.wantRun(StateNothingToDo, "-1:-1", rowsIn{}, older{})
}

// What loses to a value is superseded, what loses to a delete is deleted,
// whatever it was itself.
func TestLosersAreCountedByTheFinalWinner(t *testing.T) {
	w := testWorld(t, "tombstone_retention=0s")
	w.add("1:0 a=1\n 1:1 a\n 1:2 b=1\n 1:3 b\n 1:4 a=2\n 1:5 c\n 1:6 c\n 1:7 d=1")
	w.wantRun(StateCompacted, "1:7", rowsIn{In: 8, Kept: 2, Superseded: 2, Deleted: 2, Expired: 2}, older{})
	w.wantLive("1:4 a=2", "1:7 d=1")
	w.add("1:8 a=3\n 1:9 d\n 1:10 e=1")
	w.wantRun(StateCompacted, "1:10", rowsIn{In: 3, Kept: 2, Expired: 1}, older{Superseded: 1, Deleted: 1})
	w.wantLive("1:8 a=3", "1:10 e=1")
}

// KAFKA-8522, KIP-534.
func TestATombstoneStaysForItsRetentionAndNoLonger(t *testing.T) {
	w := testWorld(t)
	w.add("3:0 a=1\n 3:1 b=1\n 3:2 a")
	w.pass(100 * day) // its age does not count
	w.wantRun(StateCompacted, "3:2", rowsIn{In: 3, Kept: 2, Deleted: 1}, older{})
	w.pass(day - time.Second)
	w.add("4:0 c=1")
	w.wantRun(StateCompacted, "4:0", rowsIn{In: 1, Kept: 1}, older{})
	w.wantLive("3:1 b=1", "3:2 a", "4:0 c=1")
	w.pass(time.Second)
	w.wantRun(StateCompacted, "4:0", rowsIn{}, older{Expired: 1})
	w.wantLive("3:1 b=1", "4:0 c=1")
	w.wantRun(StateAlreadyCompacted, "4:0", rowsIn{}, older{})
}

// The retention is that of the run that looks, not that of the run that
// compacted the tombstone.
func TestAShorterRetentionTakesEffectWithTheNextRun(t *testing.T) {
	w := testWorld(t, "tombstone_retention=forever")
	w.add("3:0 a=1\n 3:1 a")
	w.run()
	w.pass(hour)
	w.wantRun(StateAlreadyCompacted, "3:1", rowsIn{}, older{})
	w.set("tombstone_retention=1h")
	w.wantRun(StateCompacted, "3:1", rowsIn{}, older{Expired: 1})
	w.wantLive()
}

// KAFKA-5490: there the value that a producer wrote last was kept for the
// producer's sake, and was seen again when the tombstone that had deleted it
// was gone.
func TestADeletedValueNeverComesBack(t *testing.T) {
	w := testWorld(t)
	w.add("3:0 a=1")
	w.run()
	w.add("3:1 a")
	w.wantRun(StateCompacted, "3:1", rowsIn{In: 1, Kept: 1}, older{Deleted: 1})
	w.wantLive("3:1 a")
	w.pass(day)
	w.add("4:0 b=1")
	w.wantRun(StateCompacted, "4:0", rowsIn{In: 1, Kept: 1}, older{Expired: 1})
	w.wantLive("4:0 b=1")
	w.set("tombstone_retention=forever", "keyless=drop", "order=event_time")
	w.add("4:1 b=2")
	w.run()
	w.wantLive("4:1 b=2")
}

func TestANewValueBringsADeletedKeyBack(t *testing.T) {
	w := testWorld(t)
	w.add("3:0 a=1\n 3:1 a\n 3:2 b\n 3:3 b=1")
	w.wantRun(StateCompacted, "3:3", rowsIn{In: 4, Kept: 2, Deleted: 1, Superseded: 1}, older{})
	w.pass(hour)
	w.add("4:0 a=2")
	w.wantRun(StateCompacted, "4:0", rowsIn{In: 1, Kept: 1}, older{Superseded: 1})
	w.pass(2 * day) // the retention of the tombstone does not touch the new value
	w.wantRun(StateAlreadyCompacted, "4:0", rowsIn{}, older{})
	w.wantLive("3:3 b=1", "4:0 a=2")
}

// Pulsar #20980: there one delete in a batch took the whole batch with it.
func TestOneTombstoneDoesNotTakeItsBatchWithIt(t *testing.T) {
	w := testWorld(t, "tombstone_retention=0s")
	w.add("1:0:0/3 k1=v\n 1:0:1/3 k2\n 1:0:2/3 k3=v")
	w.wantRun(StateCompacted, "1:0", rowsIn{In: 3, Kept: 2, Expired: 1}, older{})
	w.wantLive("1:0:0/3 k1=v", "1:0:2/3 k3=v")
}

func TestAnAbortedMessageNeverSupersedes(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1\n 1:1 b=1 \n 1:2 a=2 txn=1,4\n 1:3 b txn=1,4\n 1:4 c=2 txn=1,4\n 1:5 abort txn=1,4")
	w.wantRun(StateCompacted, "1:5", rowsIn{In: 6, Kept: 2, Aborted: 3, Markers: 1}, older{})
	w.wantLive("1:0 a=1", "1:1 b=1")
	// Nor where the value is an older run's.
	w.add("1:6 a=3 txn=1,5\n 1:7 abort txn=1,5\n 1:8 b=2 txn=1,6\n 1:9 commit txn=1,6")
	w.wantRun(StateCompacted, "1:9", rowsIn{In: 4, Kept: 1, Aborted: 1, Markers: 2}, older{Superseded: 1})
	w.wantLive("1:0 a=1", "1:8 b=2 txn=1,6")
}

// An aborted message without key is aborted, not dropped.
func TestAbortedIsLookedAtBeforeKeyless(t *testing.T) {
	w := testWorld(t, "keyless=drop")
	w.add("1:0 =1\n 1:1 =2 txn=1,1\n 1:2 abort txn=1,1\n 1:3 a=1")
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 4, Kept: 1, Aborted: 1, Markers: 1, KeylessDropped: 1}, older{})
	w.wantLive("1:3 a=1")
}

// Markers have no key, but a key that looks like theirs would fold them.
func TestMarkersFoldWithNothing(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 =m0\n 1:1 a=1 txn=1,1\n 1:2 commit txn=1,1\n 1:3 a=2 txn=1,2\n 1:4 abort txn=1,2\n" +
		"1:5 =m1\n 1:6 b=1\n 1:7 a=3 txn=1,3\n 1:8 commit txn=1,3")
	w.wantRun(StateCompacted, "1:8", rowsIn{In: 9, Kept: 4, Superseded: 1, Aborted: 1, Markers: 3}, older{})
	w.wantLive("1:0 =m0", "1:5 =m1", "1:6 b=1", "1:7 a=3 txn=1,3")
}

func TestKeylessIsKeptUntilTheSettingSaysOtherwise(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 =1\n 1:1 a=1\n 1:2 =1")
	w.wantRun(StateCompacted, "1:2", rowsIn{In: 3, Kept: 3}, older{})
	w.set("keyless=drop")
	w.add("1:3 =2")
	// It acts when rows are first compacted: what was kept stays.
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 1, KeylessDropped: 1}, older{})
	w.wantLive("1:0 =1", "1:1 a=1", "1:2 =1")
}

func TestAnOpenTransactionHoldsTheHorizon(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1\n 1:1 b=1 txn=1,4\n 1:2 a=2")
	w.wantRun(StateCompacted, "1:0", rowsIn{In: 1, Kept: 1}, older{})
	w.wantRun(StateNothingToDo, "1:0", rowsIn{}, older{})
	w.wantLive("1:0 a=1")
	w.add("1:3 commit txn=1,4")
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 3, Kept: 2, Markers: 1}, older{Superseded: 1})
	w.wantLive("1:1 b=1 txn=1,4", "1:2 a=2")
}

// An open transaction of one message of a batch holds the whole entry back.
func TestAHorizonNeverSplitsABatch(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1\n 1:1:0/2 a=2\n 1:1:1/2 b=1 txn=1,4\n 2:0 c=1")
	w.wantRun(StateCompacted, "1:0", rowsIn{In: 1, Kept: 1}, older{})
	w.add("2:1 abort txn=1,4")
	w.wantRun(StateCompacted, "2:1", rowsIn{In: 4, Kept: 2, Aborted: 1, Markers: 1}, older{Superseded: 1})
	w.wantLive("1:1:0/2 a=2", "2:0 c=1")
}

func TestYoungEntriesAreLeftAlone(t *testing.T) {
	w := testWorld(t, "min_lag=1h")
	w.add("1:0 a=1 at=0\n 1:1 a=2 at=0\n 1:2 b=1 at=0")
	w.pass(hour - time.Second)
	w.wantRun(StateNothingToDo, "-1:-1", rowsIn{}, older{})
	w.pass(2 * time.Second)
	w.add("2:0 b=2 at=3000\n 2:1 a=3 at=3000")
	w.wantRun(StateCompacted, "1:2", rowsIn{In: 3, Kept: 2, Superseded: 1}, older{})
	w.wantLive("1:1 a=2", "1:2 b=1")
	w.wantRun(StateNothingToDo, "1:2", rowsIn{}, older{})
	w.pass(hour)
	w.wantRun(StateCompacted, "2:1", rowsIn{In: 2, Kept: 2}, older{Superseded: 2})
	w.wantLive("2:0 b=2", "2:1 a=3")
}

// An entry is exactly old enough when its age is the lag; the first that is
// not stops the horizon, whatever comes after it; and it is the whole entry
// that is too young, also where only its last message is.
func TestTheLagIsExact(t *testing.T) {
	for _, c := range []struct {
		name, rows, want string
	}{
		{"all old enough", "1:0 a=1 at=0\n 1:1 b=1 at=100", "1:1"},
		{"the last too young", "1:0 a=1 at=0\n 1:1 b=1 at=101", "1:0"},
		{"one in the middle", "1:0 a=1 at=0\n 1:1 b=1 at=101\n 1:2 c=1 at=0", "1:0"},
		{"the first", "1:0 a=1 at=101\n 1:1 b=1 at=0", "-1:-1"},
		{"the end of a batch", "1:0 a=1 at=0\n 1:1:0/3 b=1 at=0\n 1:1:1/3 c=1 at=0\n 1:1:2/3 d=1 at=101\n 1:2 e=1 at=0", "1:0"},
		{"a hole before it", "1:0 a=1 at=0\n 1:7 b=1 at=101", "1:0"},
		{"the first of a ledger", "1:0 a=1 at=0\n 2:0 b=1 at=101", "1:0"},
		{"a marker", "1:0 a=1 at=0\n 1:1 abort txn=1,1 at=101\n 1:2 a=1 at=0", "1:0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// With one segment, and with one for each row; in one batch, and
			// in batches of a row or two.
			for _, one := range []bool{true, false} {
				for _, filler := range []string{"", strings.Repeat("x", 700)} {
					w := testWorld(t, "min_lag=1h", "batch_bytes=1KiB")
					w.pass(hour + 100*time.Second)
					rows := strings.ReplaceAll(c.rows, "=1 ", "=1"+filler+" ")
					if lines := strings.Split(rows, "\n"); one || strings.Contains(rows, "/") {
						w.add(rows)
					} else {
						w.add(lines...)
					}
					if got := w.run().Horizon.String(); got != c.want {
						t.Errorf("one segment %v, filler of %d: horizon %s, want %s", one, len(filler), got, c.want)
					}
				}
			}
		})
	}
}

// A lag that is set later does not bring the horizon back, and rows that are
// young but compacted already do not hold it.
func TestTheHorizonNeverMovesBack(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1\n 1:1 a=2\n 1:2 b=1 txn=1,1")
	w.run()
	w.set("min_lag=1h")
	w.wantRun(StateNothingToDo, "1:1", rowsIn{}, older{})
	w.add("1:3 commit txn=1,1 at=-7200\n 1:4 c=1 at=-7200")
	w.wantRun(StateNothingToDo, "1:1", rowsIn{}, older{}) // 1:2 is young
	w.pass(hour)
	w.wantRun(StateCompacted, "1:4", rowsIn{In: 3, Kept: 2, Markers: 1}, older{})
}

// The rows through the horizon are young, in a segment that goes on with rows
// that are old enough.
func TestYoungRowsBelowTheHorizonDoNotHoldIt(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a=1 at=0\n 1:1 b=1 txn=1,1 at=-7200\n 1:2 c=1 at=-7200")
	w.run()
	w.set("min_lag=1h")
	w.add("1:3 commit txn=1,1 at=-7200")
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 3, Kept: 2, Markers: 1}, older{})
	w.wantLive("1:0 a=1", "1:1 b=1 txn=1,1", "1:2 c=1")
}

func TestTheHighestEventTimeWinsRunAfterRun(t *testing.T) {
	w := testWorld(t, "order=event_time")
	w.add("1:0 a=1 event=5\n 1:1 a=2 event=3\n 1:2 b=1\n 1:3 b=2\n 1:4 c=1 event=1\n 1:5 c=2\n 1:6 d=1 event=5\n 1:7 d=2 event=5")
	w.wantRun(StateCompacted, "1:7", rowsIn{In: 8, Kept: 4, Superseded: 4}, older{})
	w.wantLive("1:0 a=1 event=5", "1:3 b=2", "1:4 c=1 event=1", "1:7 d=2 event=5")
	w.add("2:0 a=3 event=4\n 2:1 b=3 event=0\n 2:2 c=3 event=1\n 2:3 d=3")
	w.wantRun(StateCompacted, "2:3", rowsIn{In: 4, Kept: 2, Superseded: 2}, older{Superseded: 2})
	w.wantLive("1:0 a=1 event=5", "1:7 d=2 event=5", "2:1 b=3 event=0", "2:2 c=3 event=1")
}

// A tombstone has to win the same way, and while it is retained an older event
// does not bring its key back: not even in the run that drops it.
func TestAnOlderEventNeverBringsADeletedKeyBack(t *testing.T) {
	w := testWorld(t, "order=event_time")
	w.add("1:0 a=1 event=5\n 1:1 a event=4\n 1:2 b=1 event=5\n 1:3 b event=6")
	w.wantRun(StateCompacted, "1:3", rowsIn{In: 4, Kept: 2, Superseded: 1, Deleted: 1}, older{})
	w.wantLive("1:0 a=1 event=5", "1:3 b event=6")
	w.pass(hour)
	w.add("2:0 b=2 event=5")
	w.wantRun(StateCompacted, "2:0", rowsIn{In: 1, Deleted: 1}, older{})
	w.wantLive("1:0 a=1 event=5", "1:3 b event=6")
	w.pass(day)
	w.add("2:1 b=3 event=5")
	w.wantRun(StateCompacted, "2:1", rowsIn{In: 1, Deleted: 1}, older{Expired: 1})
	w.wantLive("1:0 a=1 event=5")
	w.add("2:2 b=4 event=5") // now nobody remembers
	w.wantRun(StateCompacted, "2:2", rowsIn{In: 1, Kept: 1}, older{})
}

// A superseded tombstone is superseded, not expired, also in the run in which
// it would expire.
func TestAnExpiredTombstoneThatLostIsCountedOnce(t *testing.T) {
	w := testWorld(t)
	w.add("1:0 a\n 1:1 b\n 1:2 c")
	w.run()
	w.pass(day)
	w.add("1:3 a=1\n 1:4 b")
	w.wantRun(StateCompacted, "1:4", rowsIn{In: 2, Kept: 2}, older{Superseded: 1, Deleted: 1, Expired: 1})
	w.wantLive("1:3 a=1", "1:4 b")
}

// Where nothing is left of a stretch, the view is complete through its end all
// the same.
func TestAStretchOfWhichNothingIsLeftIsCovered(t *testing.T) {
	w := testWorld(t, "tombstone_retention=0s")
	w.add("1:0 a\n 1:1 b", "2:0 a=1 txn=1,1\n 2:1 abort txn=1,1\n 2:5 a")
	w.wantRun(StateCompacted, "2:5", rowsIn{In: 5, Aborted: 1, Markers: 1, Deleted: 1, Expired: 2}, older{})
	w.wantLive()
	m := w.latest()
	if len(m.Compacted) != 1 || m.Compacted[0].Object != "" {
		t.Fatalf("compacted segments: %+v", m.Compacted)
	}
	want := []segments.Ledger{{Ledger: 1, First: 0, Last: 1}, {Ledger: 2, First: 0, Last: 5}}
	for i, l := range m.Compacted[0].Info.Ledgers {
		l.MaxPublish = 0
		if l != want[i] {
			t.Errorf("ledger %+v, want %+v", l, want[i])
		}
	}
	w.add("2:6 a=2")
	w.run()
	w.wantLive("2:6 a=2")
}

// What is left of segments around the horizon is folded once, by the run whose
// range it is in.
func TestHorizonsInTheMiddleOfSegments(t *testing.T) {
	w := testWorld(t, "min_lag=1s")
	w.add("1:0 a=1 at=0\n 1:1 b=1 at=1\n 1:2 a=2 at=2\n 1:3 b at=3\n 1:4 c=1 at=4\n 1:5 a=3 at=5")
	total := rowsIn{}
	for range 6 {
		w.pass(time.Second)
		r := w.run()
		total.In += r.Rows.In
	}
	if total.In != 6 {
		t.Errorf("%d rows went in, want 6", total.In)
	}
	w.wantLive("1:3 b", "1:4 c=1", "1:5 a=3")
	ledgers := int64(0)
	for _, s := range w.latest().Compacted {
		for _, l := range s.Info.Ledgers {
			ledgers += l.Last - l.First + 1
		}
	}
	if ledgers != 6 {
		t.Errorf("compacted segments know of %d entries, want 6", ledgers)
	}
}

func TestSegmentsAreSealedAtTheirSizeAndTile(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB")
	var text strings.Builder
	for n := range 8 { // so much of it dies that it is not adopted
		fmt.Fprintf(&text, "0:%d a=%s\n", n, strings.Repeat("x", 600))
	}
	for _, line := range []string{"1:0:0/2 a", "1:0:1/2 b", "1:1 c", "1:2:0/2 d", "1:2:1/2 e", "2:0 f", "2:4 g", "3:0 h"} {
		text.WriteString(line + "=" + strings.Repeat("x", 600) + "\n")
	}
	w.add(text.String())
	w.run()
	var ranges []string
	for _, s := range w.latest().Compacted {
		ranges = append(ranges, s.Range.String())
	}
	got := strings.Join(ranges, " ")
	if want := "(-1:-1, 1:0] (1:0, 1:2] (1:2, 2:4] (2:4, 3:0]"; got != want {
		t.Errorf("ranges %s, want %s", got, want)
	}
	if n := len(w.live()); n != 8 {
		t.Errorf("%d rows, want 8", n)
	}
}

// Pulsar #20337: a survivor keeps everything that it came with.
func TestASurvivorKeepsAllItHas(t *testing.T) {
	w := testWorld(t)
	want := w.parse("1:3:2/7 a=1 txn=1,4 event=5 at=12")
	want.Producer, want.Sequence, want.Epoch = segments.Some("p"), segments.Some(int64(7)), segments.Some(int32(2))
	want.OrderingKey = []byte{}
	want.Properties = []segments.Property{{Key: "x", Value: []byte("1")}, {Key: "x", Value: nil}, {Key: "b", Value: []byte{}}}
	empty := w.parse("1:5 a2=")
	empty.Key, empty.Value = []byte{}, []byte{} // an empty key is a key, an empty value a value
	w.append([]row{want, w.parse("1:4 commit txn=1,4"), empty})
	w.run()
	got := w.liveRows(w.latest())
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) || !reflect.DeepEqual(got[1], empty) {
		t.Errorf("rows\n%+v\nwant\n%+v", got, []row{want, empty})
	}
	w.add("1:6 b=1")
	w.run()
	if again := w.liveRows(w.latest()); !reflect.DeepEqual(again[:2], got) {
		t.Errorf("after another run\n%+v\nwant\n%+v", again[:2], got)
	}
}

// What is told comes in order, and its text is a log line.
func TestARunTellsWhatItDoes(t *testing.T) {
	w := testWorld(t, "max_dead_share=1")
	w.add("1:0 a=1\n 1:1 b=1")
	w.run()
	w.add("1:2 a=2", "1:3 =1")
	var told events
	if _, err := Run(t.Context(), w.topic, &told, w.job(1)); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range told {
		lines = append(lines, e.String())
	}
	slices.Sort(lines[1:3]) // originals are scanned side by side
	got := strings.Join(lines, "\n")
	want := `planned from version 3: fold (1:1, 1:3] (end_of_data), 2 originals, 2 tasks
scanned d/J000006/000000.arrow: 1 rows
scanned d/J000006/000001.arrow: 1 rows
resolved range 1 of 1
wrote d/J000008/000000.arrow: (1:1, 1:3], 2 rows, ` + strconv.FormatInt(w.latest().Compacted[1].Info.Bytes, 10) + ` bytes
wrote dead rows of d/J000004/000000.arrow: 1 rows
committed version 4: horizon 1:3, 2 rows in, 2 kept`
	if got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}

package compactor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/segments"
)

// busyWorld is a topic with two older runs, of which values and a tombstone
// will die, so that one is rewritten and one gets dead rows; and with
// transactions, batches and a tombstone to fold.
func busyWorld(t *testing.T) *world {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB", "tombstone_retention=1h", "retention=1h")
	w.add("1:0 a=1\n 1:1 b=1\n 1:2 c\n 1:3 d\n 1:4 e=1")
	w.run()
	w.add("1:5 =1\n 1:6 f=1\n 1:7 g=0")
	w.run()
	w.pass(2 * hour)
	w.add("2:0 a=2 txn=1,1\n 2:1:0/2 b\n 2:1:1/2 c=1\n 2:2 commit txn=1,1", "3:0 e=2 txn=1,2\n 3:1 abort txn=1,2\n 3:2 g=1\n 3:3 =2\n 3:4 g=2"+strings.Repeat("x", 1000)+"\n 3:5 h=1")
	return w
}

// busyRows are what is left of it, and busyReport is the account.
var (
	busyRows = []string{
		"1:4 e=1", "1:5 =1", "1:6 f=1",
		"2:0 a=2 txn=1,1", "2:1:0/2 b", "2:1:1/2 c=1", "3:3 =2", "3:4 g=2" + strings.Repeat("x", 1000), "3:5 h=1",
	}
	busyReport = manifest.Report{
		Rows:  rowsIn{In: 10, Kept: 6, Superseded: 1, Aborted: 1, Markers: 2},
		Older: older{Superseded: 3, Deleted: 1, Expired: 1},
	}
)

// compactions counts the versions that a compaction made.
func (w *world) compactions() int {
	w.Helper()
	n := 0
	for m, err := range w.topic.Versions(context.Background()) {
		w.must(err)
		if m.Kind == "compact" {
			n++
		}
	}
	return n
}

// wantNoWaste fails if the store holds segments that no version names.
func (w *world) wantNoWaste() {
	w.Helper()
	m := w.latest()
	named := make(map[string]bool)
	for v, err := range w.topic.Versions(context.Background()) {
		w.must(err)
		for _, s := range slices.Concat(v.Originals, v.Compacted) {
			named[string(m.Topic)+"/"+s.Object] = true
			named[string(m.Topic)+"/"+s.Index] = true
		}
	}
	for _, folder := range []string{"/d/", "/x/"} {
		for entry, err := range w.store.List(context.Background(), string(m.Topic)+folder, "") {
			w.must(err)
			if !named[entry.Key] {
				w.Fatalf("%s is left, and no version names it", entry.Key)
			}
		}
	}
}

// TestEveryRunCommitsOnce fails each store call of a run in turn, in each way
// that stores fail, and then runs again, as the next scheduled run does. The
// compaction is in the chain exactly once, whoever was told of success or of
// failure was told the truth, and the rows are right.
func TestEveryRunCommitsOnce(t *testing.T) {
	faults := map[string]fault.Fault{
		"before": fault.Before, "after": fault.After, "late": fault.Late,
		"short": fault.Short, "missing": fault.Missing, "denied": fault.Denied,
	}
	pauses := map[string]manifest.Pause{"one try": never, "some tries": often}
	for name, f := range faults {
		for patience, pause := range pauses {
			for _, landFirst := range []bool{true, false} {
				if f != fault.Late && !landFirst {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, land first %v", name, patience, landFirst), func(t *testing.T) {
					for n := int64(0); failCall(t, n, f, pause, landFirst); n += stride {
					}
				})
			}
		}
	}
}

// failCall fails the nth call of a run. It reports whether there was one.
func failCall(t *testing.T, n int64, f fault.Fault, pause manifest.Pause, landFirst bool) bool {
	t.Helper()
	ctx := context.Background()
	w := busyWorld(t)
	before := w.compactions()
	armed := false
	hook := fault.At(n, f)
	var calls atomic.Int64
	faulty := fault.New(w.store, func(op fault.Op) fault.Fault {
		if !armed {
			return fault.None
		}
		op.N = calls.Add(1) - 1
		return hook(op)
	})
	topic := w.through(faulty, pause)
	armed = true
	w.policy.Parallel = 1 // calls come in a fixed order
	r, err := Run(ctx, topic, nil, w.job(1))
	struck := faulty.Struck() > 0
	done := w.compactions() - before

	unknown := errors.Is(err, manifest.ErrUnknown)
	switch {
	case err == nil && (done != 1 || r.Report != busyReport):
		t.Errorf("call %d: success, but %d compactions, %+v", n, done, r.Report)
	case errors.Is(err, manifest.ErrConflict):
		t.Errorf("call %d: %v, and nobody else was there", n, err)
	case err != nil && !unknown && done != 0:
		t.Errorf("call %d: it is in the chain, but %v", n, err)
	case err != nil && !struck:
		t.Errorf("without a fault: %v", err)
	}
	land := func() {
		if err := faulty.Land(ctx); err != nil && !errors.Is(err, objstore.ErrExists) {
			t.Fatal(err)
		}
		if now := w.compactions() - before; !unknown && now != done {
			t.Errorf("call %d: it came into the chain late, but %v", n, err)
		}
	}
	if landFirst {
		land()
	}
	next, err := Run(ctx, w.topic, nil, w.job(1))
	if err != nil {
		t.Errorf("call %d: the next run: %v", n, err)
	}
	if !landFirst {
		unknown = true // the next run is in the chain
		land()
	}
	if next.State == StateCompacted && next.Report != busyReport {
		t.Errorf("call %d: the next run: %+v, want %+v", n, next.Report, busyReport)
	}
	if got := w.compactions() - before; got != 1 {
		t.Errorf("call %d: %d compactions, want 1", n, got)
	}
	w.wantProved()
	if got := w.live(); !slices.Equal(got, busyRows) {
		t.Errorf("call %d: rows\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(busyRows, "\n"))
	}
	return struck
}

// collect deletes what the latest version does not name.
func (w *world) collect() {
	w.Helper()
	ctx := context.Background()
	c, err := w.topic.PlanCollection(ctx, manifest.Keep{Since: w.now.Add(hour), Versions: 1})
	w.must(err)
	w.must(c.Commit(ctx, manifest.Change{Commit: w.commitID(), Job: w.jobID(), Now: w.now}))
	w.must(c.Delete(ctx, func(manifest.Garbage) {}))
}

// TestNothingIsLostInARace lets something else happen to the topic before each
// store call of a run in turn.
func TestNothingIsLostInARace(t *testing.T) {
	for _, c := range []struct {
		name  string
		other func(*world) // what happens, with the topic's own store
		then  func(*world) // what must hold afterwards
	}{
		{
			name:  "another compaction",
			other: func(w *world) { w.run() },
			then:  func(w *world) { w.wantLive(busyRows...) },
		},
		{
			name:  "an append",
			other: func(w *world) { w.add("4:0 a=3\n 4:1 z=1 txn=1,9") },
			then: func(w *world) {
				w.add("4:2 commit txn=1,9")
				w.run()
				w.wantLive(append(slices.DeleteFunc(slices.Clone(busyRows), func(row string) bool {
					return strings.HasPrefix(row, "2:0 ")
				}), "4:0 a=3", "4:1 z=1 txn=1,9")...)
			},
		},
		{
			name: "an append and another compaction, twice",
			other: func(w *world) {
				w.add("4:0 a=3")
				w.run()
				w.add("4:1 b=3")
				w.run()
			},
			then: func(w *world) {
				w.wantLive(append(slices.DeleteFunc(slices.Clone(busyRows), func(row string) bool {
					return strings.HasPrefix(row, "2:0 ") || strings.HasPrefix(row, "2:1:0")
				}), "4:0 a=3", "4:1 b=3")...)
			},
		},
		{
			name: "another compaction, and what it replaced is collected",
			other: func(w *world) {
				w.add("4:0 z=1")
				w.run()
				w.collect()
			},
			then: func(w *world) {
				w.wantLive(append(slices.Clone(busyRows), "4:0 z=1")...)
			},
		},
		{
			name: "a trim",
			other: func(w *world) {
				_, err := Trim(context.Background(), w.topic, w.job(1))
				w.must(err)
			},
			then: func(w *world) { w.wantLive(busyRows...) },
		},
		{
			name:  "another setting",
			other: func(w *world) { w.set("tombstone_retention=forever", "keyless=drop") },
			then:  nil, // whichever run saw which settings
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := int64(0); ; n++ {
				w := busyWorld(t)
				armed := false
				var calls atomic.Int64
				hooked := fault.New(w.store, func(fault.Op) fault.Fault {
					if armed && calls.Add(1)-1 == n {
						c.other(w)
					}
					return fault.None
				})
				topic := w.through(hooked, often)
				armed = true
				w.policy.Parallel = 1
				r, err := Run(context.Background(), topic, nil, w.job(3))
				if err != nil {
					t.Fatalf("before call %d: %v", n, err)
				}
				if calls.Load() <= n {
					return
				}
				if r.State == StateNothingToDo || r.Horizon.Before(pos(t, "3:5")) {
					t.Errorf("before call %d: %+v", n, r)
				}
				if c.then != nil {
					c.then(w)
				}
				if c.name != "a trim" {
					w.wantNoWaste()
				}
				w.wantProved()
			}
		})
	}
}

// A run that is overtaken again and again gives up when it has no commit id
// left, and leaves nothing behind.
func TestARunThatIsAlwaysOvertakenGivesUp(t *testing.T) {
	w := busyWorld(t)
	entry := 0
	var events events
	hooked := fault.New(w.store, func(op fault.Op) fault.Fault {
		if op.Verb == fault.Put && strings.Contains(op.Key, "/m/") {
			w.run()
			w.add(fmt.Sprintf("4:%d a=4", entry)) // so there is always something to do
			entry++
		}
		return fault.None
	})
	_, err := Run(context.Background(), w.through(hooked, often), &events, w.job(3))
	if !errors.Is(err, manifest.ErrConflict) || !strings.Contains(err.Error(), "3 tries") {
		t.Errorf("error %v, want a conflict after 3 tries", err)
	}
	if got := events.of("overtaken"); got != 3 {
		t.Errorf("%d overtaken tries were told, want 3", got)
	}
	w.wantNoWaste()
}

func TestARunOnADeletedTopicLeavesNothing(t *testing.T) {
	w := busyWorld(t)
	hooked := fault.New(w.store, func(op fault.Op) fault.Fault {
		if op.Verb == fault.Put && strings.Contains(op.Key, "/d/") {
			_ = w.topic.Delete(context.Background(), manifest.Change{Commit: w.commitID(), Job: w.jobID(), Now: w.now})
		}
		return fault.None
	})
	if _, err := Run(context.Background(), w.through(hooked, often), nil, w.job(3)); !errors.Is(err, manifest.ErrTopicNotFound) {
		t.Errorf("error %v, want topic not found", err)
	}
	for key := range objects(t, w.store) {
		if strings.Contains(key, "/d/") || strings.Contains(key, "/x/") {
			t.Errorf("%s is left", key)
		}
	}
}

// A run whose context ends before it commits changes nothing.
func TestACancelledRunChangesNothing(t *testing.T) {
	w := busyWorld(t)
	before := w.latest().Version
	for n := int64(0); ; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		var committing atomic.Bool
		hooked := fault.New(w.store, func(op fault.Op) fault.Fault {
			if op.Verb == fault.Put && strings.Contains(op.Key, "/m/") {
				committing.Store(true)
			}
			if op.N == n && !committing.Load() {
				cancel()
			}
			return fault.None
		})
		topic := w.through(hooked, never)
		w.policy.Parallel = 1
		_, err := Run(ctx, topic, nil, w.job(1))
		cancel()
		if err == nil {
			break
		}
		if got := w.latest().Version; !errors.Is(err, context.Canceled) || got != before {
			t.Fatalf("cancelled at call %d: %v, version %d, want %d", n, err, got, before)
		}
	}
	w.wantLive(busyRows...)
}

// flipped is a store in which a bit of one object is not what was put.
type flipped struct {
	objstore.Store
	key string // the end of it
	at  int64
}

func (f flipped) flip(key string, p []byte, off int64) {
	if at := f.at - off; strings.HasSuffix(key, f.key) && 0 <= at && at < int64(len(p)) {
		p[at] ^= 1
	}
}

func (f flipped) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	err := f.Store.ReadAt(ctx, key, p, off)
	f.flip(key, p, off)
	return err
}

func (f flipped) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	p, err := f.Store.Get(ctx, key, most)
	f.flip(key, p, 0)
	return p, err
}

// TestADamagedObjectStopsTheRun damages each object that a run reads, here and
// there, and takes it away. The run fails, its error names the object, and the
// topic is as it was.
func TestADamagedObjectStopsTheRun(t *testing.T) {
	w := busyWorld(t)
	w.run()
	w.add("5:0 a=9\n 5:1 =9", "5:2 b=9\n 5:3 e=9\n 5:4 f=9")
	m := w.latest()
	var keys []string
	for i, s := range live(m.Compacted) {
		keys = append(keys, s.Index)
		if i == 1 {
			keys = append(keys, s.Object) // it is rewritten
		}
		if s.Dead != nil {
			keys = append(keys, s.Dead.Object)
		}
	}
	for _, s := range overlapping(m.Originals, segments.Range{After: m.Horizon, Through: m.Last}) {
		keys = append(keys, s.Object, s.Index)
	}
	all := objects(t, w.store)
	for _, key := range keys {
		found := 0
		for at := 0; at < len(all[string(m.Topic)+"/"+key]); at += 61 {
			if w.runOn(t, flipped{w.store, key, int64(at)}, key, segments.ErrCorrupt) {
				found++
			}
		}
		if found == 0 {
			t.Errorf("no damage to %s was found", key)
		}
		gone := fault.New(w.store, func(op fault.Op) fault.Fault {
			if strings.HasSuffix(op.Key, key) {
				return fault.Missing
			}
			return fault.None
		})
		if !w.runOn(t, gone, key, manifest.ErrMissing) {
			t.Errorf("nobody misses %s", key)
		}
	}
	w.wantRun(StateCompacted, "5:4", rowsIn{In: 5, Kept: 5}, older{Superseded: 4})
}

// runOn runs on a damaged store. It reports whether the run came upon the
// damage; there are bytes that a run has no need of, so it is kept from
// committing.
func (w *world) runOn(t *testing.T, s objstore.Store, key string, want error) bool {
	t.Helper()
	before := w.latest().Version
	kept := fault.New(s, fault.Rule{Verb: fault.Put, Key: "/m/", Fault: fault.Denied}.Hook())
	_, err := Run(context.Background(), w.through(kept, never), nil, w.job(1))
	if got := w.latest().Version; got != before {
		t.Errorf("%s: version %d, want %d", key, got, before)
	}
	if errors.Is(err, objstore.ErrDenied) && !errors.Is(err, want) {
		return false
	}
	name := strings.TrimSuffix(key[strings.Index(key, "/")+1:], ".arrow")
	if !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
		t.Errorf("%s: %v, want %v naming it", key, err, want)
	}
	return true
}

// events are what a run told.
type events []Event

func (e *events) Observe(event Event) { *e = append(*e, event) }

// of counts the events whose text has a word.
func (e events) of(word string) int {
	n := 0
	for _, event := range e {
		if strings.Contains(event.String(), word) {
			n++
		}
	}
	return n
}

// TestAFailedRunLeavesNothing fails each put of an output in turn. What was put
// before, and what may have been put, is gone when the run has failed.
func TestAFailedRunLeavesNothing(t *testing.T) {
	for _, f := range []fault.Fault{fault.Before, fault.After} {
		for _, folder := range []string{"/d/", "/x/", "/b/"} {
			for n := int64(0); ; n++ {
				w := busyWorld(t)
				before := len(objects(t, w.store))
				faulty := fault.New(w.store, fault.Rule{N: n, Fault: f, Verb: fault.Put, Key: folder}.Hook())
				_, err := Run(context.Background(), w.through(faulty, never), nil, w.job(1))
				if faulty.Struck() == 0 {
					w.wantLive(busyRows...)
					break
				}
				if !errors.Is(err, fault.ErrInjected) {
					t.Errorf("put %d in %s: %v", n, folder, err)
				}
				if after := len(objects(t, w.store)); after != before {
					t.Errorf("put %d in %s: %d objects are left", n, folder, after-before)
				}
			}
		}
	}
}

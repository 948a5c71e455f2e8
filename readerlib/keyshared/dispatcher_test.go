package keyshared

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// desk is a dispatcher, and what its workers have.
type desk struct {
	t  *testing.T
	d  *Dispatcher
	at int64 // entry of the next message
	w  map[string]*Worker
	// has is what a worker has and has not answered, by position.
	has map[string]map[string]Delivery
	now time.Time
}

func newDesk(t *testing.T, s Settings, workers ...string) *desk {
	e := &desk{t: t, d: NewDispatcher(s, Frontier{}), w: map[string]*Worker{}, has: map[string]map[string]Delivery{}, now: noon}
	for _, name := range workers {
		e.join(name)
	}
	return e
}

func (e *desk) join(name string) {
	e.t.Helper()
	w, err := e.d.Join(name, nil, e.now)
	if err != nil {
		e.t.Fatal(err)
	}
	e.w[name], e.has[name] = w, map[string]Delivery{}
}

// offer offers a message for each key, at 1:0, 1:1 and so on.
func (e *desk) offer(keys ...string) {
	e.t.Helper()
	for _, key := range keys {
		if !e.d.Offer(segments.Message{Position: segments.At(1, e.at), Key: []byte(key)}) {
			e.t.Fatalf("1:%d was not taken", e.at)
		}
		e.at++
	}
}

// take lets a worker take what it can, and prints it as key@entry.
func (e *desk) take(name string, n int) string {
	var got []string
	for _, del := range e.d.Take(e.w[name], n, e.now, nil) {
		e.has[name][del.Message.Position.String()] = del
		got = append(got, fmt.Sprintf("%s@%d", del.Message.Key, del.Message.Position.Entry))
	}
	return strings.Join(got, " ")
}

func (e *desk) expect(name, want string) {
	e.t.Helper()
	if got := e.take(name, 100); got != want {
		e.t.Errorf("%s got %q, want %q", name, got, want)
	}
}

func (e *desk) ack(name string, entries ...int64) {
	e.t.Helper()
	for _, entry := range entries {
		if err := e.d.Ack(e.delivery(name, entry)); err != nil {
			e.t.Errorf("ack of %d by %s: %v", entry, name, err)
		}
	}
}

func (e *desk) delivery(name string, entry int64) Delivery {
	e.t.Helper()
	at := segments.At(1, entry).String()
	del, ok := e.has[name][at]
	if !ok {
		e.t.Fatalf("%s does not have %s", name, at)
	}
	delete(e.has[name], at)
	return del
}

func (e *desk) frontier(want string) {
	e.t.Helper()
	f := e.d.Frontier()
	text := []string{f.through().String()}
	for _, u := range f.Unfinished {
		text = append(text, fmt.Sprintf("%s/%d", u.Position, u.Attempts))
	}
	if got := strings.Join(text, " "); got != want {
		e.t.Errorf("frontier is %q, want %q", got, want)
	}
}

// keysOf finds keys whose slots are in a run.
func keysOf(run Slots, n int) []string {
	var keys []string
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprintf("key-%d", i)
		if s := SlotOf([]byte(key)); run.First <= s && s <= run.Last {
			keys = append(keys, key)
		}
	}
	return keys
}

// The example of the report. c1 and c2 share the slots; c3 joins while
// messages of the keys that become its own are unfinished with c1; then c1
// leaves. The order of each key is kept, and keys that did not move never wait.
func TestOnlyKeysThatMovedWait(t *testing.T) {
	e := newDesk(t, Settings{}, "c1")
	e.join("c2") // has 1..32768, c1 the rest
	const middle = 1 << 15
	quarter := middle / 2
	moved := keysOf(Slots{1, Slot(quarter)}, 3)           // c2's, c3's when it joins
	stayed := keysOf(Slots{Slot(quarter) + 1, middle}, 3) // c2's
	first := keysOf(Slots{middle + 1, 1<<16 - 1}, 3)      // c1's, c2's or c3's when it leaves
	all := slices.Concat(moved, stayed, first)
	waited := map[string]int{}
	note := func() {
		for _, w := range e.d.Stats().Waiting {
			for _, key := range all {
				if SlotOf([]byte(key)) == w.Slot {
					waited[key] += w.Messages
				}
			}
		}
	}

	e.offer(all...) // 0..8
	e.expect("c2", fmt.Sprintf("%s@0 %s@1 %s@2 %s@3 %s@4 %s@5", moved[0], moved[1], moved[2], stayed[0], stayed[1], stayed[2]))
	e.expect("c1", fmt.Sprintf("%s@6 %s@7 %s@8", first[0], first[1], first[2]))
	e.ack("c2", 2)

	e.join("c3")
	e.offer(all...) // 9..17
	note()
	// moved[0] and moved[1] are unfinished with c2; moved[2] is not, so it goes on.
	e.expect("c3", moved[2]+"@11")
	e.expect("c2", fmt.Sprintf("%s@12 %s@13 %s@14", stayed[0], stayed[1], stayed[2]))
	e.expect("c1", fmt.Sprintf("%s@15 %s@16 %s@17", first[0], first[1], first[2]))
	stats := e.d.Stats()
	if len(stats.Waiting) != 2 {
		t.Fatalf("%d slots wait, want 2: %+v", len(stats.Waiting), stats.Waiting)
	}
	for _, w := range stats.Waiting {
		if w.Owner != "c3" || w.Holder != "c2" || w.Out != 1 || w.Messages != 1 || !w.Since.Equal(noon) {
			t.Errorf("waiting: %+v", w)
		}
	}
	e.ack("c2", 0)
	e.expect("c3", moved[0]+"@9")
	e.expect("c3", "")
	e.frontier("1:17 1:1/0 1:3/0 1:4/0 1:5/0 1:6/0 1:7/0 1:8/0 1:9/0 1:10/0 1:11/0 1:12/0 1:13/0 1:14/0 1:15/0 1:16/0 1:17/0")

	// c1 leaves with six messages: they go, in order, to whose their slots are now.
	e.d.Leave(e.w["c1"], e.now)
	e.offer(all...) // 18..26
	note()
	var got []string
	for _, name := range []string{"c2", "c3"} {
		got = append(got, strings.Fields(e.take(name, 100))...)
	}
	for i, key := range first {
		var entries []string
		for _, g := range got {
			if k, entry, _ := strings.Cut(g, "@"); k == key {
				entries = append(entries, entry)
			}
		}
		if want := fmt.Sprintf("[%d %d %d]", 6+i, 15+i, 24+i); fmt.Sprint(entries) != want {
			t.Errorf("%s came as %v, want %s", key, entries, want)
		}
	}
	for _, del := range e.has["c1"] {
		if err := e.d.Ack(del); !errors.Is(err, ErrStale) {
			t.Errorf("ack of who has left: %v, want ErrStale", err)
		}
	}
	for _, key := range slices.Concat(stayed, first, moved[2:]) {
		if waited[key] != 0 {
			t.Errorf("%s waited, %d messages", key, waited[key])
		}
	}
	t.Logf("messages that waited: %v", waited)
}

func TestASlotThatComesBackGoesOnAtOnce(t *testing.T) {
	e := newDesk(t, Settings{}, "c1")
	low := keysOf(Slots{1, 1 << 15}, 1)[0]
	e.offer(low)
	e.expect("c1", low+"@0")
	e.join("c2")
	e.offer(low)
	e.expect("c2", "") // c1 has 0
	e.d.Leave(e.w["c2"], e.now)
	e.expect("c1", low+"@1")
	e.ack("c1", 1, 0)
	e.frontier("1:1")
}

func TestAFailedMessageComesBeforeTheLaterOnesOfItsKey(t *testing.T) {
	e := newDesk(t, Settings{BackoffFirst: time.Second, BackoffMost: 3 * time.Second}, "c1")
	e.offer("a", "a", "b", "a")
	e.expect("c1", "a@0 a@1 b@2 a@3")
	if err := e.d.Retry(e.delivery("c1", 0), "no", e.now); err != nil {
		t.Fatal(err)
	}
	e.ack("c1", 2)
	for _, entry := range []int64{1, 3} { // were taken before 0 had failed
		if err := e.d.Ack(e.delivery("c1", entry)); !errors.Is(err, ErrRecalled) {
			t.Errorf("ack of %d: %v, want ErrRecalled", entry, err)
		}
	}
	e.expect("c1", "")
	e.frontier("1:3 1:0/1 1:1/0 1:3/0")
	if due, ok := e.d.Due(); !ok || due.Sub(noon) != time.Second {
		t.Errorf("due %v, %v", due, ok)
	}
	for i, wait := range []time.Duration{1, 2, 3, 3} {
		e.now = e.now.Add(wait*time.Second - 1)
		e.expect("c1", "")
		e.now = e.now.Add(1)
		if i == 3 {
			break // the last attempt
		}
		e.expect("c1", "a@0 a@1 a@3")
		if err := e.d.Retry(e.delivery("c1", 0), "no", e.now); err != nil {
			t.Fatal(err)
		}
		for _, entry := range []int64{3, 1} {
			if err := e.d.Release(e.delivery("c1", entry)); !errors.Is(err, ErrRecalled) {
				t.Errorf("release of %d: %v", entry, err)
			}
		}
	}
	e.expect("c1", "a@0") // alone
	e.ack("c1", 0)
	e.expect("c1", "a@1 a@3")
	e.ack("c1", 1, 3)
	e.frontier("1:3")
}

// A poison message must not use up the attempts of its neighbours.
func TestTheLastAttemptIsAlone(t *testing.T) {
	e := newDesk(t, Settings{MaxAttempts: 2, BackoffFirst: 1, BackoffMost: 1}, "c1")
	e.offer("a", "b")
	e.expect("c1", "a@0 b@1")
	if err := e.d.Retry(e.delivery("c1", 0), "", e.now); err != nil {
		t.Fatal(err)
	}
	e.now = e.now.Add(1)
	e.offer("c")
	e.expect("c1", "") // a is next, but b is out
	e.ack("c1", 1)
	e.offer("d")
	dels := e.d.Take(e.w["c1"], 10, e.now, nil)
	if len(dels) != 1 || !dels[0].Last || dels[0].Attempt != 2 {
		t.Fatalf("took %+v", dels)
	}
	e.expect("c1", "")
	if err := e.d.Retry(dels[0], "boom", e.now); err != nil {
		t.Fatal(err)
	}
	e.expect("c1", "c@2 d@3")
	e.ack("c1", 2)
	e.offer("a")
	e.expect("c1", "") // until the letter is written
	dead := e.d.Dead(10)
	if len(dead) != 1 || dead[0].Reason != ReasonAttempts || dead[0].Attempts != 2 || dead[0].Detail != "boom" {
		t.Fatalf("dead: %+v", dead)
	}
	e.frontier("1:4 1:0/2 1:3/0 1:4/0")
	e.d.Buried(dead[0])
	e.expect("c1", "a@4")
	e.frontier("1:4 1:3/0 1:4/0")
}

// Scenarios 118 to 122 of share groups: accept, release, reject.
func TestAnswersMeanWhatTheyMeanInShareGroups(t *testing.T) {
	e := newDesk(t, Settings{BackoffFirst: 1, BackoffMost: 1}, "c1")
	e.offer("a", "b", "c")
	e.expect("c1", "a@0 b@1 c@2")
	e.ack("c1", 0) // accept: finished
	if err := e.d.Retry(e.delivery("c1", 1), "", e.now); err != nil {
		t.Fatal(err) // release 1 of 5: available
	}
	if err := e.d.Reject(e.delivery("c1", 2), "rejected by client"); err != nil {
		t.Fatal(err)
	}
	dead := e.d.Dead(10)
	if len(dead) != 1 || dead[0].Reason != ReasonRejected || dead[0].Attempts != 1 || dead[0].Detail != "rejected by client" {
		t.Fatalf("after a reject: %+v", dead)
	}
	e.d.Buried(dead[0])
	for range 4 { // release 5 of 5: dead
		e.now = e.now.Add(1)
		e.expect("c1", "b@1")
		if err := e.d.Retry(e.delivery("c1", 1), "", e.now); err != nil {
			t.Fatal(err)
		}
	}
	dead = e.d.Dead(10)
	if len(dead) != 1 || dead[0].Reason != ReasonAttempts || dead[0].Attempts != 5 {
		t.Fatalf("after 5 attempts: %+v", dead)
	}
	e.d.Buried(dead[0])
	e.frontier("1:2")
}

// Scenario 122: accept, release and reject go round among the messages of one
// batch, and each has its own fate.
func TestEachMessageOfABatchHasItsOwnAnswer(t *testing.T) {
	e := newDesk(t, Settings{}, "c1")
	for i := range int32(9) {
		m := segments.Message{Position: segments.Position{Ledger: 1, Entry: 0, Batch: i}, BatchSize: 9, Key: []byte{byte(i)}}
		if !e.d.Offer(m) {
			t.Fatal("full")
		}
	}
	for i, del := range e.d.Take(e.w["c1"], 100, e.now, nil) {
		var err error
		switch i % 3 {
		case 0:
			err = e.d.Ack(del)
		case 1:
			err = e.d.Retry(del, "", e.now)
		case 2:
			err = e.d.Reject(del, "")
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, dead := range e.d.Dead(100) {
		e.d.Buried(dead)
	}
	e.frontier("1:0:8 1:0:1/1 1:0:4/1 1:0:7/1")
}

func TestAckThroughFinishesWhatTheWorkerHas(t *testing.T) {
	e := newDesk(t, Settings{}, "c1", "c2")
	low, high := keysOf(Slots{1, 1 << 15}, 1)[0], keysOf(Slots{1<<15 + 1, 1<<16 - 1}, 1)[0]
	e.offer(high, low, high, high)
	e.expect("c1", fmt.Sprintf("%s@0 %s@2 %s@3", high, high, high))
	e.expect("c2", low+"@1")
	if n := e.d.AckThrough(e.w["c1"], segments.At(1, 2)); n != 2 {
		t.Errorf("finished %d, want 2", n)
	}
	e.frontier("1:3 1:1/0 1:3/0")
}

func TestTheWindowIsBounded(t *testing.T) {
	e := newDesk(t, Settings{LookAhead: 3, LookAheadBytes: 1000}, "c1")
	e.offer("a", "b", "c")
	if e.d.Offer(segments.Message{Position: segments.At(2, 0)}) {
		t.Error("a fourth of three was taken")
	}
	e.expect("c1", "a@0 b@1 c@2")
	e.ack("c1", 1) // behind the first: there is room all the same
	big := segments.Message{Position: segments.At(2, 0), Value: make([]byte, 5000)}
	if e.d.Offer(big) {
		t.Error("too many bytes were taken")
	}
	e.ack("c1", 0, 2)
	if !e.d.Offer(big) {
		t.Error("a message of more than all bytes has to come alone")
	}
}

// A group that goes on passes over what is finished, keeps attempts, and does
// not wait for messages that the topic no longer has.
func TestAGroupGoesOnFromItsFrontier(t *testing.T) {
	e := newDesk(t, Settings{BackoffFirst: 1, BackoffMost: 1}, "c1")
	e.offer("a", "b", "c", "d", "e")
	e.expect("c1", "a@0 b@1 c@2 d@3 e@4")
	e.ack("c1", 0, 2, 4)
	if err := e.d.Retry(e.delivery("c1", 3), "", e.now); err != nil {
		t.Fatal(err)
	}
	e.frontier("1:4 1:1/0 1:3/1")
	f := e.d.Frontier()

	e = newDesk(t, Settings{}, "c1")
	e.d = NewDispatcher(Settings{}, f)
	e.join("c1")
	e.at = 2 // 1 was compacted away
	e.offer("c")
	e.frontier("1:4 1:3/1")
	e.offer("d", "e", "f")
	e.expect("c1", "d@3 f@5")
	if got := e.has["c1"]["1:3"].Attempt; got != 2 {
		t.Errorf("attempt %d, want 2", got)
	}
	e.frontier("1:5 1:3/1 1:5/0")
	if s := e.d.Stats(); s.Absent != 1 || s.Passed != 2 {
		t.Errorf("%d absent, %d passed over", s.Absent, s.Passed)
	}
}

// The first position of all is no missing frontier.
func TestAFrontierMayBeAtTheFirstPosition(t *testing.T) {
	d := NewDispatcher(Settings{}, Frontier{Through: segments.Some(segments.Position{})})
	if d.Offer(segments.Message{}); d.held != 0 {
		t.Error("0:0:0 was finished, and came again")
	}
}

func TestOutOfOrderNothingWaits(t *testing.T) {
	e := newDesk(t, Settings{AllowOutOfOrder: true}, "c1")
	low := keysOf(Slots{1, 1 << 15}, 1)[0]
	e.offer(low)
	e.expect("c1", low+"@0")
	e.join("c2")
	e.offer(low, low)
	e.expect("c2", low+"@1 "+low+"@2")
	if err := e.d.Retry(e.delivery("c2", 1), "", e.now); err != nil {
		t.Fatal(err)
	}
	e.ack("c2", 2)
	e.offer(low)
	e.expect("c2", low+"@3")
	e.now = e.now.Add(time.Minute)
	e.expect("c2", low+"@1")
	if len(e.d.Stats().Waiting) != 0 {
		t.Error("a slot waits")
	}
}

// Slots that nobody declared keep their messages until somebody does.
func TestUndeclaredSlotsAreHandedToNobody(t *testing.T) {
	d := NewDispatcher(Settings{Strategy: Declared}, Frontier{})
	d.Offer(segments.Message{Key: []byte("k")})
	if got := d.Stats().Unowned; got != 1 {
		t.Errorf("%d slots are nobody's, want 1", got)
	}
	w, err := d.Join("w", []Slots{{1, 65535}}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Take(w, 10, noon, nil); len(got) != 1 {
		t.Errorf("took %d", len(got))
	}
}

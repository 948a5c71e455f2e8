package keyshared

import (
	"container/heap"
	"errors"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Dispatcher decides which worker gets which message, and when. It has no
// goroutine, clock or store: the time is an argument. It belongs to one
// goroutine.
//
// A message is in one of these states until it is finished:
//
//	waiting   in the queue of its slot, in order of position
//	out       with a worker, who has not answered yet
//	recalled  out, and its answer will not count: an earlier message of its
//	          slot failed, so this one is to be handled again, after it
//	dead      out of attempts or rejected; finished when its letter is written
//
// The first waiting message of a slot goes to the owner of the slot if nothing
// of the slot is out with somebody else, recalled, or dead. So what is out of a
// slot is always with one worker, and lies before all that is waiting. With
// AllowOutOfOrder it goes to the owner, whatever else is out.
type Dispatcher struct {
	settings Settings
	division division
	owners   table
	queues   [slots]queue
	workers  []*Worker

	// What is not finished, in order of position.
	first, last *item
	held        int
	bytes       int64

	through segments.Position // all through it was offered
	resumed []Unfinished      // of it: unfinished in an earlier life, not offered again yet

	asleep alarms  // failed, and waiting for their time
	dead   []*item // waiting to be buried
	woken  []*Worker
	counts Counts
	left   map[string]int64 // messages that workers had finished before they left
}

// Worker is a worker that has joined. It is the Dispatcher's, not to be shared
// with another.
type Worker struct {
	name string

	ready  readySlots // slots to take from next; some may not be any more
	out    outList
	alone  bool // what it has is on its last attempt, and nothing comes beside it
	owned  int  // slots
	gone   bool // owns nothing any more
	counts WorkerCounts

	wake chan struct{} // of Group
}

// Name is the name that the worker joined with.
func (w *Worker) Name() string { return w.name }

// item is a message that is not finished.
type item struct {
	message  segments.Message
	seq      int64 // in order of position
	bytes    int64
	slot     Slot
	attempts int    // deliveries that count
	turn     uint32 // counts all deliveries, so that late answers are known

	worker   *Worker // who has it, if anybody
	recalled bool
	asleep   bool // until due
	due      time.Time
	reason   Reason // why it is dead
	detail   string

	before, after       *item // in the window
	next                *item // in the queue of its slot
	outBefore, outAfter *item // with its worker
}

// queue is a slot.
type queue struct {
	first    *item // waiting, in order of position
	last     *item
	out      int // with workers, those recalled too
	recalled int
	dead     int
	holder   *Worker   // who has what is out
	listed   *Worker   // who has the slot among its ready ones
	since    time.Time // when it last changed hands with messages out
}

// outList is what a worker has, in order of delivery.
type outList struct {
	first, last *item
	n           int
}

// NewDispatcher returns a dispatcher that goes on from a frontier; the zero
// Frontier begins with the first message.
func NewDispatcher(s Settings, from Frontier) *Dispatcher {
	s = s.withDefaults()
	return &Dispatcher{
		settings: s,
		division: s.Strategy.newDivision(),
		through:  from.through(),
		resumed:  from.Unfinished,
		left:     make(map[string]int64),
	}
}

// Join adds a worker. Names need not differ, but it is by name that consistent
// hashing gives the same slots again. wants is for Declared only. The error is
// ErrSlots if there are no slots to be had.
func (d *Dispatcher) Join(name string, wants []Slots, now time.Time) (*Worker, error) {
	w := &Worker{name: name, wake: make(chan struct{}, 1)}
	if err := d.division.join(w, wants); err != nil {
		return nil, err
	}
	d.workers = append(d.workers, w)
	d.divide(now)
	return w, nil
}

// Retire takes the slots of w away. What it has stays with it, and slots of
// which it has something wait until it has answered.
func (d *Dispatcher) Retire(w *Worker, now time.Time) {
	if w.gone {
		return
	}
	w.gone = true
	d.division.leave(w)
	d.divide(now)
}

// Leave removes w, which is known to do nothing any more. What it has goes to
// others, as an attempt that failed, at once. Its later answers are ErrStale.
func (d *Dispatcher) Leave(w *Worker, now time.Time) {
	d.Retire(w, now)
	for w.out.first != nil {
		it := w.out.first
		if it.recalled {
			it.attempts--
		}
		d.takeBack(it)
		if it.attempts >= d.settings.MaxAttempts {
			d.die(it, ReasonAttempts, "its worker is gone")
			continue
		}
		d.enqueue(it)
		d.list(it.slot)
	}
	for i := range d.workers {
		if d.workers[i] == w {
			d.left[w.name] += w.counts.Finished
			d.workers = append(d.workers[:i], d.workers[i+1:]...)
			return
		}
	}
}

// divide gives the slots to their owners anew.
func (d *Dispatcher) divide(now time.Time) {
	before := d.owners
	d.owners = table{}
	d.division.fill(&d.owners)
	for s := Slot(1); s != 0; s++ {
		is, was := d.owners[s], before[s]
		if is == was {
			continue
		}
		if was != nil {
			was.owned--
		}
		if is != nil {
			is.owned++
		}
		q := &d.queues[s]
		q.listed = nil
		if q.out > 0 {
			q.since = now
		}
		d.list(s)
	}
}

// Offer takes a message into the window. It reports false, and has taken
// nothing, when the window is full. Messages are offered in order of position;
// one that was offered before, in this life or an earlier one, is passed over
// unless it was left unfinished. The message is the dispatcher's from now on.
func (d *Dispatcher) Offer(m segments.Message) bool {
	it := &item{message: m, bytes: m.Bytes(), seq: d.counts.Offered}
	if d.held >= d.settings.LookAhead || d.held > 0 && d.bytes+it.bytes > d.settings.LookAheadBytes {
		return false
	}
	for len(d.resumed) > 0 && d.resumed[0].Position.Before(m.Position) {
		d.resumed = d.resumed[1:] // the topic has it no longer
		d.counts.Absent++
	}
	switch {
	case len(d.resumed) > 0 && d.resumed[0].Position == m.Position:
		it.attempts = d.resumed[0].Attempts
		d.resumed = d.resumed[1:]
	case m.Position.After(d.through):
		d.through = m.Position
	default:
		d.counts.Passed++
		return true
	}
	d.counts.Offered++
	it.slot = SlotOf(OrderOf(&m))
	if it.before = d.last; it.before != nil {
		it.before.after = it
	} else {
		d.first = it
	}
	d.last = it
	d.held++
	d.bytes += it.bytes
	d.enqueue(it)
	d.list(it.slot)
	return true
}

// Delivery is a message that is with a worker, to be answered once.
type Delivery struct {
	Message *segments.Message // valid until it is answered; not to be changed
	Slot    Slot
	Attempt int  // from 1
	Last    bool // if it fails again it is dead

	item *item
	turn uint32
}

// Take appends to into what w is to handle next, so that into has up to n. A
// message on its last attempt comes alone: w has nothing else until it has
// answered.
func (d *Dispatcher) Take(w *Worker, n int, now time.Time, into []Delivery) []Delivery {
	d.rouse(now)
	for len(into) < n && w.out.n < d.settings.PerWorker && !w.alone {
		if len(w.ready) == 0 {
			break
		}
		next := w.ready.pop()
		s, q := next.slot, &d.queues[next.slot]
		if q.listed != w || q.first.seq != next.first {
			continue // it has changed hands, or was listed anew
		}
		it := q.first
		last := it.attempts+1 >= d.settings.MaxAttempts
		if last && it.attempts > 0 {
			if w.out.n > 0 {
				w.ready.push(next)
				break
			}
			w.alone = true
		}
		q.listed = nil
		if q.first = it.next; q.first == nil {
			q.last = nil
		}
		it.next = nil
		if it.attempts >= d.settings.MaxAttempts {
			w.alone = false
			d.die(it, ReasonAttempts, "it was dead before, and not buried")
			continue
		}
		q.out++
		q.holder = w
		it.worker = w
		it.attempts++
		it.turn++
		w.out.add(it)
		d.counts.Delivered++
		d.list(s)
		into = append(into, Delivery{&it.message, s, it.attempts, last, it, it.turn})
	}
	return into
}

// Due is when the next message that failed is to be tried again; ok is false
// if there is none.
func (d *Dispatcher) Due() (at time.Time, ok bool) {
	if len(d.asleep) == 0 {
		return time.Time{}, false
	}
	return d.asleep[0].due, true
}

// Idle reports whether everything that was offered is finished.
func (d *Dispatcher) Idle() bool { return d.held == 0 }

var (
	// ErrStale says that a message was answered before, or was taken from the
	// worker. It may be handled again.
	ErrStale = errors.New("message is no longer with this worker")

	// ErrRecalled says that a message will be delivered again, because an
	// earlier one of its slot has failed and comes before it.
	ErrRecalled = errors.New("message was recalled")
)

// Ack says that a message was handled, which finishes it.
func (d *Dispatcher) Ack(del Delivery) error {
	w := del.item.worker
	if err := d.answered(del); err != nil {
		return err
	}
	w.counts.Finished++
	d.finish(del.item)
	d.list(del.Slot)
	return nil
}

// AckThrough says that all that w has through position p was handled, and
// tells of how many that was true.
func (d *Dispatcher) AckThrough(w *Worker, p segments.Position) (n int) {
	for it := w.out.first; it != nil; {
		after := it.outAfter
		if !it.message.Position.After(p) && d.Ack(Delivery{Slot: it.slot, item: it, turn: it.turn}) == nil {
			n++
		}
		it = after
	}
	return n
}

// Retry says that a message failed. It is tried again after a while, or is dead
// if that was its last attempt. detail is for the letter.
func (d *Dispatcher) Retry(del Delivery, detail string, now time.Time) error {
	w := del.item.worker
	if err := d.answered(del); err != nil {
		return err
	}
	it := del.item
	d.recall(w, it)
	if it.attempts >= d.settings.MaxAttempts {
		d.die(it, ReasonAttempts, detail)
		return nil
	}
	d.counts.Retried++
	it.asleep, it.due = true, now.Add(d.settings.backoff(it.attempts))
	heap.Push(&d.asleep, it)
	if !d.settings.AllowOutOfOrder {
		d.enqueue(it)
	}
	d.list(it.slot)
	return nil
}

// Reject says that a message can't be handled, however often it is tried.
func (d *Dispatcher) Reject(del Delivery, detail string) error {
	w := del.item.worker
	if err := d.answered(del); err != nil {
		return err
	}
	d.recall(w, del.item)
	d.die(del.item, ReasonRejected, detail)
	return nil
}

// Release gives a message back that was not tried. It is no failure, and
// another worker may have it at once. Later messages of its slot that the
// worker has must not be handled before: release them too.
func (d *Dispatcher) Release(del Delivery) error {
	w := del.item.worker
	if err := d.answered(del); err != nil {
		return err
	}
	d.recall(w, del.item)
	del.item.attempts--
	d.enqueue(del.item)
	d.list(del.Slot)
	return nil
}

// answered takes a message back from its worker. If the answer does not count
// it is ErrStale or ErrRecalled.
func (d *Dispatcher) answered(del Delivery) error {
	it := del.item
	if it.worker == nil || it.turn != del.turn {
		d.counts.Stale++
		return ErrStale
	}
	recalled := it.recalled
	d.takeBack(it)
	if !recalled {
		return nil
	}
	it.attempts--
	d.enqueue(it)
	d.list(it.slot)
	return ErrRecalled
}

func (d *Dispatcher) takeBack(it *item) {
	w, q := it.worker, &d.queues[it.slot]
	w.out.remove(it)
	if w.out.n == 0 {
		w.alone = false
	}
	it.worker = nil
	if q.out--; q.out == 0 {
		q.holder = nil
	}
	if it.recalled {
		it.recalled = false
		q.recalled--
	}
}

// recall makes the answers to later messages of it's slot not count.
func (d *Dispatcher) recall(w *Worker, it *item) {
	q := &d.queues[it.slot]
	if q.out == 0 || d.settings.AllowOutOfOrder {
		return
	}
	for later := w.out.first; later != nil; later = later.outAfter {
		if later.slot == it.slot && !later.recalled && later.message.Position.After(it.message.Position) {
			later.recalled = true
			q.recalled++
			d.counts.Recalled++
		}
	}
}

// enqueue puts a message among the waiting ones of its slot, by position. It
// is the last one, or came back and belongs near the front.
func (d *Dispatcher) enqueue(it *item) {
	q := &d.queues[it.slot]
	if q.last == nil || it.message.Position.After(q.last.message.Position) {
		if q.last == nil {
			q.first = it
		} else {
			q.last.next = it
		}
		q.last = it
		return
	}
	at := &q.first
	q.listed = nil // it may have another first message, and is listed by that
	for (*at).message.Position.Before(it.message.Position) {
		at = &(*at).next
	}
	it.next, *at = *at, it
}

// list puts a slot among the ready ones of its owner, if it has something to
// be handled now.
func (d *Dispatcher) list(s Slot) {
	q, w := &d.queues[s], d.owners[s]
	if q.first == nil || w == nil || !d.open(q, w) {
		q.listed = nil
		return
	}
	if q.listed == w {
		return
	}
	q.listed = w
	if len(w.ready) == 0 {
		d.woken = append(d.woken, w)
	}
	w.ready.push(readySlot{q.first.seq, s})
}

// open reports whether w may have the first waiting message of a slot.
func (d *Dispatcher) open(q *queue, w *Worker) bool {
	if d.settings.AllowOutOfOrder {
		return true
	}
	return !q.first.asleep && q.recalled == 0 && q.dead == 0 && (q.out == 0 || q.holder == w)
}

// rouse wakes the messages whose time has come.
func (d *Dispatcher) rouse(now time.Time) {
	for len(d.asleep) > 0 && !d.asleep[0].due.After(now) {
		it := heap.Pop(&d.asleep).(*item)
		it.asleep = false
		if d.settings.AllowOutOfOrder {
			d.enqueue(it)
		}
		d.list(it.slot)
	}
}

// finish forgets a message.
func (d *Dispatcher) finish(it *item) {
	if it.before != nil {
		it.before.after = it.after
	} else {
		d.first = it.after
	}
	if it.after != nil {
		it.after.before = it.before
	} else {
		d.last = it.before
	}
	d.held--
	d.bytes -= it.bytes
	d.counts.Finished++
}

// readySlot is a slot with something to be handled now.
type readySlot struct {
	first int64 // seq of its first waiting message when it was listed
	slot  Slot
}

// readySlots is a heap, so that a worker gets what is earliest in the topic:
// a single one gets it in order, and the frontier stays close behind. (It is
// not container/heap, which allocates for each slot.)
type readySlots []readySlot

func (r *readySlots) push(s readySlot) {
	h := append(*r, s)
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].first <= h[i].first {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
	*r = h
}

func (r *readySlots) pop() readySlot {
	h := *r
	top, n := h[0], len(h)-1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		least := 2*i + 1
		if least >= n {
			break
		}
		if right := least + 1; right < n && h[right].first < h[least].first {
			least = right
		}
		if h[i].first <= h[least].first {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*r = h
	return top
}

func (l *outList) add(it *item) {
	if it.outBefore = l.last; it.outBefore != nil {
		it.outBefore.outAfter = it
	} else {
		l.first = it
	}
	l.last = it
	l.n++
}

func (l *outList) remove(it *item) {
	if it.outBefore != nil {
		it.outBefore.outAfter = it.outAfter
	} else {
		l.first = it.outAfter
	}
	if it.outAfter != nil {
		it.outAfter.outBefore = it.outBefore
	} else {
		l.last = it.outBefore
	}
	it.outBefore, it.outAfter = nil, nil
	l.n--
}

// alarms is a heap of messages, the one that is due first on top.
type alarms []*item

func (a alarms) Len() int           { return len(a) }
func (a alarms) Less(i, j int) bool { return a[i].due.Before(a[j].due) }
func (a alarms) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *alarms) Push(x any)        { *a = append(*a, x.(*item)) }
func (a *alarms) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	return last
}

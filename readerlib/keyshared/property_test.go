package keyshared

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

var (
	seed    = flag.Uint64("keyshared.seed", 0, "replay this history alone")
	repeats = flag.Int("keyshared.histories", 6, "how many histories are tried")
)

// TestEveryHistoryKeepsTheOrderOfKeys draws histories of joins, leaves,
// crashes of workers and of the whole group, failures, rejections, cumulative
// answers, and compactions of the topic, and holds each against a plain
// account of what happened.
func TestEveryHistoryKeepsTheOrderOfKeys(t *testing.T) {
	if *seed != 0 {
		newHistory(t, *seed).run(300)
		return
	}
	for s := uint64(1); s <= uint64(*repeats) && !t.Failed(); s++ {
		newHistory(t, s).run(300)
	}
}

// history is a group under test and the truth about it.
type history struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand

	settings Settings
	d        *Dispatcher
	now      time.Time
	names    int
	workers  []*Worker
	has      map[*Worker][]Delivery

	topic    []segments.Message // what is there, in order; compactions take away
	written  int64
	next     int // of topic, to be offered
	finished map[segments.Position]bool
	gone     map[segments.Position]bool   // compacted away
	ordered  map[string]segments.Position // what was finished last of a key, in this life
	done     map[segments.Position]bool   // finished in this life
	saved    Frontier
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), now: noon,
		finished: map[segments.Position]bool{}, gone: map[segments.Position]bool{},
	}
	h.settings = Settings{
		Strategy:        Strategy(h.rng.IntN(2)),
		AllowOutOfOrder: h.rng.IntN(4) == 0,
		LookAhead:       1 + h.rng.IntN(60),
		PerWorker:       1 + h.rng.IntN(10),
		MaxAttempts:     1 + h.rng.IntN(4),
		BackoffFirst:    time.Second,
	}
	h.begin(Frontier{})
	return h
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("-keyshared.seed=%d (%+v): %s", h.seed, h.settings, fmt.Sprintf(format, args...))
}

// begin begins a life of the group.
func (h *history) begin(from Frontier) {
	h.d = NewDispatcher(h.settings, from)
	h.workers, h.has = nil, map[*Worker][]Delivery{}
	h.done, h.ordered = map[segments.Position]bool{}, map[string]segments.Position{}
	h.next = 0
	first := from.through()
	if len(from.Unfinished) > 0 {
		first = from.Unfinished[0].Position
	}
	for h.next < len(h.topic) && h.topic[h.next].Position.Before(first) {
		h.next++
	}
}

func (h *history) run(steps int) {
	for range steps {
		h.step()
		h.checkFrontier(h.d.Frontier())
	}
	h.settle()
}

func (h *history) step() {
	switch n := h.rng.IntN(100); {
	case n < 25:
		h.write()
	case n < 45:
		h.offer()
	case n < 60 && len(h.workers) > 0:
		h.take(h.workers[h.rng.IntN(len(h.workers))])
	case n < 85 && len(h.workers) > 0:
		h.answer(h.workers[h.rng.IntN(len(h.workers))])
	case n < 88:
		h.bury()
	case n < 92:
		h.join()
	case n < 94 && len(h.workers) > 1:
		w := h.pick()
		h.d.Leave(w, h.now)
		h.remove(w)
	case n < 95 && len(h.workers) > 1:
		h.d.Retire(h.pick(), h.now) // it goes on answering
	case n < 97:
		h.saved = h.d.Frontier()
	case n < 98:
		h.compact()
	case n < 99:
		h.crash()
	default:
		h.now = h.now.Add(time.Duration(h.rng.IntN(5)) * time.Second)
	}
}

func (h *history) pick() *Worker { return h.workers[h.rng.IntN(len(h.workers))] }

func (h *history) remove(w *Worker) {
	for i := range h.workers {
		if h.workers[i] == w {
			h.workers = append(h.workers[:i], h.workers[i+1:]...)
			break
		}
	}
	delete(h.has, w)
}

func (h *history) write() {
	for range 1 + h.rng.IntN(8) {
		m := segments.Message{Position: segments.At(1, h.written), Key: fmt.Appendf(nil, "k%d", h.rng.IntN(12))}
		h.topic = append(h.topic, m)
		h.written++
	}
}

func (h *history) offer() {
	for n := h.rng.IntN(20); n > 0 && h.next < len(h.topic) && h.d.Offer(h.topic[h.next]); n-- {
		h.next++
	}
}

func (h *history) join() {
	h.names++
	w, err := h.d.Join(fmt.Sprintf("w%d", h.names), nil, h.now)
	if err != nil {
		h.fail("join: %v", err)
	}
	h.workers = append(h.workers, w)
}

// take holds what a worker gets against what everybody has.
func (h *history) take(w *Worker) {
	taken := h.d.Take(w, 1+h.rng.IntN(10), h.now, nil)
	for _, del := range taken {
		at, key := del.Message.Position, string(del.Message.Key)
		if h.done[at] {
			h.fail("%s was finished and comes again", at)
		}
		if del.Attempt > h.settings.MaxAttempts {
			h.fail("%s comes for the %dth time", at, del.Attempt)
		}
		if !h.settings.AllowOutOfOrder {
			for other, list := range h.has {
				for _, has := range list {
					if string(has.Message.Key) != key {
						continue
					}
					if other != w {
						h.fail("%s of %s goes to %s while %s has %s", at, key, w.name, other.name, has.Message.Position)
					}
					if !has.Message.Position.Before(at) {
						h.fail("%s of %s goes to %s, which has %s", at, key, w.name, has.Message.Position)
					}
				}
			}
			for it := h.d.first; it != nil && it.message.Position.Before(at); it = it.after {
				if string(it.message.Key) == key && it.worker != w {
					h.fail("%s of %s is handed out while %s waits", at, key, it.message.Position)
				}
			}
		}
		if del.Attempt > 1 && del.Last && len(h.has[w]) > 0 {
			h.fail("the last attempt of %s is not alone", at)
		}
		h.has[w] = append(h.has[w], del)
	}
}

func (h *history) finish(m *segments.Message) {
	key := string(m.Key)
	if last, ok := h.ordered[key]; ok && !h.settings.AllowOutOfOrder && !last.Before(m.Position) {
		h.fail("%s of %s is finished after %s", m.Position, key, last)
	}
	h.ordered[key] = m.Position
	h.finished[m.Position], h.done[m.Position] = true, true
}

// answer answers some of what a worker has: in any order, but the messages of
// a key in theirs, as a worker does that handles them one after the other.
func (h *history) answer(w *Worker) {
	if h.rng.IntN(6) == 0 && len(h.has[w]) > 0 {
		h.ackThrough(w)
		return
	}
	for n := h.rng.IntN(4); n > 0 && len(h.has[w]) > 0; n-- {
		i := h.rng.IntN(len(h.has[w]))
		for j, other := range h.has[w] {
			if string(other.Message.Key) == string(h.has[w][i].Message.Key) && !h.settings.AllowOutOfOrder {
				i = j
				break
			}
		}
		del := h.has[w][i]
		h.has[w] = append(h.has[w][:i:i], h.has[w][i+1:]...)
		var err error
		switch verdict := h.rng.IntN(12); {
		case verdict < 8:
			message := *del.Message
			if err = h.d.Ack(del); err == nil {
				h.finish(&message)
			}
		case verdict < 10:
			err = h.d.Retry(del, "", h.now)
		case verdict == 10:
			err = h.d.Reject(del, "")
		default:
			err = h.d.Release(del)
		}
		if err != nil && !errors.Is(err, ErrRecalled) {
			h.fail("answer to %s: %v", del.Message.Position, err)
		}
	}
}

func (h *history) ackThrough(w *Worker) {
	through := h.has[w][h.rng.IntN(len(h.has[w]))].Message.Position
	var kept []Delivery
	var answered []segments.Message
	for _, del := range h.has[w] {
		if del.Message.Position.After(through) {
			kept = append(kept, del)
		} else {
			answered = append(answered, *del.Message)
		}
	}
	finished := h.d.counts.Finished
	n := h.d.AckThrough(w, through)
	if int64(n) != h.d.counts.Finished-finished {
		h.fail("finished %d, said %d", h.d.counts.Finished-finished, n)
	}
	unfinished := map[segments.Position]bool{}
	for it := h.d.first; it != nil; it = it.after {
		unfinished[it.message.Position] = true
	}
	for i := range answered {
		if !unfinished[answered[i].Position] {
			h.finish(&answered[i])
		}
	}
	h.has[w] = kept
}

func (h *history) bury() {
	all := h.d.Dead(1 + h.rng.IntN(3))
	for i, dead := range all {
		if h.rng.IntN(4) == 0 {
			h.d.Unburied(all[i:])
			return
		}
		h.finish(dead.Message)
		h.d.Buried(dead)
	}
}

// compact takes superseded messages out of the topic.
func (h *history) compact() {
	last := map[string]segments.Position{}
	for _, m := range h.topic {
		last[string(m.Key)] = m.Position
	}
	var kept []segments.Message
	next := len(h.topic)
	for i, m := range h.topic {
		if i == h.next {
			next = len(kept)
		}
		if last[string(m.Key)] == m.Position {
			kept = append(kept, m)
		} else {
			h.gone[m.Position] = true
		}
	}
	if h.next < len(h.topic) {
		h.next = next
	} else {
		h.next = len(kept)
	}
	h.topic = kept
}

// crash ends the group where it stands; another life begins at what was saved.
func (h *history) crash() { h.begin(h.saved) }

// checkFrontier: whatever was written and is through it, and not named, is
// finished, or gone.
func (h *history) checkFrontier(f Frontier) {
	named := map[segments.Position]bool{}
	last := segments.None
	for _, u := range f.Unfinished {
		if !u.Position.After(last) || u.Position.After(f.through()) {
			h.fail("frontier is out of order: %+v", f)
		}
		last = u.Position
		named[u.Position] = true
	}
	if len(f.Unfinished) > h.settings.LookAhead {
		h.fail("frontier names %d messages, look-ahead is %d", len(f.Unfinished), h.settings.LookAhead)
	}
	for n := range h.written {
		at := segments.At(1, n)
		if !at.After(f.through()) && !named[at] && !h.finished[at] && !h.gone[at] {
			h.fail("frontier is past %s, which is not finished", at)
		}
	}
}

// settle lets everything come to its end: nothing is lost, nothing hangs.
func (h *history) settle() {
	h.join() // the others may have been retired
	for range 100_000 {
		if h.next == len(h.topic) && h.d.Idle() {
			h.checkFrontier(h.d.Frontier())
			for _, m := range h.topic {
				if !h.finished[m.Position] {
					h.fail("%s is lost", m.Position)
				}
			}
			return
		}
		for h.next < len(h.topic) && h.d.Offer(h.topic[h.next]) {
			h.next++
		}
		for _, w := range h.workers {
			h.take(w)
			h.answer(w)
		}
		h.bury()
		h.now = h.now.Add(time.Minute)
	}
	h.fail("it does not come to an end: %+v", h.d.Stats())
}

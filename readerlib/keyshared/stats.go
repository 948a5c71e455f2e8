package keyshared

import "time"

// Stats tell what a group does.
type Stats struct {
	Counts
	Held     int   // messages that were offered and are not finished
	Bytes    int64 // of them
	Full     bool  // nothing more is read until some are finished
	Workers  []WorkerStats
	ByWorker map[string]int64 // messages finished by workers of each name, those that left too
	Frontier Frontier
	Waiting  []SlotWait
	Unowned  int // slots that have messages, and that no worker has declared
}

// Counts are numbers of messages since the group began.
type Counts struct {
	Offered   int64 // let into the window
	Passed    int64 // offered, and finished in an earlier life
	Absent    int64 // unfinished in an earlier life, and not in the topic any more
	Delivered int64 // times that a message was handed to a worker
	Finished  int64 // handled, or buried
	Retried   int64 // times that a message failed and was put back
	Recalled  int64 // times that a message was called back behind one that failed
	Dead      int64 // messages that died
	Stale     int64 // answers that came too late
}

// WorkerStats are about one worker.
type WorkerStats struct {
	Name  string
	Slots int // that it owns
	Out   int // messages that it has not answered
	WorkerCounts
}

// WorkerCounts are numbers of messages since the worker joined.
type WorkerCounts struct {
	Finished int64
}

// SlotWait is a slot that waits: its owner may not have its messages before the
// one who had the slot earlier has answered.
type SlotWait struct {
	Slot     Slot
	Owner    string
	Holder   string    // who has unfinished messages of it
	Out      int       // how many
	Since    time.Time // when the slot changed hands
	Messages int       // that wait
}

// Stats tell what the dispatcher does now. It looks at every slot.
func (d *Dispatcher) Stats() Stats {
	s := Stats{Counts: d.counts, Held: d.held, Bytes: d.bytes, ByWorker: make(map[string]int64), Frontier: d.Frontier()}
	s.Full = d.held >= d.settings.LookAhead || d.bytes >= d.settings.LookAheadBytes
	for name, n := range d.left {
		s.ByWorker[name] = n
	}
	for _, w := range d.workers {
		s.ByWorker[w.name] += w.counts.Finished
		s.Workers = append(s.Workers, WorkerStats{w.name, w.owned, w.out.n, w.counts})
	}
	for slot := range d.queues {
		q, owner := &d.queues[slot], d.owners[slot]
		switch {
		case q.first == nil:
		case owner == nil:
			s.Unowned++
		case q.out > 0 && q.holder != owner && !d.settings.AllowOutOfOrder:
			wait := SlotWait{Slot: Slot(slot), Owner: owner.name, Holder: q.holder.name, Out: q.out, Since: q.since}
			for it := q.first; it != nil; it = it.next {
				wait.Messages++
			}
			s.Waiting = append(s.Waiting, wait)
		}
	}
	return s
}

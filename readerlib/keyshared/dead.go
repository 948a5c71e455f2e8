package keyshared

import "github.com/ledgerfold/ledgerfold/segments"

// Reason says why a message is dead, for programs.
type Reason string

// The reasons.
const (
	ReasonAttempts Reason = "max-attempts" // it failed too often
	ReasonRejected Reason = "rejected"     // its worker said that it can't be handled
)

// Dead is a message that will not be handled any more. It is not finished
// before it is Buried: later messages of its slot wait until then, and a group
// that is cut off meets it again.
type Dead struct {
	Message  *segments.Message // valid until it is buried
	Attempts int
	Reason   Reason
	Detail   string // for people; may be empty

	item *item
}

func (d *Dispatcher) die(it *item, reason Reason, detail string) {
	it.reason, it.detail = reason, detail
	d.queues[it.slot].dead++
	d.dead = append(d.dead, it)
	d.counts.Dead++
	d.list(it.slot)
}

// Dead takes up to n messages that are to be buried, and at least one if there
// are any. They are to be buried in this order.
func (d *Dispatcher) Dead(n int) []Dead {
	n = min(max(n, 1), len(d.dead))
	var taken []Dead
	for _, it := range d.dead[:n] {
		taken = append(taken, Dead{&it.message, it.attempts, it.reason, it.detail, it})
	}
	d.dead = append([]*item(nil), d.dead[n:]...)
	return taken
}

// Buried finishes a message whose letter is durably written.
func (d *Dispatcher) Buried(dead Dead) {
	d.queues[dead.item.slot].dead--
	d.finish(dead.item)
	d.list(dead.item.slot)
}

// Unburied puts messages back that Dead gave and that are not buried, in their
// order.
func (d *Dispatcher) Unburied(dead []Dead) {
	back := make([]*item, 0, len(dead)+len(d.dead))
	for _, one := range dead {
		back = append(back, one.item)
	}
	d.dead = append(back, d.dead...)
}

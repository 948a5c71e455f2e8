package sim

import (
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// twice is what a client library or a proxy does that repeats a write whose
// answer it has not seen: the repetition is answered, and "it exists" then
// means that one's own write does. The other fates are those of package fault.
const twice fault.Fault = -1

var fateNames = map[fault.Fault]string{
	fault.Before: "fails before", fault.After: "fails after", fault.Late: "lands late",
	fault.Short: "cut short", fault.Denied: "denied", twice: "made twice",
}

// decide settles the fate of a call whose turn it is. It reports false if the
// call is not answered: its actor has fallen asleep, or was killed.
func (w *world) decide(a *actor, c *call) (answer error, ok bool) {
	if w.calm {
		return w.make(a, c, fault.None), true
	}
	n := &w.nature
	much := n.much(c)
	if w.dice.perMille(n.sleeps * much) {
		a.asleep = w.step + 1<<w.dice.IntN(10)
		w.count("sleeps")
		w.log("%s sleeps until %d", a.name, a.asleep)
		return nil, false
	}
	if w.dice.perMille(n.kills * much) {
		w.end1(a, c)
		return nil, false
	}
	if w.dice.perMille(n.stops) {
		// SIGTERM: its context ends, and it may still tidy up.
		w.count("told to stop")
		w.log("%s is told to stop", a.name)
		a.stop()
	}
	if w.dice.perMille(n.jumps) {
		a.skew = n.skew(w.dice)
		w.count("clock jumps")
		w.log("the clock of %s is %v off", a.name, a.skew)
	}
	return w.make(a, c, w.fate(c)), true
}

// end1 kills an actor in the midst of a call: it was made, or was not, or
// comes later.
func (w *world) end1(a *actor, c *call) {
	switch {
	case c.do == nil || w.dice.oneIn(2):
		w.log("%s is killed before %s %s", a.name, c.verb, c.key)
		w.count("killed before " + string(c.verb))
	case isWrite(c.verb) && w.dice.oneIn(3):
		w.log("%s is killed, and %s %s is on its way", a.name, c.verb, c.key)
		w.count("killed, " + string(c.verb) + " lands late")
		w.late = append(w.late, lateCall{string(c.verb) + " " + c.key, c.do})
	default:
		w.log("%s is killed after %s %s: %v", a.name, c.verb, c.key, c.do())
		w.count("killed after " + string(c.verb))
	}
	w.kill(a)
}

func isWrite(v fault.Verb) bool { return v == fault.Put || v == fault.Delete }

// fate draws how a call fails, if it does.
func (w *world) fate(c *call) fault.Fault {
	rate := w.nature.faults * w.nature.much(c)
	switch {
	case c.do == nil || !w.dice.perMille(rate):
		return fault.None
	case c.verb == fault.Put:
		return pick(w.dice, fault.Before, fault.After, fault.After, fault.Late, fault.Late, fault.Late, twice, fault.Denied)
	case c.verb == fault.Delete:
		return pick(w.dice, fault.Before, fault.After, fault.Late, fault.Denied)
	case c.halve != nil:
		return pick(w.dice, fault.Before, fault.Short, fault.Denied)
	}
	return pick(w.dice, fault.Before, fault.Before, fault.Denied)
}

// make makes a call under a fate, and returns what its actor is answered.
func (w *world) make(a *actor, c *call, f fault.Fault) error {
	if c.do == nil {
		w.log("%s has paused", a.name)
		return nil
	}
	answer := objstore.Failed(string(c.verb), c.key, fault.ErrInjected)
	switch f {
	case fault.None:
		answer = c.do()
	case fault.Denied:
		answer = objstore.Failed(string(c.verb), c.key, objstore.ErrDenied)
	case fault.Before:
	case fault.After:
		_ = c.do() // whatever the answer was, it is lost
	case fault.Short:
		if c.do() == nil {
			c.halve()
		}
	case fault.Late:
		w.late = append(w.late, lateCall{string(c.verb) + " " + c.key, c.do})
	case twice:
		_ = c.do()
		answer = c.do()
	}
	if f != fault.None {
		w.count(string(c.verb) + " " + fateNames[f])
	}
	w.log("%s: %s %s %s %s: %v", a.name, c.verb, c.key, c.more, fateNames[f], answer)
	return answer
}

// land lets one of the late calls take effect, or get lost for good.
func (w *world) land() {
	i := w.dice.IntN(len(w.late))
	l := w.late[i]
	w.late = append(w.late[:i:i], w.late[i+1:]...)
	if w.dice.oneIn(4) {
		w.count("never lands")
		w.log("%s is lost", l.what)
		return
	}
	w.count("lands late")
	w.log("%s lands: %v", l.what, l.do())
}

package txnfilter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ledgerfold/ledgerfold/segments"
)

// stateJSON is the form that manifests keep. It is stable: a name is never
// used for something else. Ids and sequences are text, for they have 64 bits.
//
//	{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:7"}],
//	 "coordinators":[{"id":"1","mark":"2","ended":[{"from":"5","to":"6"}]}],
//	 "aborted":[{"id":"1,6","last":"3:5"}]}
type stateJSON struct {
	Open         []openJSON        `json:"open,omitempty"`         // in order of first, then of arrival
	Coordinators []coordinatorJSON `json:"coordinators,omitempty"` // in order of id
	Aborted      []abortedJSON     `json:"aborted,omitempty"`      // in order of id; all have ended
}

type openJSON struct {
	ID     segments.TxnID    `json:"id"`
	First  segments.Position `json:"first"`  // entry of its first message
	Before segments.Position `json:"before"` // the entry before that one, or -1:-1
	Last   segments.Position `json:"last"`   // entry of its last message
}

type coordinatorJSON struct {
	ID    uint64     `json:"id,string"`
	Mark  *uint64    `json:"mark,omitempty,string"` // low-water mark; absent when none came
	Ended []interval `json:"ended,omitempty"`       // what has ended above the mark, in order, apart
}

type abortedJSON struct {
	ID   segments.TxnID    `json:"id"`
	Last segments.Position `json:"last"` // entry of its last message
}

// Encode gives the JSON form; nothing for the zero state. Equal states have
// equal forms.
func (s *State) Encode() (json.RawMessage, error) {
	var out stateJSON
	for _, t := range s.opened() {
		out.Open = append(out.Open, openJSON{ID: t.id, First: t.first, Before: t.before, Last: t.last})
	}
	for _, c := range s.coordinators {
		if c.mark.Valid || len(c.ended) > 0 {
			entry := coordinatorJSON{ID: c.id, Ended: c.ended}
			if c.mark.Valid {
				entry.Mark = &c.mark.V
			}
			out.Coordinators = append(out.Coordinators, entry)
		}
		for _, t := range c.aborted {
			out.Aborted = append(out.Aborted, abortedJSON{ID: segments.TxnID{Most: c.id, Least: t.sequence}, Last: t.last})
		}
	}
	if out.Open == nil && out.Coordinators == nil && out.Aborted == nil {
		return nil, nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode transactions: %w", err)
	}
	return b, nil
}

// Decode reads the JSON form of a state; nothing is the zero state. What no
// Encode could have written is an error: a state that is wrong shows what must
// be hidden, so better none.
func Decode(b json.RawMessage) (State, error) {
	if len(b) == 0 {
		return State{}, nil
	}
	var in stateJSON
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return State{}, fmt.Errorf("decode transactions: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return State{}, errors.New("decode transactions: something follows the state")
	}
	s, err := in.state()
	if err != nil {
		return State{}, fmt.Errorf("decode transactions: %w", err)
	}
	return s, nil
}

// state builds the state, list by list, and checks each.
func (in *stateJSON) state() (State, error) {
	var s State
	for i, entry := range in.Coordinators {
		if i > 0 && entry.ID <= in.Coordinators[i-1].ID {
			return s, fmt.Errorf("coordinator %d is out of order", entry.ID)
		}
		if entry.Mark == nil && len(entry.Ended) == 0 {
			return s, fmt.Errorf("coordinator %d has neither a mark nor ended sequences", entry.ID)
		}
		c := s.make(entry.ID)
		if entry.Mark != nil {
			c.mark = segments.Some(*entry.Mark)
		}
		for _, v := range entry.Ended {
			if !c.fits(v) {
				return s, fmt.Errorf("coordinator %d: ended sequences %d to %d are out of order", entry.ID, v.From, v.To)
			}
			c.ended = append(c.ended, v)
		}
	}
	for i, t := range in.Open {
		if s.IsOpen(t.ID) || i > 0 && !follows(t, in.Open[i-1]) {
			return s, fmt.Errorf("open transaction (%s) is out of order", t.ID)
		}
		if s.HasEnded(t.ID) {
			return s, fmt.Errorf("transaction (%s) is open and has ended", t.ID)
		}
		if !isEntry(t.First) || !isEntry(t.Last) || t.Before.Batch != -1 ||
			!t.Before.Before(t.First) || t.Last.Before(t.First) {
			return s, fmt.Errorf("open transaction (%s) lies at %s to %s after %s", t.ID, t.First, t.Last, t.Before)
		}
		if err := s.Add(t.ID, t.First, t.Before); err != nil {
			return s, err
		}
		if err := s.Add(t.ID, t.Last, t.Before); err != nil {
			return s, err
		}
	}
	for _, t := range in.Aborted {
		if !s.HasEnded(t.ID) || !isEntry(t.Last) {
			return s, fmt.Errorf("aborted transaction (%s) at %s has not ended", t.ID, t.Last)
		}
		c := s.make(t.ID.Most)
		if i, found := findAborted(c.aborted, t.ID.Least); found || i != len(c.aborted) {
			return s, fmt.Errorf("aborted transaction (%s) is out of order", t.ID)
		}
		c.aborted = append(c.aborted, aborted{sequence: t.ID.Least, last: t.Last})
	}
	return s, nil
}

// fits reports whether v can follow the intervals and the mark of c: above
// them, and not touching the interval before, with which it would be one.
func (c *coordinator) fits(v interval) bool {
	if v.From > v.To || c.mark.Valid && v.From <= c.mark.V {
		return false
	}
	if len(c.ended) == 0 {
		return true
	}
	last := c.ended[len(c.ended)-1].To
	return v.From > last && v.From-last > 1
}

// follows reports whether t can come after u in the list of open transactions.
// Those that began in one entry have the same entry before them.
func follows(t, u openJSON) bool {
	return t.First.After(u.First) || t.First == u.First && t.Before == u.Before
}

func isEntry(p segments.Position) bool { return !p.IsNone() && p.Batch == -1 }

package txnfilter_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// model is the rules of transactions written down as naively as can be: it
// remembers the fate of every transaction by itself, and every mark.
type model struct {
	fate  map[segments.TxnID]string // "open", "committed", "aborted"
	first map[segments.TxnID]segments.Position
	prior map[segments.TxnID]segments.Position
	last  map[segments.TxnID]segments.Position
	gone  map[segments.TxnID]bool // forgotten
	order []segments.TxnID        // in which they were opened
	marks map[uint64]uint64
}

func (m *model) hasEnded(id segments.TxnID) bool {
	mark, marked := m.marks[id.Most]
	fate := m.fate[id]
	return fate == "committed" || fate == "aborted" || marked && id.Least <= mark
}

func (m *model) open() []segments.TxnID {
	ids := []segments.TxnID{}
	for _, id := range m.order {
		if m.fate[id] == "open" {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestTheStateAgreesWithAModelOfMaps drives a state and the model with the
// same random messages, ends and marks, and asks both everything. Clones and
// round trips through JSON happen in between. It prints its seed when it fails.
func TestTheStateAgreesWithAModelOfMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s txnfilter.State
		m := model{map[segments.TxnID]string{}, map[segments.TxnID]segments.Position{}, map[segments.TxnID]segments.Position{},
			map[segments.TxnID]segments.Position{}, map[segments.TxnID]bool{}, nil, map[uint64]uint64{}}
		last := segments.None
		ids := rapid.Custom(func(t *rapid.T) segments.TxnID {
			return segments.TxnID{Most: rapid.Uint64Range(0, 2).Draw(t, "most"), Least: rapid.Uint64Range(0, 12).Draw(t, "least")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				at := next(t, last)
				id := ids.Draw(t, "id")
				if ended := m.hasEnded(id); (s.Add(id, at, last) != nil) != ended {
					t.Fatalf("Add(%s) was not %v", id, ended)
				} else if ended {
					return
				}
				if m.fate[id] == "" {
					m.fate[id], m.first[id], m.prior[id] = "open", at, last
					m.order = append(m.order, id)
				}
				m.last[id], last = at, at
			},
			"batch": func(t *rapid.T) {
				at, took := next(t, last), false
				for _, id := range rapid.SliceOfN(ids, 1, 4).Draw(t, "ids") {
					if s.Add(id, at, last) != nil {
						continue
					}
					if m.fate[id] == "" {
						m.fate[id], m.first[id], m.prior[id] = "open", at, last
						m.order = append(m.order, id)
					}
					m.last[id], took = at, true
				}
				if took {
					last = at
				}
			},
			"end": func(t *rapid.T) {
				id := ids.Draw(t, "id")
				outcome := txnfilter.Outcome(rapid.Bool().Draw(t, "commit"))
				var mark segments.Null[uint64]
				if rapid.IntRange(0, 3).Draw(t, "with mark") == 0 {
					mark = segments.Some(rapid.Uint64Range(0, 12).Draw(t, "mark"))
				}
				ended := m.hasEnded(id)
				if s.End(id, outcome, mark) == ended {
					t.Fatalf("End(%s) was %v", id, ended)
				}
				if ended {
					return
				}
				m.fate[id] = map[txnfilter.Outcome]string{txnfilter.Committed: "committed", txnfilter.Aborted: "aborted"}[outcome]
				if old, marked := m.marks[id.Most]; mark.Valid && (!marked || mark.V > old) {
					m.marks[id.Most] = mark.V
					for _, other := range m.open() {
						if other.Most == id.Most && other.Least <= mark.V {
							m.fate[other] = "aborted"
						}
					}
				}
			},
			"forget": func(t *rapid.T) {
				through := segments.At(rapid.Int64Range(0, 3).Draw(t, "ledger"), rapid.Int64Range(0, 9).Draw(t, "entry"))
				s.Forget(through)
				for id, fate := range m.fate {
					if at, has := m.last[id]; fate == "aborted" && has && !at.After(through) {
						m.gone[id] = true
					}
				}
			},
			"clone": func(t *rapid.T) {
				old := s
				s = old.Clone()
				// What happens to the original must not reach the clone.
				old.End(segments.TxnID{Most: 1, Least: 3}, txnfilter.Aborted, segments.Some[uint64](12))
				_ = old.Add(segments.TxnID{Most: 9, Least: 9}, next(t, last), last)
				old.Forget(segments.At(99, 0))
			},
			"": func(t *rapid.T) {
				b, err := s.Encode()
				if err != nil {
					t.Fatal(err)
				}
				back, err := txnfilter.Decode(b)
				if err != nil {
					t.Fatalf("%s: %v", b, err)
				}
				if again, err := back.Encode(); err != nil || string(again) != string(b) {
					t.Fatalf("round trip gave\n%s, %v, want\n%s", again, err, b)
				}
				for _, s := range []*txnfilter.State{&s, &back} {
					agree(t, s, &m, last)
				}
			},
		})
	})
}

// next draws a position for the next entry: mostly the one that follows.
func next(t *rapid.T, last segments.Position) segments.Position {
	switch {
	case last.IsNone():
		return segments.At(0, 0)
	case rapid.IntRange(0, 4).Draw(t, "new ledger") == 0:
		return segments.At(last.Ledger+1, 0)
	}
	return last.NextEntry()
}

func agree(t *rapid.T, s *txnfilter.State, m *model, last segments.Position) {
	open := m.open()
	if got := s.Open(); !slices.Equal(got, open) {
		t.Fatalf("open are %v, want %v", got, open)
	}
	want := last
	if len(open) > 0 {
		want = m.prior[open[0]]
	}
	if got := s.MaxRead(last); got != want {
		t.Fatalf("max read position is %s, want %s", got, want)
	}
	for most := range uint64(3) {
		for least := range uint64(13) {
			id := segments.TxnID{Most: most, Least: least}
			_, hadMessages := m.last[id]
			if got, want := s.IsAborted(id), m.fate[id] == "aborted" && hadMessages && !m.gone[id]; got != want {
				t.Fatalf("(%s) aborted is %v, want %v", id, got, want)
			}
			if got, want := s.IsOpen(id), m.fate[id] == "open"; got != want {
				t.Fatalf("(%s) open is %v, want %v", id, got, want)
			}
			if got, want := s.HasEnded(id), m.hasEnded(id); got != want {
				t.Fatalf("(%s) ended is %v, want %v", id, got, want)
			}
		}
	}
}

package keyshared

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// wireFrontier is a frontier as it is stored. Positions that follow each other
// in a ledger, or in a batch, are one run, as in 3:7..3:9.
type wireFrontier struct {
	Through    segments.Null[segments.Position] `json:"through"`
	Unfinished []string                         `json:"unfinished,omitempty"`
	Attempts   map[string]int                   `json:"attempts,omitempty"` // where there were any
}

// MarshalJSON gives the form in which frontiers are stored.
func (f Frontier) MarshalJSON() ([]byte, error) {
	w := wireFrontier{Through: f.Through}
	for i := 0; i < len(f.Unfinished); {
		first, last := f.Unfinished[i].Position, f.Unfinished[i].Position
		for ; i < len(f.Unfinished); i++ {
			u := f.Unfinished[i]
			if u.Position != first && u.Position != following(last) {
				break
			}
			last = u.Position
			if u.Attempts > 0 {
				if w.Attempts == nil {
					w.Attempts = make(map[string]int)
				}
				w.Attempts[u.Position.String()] = u.Attempts
			}
		}
		text := first.String()
		if last != first {
			text += ".." + last.String()
		}
		w.Unfinished = append(w.Unfinished, text)
	}
	return json.Marshal(w)
}

// maxUnfinished bounds what is made of the few bytes of a long run.
const maxUnfinished = 10_000_000

// UnmarshalJSON reads what MarshalJSON gives.
func (f *Frontier) UnmarshalJSON(b []byte) error {
	var w wireFrontier
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*f = Frontier{Through: w.Through}
	before := segments.None
	for _, run := range w.Unfinished {
		from, to, ok := strings.Cut(run, "..")
		if !ok {
			to = from
		}
		first, err := segments.ParsePosition(from)
		if err != nil {
			return err
		}
		last, err := segments.ParsePosition(to)
		if err != nil {
			return err
		}
		for p := first; ; p = following(p) {
			if !p.After(before) || p.After(f.through()) || p.After(last) || len(f.Unfinished) == maxUnfinished {
				return fmt.Errorf("unfinished run %q: %w", run, segments.ErrPosition)
			}
			before = p
			f.Unfinished = append(f.Unfinished, Unfinished{p, w.Attempts[p.String()]})
			if p == last {
				break
			}
		}
	}
	return nil
}

// following is the message that comes after p if there is no gap.
func following(p segments.Position) segments.Position {
	if p.Batch >= 0 {
		p.Batch++
		return p
	}
	return p.NextEntry()
}

// Saved is the frontier of a group in the store of its topic. It belongs to the
// process that resumed the group last; see manifest.Group. It belongs to one
// goroutine.
type Saved struct {
	group *manifest.Group
	from  Frontier
}

// Resume takes a group over. Whoever had it gets manifest.ErrTakenOver from its
// next Save. holder is an id of the process that nobody else has.
func Resume(ctx context.Context, t *manifest.Topic, group, holder string) (*Saved, error) {
	g, err := t.TakeGroup(ctx, group, holder)
	if err != nil {
		return nil, err
	}
	s := &Saved{group: g}
	if state := g.State(); state != nil {
		if err := json.Unmarshal(state, &s.from); err != nil {
			return nil, fmt.Errorf("frontier of group %q of topic %q: %w: %w", group, t.Name(), segments.ErrCorrupt, err)
		}
	}
	return s, nil
}

// Frontier is what the group goes on from, as it was when it was resumed.
func (s *Saved) Frontier() Frontier { return s.from }

// Save makes f durable.
func (s *Saved) Save(ctx context.Context, f Frontier) error {
	state, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.group.Save(ctx, state)
}

package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ledgerfold/ledgerfold/segments"
)

// recentCommits is how many commit ids a manifest remembers. A committer that
// slept through more versions than this, and whose slot was collected
// meanwhile, is told ErrUnknown instead of the truth.
const recentCommits = 100

// Apply makes of base the version that c's edit describes. It is pure. Its
// errors are ErrConflict and ErrFenced, which are about base; ErrTopicNotFound
// where base is the end of the topic; and ErrInvariant, which is a fault of
// the edit.
func Apply(base *Manifest, c Change) (*Manifest, error) {
	if base.Deleted {
		return nil, fmt.Errorf("topic %q: %w", base.Name, ErrTopicNotFound)
	}
	if c.Job < base.MinJob || slices.Contains(base.Fenced, c.Job) {
		return nil, fmt.Errorf("job %s: %w", c.Job, ErrFenced)
	}
	m := *base
	m.Version++
	m.Commit, m.Parent = c.Commit, base.Commit
	m.Kind, m.Job = c.Edit.kind(), c.Job
	if now := c.Now.UTC(); now.After(base.Time) {
		m.Time = now
	}
	m.Recent = append(slices.Clone(base.Recent), c.Commit)
	if drop := len(m.Recent) - recentCommits; drop > 0 {
		m.Recent = m.Recent[drop:]
	}
	m.Originals = slices.Clone(base.Originals)
	m.Compacted = slices.Clone(base.Compacted)
	m.Producers = slices.Clone(base.Producers)
	m.Sources = slices.Clone(base.Sources)
	m.Report = nil
	if err := c.Edit.apply(&m); err != nil {
		return nil, fmt.Errorf("%s topic %q: %w", c.Edit.kind(), base.Name, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s topic %q: %w", c.Edit.kind(), base.Name, err)
	}
	return &m, nil
}

func conflict(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrConflict, fmt.Sprintf(format, args...))
}

func (Append) kind() string { return "append" }

func (e Append) apply(m *Manifest) error {
	if m.Last != e.After {
		return conflict("its last entry is %s, not %s", m.Last, e.After)
	}
	if len(e.Segments) == 0 {
		return fmt.Errorf("%w: an append without segments", ErrInvariant)
	}
	if e.MaxRead.Before(m.MaxRead) {
		return fmt.Errorf("%w: max read position goes back from %s to %s", ErrInvariant, m.MaxRead, e.MaxRead)
	}
	m.Originals = append(m.Originals, e.Segments...)
	m.Last = e.Segments[len(e.Segments)-1].Range.Through
	m.MaxRead = e.MaxRead
	m.Transactions = e.Transactions
	m.Producers = slices.DeleteFunc(m.Producers, func(p Producer) bool { return p.Added < e.ProducerCutoff })
	m.Producers = mergeProducers(m.Producers, e.Producers)
	if e.Source != nil {
		i := slices.IndexFunc(m.Sources, func(s Source) bool { return s.Name == e.Source.Name })
		if i < 0 {
			m.Sources = append(m.Sources, *e.Source)
		} else {
			m.Sources[i] = *e.Source
		}
	}
	return nil
}

// mergeProducers adds changed to known, which it may reuse. What changed takes
// the place of what was known.
func mergeProducers(known, changed []Producer) []Producer {
	all := append(known, changed...)
	slices.SortStableFunc(all, compareProducers)
	merged := all[:0]
	for i, p := range all {
		if i+1 == len(all) || compareProducers(p, all[i+1]) != 0 {
			merged = append(merged, p)
		}
	}
	return merged
}

func compareProducers(a, b Producer) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return int(a.Epoch) - int(b.Epoch)
}

func (Compact) kind() string { return "compact" }

func (e Compact) apply(m *Manifest) error {
	if m.Horizon != e.From {
		return conflict("the horizon is %s, not %s", m.Horizon, e.From)
	}
	if through, frozen := m.FoldableThrough(); frozen || e.To.After(through) {
		return conflict("what it folds is quarantined after %s", through)
	}
	if e.To == e.From && len(e.Dead) == 0 && len(e.Reclaims) == 0 {
		return fmt.Errorf("%w: a compaction that changes nothing", ErrInvariant)
	}
	for _, object := range e.Inputs {
		if !slices.ContainsFunc(m.Originals, func(s Segment) bool { return s.Object == object }) {
			return conflict("original %s is gone", object)
		}
	}
	for i := range e.Outputs {
		if err := e.Outputs[i].checkAdopted(m.Originals); err != nil {
			return err
		}
	}
	for _, d := range e.Dead {
		i := slices.IndexFunc(m.Compacted, func(s Segment) bool { return s.Object == d.Object })
		if i < 0 {
			return conflict("compacted segment %s is gone", d.Object)
		}
		s := &m.Compacted[i]
		if !sameDead(s.Dead, d.Was) {
			return conflict("the dead rows of %s have changed", d.Object)
		}
		if s.Dead != nil && d.Now.Rows < s.Dead.Rows {
			return fmt.Errorf("%w: rows of %s come back", ErrInvariant, d.Object)
		}
		now := d.Now
		s.Dead, s.LiveTombstones = &now, d.LiveTombstones
	}
	for _, r := range e.Reclaims {
		if err := r.apply(m); err != nil {
			return err
		}
	}
	m.Compacted = joinEmpty(append(m.Compacted, e.Outputs...))
	m.Horizon = e.To
	report := e.Report
	m.Report = &report
	return nil
}

// checkAdopted checks that an adopted segment is one of originals, under dead
// rows.
func (s *Segment) checkAdopted(originals []Segment) error {
	if !s.Adopted {
		return nil
	}
	i := slices.IndexFunc(originals, func(o Segment) bool { return o.Object == s.Object })
	if i < 0 {
		return conflict("original %s is gone", s.Object)
	}
	if o := &originals[i]; o.Range != s.Range || o.Index != s.Index || !reflect.DeepEqual(o.Info, s.Info) {
		return fmt.Errorf("%w: %s adopts %s of %s, which is another", ErrInvariant, s.Range, o.Object, o.Range)
	}
	return nil
}

func (r Reclaim) apply(m *Manifest) error {
	if len(r.Inputs) == 0 {
		return fmt.Errorf("%w: a reclaim of nothing", ErrInvariant)
	}
	first := r.Inputs[0].Range.After
	at := slices.IndexFunc(m.Compacted, func(s Segment) bool { return s.Range.After == first })
	if at < 0 || len(m.Compacted)-at < len(r.Inputs) {
		return conflict("no compacted segment begins after %s any more", first)
	}
	inputs := m.Compacted[at : at+len(r.Inputs)]
	var was, is int64
	for i, in := range r.Inputs {
		s := &inputs[i]
		if s.Range != in.Range || s.Object != in.Object {
			return conflict("compacted segment %s of %s is gone", in.Object, in.Range)
		}
		if !sameDead(s.Dead, in.Dead) {
			return conflict("the dead rows of %s have changed", in.Object)
		}
		was += s.LiveRows()
	}
	for i := range r.Outputs {
		out := &r.Outputs[i]
		is += out.LiveRows()
		if out.Adopted {
			return fmt.Errorf("%w: %s is rewritten, and adopted", ErrInvariant, out.Range)
		}
		if out.LiveTombstones > 0 && !slices.ContainsFunc(inputs, func(s Segment) bool {
			return s.LiveTombstones > 0 && s.CompactedAt.Equal(out.CompactedAt)
		}) {
			return fmt.Errorf("%w: tombstones in %s get another age", ErrInvariant, out.Range)
		}
	}
	if is != was-r.Died {
		return fmt.Errorf("%w: after %s, %d of %d rows died and %d are left", ErrInvariant, first, r.Died, was, is)
	}
	m.Compacted = slices.Replace(m.Compacted, at, at+len(r.Inputs), r.Outputs...)
	return nil
}

// joinEmpty makes one of neighbours without objects: nothing follows nothing.
// It may reuse list.
func joinEmpty(list []Segment) []Segment {
	joined := list[:0]
	for _, s := range list {
		last := len(joined) - 1
		if last < 0 || s.Object != "" || joined[last].Object != "" {
			joined = append(joined, s)
			continue
		}
		joined[last].Range.Through = s.Range.Through
		joined[last].Info.Ledgers = joinLedgers(joined[last].Info.Ledgers, s.Info.Ledgers)
	}
	return joined
}

// joinLedgers is what a and, after it, b hold of ledgers. It changes neither.
func joinLedgers(a, b []segments.Ledger) []segments.Ledger {
	joined := slices.Clone(a)
	for _, l := range b {
		if n := len(joined); n > 0 && joined[n-1].Ledger == l.Ledger {
			joined[n-1].Last = l.Last
			joined[n-1].MaxPublish = max(joined[n-1].MaxPublish, l.MaxPublish)
			continue
		}
		joined = append(joined, l)
	}
	return joined
}

func sameDead(a, b *DeadRows) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (Trim) kind() string { return "trim" }

func (e Trim) apply(m *Manifest) error {
	switch {
	case !e.Through.After(m.RetainedAfter):
		return conflict("originals through %s are trimmed already", m.RetainedAfter)
	case e.Through.After(m.Horizon):
		return fmt.Errorf("%w: trim through %s, above the horizon %s", ErrInvariant, e.Through, m.Horizon)
	case e.Through.Ledger >= m.Last.Ledger:
		return fmt.Errorf("%w: trim through %s, in the last ledger", ErrInvariant, e.Through)
	}
	for i := range m.Originals {
		for _, l := range m.Originals[i].Info.Ledgers {
			if l.Ledger == e.Through.Ledger && l.Last > e.Through.Entry {
				return fmt.Errorf("%w: trim through %s, in the midst of its ledger", ErrInvariant, e.Through)
			}
		}
	}
	m.RetainedAfter = e.Through
	m.Originals = slices.DeleteFunc(m.Originals, func(s Segment) bool { return !s.Range.Through.After(e.Through) })
	return nil
}

func (Set) kind() string { return "set" }

func (e Set) apply(m *Manifest) error {
	if m.Settings != e.Was {
		return conflict("the settings have changed")
	}
	m.Settings = e.Now
	return nil
}

func (Delete) kind() string { return "delete" }

func (e Delete) apply(m *Manifest) error {
	m.Deleted = true
	return nil
}

// check holds m to what every version of every topic is. It runs on what Apply
// makes and on what is read back.
func (m *Manifest) check() error {
	broken := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvariant, fmt.Sprintf(format, args...))
	}
	for _, p := range []segments.Position{m.RetainedAfter, m.Horizon, m.MaxRead, m.Last} {
		if p != p.EntryPosition() {
			return broken("%s is no entry", p)
		}
	}
	if m.RetainedAfter.After(m.Horizon) || m.Horizon.After(m.MaxRead) || m.MaxRead.After(m.Last) {
		return broken("trimmed through %s, horizon %s, max read position %s, last position %s are out of order",
			m.RetainedAfter, m.Horizon, m.MaxRead, m.Last)
	}
	if err := checkTiles(m.Originals); err != nil {
		return broken("originals: %v", err)
	}
	if n := len(m.Originals); n > 0 {
		if m.Originals[0].Range.After.After(m.RetainedAfter) || m.Originals[n-1].Range.Through != m.Last {
			return broken("originals cover %s to %s, not %s to %s",
				m.Originals[0].Range.After, m.Originals[n-1].Range.Through, m.RetainedAfter, m.Last)
		}
	} else if !m.Last.IsNone() {
		return broken("no originals, but last position %s", m.Last)
	}
	if err := checkTiles(m.Compacted); err != nil {
		return broken("compacted: %v", err)
	}
	for i := range m.Compacted {
		if s := &m.Compacted[i]; !s.Adopted && s.Info.Counts.Commits+s.Info.Counts.Aborts > 0 {
			return broken("compacted: %s has markers, and is not adopted", s.Range)
		}
	}
	for i := range m.Originals {
		if s := &m.Originals[i]; s.Adopted {
			return broken("originals: %s is adopted", s.Range)
		}
	}
	if n := len(m.Compacted); n > 0 {
		if !m.Compacted[0].Range.After.IsNone() || m.Compacted[n-1].Range.Through != m.Horizon {
			return broken("compacted segments cover %s to %s, not the whole to the horizon %s",
				m.Compacted[0].Range.After, m.Compacted[n-1].Range.Through, m.Horizon)
		}
	} else if !m.Horizon.IsNone() {
		return broken("no compacted segments, but horizon %s", m.Horizon)
	}
	if !slices.IsSortedFunc(m.Producers, compareProducers) {
		return broken("producers are out of order")
	}
	if err := m.checkQuarantined(); err != nil {
		return broken("%v", err)
	}
	return nil
}

// checkTiles checks that each segment begins where the one before it ends, and
// that each names objects of the right sort exactly if it has rows.
func checkTiles(list []Segment) error {
	for i := range list {
		s := &list[i]
		if s.Range.IsEmpty() {
			return fmt.Errorf("%s is empty", s.Range)
		}
		if i > 0 && list[i-1].Range.Through != s.Range.After {
			return fmt.Errorf("%s does not follow %s", s.Range, list[i-1].Range)
		}
		if rows := s.Info.Counts.Rows(); rows == 0 {
			if s.Object != "" || s.Index != "" || s.Dead != nil {
				return fmt.Errorf("%s has objects but no rows", s.Range)
			}
			continue
		} else if s.Dead != nil && s.Dead.Rows > rows {
			return fmt.Errorf("%s has %d rows and %d dead ones", s.Range, rows, s.Dead.Rows)
		}
		if err := checkObject(s.Object, "d/"); err != nil {
			return err
		}
		if err := checkObject(s.Index, "x/"); err != nil {
			return err
		}
		if s.Dead != nil {
			if err := checkObject(s.Dead.Object, "b/"); err != nil {
				return err
			}
		}
	}
	return nil
}

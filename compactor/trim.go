package compactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// PlanTrim finds the originals of m that may go at now: those through the
// returned entry, if any may. Whole ledgers go, the oldest first, up to the
// first that may not: its last entry lies above the horizon, it has a row that
// was published after now less the topic's retention, or it is the last ledger
// that holds rows, which always stays, so that the topic keeps its end. So do
// ledgers from the one of needed on, the first entry that a held version needs
// for its raw view; None if no version is held.
func PlanTrim(m *manifest.Manifest, needed segments.Position, now time.Time) (through segments.Position, any bool) {
	if m.Settings.Retention == manifest.Forever {
		return segments.None, false
	}
	newest := segments.MillisOf(now.Add(-time.Duration(m.Settings.Retention)))
	ledgers := retained(m)
	for i, l := range ledgers {
		last := segments.At(l.Ledger, l.Last)
		if i == len(ledgers)-1 || last.After(m.Horizon) || l.MaxPublish > newest {
			break
		}
		if !needed.IsNone() && l.Ledger >= needed.Ledger {
			break
		}
		through, any = last, true
	}
	return through, any
}

// retained lists the ledgers that the originals of m still hold, each whole:
// several segments may hold parts of one, and one segment the end of a ledger
// that was trimmed already.
func retained(m *manifest.Manifest) []segments.Ledger {
	originals := make([]*manifest.Segment, len(m.Originals))
	for i := range m.Originals {
		originals[i] = &m.Originals[i]
	}
	return extents(originals, segments.Range{After: m.RetainedAfter, Through: m.Last})
}

// TrimState says what became of a trim.
type TrimState string

// The states of a trim.
const (
	StateTrimmed       TrimState = "trimmed"
	StateNothingToTrim TrimState = "nothing_to_do"
)

// TrimResult is what a trim did, in the form in which it is shown.
type TrimResult struct {
	Topic         string            `json:"topic"`
	State         TrimState         `json:"state"`
	Version       manifest.Version  `json:"version,string"` // that the trim made, or found
	FirstRetained segments.Position `json:"first_retained"`
	Through       segments.Position `json:"through"` // what is trimmed now, with what was before
}

// Trim drops the originals that PlanTrim finds from the next version of a
// topic. It only drops references: versions before it still name what they
// named, and deleting what no kept version names is the business of the
// collection. So a tag that is made at the same time, and missed here, still
// has its files.
func Trim(ctx context.Context, t *manifest.Topic, job Job) (TrimResult, error) {
	result, err := trim(ctx, t, job)
	if err != nil {
		return TrimResult{}, fmt.Errorf("trim %q: %w", t.Name(), err)
	}
	return result, nil
}

func trim(ctx context.Context, t *manifest.Topic, job Job) (TrimResult, error) {
	if err := job.Validate(); err != nil {
		return TrimResult{}, err
	}
	var overtaken error
	for _, commit := range job.Commits {
		m, err := t.Latest(ctx)
		if err != nil {
			return TrimResult{}, err
		}
		needed, err := neededByHeld(ctx, t, m)
		if err != nil {
			return TrimResult{}, err
		}
		through, any := PlanTrim(m, needed, job.Now)
		if !any {
			return trimmed(m, StateNothingToTrim), nil
		}
		m, err = t.Commit(ctx, manifest.Change{Commit: commit, Job: job.ID, Now: job.Now, Edit: manifest.Trim{Through: through}})
		if err == nil {
			return trimmed(m, StateTrimmed), nil
		}
		if !errors.Is(err, manifest.ErrConflict) {
			return TrimResult{}, err
		}
		overtaken = err
	}
	return TrimResult{}, fmt.Errorf("%d tries: %w", len(job.Commits), overtaken)
}

// neededByHeld is the first entry that a tagged or pinned version needs, or
// None. A version of which the originals of m hold nothing more needs nothing
// of them: it was held after they were trimmed, and has its files.
func neededByHeld(ctx context.Context, t *manifest.Topic, m *manifest.Manifest) (segments.Position, error) {
	held, err := t.Held(ctx)
	if err != nil {
		return segments.None, err
	}
	needed := segments.None
	for _, v := range held {
		h, err := t.At(ctx, v)
		if errors.Is(err, manifest.ErrVersionNotFound) {
			continue // a hold that came too late, and is being given up
		}
		if err != nil {
			return segments.None, err
		}
		if h.Last.Before(m.FirstRetained()) {
			continue
		}
		if first := h.FirstRetained(); needed.IsNone() || !first.IsNone() && first.Before(needed) {
			needed = first
		}
	}
	return needed, nil
}

func trimmed(m *manifest.Manifest, state TrimState) TrimResult {
	return TrimResult{
		Topic:         m.Name,
		State:         state,
		Version:       m.Version,
		FirstRetained: m.FirstRetained(),
		Through:       m.RetainedAfter,
	}
}

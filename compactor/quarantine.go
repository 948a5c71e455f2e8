package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrQuarantined says that a segment of a topic cannot be read, and holds its
// horizon.
var ErrQuarantined = errors.New("segment quarantined")

// errAgain ends a try of a run that came upon damage, or found it mended: what
// is quarantined is another now, so there is another plan.
var errAgain = errors.New("plan again")

// errLie ends a try that was given what is not stored. The next one may have its
// commit id, for there was no commit.
var errLie = errors.New("the store has answered wrongly")

// mostLies is how often a run believes that what it read was not what is
// stored.
const mostLies = 2

// quarantine is what a run does about segments that cannot be read. A run that
// comes upon one looks at it once more, whole. If it still is not what was
// written, the run sets it aside by an edit and goes on with what lies before
// it; if it is, the store has answered wrongly once, and the run reads anew.
//
// Each later run looks at what is quarantined again, and lifts what is whole.
// It needs nobody's leave for that: a segment never changes, and the manifest
// has the digest of its bytes, so one with the right digest is the one that was
// written, whoever has brought it back. And it asks nobody to lift what is not
// whole: that would fold a topic without knowing what is in it.
type quarantine struct {
	looked map[string]bool // at what was quarantined before, in this run
	lies   int
}

// lift looks at what is quarantined in m, unless this run has done so before,
// and lifts what is whole. Its error is errAgain if it did.
func (r *run) lift(ctx, work context.Context, m *manifest.Manifest, commit manifest.CommitID) error {
	var whole []string
	for _, q := range m.Quarantined {
		if r.looked[q.Object] {
			continue
		}
		if r.looked == nil {
			r.looked = make(map[string]bool)
		}
		r.looked[q.Object] = true
		err := inspect(work, r.topic, m.ToFold(q.Object))
		if err == nil {
			whole = append(whole, q.Object)
		} else if !isDamage(err) {
			return err
		}
	}
	if len(whole) == 0 {
		return nil
	}
	if _, err := r.topic.Commit(ctx, r.job.change(commit, manifest.Lift{Objects: whole})); err != nil {
		return err
	}
	r.tell.tell(Lifted{Objects: whole})
	return errAgain
}

// setAside sees to it that err does not come again, if it is about a segment
// of m that cannot be read: it quarantines the segment, and is errAgain; or it
// is errLie, if the segment can be read. If the
// segment is not in the way of a fold any more, because the topic was deleted,
// or others have trimmed or rewritten it and it was collected, then that is no
// damage, and the run was overtaken. All other errors are returned as they are.
func (r *run) setAside(ctx, work context.Context, m *manifest.Manifest, commit manifest.CommitID, err error) error {
	bad := m.Damaged(err)
	if bad == nil {
		return err
	}
	latest, latestErr := r.topic.Latest(work)
	if errors.Is(latestErr, manifest.ErrTopicNotFound) {
		return latestErr
	}
	if latestErr != nil {
		return err
	}
	s := latest.ToFold(bad.Object)
	if s == nil {
		return fmt.Errorf("%w: %s is gone: %w", manifest.ErrConflict, bad.Object, err)
	}
	damage := inspect(work, r.topic, s)
	switch {
	case damage == nil && r.lies == mostLies:
		return err
	case damage == nil:
		r.lies++
		return errLie
	case !isDamage(damage):
		return fmt.Errorf("%w (and then: %w)", err, damage)
	}
	edit := manifest.Quarantine{Object: s.Object, Dead: s.Dead, Cause: manifest.CauseOf(latest, damage)}
	_, commitErr := r.topic.Commit(ctx, r.job.change(commit, edit))
	switch {
	case errors.Is(commitErr, manifest.ErrConflict):
		return commitErr
	case commitErr != nil:
		return fmt.Errorf("%w (and then: quarantine it: %w)", err, commitErr)
	}
	r.tell.tell(SetAside{Object: s.Object, Cause: edit.Cause})
	if r.looked == nil {
		r.looked = make(map[string]bool)
	}
	r.looked[s.Object] = true
	return fmt.Errorf("%w: %w", errAgain, err)
}

// isDamage tells what is wrong with an object from what is wrong with the
// store.
func isDamage(err error) bool {
	return errors.Is(err, segments.ErrCorrupt) || errors.Is(err, manifest.ErrMissing) || errors.Is(err, manifest.ErrInvariant)
}

// LiftResult is what became of a Lift, in the form in which it is shown.
type LiftResult struct {
	Topic   string                 `json:"topic"`
	Version manifest.Version       `json:"version,string"`
	Lifted  []string               `json:"lifted"`
	Left    []manifest.Quarantined `json:"quarantined"`
}

// Lift looks at quarantined segments of a topic, and lifts those that are what
// was written. It leaves those that are not, and then its error is
// ErrQuarantined, beside a result; one that is not quarantined is left out.
func Lift(ctx context.Context, t *manifest.Topic, observer Observer, job Job, objects []string) (LiftResult, error) {
	if err := job.Validate(); err != nil {
		return LiftResult{}, err
	}
	var overtaken error
	for _, commit := range job.Commits {
		m, err := t.Latest(ctx)
		if err != nil {
			return LiftResult{}, err
		}
		named := set(objects)
		r := run{topic: t, job: job, tell: &teller{observer: observer}}
		r.looked = make(map[string]bool)
		for _, q := range m.Quarantined {
			r.looked[q.Object] = !named[q.Object] // leave it alone
		}
		err = r.lift(ctx, ctx, m, commit)
		if errors.Is(err, manifest.ErrConflict) {
			overtaken = err
			continue
		}
		if err != nil && !errors.Is(err, errAgain) {
			return LiftResult{}, fmt.Errorf("lift %q: %w", t.Name(), err)
		}
		return lifted(ctx, t, m, named)
	}
	return LiftResult{}, fmt.Errorf("lift %q: %d tries: %w", t.Name(), len(job.Commits), overtaken)
}

// lifted is the result of a lift that began with m.
func lifted(ctx context.Context, t *manifest.Topic, m *manifest.Manifest, named map[string]bool) (LiftResult, error) {
	now, err := t.Latest(ctx)
	if err != nil {
		return LiftResult{}, err
	}
	result := LiftResult{Topic: now.Name, Version: now.Version, Lifted: []string{}, Left: append([]manifest.Quarantined{}, now.Quarantined...)}
	left := make(map[string]bool)
	for _, q := range now.Quarantined {
		left[q.Object] = true
		if named[q.Object] {
			err = errors.Join(err, fmt.Errorf("%w: %s", ErrQuarantined, q.Cause))
		}
	}
	for _, q := range m.Quarantined {
		if named[q.Object] && !left[q.Object] {
			result.Lifted = append(result.Lifted, q.Object)
		}
	}
	return result, err
}

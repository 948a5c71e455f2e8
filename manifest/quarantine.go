package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Quarantined is a segment that a compaction could not read: one of its objects
// is missing, or has other bytes than were written. It stays in its tier, and
// readers go on to meet it; but no compaction folds it, nor anything after it,
// until it is lifted:
//
//	an original    holds the horizon before its first entry
//	a compacted    holds the horizon where it is: any key may be in there, so
//	               nobody can say who wins
//
// Without that an older value would be left to win where the newer one cannot
// be read.
type Quarantined struct {
	Object string         `json:"object"` // of the segment, whichever of its objects it is about
	Range  segments.Range `json:"range"`  // that the segment covers
	Cause  string         `json:"cause"`
	Since  time.Time      `json:"since"` // of the version that says so first
}

// MissingError is an ErrMissing that knows which object is not there.
type MissingError struct {
	Object string // key in the store
	Err    error  // the store's
}

func (e *MissingError) Error() string { return fmt.Sprintf("%v: %v", ErrMissing, e.Err) }
func (e *MissingError) Unwrap() []error {
	return []error{ErrMissing, e.Err}
}

// Damaged finds the segment of m that err is about, if err says that an object
// of a segment is missing or corrupt. Nil means that it is about something
// else.
func (m *Manifest) Damaged(err error) *Segment {
	var object string
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		object = missing.Object
	} else if corrupt := (*segments.CorruptError)(nil); errors.As(err, &corrupt) {
		object = corrupt.Object
	}
	object, ok := strings.CutPrefix(object, string(m.Topic)+"/")
	if !ok {
		return nil
	}
	for _, list := range [][]Segment{m.Compacted, m.Originals} {
		for i := range list {
			s := &list[i]
			if object == s.Object || object == s.Index || s.Dead != nil && object == s.Dead.Object {
				return s
			}
		}
	}
	return nil
}

// maxCause bounds what a manifest keeps of an error.
const maxCause = 300

// CauseOf is what m keeps of an error about one of its segments: what is wrong
// with which object, and no word of the store's own, which could tell where
// the store is.
func CauseOf(m *Manifest, err error) string {
	cause := err.Error()
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		cause = missing.Object + " is missing"
	} else if corrupt := (*segments.CorruptError)(nil); errors.As(err, &corrupt) {
		cause = corrupt.Error()
		switch {
		case errors.Is(corrupt, objstore.ErrRange):
			cause = corrupt.Object + " is too short"
		case errors.Is(corrupt, objstore.ErrTooLarge):
			cause = corrupt.Object + " is too long"
		}
	}
	cause = strings.ReplaceAll(cause, string(m.Topic)+"/", "")
	return strings.ToValidUTF8(cause[:min(len(cause), maxCause)], "")
}

// FoldableThrough is the entry through which the topic may be folded for all
// that is quarantined: the last one if nothing is. Frozen says that no older
// row may be touched either.
func (m *Manifest) FoldableThrough() (through segments.Position, frozen bool) {
	through = m.Last
	for _, q := range m.Quarantined {
		if indexOf(m.Compacted, q.Object) >= 0 {
			return m.Horizon, true
		}
		if q.Range.After.Before(through) {
			through = q.Range.After
		}
	}
	if through.Before(m.Horizon) {
		through = m.Horizon // a run before has folded a part of it
	}
	return through, false
}

func indexOf(list []Segment, object string) int {
	return slices.IndexFunc(list, func(s Segment) bool { return s.Object == object })
}

// Quarantine sets a segment aside that a compaction needs and could not read.
// It conflicts if the segment is gone or folded, has other dead rows, or is
// quarantined already.
type Quarantine struct {
	Object string    // of the segment
	Dead   *DeadRows // that it had when it was looked at
	Cause  string
}

func (Quarantine) kind() string { return "quarantine" }

func (e Quarantine) apply(m *Manifest) error {
	s := m.ToFold(e.Object)
	if s == nil {
		return conflict("segment %s is not to be folded any more", e.Object)
	}
	if !sameDead(s.Dead, e.Dead) {
		return conflict("the dead rows of %s have changed", e.Object)
	}
	if slices.ContainsFunc(m.Quarantined, func(q Quarantined) bool { return q.Object == e.Object }) {
		return conflict("segment %s is quarantined already", e.Object)
	}
	q := Quarantined{Object: e.Object, Range: s.Range, Cause: e.Cause, Since: m.Time}
	m.Quarantined = append(slices.Clone(m.Quarantined), q)
	return nil
}

// ToFold is the segment with an object, if a compaction may yet have need of
// it: a compacted one, or an original that reaches above the horizon.
func (m *Manifest) ToFold(object string) *Segment {
	if i := indexOf(m.Compacted, object); i >= 0 {
		return &m.Compacted[i]
	}
	if i := indexOf(m.Originals, object); i >= 0 && m.Originals[i].Range.Through.After(m.Horizon) {
		return &m.Originals[i]
	}
	return nil
}

// Lift ends the quarantine of segments that were looked at, and are what was
// written. It conflicts if one of them is not quarantined any more.
type Lift struct {
	Objects []string
}

func (Lift) kind() string { return "lift" }

func (e Lift) apply(m *Manifest) error {
	m.Quarantined = slices.Clone(m.Quarantined)
	for _, object := range e.Objects {
		i := slices.IndexFunc(m.Quarantined, func(q Quarantined) bool { return q.Object == object })
		if i < 0 {
			return conflict("segment %s is not quarantined any more", object)
		}
		m.Quarantined = slices.Delete(m.Quarantined, i, i+1)
	}
	return nil
}

// checkQuarantined checks that what is quarantined is to be folded, and so
// that no compaction has gone past it.
func (m *Manifest) checkQuarantined() error {
	for i, q := range m.Quarantined {
		s := m.ToFold(q.Object)
		switch {
		case s == nil:
			return fmt.Errorf("%s is quarantined, and not to be folded", q.Object)
		case s.Range != q.Range:
			return fmt.Errorf("%s is quarantined as %s, and covers %s", q.Object, q.Range, s.Range)
		case slices.ContainsFunc(m.Quarantined[:i], func(other Quarantined) bool { return other.Object == q.Object }):
			return fmt.Errorf("%s is quarantined twice", q.Object)
		}
	}
	return nil
}

package compactor

import (
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// State says what became of a run.
type State string

// The states of a run.
const (
	// StateCompacted: the horizon or the live rows have changed.
	StateCompacted State = "compacted"
	// StateAlreadyCompacted: the horizon was the last position, and nothing
	// has died.
	StateAlreadyCompacted State = "already_compacted"
	// StateNothingToDo: the topic is empty, or an open transaction or the lag
	// holds the horizon where it was.
	StateNothingToDo State = "nothing_to_do"
	// StateQuarantined: a segment that cannot be read holds the horizon. What
	// lies before it was folded.
	StateQuarantined State = "quarantined"
)

// Result is what a run did, in the form in which it is shown.
type Result struct {
	Topic   string            `json:"topic"`
	State   State             `json:"state"`
	Version manifest.Version  `json:"version,string"` // that the run made, or found
	Horizon segments.Position `json:"horizon"`
	manifest.Report

	Adopted Adopted `json:"adopted"`
	Resumed bool    `json:"resumed,omitempty"` // it went on with what a job that has not committed had done
	Stop    Stop    `json:"stop"`              // why the horizon is not further
	Left    *Left   `json:"left,omitempty"`    // if its time was up

	Quarantined []manifest.Quarantined `json:"quarantined,omitempty"` // what holds the horizon

	Estimate Estimate `json:"estimate"`
	Wrote    Wrote    `json:"wrote"` // beside the commit
	Tries    int      `json:"tries"` // the last of which came to this
}

// found makes r the result of a run that found nothing to do in m.
func (r *Result) found(m *manifest.Manifest) {
	r.at(m, StateNothingToDo)
	if r.State == StateNothingToDo && m.Horizon == m.Last && !m.Last.IsNone() {
		r.State = StateAlreadyCompacted
	}
}

// made makes r the result of a run that has made m.
func (r *Result) made(m *manifest.Manifest) { r.at(m, StateCompacted) }

// at makes r a result in m: in a state, unless something is quarantined.
func (r *Result) at(m *manifest.Manifest, state State) {
	if len(m.Quarantined) > 0 {
		state = StateQuarantined
	}
	r.State, r.Version, r.Horizon, r.Quarantined = state, m.Version, m.Horizon, m.Quarantined
}

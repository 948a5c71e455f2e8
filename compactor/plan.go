package compactor

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Plan is what one run is to do to one version of a topic. Its tasks are
// values that say all there is to know beside the version itself, so they can
// be kept as JSON, done by whoever has them, and done twice.
type Plan struct {
	Topic   manifest.TopicID `json:"topic"`
	Version manifest.Version `json:"version,string"` // planned from
	Now     time.Time        `json:"now"`

	// The horizon moves From, To; Stop says why no further.
	From segments.Position `json:"from"`
	To   segments.Position `json:"to"`
	Stop Stop              `json:"stop"`

	Inputs []string `json:"inputs"` // objects of the originals that hold a part of (From, To]
	Expire []string `json:"expire"` // objects of the older segments whose tombstones have been kept long enough

	// Reclaim is what compacted segments cover that are rewritten for what is
	// dead of them already. What dies in the run itself may change it, so it
	// is picked anew when that is known (see reclaimable).
	Reclaim []segments.Range `json:"reclaim"`

	Tasks    []Task   `json:"tasks"`
	Estimate Estimate `json:"estimate"`
}

// IsEmpty reports whether there is nothing to do.
func (p *Plan) IsEmpty() bool { return p.From == p.To && len(p.Expire) == 0 }

// Range is what the plan folds.
func (p *Plan) Range() segments.Range { return segments.Range{After: p.From, Through: p.To} }

// TaskKind is what a task does.
type TaskKind string

// The kinds of tasks. All resolve tasks come before all write tasks, which
// need what they found.
const (
	TaskResolve TaskKind = "resolve"
	TaskWrite   TaskKind = "write"
)

// Task is one piece of a plan. A resolve task merges a range of digests of all
// key indexes. A write task takes neighbouring originals, whose part of the
// plan's range is Range.
type Task struct {
	Kind    TaskKind             `json:"kind"`
	Digests segments.DigestRange `json:"digests,omitzero"`
	Range   segments.Range       `json:"range,omitzero"`
	Inputs  []string             `json:"inputs,omitempty"`
}

// PlanRun makes the plan that moves the horizon of m to the cut that Survey
// found. It reads nothing else: no store, no clock, no chance.
func PlanRun(m *manifest.Manifest, cut Cut, now time.Time, policy Policy) Plan {
	p := Plan{
		Topic:   m.Topic,
		Version: m.Version,
		Now:     now,
		From:    m.Horizon,
		To:      cut.Through,
		Stop:    cut.Stop,
		Inputs:  []string{},
		Expire:  []string{},
		Reclaim: []segments.Range{},
		Tasks:   []Task{},
	}
	if p.To.Before(p.From) {
		p.To = p.From // a horizon never moves back
	}
	_, frozen := m.FoldableThrough()
	for i := range m.Compacted {
		if s := &m.Compacted[i]; !frozen && s.LiveTombstones > 0 && m.Settings.TombstoneRetention.Passed(s.CompactedAt, now) {
			p.Expire = append(p.Expire, s.Object)
		}
	}
	dirty := overlapping(m.Originals, p.Range())
	for _, s := range dirty {
		p.Inputs = append(p.Inputs, s.Object)
	}
	if len(dirty) > 0 {
		p.Tasks = append(p.Tasks, resolveTasks(dirty, live(m.Compacted), policy.RangeBytes)...)
		p.Tasks = append(p.Tasks, writeTasks(dirty, p.Range(), m.Settings.SegmentBytes)...)
	}
	p.Estimate = estimate(m, &p, dirty, policy)
	if !p.IsEmpty() {
		list := stretches(m.Compacted, nil)
		for _, s := range reclaimable(list, m.Settings.MaxDeadShare, m.Settings.SegmentBytes) {
			p.Reclaim = append(p.Reclaim, shapeOf(m.Compacted[s.from:s.to], list[s.from:s.to], m.Settings.SegmentBytes).covers)
			p.Estimate.addReclaim(m.Compacted[s.from:s.to], list[s.from:s.to], m.Settings, policy)
		}
	}
	return p
}

// live lists the segments that the compacted view still shows a row of.
func live(list []manifest.Segment) []*manifest.Segment {
	var found []*manifest.Segment
	for i := range list {
		if list[i].LiveRows() > 0 {
			found = append(found, &list[i])
		}
	}
	return found
}

// maxRanges bounds the resolve tasks of one plan. Each reads a page more of
// each segment than it needs, so very many would read mostly that.
const maxRanges = 1024

// resolveTasks cuts the digests into even ranges. Digests are spread evenly
// whatever the keys are, so ranges of the same width are the same work.
func resolveTasks(dirty, older []*manifest.Segment, rangeBytes int64) []Task {
	var index int64
	for _, s := range dirty {
		index += s.Info.Index.Bytes
	}
	for _, s := range older {
		index += s.Info.Index.Bytes
	}
	n := uint64(min(max(ceil(index, rangeBytes), 1), maxRanges))
	tasks := make([]Task, n)
	for i := range n {
		tasks[i] = Task{Kind: TaskResolve, Digests: nthRange(i, n)}
	}
	return tasks
}

// nthRange is range i of n that together are all digests.
func nthRange(i, n uint64) segments.DigestRange {
	r := segments.DigestRange{From: segments.Digest{}, Through: segments.Digest{}}
	for b := range r.Through {
		r.Through[b] = math.MaxUint8
	}
	if i > 0 {
		from, _ := bits.Div64(i, 0, n) // i/n of 2^64
		binary.BigEndian.PutUint64(r.From[:], from)
	}
	if i < n-1 {
		next, _ := bits.Div64(i+1, 0, n)
		binary.BigEndian.PutUint64(r.Through[:], next-1)
	}
	return r
}

// writeTasks cuts the dirty originals into runs of about a segment each. An
// original is never cut: it is read once.
func writeTasks(dirty []*manifest.Segment, r segments.Range, segmentBytes int64) []Task {
	var tasks []Task
	var bytes int64
	for _, s := range dirty {
		part := s.Range.Clip(r)
		if len(tasks) == 0 || bytes+s.Info.Bytes > segmentBytes {
			tasks = append(tasks, Task{Kind: TaskWrite, Range: part})
			bytes = 0
		}
		task := &tasks[len(tasks)-1]
		task.Range.Through = part.Through
		task.Inputs = append(task.Inputs, s.Object)
		bytes += s.Info.Bytes
	}
	return tasks
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

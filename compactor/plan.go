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

	// ShareBytes is the least that a write task writes, but for rounding: the
	// first of them take all there is, and the others nothing.
	ShareBytes int64 `json:"share_bytes"`

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
// key indexes. A write task takes one of the even shares of what is left of the
// originals (see shares); which that is, the resolve tasks must find first.
type Task struct {
	Kind    TaskKind             `json:"kind"`
	Digests segments.DigestRange `json:"digests,omitzero"`
	Share   int                  `json:"share,omitempty"`
}

// of counts the tasks of a kind.
func (p *Plan) of(kind TaskKind) int {
	n := 0
	for _, t := range p.Tasks {
		if t.Kind == kind {
			n++
		}
	}
	return n
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
		p.Tasks = append(p.Tasks, resolveTasks(dirty, live(m.Compacted), policy)...)
		p.Tasks = append(p.Tasks, writeTasks(dirty, policy)...)
		if policy.Tasks == 0 {
			p.ShareBytes = policy.ShareBytes
		}
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

// maxTasks bounds the tasks of each kind. A resolve task reads a page more of
// each segment than it needs, so very many would read mostly that.
const maxTasks = 1024

// resolveTasks cuts the digests into even ranges. Digests are spread evenly
// whatever the keys are, so ranges of the same width are the same work.
func resolveTasks(dirty, older []*manifest.Segment, policy Policy) []Task {
	var index int64
	for _, s := range dirty {
		index += s.Info.Index.Bytes
	}
	for _, s := range older {
		index += s.Info.Index.Bytes
	}
	n := uint64(min(max(ceil(index, policy.RangeBytes), int64(policy.Tasks), 1), maxTasks))
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

// writeTasks are as many as the policy asks for, or as the originals would fill
// shares if all of them were left.
func writeTasks(dirty []*manifest.Segment, policy Policy) []Task {
	n := int64(max(policy.Tasks, 1))
	if policy.Tasks == 0 && policy.ShareBytes > 0 {
		var bytes int64
		for _, s := range dirty {
			bytes += s.Info.Bytes
		}
		n = max(n, bytes/policy.ShareBytes)
	}
	tasks := make([]Task, min(n, maxTasks))
	for i := range tasks {
		tasks[i] = Task{Kind: TaskWrite, Share: i}
	}
	return tasks
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

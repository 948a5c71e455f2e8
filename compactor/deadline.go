package compactor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Deadline is how long a run may take. There is no clock in this package, so
// whoever has one says how much time is left, and when it is up.
//
// A run with a deadline folds in slices, each with a commit of its own. Of the
// time that is left, a slice gets half, by the pace of the slice before; so
// there are few of them, and each that is committed stays, whatever comes
// after. When the time is up, the slice that is under way is dropped, and the
// run ends well and says what it has left. The next one goes on from there, and
// so does one after a run that was killed.
//
//	time    |-------- 1 --------|---- 2 ----|-- 3 --|- 4 -|...| up
//	commit                      x           x       x     x
//
// A commit that is under way when the time is up is waited for, and what was
// dropped is deleted, so whoever says that it is up leaves some seconds.
type Deadline struct {
	Left func() time.Duration // may be negative
	Up   <-chan struct{}      // closed when the time is up
}

// Left is what a run has left for the next one, because its time was up.
type Left struct {
	Through  segments.Position `json:"through"` // the horizon would have moved so far
	Segments int64             `json:"segments"`
	Rows     int64             `json:"rows"` // of these originals, at most
	Bytes    int64             `json:"bytes"`
}

// errTimeUp is why the work of a run ends when its time is up.
var errTimeUp = errors.New("time is up")

// context ends with ctx, and when the time is up.
func (d *Deadline) context(ctx context.Context) (context.Context, func()) {
	work, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-d.Up:
			cancel(errTimeUp)
		case <-work.Done():
		}
	}()
	return work, func() {
		cancel(nil)
		<-watched
	}
}

// assumedPace is taken for the first slice: bytes of work in a second, rather
// slow. A wrong guess costs a commit more, or a slice that is dropped.
const assumedPace = 16 << 20

// bounds keep a slice small enough for the time that is left.
type bounds struct {
	goal  *segments.Position // where the first slice would have gone; nil before
	spend int64              // bytes of work that the slice may take
	known bool               // and the pace of one before says that all the time is enough for twice that

	work  int64 // that it takes
	whole bool  // it goes to the goal
}

// slices runs until all is done that the first slice could see, or the time is
// up.
func (r *run) slices(ctx context.Context) (Result, error) {
	work, stop := r.job.Deadline.context(ctx)
	defer stop()
	var total Result
	var overtaken error
	var b bounds
	pace := float64(assumedPace)
	for i, commit := range r.job.Commits {
		left := r.job.Deadline.Left()
		if work.Err() != nil || left <= 0 {
			break
		}
		b.spend = int64(min(pace*left.Seconds()/2, math.MaxInt64/4))
		result, err := r.try(ctx, work, commit, &b)
		total.Tries = i + 1
		switch {
		case err == nil:
			total.add(result)
			if b.whole {
				return total, nil
			}
			if took := left - r.job.Deadline.Left(); took > 0 {
				pace, b.known = float64(b.work)/took.Seconds(), true
			}
			overtaken = nil
		case errors.Is(err, manifest.ErrConflict):
			overtaken = err
			r.tell.tell(Overtaken{Try: i + 1, Err: err})
		case errors.Is(err, errAgain):
			overtaken = nil
		case errors.Is(err, errTimeUp):
			return r.outOfTime(ctx, total, b.goal)
		case context.Cause(work) == errTimeUp && errors.Is(err, context.Canceled) && !errors.Is(err, manifest.ErrUnknown):
			// What was under way is discarded.
		default:
			return Result{}, err
		}
	}
	if overtaken != nil && total.State == "" && work.Err() == nil && r.job.Deadline.Left() > 0 {
		return Result{}, fmt.Errorf("%d tries: %w", len(r.job.Commits), overtaken)
	}
	return r.outOfTime(ctx, total, b.goal)
}

// outOfTime is what is told of a run that has not come to its goal.
func (r *run) outOfTime(ctx context.Context, total Result, goal *segments.Position) (Result, error) {
	m, err := r.topic.Latest(ctx)
	if err != nil {
		return Result{}, err
	}
	if total.State == "" {
		total.Topic = m.Name
		total.found(m)
	} else {
		total.at(m, total.State)
	}
	total.Stop = StopDeadline
	through := m.MaxRead
	if goal != nil {
		through = *goal
	}
	total.Left = leftOf(m, through)
	r.tell.tell(OutOfTime{Left: *total.Left})
	return total, nil
}

// leftOf adds up the originals between the horizon and through.
func leftOf(m *manifest.Manifest, through segments.Position) *Left {
	left := &Left{Through: through}
	for _, s := range overlapping(m.Originals, segments.Range{After: m.Horizon, Through: through}) {
		left.Segments++
		left.Rows += s.Info.Counts.Rows()
		left.Bytes += s.Info.Bytes
	}
	return left
}

// slice shortens the cut of m to what b lets the slice spend, but not to less
// than one original: so there is always something to do, and something to
// measure the pace by.
func (b *bounds) slice(m *manifest.Manifest, cut Cut) Cut {
	if b.goal == nil {
		goal := cut.Through
		b.goal = &goal
	}
	if b.goal.Before(cut.Through) {
		cut.Through = *b.goal // what came later is left alone
	}
	b.work, b.whole = 0, true
	for _, s := range live(m.Compacted) {
		b.work += s.Info.Index.Bytes
	}
	last := segments.None
	for _, s := range overlapping(m.Originals, segments.Range{After: m.Horizon, Through: cut.Through}) {
		work := workOf(s)
		if !last.IsNone() && b.work+work > b.spend {
			b.whole = false
			return Cut{Through: last, Stop: StopDeadline}
		}
		b.work += work
		last = s.Range.Through
	}
	return cut
}

// isTooMuch reports whether the slice cannot be done in the time that is left,
// as far as anybody knows.
func (b *bounds) isTooMuch() bool { return b.known && b.work/2 > b.spend }

// workOf is what an original takes: it is read, and written at most.
func workOf(s *manifest.Segment) int64 { return s.Info.Index.Bytes + 2*s.Info.Bytes }

// add joins the result of the next slice to r.
func (r *Result) add(next Result) {
	if r.State == "" {
		tries := r.Tries
		*r = next
		r.Tries = tries
		return
	}
	r.Version, r.Horizon, r.Stop, r.Wrote = next.Version, next.Horizon, next.Stop, next.Wrote
	r.Resumed = r.Resumed || next.Resumed
	if next.State == StateCompacted || next.State == StateQuarantined {
		r.State, r.Quarantined = next.State, next.Quarantined
	}
	r.Estimate.add(next.Estimate)
	r.Adopted.add(next.Adopted)
	a, b := &r.Rows, next.Rows
	a.In += b.In
	a.Kept += b.Kept
	a.Superseded += b.Superseded
	a.Deleted += b.Deleted
	a.Aborted += b.Aborted
	a.Markers += b.Markers
	a.Expired += b.Expired
	a.KeylessDropped += b.KeylessDropped
	r.Older.Superseded += next.Older.Superseded
	r.Older.Deleted += next.Older.Deleted
	r.Older.Expired += next.Older.Expired
}

// Sub is what e has more than before.
func (e Estimate) Sub(before Estimate) Estimate {
	return Estimate{
		Gets:       e.Gets - before.Gets,
		Puts:       e.Puts - before.Puts,
		ReadBytes:  e.ReadBytes - before.ReadBytes,
		WriteBytes: e.WriteBytes - before.WriteBytes,
	}
}

func (e *Estimate) add(next Estimate) {
	e.Gets += next.Gets
	e.Puts += next.Puts
	e.ReadBytes += next.ReadBytes
	e.WriteBytes += next.WriteBytes
}

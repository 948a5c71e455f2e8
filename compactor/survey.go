package compactor

import (
	"context"
	"fmt"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Cut is how far the next run may move the horizon: an entry, at the horizon
// or after it, maybe in the middle of a segment.
type Cut struct {
	Through segments.Position `json:"through"`
	Stop    Stop              `json:"stop"`
}

// Stop says why a horizon stops where it stops.
type Stop string

// The reasons to stop. Where several hold the horizon, the one that holds it
// lowest counts.
const (
	StopEnd             Stop = "end_of_data"
	StopOpenTransaction Stop = "open_transaction"
	StopMinLag          Stop = "min_lag"
	StopQuarantine      Stop = "quarantine"
	StopDeadline        Stop = "deadline"
)

// Survey finds the cut of m at now. It is all the reading that planning does,
// and most often it reads nothing: segments whose newest row is old enough
// pass as they are, and only of the first that is not the headers are read, to
// find the exact entry.
//
// An entry is too young while any of its rows was published after now less the
// topic's min_lag; a marker counts by when it was ingested. The horizon stops
// before the first entry that is too young, however old those after it are.
func Survey(ctx context.Context, t *manifest.Topic, m *manifest.Manifest, now time.Time) (Cut, error) {
	cut := Cut{Through: m.MaxRead, Stop: StopOpenTransaction}
	if m.MaxRead == m.Last {
		cut.Stop = StopEnd
	}
	if through, _ := m.FoldableThrough(); through.Before(cut.Through) {
		cut = Cut{Through: through, Stop: StopQuarantine}
	}
	if m.Settings.MinLag == 0 {
		return cut, nil
	}
	open := segments.Range{After: m.Horizon, Through: cut.Through}
	newest := segments.MillisOf(now.Add(-time.Duration(m.Settings.MinLag)))
	for _, s := range overlapping(m.Originals, open) {
		if s.Info.MaxPublish <= newest {
			continue
		}
		through, found, err := beforeFirstYounger(ctx, t, s, open, newest)
		if err != nil {
			return Cut{}, fmt.Errorf("survey %s: %w", s.Object, err)
		}
		if found {
			return Cut{Through: through, Stop: StopMinLag}, nil
		}
	}
	return cut, nil
}

// overlapping lists the segments that hold a part of r.
func overlapping(list []manifest.Segment, r segments.Range) []*manifest.Segment {
	var found []*manifest.Segment
	for i := range list {
		if !list[i].Range.Clip(r).IsEmpty() {
			found = append(found, &list[i])
		}
	}
	return found
}

// beforeFirstYounger is the entry before the first entry of s in r that has a
// row published after newest.
func beforeFirstYounger(ctx context.Context, t *manifest.Topic, s *manifest.Segment, r segments.Range, newest segments.Millis) (segments.Position, bool, error) {
	file, err := t.OpenSegment(ctx, s)
	if err != nil {
		return segments.None, false, err
	}
	for b, block := range file.Blocks() {
		if block.MaxPublish <= newest {
			continue
		}
		for rows, err := range file.Scan(ctx, []int{b}, segments.Headers) {
			if err != nil {
				return segments.None, false, err
			}
			for i := range rows.Len() {
				p := rows.Position(i)
				if rows.PublishTime(i) <= newest || !r.Contains(p) {
					continue
				}
				before, found := lastBefore(rows, p.EntryPosition())
				if !found {
					before, err = entryBefore(ctx, file, b-1, p.EntryPosition(), s.Range.After)
				}
				return before, true, err
			}
		}
	}
	return segments.None, false, nil
}

// lastBefore is the last entry of rows before entry, if there is one.
func lastBefore(rows *segments.Rows, entry segments.Position) (segments.Position, bool) {
	for i := rows.Len() - 1; i >= 0; i-- {
		if p := rows.Position(i).EntryPosition(); p.Before(entry) {
			return p, true
		}
	}
	return segments.None, false
}

// entryBefore is the last entry before entry in the blocks of file through b,
// or first if there is none. A batch can begin blocks before the row that was
// found in it.
func entryBefore(ctx context.Context, file *segments.File, b int, entry, first segments.Position) (segments.Position, error) {
	blocks := file.Blocks()
	for b >= 0 && !blocks[b].First.EntryPosition().Before(entry) {
		b--
	}
	if b < 0 {
		return first, nil
	}
	if last := blocks[b].Last.EntryPosition(); last.Before(entry) {
		return last, nil
	}
	for rows, err := range file.Scan(ctx, []int{b}, segments.Headers) {
		if err != nil {
			return segments.None, err
		}
		if before, found := lastBefore(rows, entry); found {
			return before, nil
		}
	}
	return first, nil
}

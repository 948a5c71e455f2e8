package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// commit makes what was added since the last commit a version of the topic. It
// does nothing where nothing was added.
//
// An append is made for the last entry that the topic had. If another ingest
// was faster, the records are added once more, to what that one left. They may
// come out differently: some are duplicates now, positions are others, or one
// is refused.
func (r *run) commit(ctx context.Context) error {
	for try := 1; r.segment.Rows() > 0; try++ {
		err := r.publish(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, manifest.ErrConflict) || errors.Is(err, manifest.ErrUnknown) {
			return err
		}
		r.components.Observer.Overtaken(Overtaken{Try: try, Err: err})
		if try >= r.settings.TriesMax {
			return fmt.Errorf("gave up after %d tries: %w", try, err)
		}
		if pauseErr := r.components.Pause(ctx, try); pauseErr != nil {
			return fmt.Errorf("%w: %w", err, pauseErr)
		}
		latest, err := r.topic.Latest(ctx)
		if err != nil {
			return err
		}
		if err := r.rebase(latest); err != nil {
			return err
		}
	}
	// Nothing was added, or another run has brought all of it meanwhile.
	r.result.Duplicates += r.sum.duplicates
	r.sum = added{}
	r.pending.reset()
	return nil
}

// rebase adds the pending records to the topic as it is in version m.
func (r *run) rebase(m *manifest.Manifest) error {
	tail, err := newTail(m, r.settings, r.topicSettings)
	if err != nil {
		return err
	}
	r.base, r.tail = m, tail
	r.segment, r.sum = r.newSegment(), added{}
	if r.result.State != Ingested {
		r.result.Version = m.Version
	}
	return r.pending.each(func(rec *record) error {
		sum, err := r.tail.add(rec, r.segment)
		if err != nil {
			return r.unit.bad(rec.line, err)
		}
		r.sum.add(sum)
		return nil
	})
}

func (r *run) newSegment() *segments.Writer {
	return segments.NewWriter(segments.WriterSettings{
		Topic:       string(r.topic.ID()),
		Writer:      r.settings.Writer,
		BatchBytes:  r.topicSettings.BatchBytes,
		Compression: r.topicSettings.Compression,
	}, r.topic.Hasher())
}

// publish seals the segment, puts its objects and commits it. Its objects are
// removed again if it is certain that they are nobody's.
func (r *run) publish(ctx context.Context) error {
	covers := segments.Range{After: r.base.Last, Through: r.tail.last}
	sealed, err := r.segment.Seal(covers)
	if err != nil {
		return err
	}
	segment := manifest.Segment{
		Range:    covers,
		Object:   manifest.DataKey(r.settings.Job, r.objects),
		Index:    manifest.IndexKey(r.settings.Job, r.objects),
		Info:     sealed.Info,
		RowBytes: r.segment.Bytes(),
	}
	r.objects++ // a key is never used twice, whatever comes of this one
	if err := r.put(ctx, segment, sealed); err != nil {
		r.discard(ctx, segment)
		return err
	}
	edit, err := r.tail.edit(r.base.Last, segment, r.counted())
	if err != nil {
		return err
	}
	commit := r.components.NewCommit()
	m, err := r.topic.Commit(ctx, manifest.Change{
		Commit: commit, Job: r.settings.Job, Now: r.settings.Now, Edit: edit,
	})
	switch {
	case err == nil:
		r.settle(m, segment)
		if m.Commit != commit {
			// The segment's own version is no longer kept. Others may have added
			// what lies between it and m.
			return r.rebase(m)
		}
		return nil
	case errors.Is(err, manifest.ErrUnknown):
		return r.unknown(err)
	case errors.Is(err, manifest.ErrConflict), errors.Is(err, manifest.ErrFenced), errors.Is(err, manifest.ErrTopicNotFound):
		r.discard(ctx, segment)
	}
	return err
}

func (r *run) put(ctx context.Context, segment manifest.Segment, sealed *segments.Sealed) error {
	if err := r.topic.Put(ctx, segment.Index, sealed.Index); err != nil {
		return err
	}
	return r.topic.Put(ctx, segment.Object, sealed.Data)
}

// discard removes the objects of a segment that was not committed. Where it
// fails they waste space until a collection finds them, and nothing else.
func (r *run) discard(ctx context.Context, segment manifest.Segment) {
	_ = r.topic.Discard(ctx, []string{segment.Object, segment.Index})
}

// counted is the source with the lines that are in with this commit: all that
// were looked at, for each was added, is a duplicate, or ends a transaction
// that had ended.
func (r *run) counted() *manifest.Source {
	if r.settings.Source == "" {
		return nil
	}
	return &manifest.Source{Name: r.settings.Source, Lines: r.line}
}

// settle goes on behind the segment, which is in with version m.
func (r *run) settle(m *manifest.Manifest, segment manifest.Segment) {
	if r.result.State != Ingested {
		first := segment.Info.Ledgers[0]
		r.result.State, r.result.First = Ingested, segments.At(first.Ledger, first.First)
	}
	r.result.Last = segment.Range.Through
	r.result.Messages += r.sum.messages
	r.result.Duplicates += r.sum.duplicates
	r.result.Gaps += r.sum.gaps
	r.result.Lines, r.result.Version = r.line, m.Version
	r.components.Observer.SegmentCommitted(SegmentCommitted{
		Object: segment.Object, Range: segment.Range, Rows: segment.Info.Counts.Rows(),
		Bytes: segment.Info.Bytes, Lines: r.line, Version: m.Version,
	})
	r.base = m
	r.tail.settle(m)
	r.segment, r.sum = r.newSegment(), added{}
	r.pending.reset()
}

// unknown is the error for a commit whose outcome is not known.
func (r *run) unknown(err error) error {
	again := "running the input again may add them twice, unless its messages have producers and sequences, or it is a named source"
	if r.settings.Source != "" {
		again = "running the input again as the same source settles it"
	}
	return fmt.Errorf("%s may be in or not; %s: %w", r.unit.span(r.result.Lines+1, r.line), again, err)
}

package readerlib

import (
	"context"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Reader reads one version of a topic, its snapshot, from a place in it. The
// snapshot never changes under it: whatever is committed meanwhile, all its
// answers are about the same list of messages, until Refresh.
//
// The place is a position, exclusive: what comes next is the first message of
// the list after it. It need not be the place of any message, and means the
// same in every version and in both views.
//
// A Reader holds no connection and no goroutine, and needs no closing. It is
// not safe for concurrent use; opening another is cheap.
type Reader struct {
	topic   *manifest.Topic
	options Options

	snap   *snapshot
	list   view
	folded view // the compacted view, which Get asks
	place  segments.Position
	since  segments.Null[segments.Millis] // a start by time that has met no message yet
	last   segments.Null[segments.Position]
	ahead  ahead
}

// Open opens a reader on the version, and at the start, that o asks for. It
// reads the manifest, and for a start by time also the headers of the block
// that decides it; other starts cost nothing more.
func Open(ctx context.Context, t *manifest.Topic, o Options) (*Reader, error) {
	r := &Reader{topic: t, options: o}
	snap, err := loadSnapshot(ctx, t, o.Version)
	if err != nil {
		return nil, fmt.Errorf("open reader of %q: %w", t.Name(), err)
	}
	r.pin(snap)
	if err := r.Seek(ctx, o.Start); err != nil {
		return nil, err
	}
	return r, nil
}

// pin makes snap what the reader reads. Whatever was found out about the one
// before is forgotten, so no answer can be about two versions.
func (r *Reader) pin(snap *snapshot) {
	r.snap = snap
	r.list = snap.view(r.options.View, r.options.Isolation)
	r.folded = snap.view(Compacted, r.options.Isolation)
	r.last = segments.Null[segments.Position]{}
	r.ahead = ahead{}
}

// Snapshot is the version that the reader reads. It is not to be changed.
func (r *Reader) Snapshot() *manifest.Manifest { return r.snap.manifest }

// Place is where the reader is: after this position it goes on. Kept as text,
// it lets another reader go on there, with Start: After(place). That one does
// not know of a start by time that has met no message yet.
func (r *Reader) Place() segments.Position { return r.place }

// Seek moves the place to start. It costs what the same start costs in Open;
// on an error the place is what it was.
func (r *Reader) Seek(ctx context.Context, start Start) error {
	var place segments.Position
	var since segments.Null[segments.Millis]
	switch start.from {
	case fromLatest:
		place = r.end()
	case fromAfter:
		place = start.pos
	case fromTime:
		found, ok, err := r.snap.firstSince(ctx, r.list, segments.None, start.time)
		if err != nil {
			return fmt.Errorf("seek %s: %w", start.time, err)
		}
		if place = before(found); !ok {
			place, since = r.end(), segments.Some(start.time)
		}
	default:
		place = segments.None
	}
	r.place, r.since = place, since
	return nil
}

// end is after everything that the list has now, and before all that a later
// version can add to it.
func (r *Reader) end() segments.Position {
	return endOf(bound(r.snap.manifest, r.options.Isolation))
}

// Refresh moves the reader to the newest version of its topic, at the same
// place, and reports whether that is another one than before. All answers are
// computed anew. It reads the newest manifest, and for a start by time that is
// still open also what that costs in Open. On an error the reader stays as it
// was, and can be used.
//
// A message after the place may have been superseded or deleted meanwhile: a
// reader of the compacted view meets the survivors, and the tombstones within
// their retention; Changes tells of all that is gone.
//
// A reader that was opened on a version by number, time or tag stays there:
// Refresh does nothing.
func (r *Reader) Refresh(ctx context.Context) (moved bool, err error) {
	if r.options.Version.by != byNewest {
		return false, nil
	}
	snap, err := loadSnapshot(ctx, r.topic, r.options.Version)
	if err != nil {
		return false, fmt.Errorf("refresh reader of %q: %w", r.topic.Name(), err)
	}
	if snap.manifest.Version == r.snap.manifest.Version {
		return false, nil
	}
	place, since := r.place, r.since
	if since.Valid {
		list := snap.view(r.options.View, r.options.Isolation)
		found, ok, err := snap.firstSince(ctx, list, place, since.V)
		if err != nil {
			return false, fmt.Errorf("refresh reader of %q: seek %s: %w", r.topic.Name(), since.V, err)
		}
		if ok {
			place, since = before(found), segments.Null[segments.Millis]{}
		} else {
			place = endOf(bound(snap.manifest, r.options.Isolation))
		}
	}
	r.pin(snap)
	r.place, r.since = place, since
	return true, nil
}

// firstSince finds the first message of v after p that was published at t or
// later. Segments and blocks whose newest publish time is older are not read,
// and of the others headers only.
func (s *snapshot) firstSince(ctx context.Context, v view, p segments.Position, t segments.Millis) (segments.Position, bool, error) {
	for _, st := range v {
		if st.endsBy(p) || st.segment.Info.MaxPublish < t {
			continue
		}
		o, err := s.open(ctx, st)
		if err != nil {
			return segments.None, false, err
		}
		var blocks []int
		for _, n := range o.blocksAfter(p) {
			if o.file.Blocks()[n].MaxPublish >= t {
				blocks = append(blocks, n)
			}
		}
		for r, err := range o.scan(ctx, blocks, segments.Headers) {
			if err != nil {
				return segments.None, false, err
			}
			for i := range r.rows.Len() {
				if at := r.rows.Position(i); at.After(p) && r.rows.PublishTime(i) >= t && r.shows(i) {
					return at, true, nil
				}
			}
		}
	}
	return segments.None, false, nil
}

package readerlib

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/segments"
)

// FetchResult tells of every position of a range what became of it. A position
// that a ledger never had is in none of the lists.
type FetchResult struct {
	// Messages are those that are there, in order. They are the caller's to
	// keep.
	Messages []segments.Message

	// Absent are the entries of which the range has no message and never will:
	// holes, markers, aborted messages, and what was compacted away and
	// trimmed. Runs of them are in order and do not touch.
	Absent []Entries

	// Failed are the entries that could not be read, and why; asking again may
	// help, unless the cause is segments.ErrCorrupt. Of a batch that lies in
	// two blocks one half may be in Messages.
	Failed []FailedEntries

	// NotAttemptedFrom is the first position of the range that is not settled
	// yet; from there on nothing was looked at. It is missing if all was.
	NotAttemptedFrom segments.Null[segments.Position]
}

// FailedEntries are entries that could not be read.
type FailedEntries struct {
	Entries
	Err error // ErrSnapshotExpired, segments.ErrCorrupt, or the store's own
}

// Fetch returns what the snapshot holds of the positions first through last:
// the originals where they are retained, superseded messages too, and before
// those what compaction left. It is read-committed, whatever the reader is,
// and the place plays no part. A last without batch index takes in its entry
// whole.
//
// It always completes, and moves on by the ranges that segments cover, so no
// hole can stall it. What cannot be read is in Failed and hides nothing else.
// What lies after the max read position is not settled and not looked at. The
// only errors are ErrBadRange, and that of a ctx that ends: then the result
// says how far it came.
//
// It costs one ranged read per segment of the range, one more where rows died,
// and one per 8 MiB of neighbouring blocks. The result is held in memory.
func (r *Reader) Fetch(ctx context.Context, first, last segments.Position) (FetchResult, error) {
	end := last
	if last.Batch < 0 {
		end = last.EndOfEntry()
	}
	if first.After(end) {
		return FetchResult{}, fmt.Errorf("fetch %s to %s: %w", first, last, ErrBadRange)
	}
	f := fetch{first: first, last: end, until: entryAfter(end), known: knownLedgers(r.snap.manifest)}
	if first.Before(segments.At(0, 0)) {
		f.first = segments.At(0, 0)
	}
	if settled := r.snap.manifest.MaxRead; end.EntryPosition().After(settled) {
		f.stop(entryAfter(settled))
	}
	for _, st := range newFetchView(r.snap.manifest, r.snap.txns) {
		if st.endsBy(before(f.first.EntryPosition())) {
			continue
		}
		if !entryAfter(st.clip.After).Before(f.until) {
			break
		}
		f.stretch(ctx, r.snap, st)
	}
	return f.result(), ctx.Err()
}

// fetch is a Fetch on its way.
type fetch struct {
	first, last segments.Position
	until       segments.Position // the entry from which on nothing is attempted
	stopped     bool              // until is before the end of the range
	known       ledgers
	messages    []segments.Message
	failed      []FailedEntries
}

// stop ends the fetch before entry p, at or after first.
func (f *fetch) stop(p segments.Position) {
	if p.Before(f.first) {
		p = f.first
	}
	if !f.stopped || p.Before(f.until) {
		f.until, f.stopped = p, true
	}
}

// fail notes that the entries of a stretch could not be read. The end of ctx
// is no failure: they and what follows were not attempted.
func (f *fetch) fail(ctx context.Context, r segments.Range, err error) {
	first, end := entryAfter(r.After), entryAfter(r.Through)
	if ctx.Err() != nil {
		f.stop(first)
		return
	}
	if first.Before(f.first) {
		first = f.first
	}
	if f.until.Before(end) {
		end = f.until
	}
	for _, e := range f.known.within(first, end) {
		f.failed = append(f.failed, FailedEntries{Entries: e, Err: err})
	}
}

// stretch reads what the range takes of one segment. After a damaged block it
// goes on with the next one; any other error is about the rest of the segment.
func (f *fetch) stretch(ctx context.Context, s *snapshot, st stretch) {
	o, err := s.open(ctx, st)
	if err != nil {
		f.fail(ctx, st.clip, err)
		return
	}
	blocks := f.blocks(o)
	for len(blocks) > 0 {
		read, err := f.read(ctx, o, blocks)
		if err == nil {
			return
		}
		bad := o.file.Blocks()[blocks[read]]
		if !errors.Is(err, segments.ErrCorrupt) {
			bad.Last = st.clip.Through
		}
		f.fail(ctx, st.clip.Clip(segments.Range{After: entryBefore(bad.First), Through: bad.Last.EntryPosition()}), err)
		if bad.Last == st.clip.Through {
			return
		}
		blocks = blocks[read+1:]
	}
}

// blocks numbers the blocks of o that may hold a message of the range.
func (f *fetch) blocks(o *opened) []int {
	blocks := o.blocksAfter(before(f.first))
	for n, b := range blocks {
		if !o.file.Blocks()[b].First.Before(f.until) {
			return blocks[:n]
		}
	}
	return blocks
}

// read takes the messages of the range from blocks, and tells how many of them
// were read whole.
func (f *fetch) read(ctx context.Context, o *opened, blocks []int) (read int, err error) {
	for r, err := range o.scan(ctx, blocks, segments.All) {
		if err != nil {
			return read, err
		}
		read++
		for i := range r.rows.Len() {
			p := r.rows.Position(i)
			if !p.Before(f.first) && !p.After(f.last) && r.shows(i) {
				f.messages = append(f.messages, r.rows.Message(i).Clone())
			}
		}
	}
	return read, nil
}

// result settles what the fetch found. What was neither there nor failed, of
// the entries that were attempted, is absent.
func (f *fetch) result() FetchResult {
	var res FetchResult
	var taken []Entries
	for _, m := range f.messages {
		// A batch that goes on in a block that was not attempted is left out whole.
		if m.Position.Before(f.until) {
			res.Messages = append(res.Messages, m)
			entry := m.Position.EntryPosition()
			taken = append(taken, Entries{First: entry, Last: entry})
		}
	}
	for _, e := range f.failed {
		taken = append(taken, e.Entries)
	}
	res.Failed = f.failed
	res.Absent = without(f.known.within(f.first, f.until), taken)
	if f.stopped {
		res.NotAttemptedFrom = segments.Some(f.until)
	}
	return res
}

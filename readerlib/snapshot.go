package readerlib

import (
	"context"
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// snapshot is one version of a topic, held on to. What is opened of it is kept
// for as long as the snapshot is, and never carried to another.
type snapshot struct {
	topic    *manifest.Topic
	manifest *manifest.Manifest
	txns     *txnfilter.State
	heads    heads
}

func newSnapshot(t *manifest.Topic, m *manifest.Manifest) (*snapshot, error) {
	txns, err := decodeTxns(m)
	if err != nil {
		return nil, err
	}
	return &snapshot{topic: t, manifest: m, txns: txns}, nil
}

func loadSnapshot(ctx context.Context, t *manifest.Topic, v Version) (*snapshot, error) {
	m, err := v.load(ctx, t)
	if err != nil {
		return nil, expired(err)
	}
	return newSnapshot(t, m)
}

func (s *snapshot) view(v View, iso Isolation) view {
	return newView(s.manifest, s.txns, v, iso)
}

// open opens the segment of a stretch. It costs one ranged read, and one more
// where the segment has dead rows; nothing while the head is held.
func (s *snapshot) open(ctx context.Context, st stretch) (*opened, error) {
	name := headName{st.segment.Object, st.folded}
	h, ok := s.heads.get(name)
	if !ok {
		var err error
		if h.file, err = s.topic.OpenSegment(ctx, st.segment); err != nil {
			return nil, expired(err)
		}
		if st.folded {
			if h.dead, err = s.topic.DeadRows(ctx, st.segment); err != nil {
				return nil, expired(err)
			}
		}
		s.heads.put(name, h)
	}
	return &opened{stretch: st, file: h.file, dead: h.dead}, nil
}

// runs yields the decoded blocks that may hold messages of v after p, in
// order. Neighbouring blocks are fetched together (segments.File.Scan).
func (s *snapshot) runs(ctx context.Context, v view, p segments.Position, cols segments.Columns) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		for _, st := range v {
			if st.endsBy(p) {
				continue
			}
			o, err := s.open(ctx, st)
			if err != nil {
				yield(run{}, err)
				return
			}
			for r, err := range o.scan(ctx, o.blocksAfter(p), cols) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// scan decodes the numbered blocks.
func (o *opened) scan(ctx context.Context, blocks []int, cols segments.Columns) iter.Seq2[run, error] {
	return func(yield func(run, error) bool) {
		if len(blocks) == 0 {
			return
		}
		for rows, err := range o.file.Scan(ctx, blocks, cols) {
			if err != nil {
				yield(run{}, expired(err))
				return
			}
			if !yield(run{in: o, rows: rows}, nil) {
				return
			}
		}
	}
}

// maxHeads bounds how many opened segments a snapshot holds on to. A head is
// some kilobytes, and dead rows are at most one bit a row.
const maxHeads = 256

// head is what is kept of an opened segment.
type head struct {
	file *segments.File
	dead *roaring.Bitmap
}

// headName tells heads apart. A compacted segment may have the objects of an
// original, and then the two differ in their dead rows.
type headName struct {
	object string
	folded bool
}

// heads keeps the heads that were used last.
type heads struct {
	held map[headName]head
	used []headName // the one used last is last
}

func (h *heads) get(name headName) (head, bool) {
	found, ok := h.held[name]
	if ok {
		i := slices.Index(h.used, name)
		h.used = append(slices.Delete(h.used, i, i+1), name)
	}
	return found, ok
}

func (h *heads) put(name headName, opened head) {
	if h.held == nil {
		h.held = make(map[headName]head)
	}
	if len(h.used) == maxHeads {
		delete(h.held, h.used[0])
		h.used = slices.Delete(h.used, 0, 1)
	}
	h.held[name] = opened
	h.used = append(h.used, name)
}

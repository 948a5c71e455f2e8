package compactor

import (
	"context"
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/segments"
)

// piece is some rows of a segment that lie near each other.
type piece struct {
	from *source
	rows *roaring.Bitmap
}

// pieces cuts some rows of s into pieces of about so many bytes, in position
// order.
func (s *source) pieces(left *roaring.Bitmap, bytes int64) []piece {
	var list []piece
	blocks := s.file.Blocks()
	each := int(max(1, int64(len(blocks))*bytes/s.segment.Info.Bytes)) // blocks
	for first := 0; first < len(blocks); first += each {
		last := blocks[min(first+each, len(blocks))-1]
		rows := roaring.New()
		rows.AddRange(uint64(blocks[first].FirstRow), uint64(last.FirstRow)+uint64(last.Rows))
		rows.And(left)
		if !rows.IsEmpty() {
			list = append(list, piece{s, rows})
		}
	}
	return list
}

// gather yields the rows of pieces in order. It reads ahead: as many pieces as
// parallel says are under way or wait for their turn. A store answers one
// request slowly and many as fast as one, so this, and not the processor,
// decides how long a run takes.
func gather(ctx context.Context, list []piece, parallel int) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		g, ctx := errgroup.WithContext(ctx)
		defer func() {
			cancel()
			_ = g.Wait() // what went wrong was told in its turn
		}()
		type read struct {
			rows []segments.Message
			err  error
		}
		turns := make([]chan read, len(list))
		start := func(i int) {
			turns[i] = make(chan read, 1)
			g.Go(func() error {
				rows, err := list[i].read(ctx)
				turns[i] <- read{rows, err}
				return nil
			})
		}
		for i := range min(parallel, len(list)) {
			start(i)
		}
		for i := range list {
			r := <-turns[i]
			turns[i] = nil
			if r.err != nil {
				yield(segments.Message{}, r.err)
				return
			}
			if next := i + parallel; next < len(list) {
				start(next)
			}
			for _, m := range r.rows {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

func (p piece) read(ctx context.Context) ([]segments.Message, error) {
	rows := make([]segments.Message, 0, p.rows.GetCardinality())
	for m, err := range p.from.file.Gather(ctx, p.rows) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p.from.segment.Object, err)
		}
		rows = append(rows, m)
	}
	return rows, nil
}

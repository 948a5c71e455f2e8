package readerlib

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// Batches yields what Messages would, as Arrow record batches: the rows of one
// block each, as long as it shows any, in the columns of segments.Schema. The
// place moves to the last row of each batch, and a break, an error, a Seek or a
// Refresh do what they do in Messages.
//
// A batch is valid as long as it is referenced, needs no Release, and keeps its
// whole block in memory. Where all rows of a block are shown, or a stretch of
// them, nothing is copied.
func (r *Reader) Batches(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for r.passBatches(ctx, yield) {
		}
	}
}

// passBatches is pass, batch by batch.
func (r *Reader) passBatches(ctx context.Context, yield func(arrow.RecordBatch, error) bool) (moved bool) {
	snap, start := r.snap, r.place
	var shown []int
	for run, err := range snap.runs(ctx, r.list, start, r.options.columns()) {
		if err != nil {
			yield(nil, err)
			return false
		}
		shown = shown[:0]
		for i := range run.rows.Len() {
			if run.rows.Position(i).After(start) && run.shows(i) {
				shown = append(shown, i)
			}
		}
		if len(shown) == 0 {
			continue
		}
		place := run.rows.Position(shown[len(shown)-1])
		r.place = place
		if !yield(run.rows.Pick(shown), nil) {
			return false
		}
		if r.snap != snap || r.place != place {
			return true
		}
	}
	return false
}

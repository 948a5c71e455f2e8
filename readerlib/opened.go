package readerlib

import (
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/segments"
)

// opened is a stretch whose segment is open: what it takes to say which rows
// the list shows, and in which blocks they are.
type opened struct {
	stretch
	file *segments.File
	dead *roaring.Bitmap // of a folded one; else nil
}

// run is one decoded block of a stretch.
type run struct {
	in   *opened
	rows *segments.Rows
}

// shows reports whether row i of the run is a message of the list.
func (r run) shows(i int) bool {
	if !r.in.clip.Contains(r.rows.Position(i)) {
		return false
	}
	if r.in.folded {
		return !r.in.dead.Contains(r.rows.First() + uint32(i))
	}
	return !r.in.hides(r.rows.Kind(i), r.rows.Txn(i))
}

// blocksAfter numbers the blocks that may show a row after p, going up.
func (o *opened) blocksAfter(p segments.Position) []int {
	blocks := o.file.Blocks()
	first := sort.Search(len(blocks), func(i int) bool { return blocks[i].Last.After(p) })
	var numbers []int
	for n := first; n < len(blocks); n++ {
		if o.mayShow(blocks[n]) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// mayShow reports whether a row of b may belong to the list.
func (o *opened) mayShow(b segments.Block) bool {
	if b.Last.Compare(endOf(o.clip.After)) <= 0 || b.First.After(o.clip.Through.EndOfEntry()) {
		return false
	}
	if !o.folded {
		return true
	}
	from := uint64(b.FirstRow)
	return o.dead.CardinalityInRange(from, from+uint64(b.Rows)) < uint64(b.Rows)
}

// surely reports whether row, which lies in b and is no marker, is shown, as
// far as can be told without reading it. False means that the row must be
// looked at.
func (o *opened) surely(row uint32, b segments.Block) bool {
	if !o.clip.Contains(b.First) || !o.clip.Contains(b.Last) {
		return false
	}
	if o.folded {
		return !o.dead.Contains(row)
	}
	return o.file.Info().Counts.InTxn == 0
}

// blockOf is the block that holds row.
func (o *opened) blockOf(row uint32) segments.Block {
	blocks := o.file.Blocks()
	return blocks[sort.Search(len(blocks), func(i int) bool { return blocks[i].FirstRow > row })-1]
}

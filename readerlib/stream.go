package readerlib

import (
	"context"
	"io"
	"iter"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Messages yields the messages after the place to the end of the snapshot, and
// never waits for more. The place moves along: when the loop is left it is the
// position of the message yielded last, and another Messages or Next goes on
// behind it. At the end, Refresh and another Messages follow the topic.
//
// An error ends the loop; the place then is as after a break, and reading can
// be tried again. A Seek or Refresh inside the loop takes effect with the next
// message.
//
// A message shares the memory of its block: it is valid as long as it is
// referenced, is not to be changed, and keeps its whole block in memory (Clone
// gives a copy that does not).
//
// Per segment it costs one ranged read for the head of the key index, one for
// its dead rows if it has any, and one per 8 MiB of neighbouring blocks that
// may hold a message after the place. In memory are two such ranges, as one is
// read ahead, and one decoded block. A loop that is left has read one range too
// many, and nothing is under way then.
func (r *Reader) Messages(ctx context.Context) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		for r.pass(ctx, yield) {
		}
	}
}

// pass yields messages until the end of the snapshot, and reports whether it
// stopped because the loop body moved the reader.
func (r *Reader) pass(ctx context.Context, yield func(segments.Message, error) bool) (moved bool) {
	snap := r.snap
	for m, err := range snap.messages(ctx, r.list, r.place, r.options.columns()) {
		if err != nil {
			yield(segments.Message{}, err)
			return false
		}
		r.place = m.Position
		if !yield(m, nil) {
			return false
		}
		if r.snap != snap || r.place != m.Position {
			return true
		}
	}
	return false
}

// messages yields the messages of v after p.
func (s *snapshot) messages(ctx context.Context, v view, p segments.Position, cols segments.Columns) iter.Seq2[segments.Message, error] {
	return func(yield func(segments.Message, error) bool) {
		for r, err := range s.runs(ctx, v, p, cols) {
			if err != nil {
				yield(segments.Message{}, err)
				return
			}
			for i := range r.rows.Len() {
				if r.rows.Position(i).After(p) && r.shows(i) && !yield(r.rows.Message(i), nil) {
					return
				}
			}
		}
	}
}

// Next returns the message after the place and moves the place to it, or
// io.EOF at the end of the snapshot; it never waits. After an error the place
// is what it was. Memory is as with Messages.
//
// Reads are the same as those of Messages, made for about 8 MiB of blocks at a
// time, which the reader holds decoded until they are used up.
func (r *Reader) Next(ctx context.Context) (segments.Message, error) {
	if r.ahead.place != r.place {
		r.ahead = ahead{place: r.place, through: r.place}
	}
	for {
		if m, ok := r.ahead.pop(); ok {
			r.place = m.Position
			return m, nil
		}
		more, err := r.ahead.fill(ctx, r.snap, r.list, r.options.columns())
		if err != nil {
			return segments.Message{}, err
		}
		if !more {
			return segments.Message{}, io.EOF
		}
	}
}

// ahead is what Next has read ahead of the place. Every message of the list
// after place and through through is in runs, from row on.
type ahead struct {
	place, through segments.Position
	runs           []run
	row            int
}

// pop takes the next message, and moves place to it.
func (a *ahead) pop() (segments.Message, bool) {
	for len(a.runs) > 0 {
		r := a.runs[0]
		for a.row < r.rows.Len() {
			i := a.row
			a.row++
			if p := r.rows.Position(i); p.After(a.place) && r.shows(i) {
				a.place = p
				return r.rows.Message(i), true
			}
		}
		a.runs[0] = run{} // or the slice would keep the block in memory
		a.runs, a.row = a.runs[1:], 0
	}
	return segments.Message{}, false
}

// fill reads the blocks that follow through, and reports false when there are
// none. They may hold no message that is shown.
func (a *ahead) fill(ctx context.Context, s *snapshot, v view, cols segments.Columns) (bool, error) {
	for _, st := range v {
		if st.endsBy(a.through) {
			continue
		}
		o, err := s.open(ctx, st)
		if err != nil {
			return false, err
		}
		through := st.clip.Through.EndOfEntry()
		blocks := o.blocksAfter(a.through)
		if n := o.aheadBlocks(); len(blocks) > n {
			blocks = blocks[:n]
			through = o.file.Blocks()[blocks[n-1]].Last
		}
		var runs []run
		for r, err := range o.scan(ctx, blocks, cols) {
			if err != nil {
				return false, err
			}
			runs = append(runs, r)
		}
		a.runs, a.row, a.through = runs, 0, through
		return true, nil
	}
	return false, nil
}

// aheadBytes is about how many bytes Next reads at a time.
const aheadBytes = 8 << 20

// aheadBlocks is how many blocks of the segment are about aheadBytes.
func (o *opened) aheadBlocks() int {
	mean := max(1, o.file.Info().Bytes/int64(len(o.file.Blocks())))
	return int(max(1, aheadBytes/mean))
}

package dlq

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Topic is where letters are written.
type Topic interface {
	// Append adds messages at the end. When it returns nil they are durable.
	// After an error some of them may be there.
	Append(ctx context.Context, letters []segments.Message) error
}

// Office writes the letters of one origin. It belongs to one goroutine.
type Office struct {
	Origin Origin
	To     Topic

	// RoundBytes is how many bytes of letters are written together; 16 MiB when
	// 0. A letter of more comes alone.
	RoundBytes int64
}

// Bury writes the letters of messages that a group gave up, in their order.
// When it returns nil all are durable.
func (o *Office) Bury(ctx context.Context, dead []keyshared.Dead) error {
	r := round{office: o}
	for _, d := range dead {
		letter := o.Origin.Letter(d.Message, Cause{d.Reason, d.Attempts, d.Detail})
		if err := r.add(ctx, letter); err != nil {
			return err
		}
	}
	return r.send(ctx)
}

// Source gives what is at positions; *readerlib.Reader is one.
type Source interface {
	Fetch(ctx context.Context, first, last segments.Position) (readerlib.FetchResult, error)
}

// ErrNotSettled says that it is not known yet what becomes of a position.
var ErrNotSettled = errors.New("position is not settled")

// BuryRange writes a letter for each entry from first through last, of which
// the caller knows nothing but the positions. What is absent for good, or
// damaged, gets a letter without payload. It stops with an error at what can't
// be read now; letters before that may have been written, and are doubles when
// it is tried again. A range of any length is worked through in pieces.
func (o *Office) BuryRange(ctx context.Context, from Source, first, last segments.Position, c Cause) error {
	r := round{office: o}
	for piece := range pieces(first, last) {
		got, err := from.Fetch(ctx, piece.First, piece.Last)
		if err != nil {
			return err
		}
		if err := r.addAll(ctx, settle(o.Origin, &got, c)); err != nil {
			return err
		}
		for _, f := range got.Failed {
			if !errors.Is(f.Err, segments.ErrCorrupt) {
				return errors.Join(r.send(ctx), fmt.Errorf("fetch %s: %w", f.Entries, f.Err))
			}
		}
		if got.NotAttemptedFrom.Valid {
			return errors.Join(r.send(ctx), fmt.Errorf("%s: %w", got.NotAttemptedFrom.V, ErrNotSettled))
		}
	}
	return r.send(ctx)
}

// pieceEntries is how many entries are fetched at a time.
const pieceEntries = 1000

// pieces cuts a range at its entries. What lies between two ledgers is one
// piece: how long the first ledger is, only the source knows.
func pieces(first, last segments.Position) func(yield func(readerlib.Entries) bool) {
	return func(yield func(readerlib.Entries) bool) {
		for first.Ledger == last.Ledger && last.Entry-first.Entry >= pieceEntries {
			end := segments.At(first.Ledger, first.Entry+pieceEntries-1)
			if !yield(readerlib.Entries{First: first, Last: end}) {
				return
			}
			first = end.NextEntry()
		}
		yield(readerlib.Entries{First: first, Last: last})
	}
}

// settle makes the letters of what a fetch found, in order of position. What
// failed and may be there the next time gets none.
func settle(o Origin, got *readerlib.FetchResult, c Cause) []segments.Message {
	var letters []segments.Message
	messages, absent, failed := got.Messages, got.Absent, got.Failed
	headersOnly := func(e readerlib.Entries, why Payload) {
		for at := e.First; !at.After(e.Last); at = at.NextEntry() {
			letters = append(letters, o.HeadersOnly(at, c, why))
		}
	}
	for len(messages)+len(absent)+len(failed) > 0 {
		switch {
		case len(messages) > 0 &&
			(len(absent) == 0 || messages[0].Position.Before(absent[0].First)) &&
			(len(failed) == 0 || messages[0].Position.Before(failed[0].First)):
			letters = append(letters, o.Letter(&messages[0], c))
			messages = messages[1:]
		case len(absent) > 0 && (len(failed) == 0 || absent[0].First.Before(failed[0].First)):
			headersOnly(absent[0], Absent)
			absent = absent[1:]
		default:
			if errors.Is(failed[0].Err, segments.ErrCorrupt) {
				headersOnly(failed[0].Entries, Unreadable)
			}
			failed = failed[1:]
		}
	}
	return letters
}

// round gathers letters to be written together.
type round struct {
	office  *Office
	letters []segments.Message
	bytes   int64
}

// add puts a letter into the round; one that is full is sent before.
func (r *round) add(ctx context.Context, letter segments.Message) error {
	limit := r.office.RoundBytes
	if limit == 0 {
		limit = 16 << 20
	}
	if n := letter.Bytes(); len(r.letters) > 0 && r.bytes+n > limit {
		if err := r.send(ctx); err != nil {
			return err
		}
	}
	r.letters = append(r.letters, letter)
	r.bytes += letter.Bytes()
	return nil
}

func (r *round) addAll(ctx context.Context, letters []segments.Message) error {
	for _, letter := range letters {
		if err := r.add(ctx, letter); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) send(ctx context.Context) error {
	if len(r.letters) == 0 {
		return nil
	}
	if err := r.office.To.Append(ctx, r.letters); err != nil {
		return fmt.Errorf("write %d dead letters: %w", len(r.letters), err)
	}
	r.letters, r.bytes = nil, 0
	return nil
}

package segments

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrPosition says that a text is not a position.
var ErrPosition = errors.New("not a position (want ledger:entry or ledger:entry:index)")

// Position is the place of a message in its topic. A topic is a sequence of
// ledgers, a ledger a sequence of entries, and an entry one message or a batch
// of them. Positions are ordered by ledger, entry and batch index; a message
// that is not in a batch has index -1, so a position without an index lies
// before every message of a batch at that entry. They never change.
type Position struct {
	Ledger int64
	Entry  int64
	Batch  int32
}

// None is before every position. It prints as -1:-1.
var None = Position{Ledger: -1, Entry: -1, Batch: -1}

// At is the position of an entry: the one of its message if it is not a batch,
// and just before its first message if it is.
func At(ledger, entry int64) Position {
	return Position{Ledger: ledger, Entry: entry, Batch: -1}
}

// IsNone reports whether p is None.
func (p Position) IsNone() bool { return p == None }

// EntryPosition is p without its batch index.
func (p Position) EntryPosition() Position { return At(p.Ledger, p.Entry) }

// NextEntry is the position that follows the entry of p in its ledger, whether
// or not it is ever written.
func (p Position) NextEntry() Position { return At(p.Ledger, p.Entry+1) }

// EndOfEntry is the last position that the entry of p can have. As an upper
// bound it covers the entry whole.
func (p Position) EndOfEntry() Position {
	return Position{Ledger: p.Ledger, Entry: p.Entry, Batch: math.MaxInt32}
}

// Compare is negative, zero or positive as p lies before, at or after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(
		cmp.Compare(p.Ledger, q.Ledger),
		cmp.Compare(p.Entry, q.Entry),
		cmp.Compare(p.Batch, q.Batch),
	)
}

// Before reports whether p lies before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// After reports whether p lies after q.
func (p Position) After(q Position) bool { return p.Compare(q) > 0 }

// String gives the text form: 3:0, 3:0:1, or -1:-1 for None.
func (p Position) String() string {
	b := make([]byte, 0, 24)
	b = strconv.AppendInt(b, p.Ledger, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, p.Entry, 10)
	if p.Batch >= 0 {
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(p.Batch), 10)
	}
	return string(b)
}

// ParsePosition reads the text form that String prints, and nothing else: no
// signs, no leading zeros, no blanks. Its errors are ErrPosition.
func ParsePosition(text string) (Position, error) {
	if text == "-1:-1" {
		return None, nil
	}
	fields := strings.Split(text, ":")
	if len(fields) != 2 && len(fields) != 3 {
		return None, fmt.Errorf("%q: %w", text, ErrPosition)
	}
	p := Position{Batch: -1}
	for i, field := range fields {
		bits := 64
		if i == 2 {
			bits = 32
		}
		n, err := strconv.ParseInt(field, 10, bits)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != field {
			return None, fmt.Errorf("%q: %w", text, ErrPosition)
		}
		switch i {
		case 0:
			p.Ledger = n
		case 1:
			p.Entry = n
		case 2:
			p.Batch = int32(n)
		}
	}
	return p, nil
}

// MarshalText gives the text form.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the text form.
func (p *Position) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePosition(string(text))
	return err
}

// Range is the stretch of a topic after one entry and through another:
// (After, Through]. Ends are entries, so a range never splits a batch, and
// ranges tile where one's After is the other's Through; what lies between two
// ledgers needs no arithmetic.
type Range struct {
	After   Position `json:"after"`
	Through Position `json:"through"`
}

// Contains reports whether p, or the entry of p, lies in r.
func (r Range) Contains(p Position) bool {
	entry := p.EntryPosition()
	return entry.After(r.After) && !entry.After(r.Through)
}

// IsEmpty reports whether no position lies in r.
func (r Range) IsEmpty() bool { return !r.Through.After(r.After) }

// Clip is the part of r inside s. It is empty if they do not overlap.
func (r Range) Clip(s Range) Range {
	if s.After.After(r.After) {
		r.After = s.After
	}
	if s.Through.Before(r.Through) {
		r.Through = s.Through
	}
	if r.IsEmpty() {
		r.Through = r.After
	}
	return r
}

// String prints the range with the brackets of its ends: (1:3, 2:0].
func (r Range) String() string { return "(" + r.After.String() + ", " + r.Through.String() + "]" }

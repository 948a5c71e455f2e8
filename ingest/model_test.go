package ingest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// line is a line of a random input, before it is text.
type line struct {
	id       *segments.Position
	batch    bool
	messages []message
	size     int // of the batch that a single message belongs to; 0: none
	marker   string
	txn      string
	mark     string
	blank    bool
}

type message struct {
	key, value, txn string // key "" is keyless
	producer        string // "": none
	epoch, sequence int
}

func (m message) text() string {
	var b strings.Builder
	b.WriteString("{")
	if m.key != "" {
		fmt.Fprintf(&b, `"key":%q,`, m.key)
	}
	if m.txn != "" {
		fmt.Fprintf(&b, `"txn":%q,`, m.txn)
	}
	if m.producer != "" {
		fmt.Fprintf(&b, `"producer":%q,"epoch":%d,"sequence":"%d",`, m.producer, m.epoch, m.sequence)
	}
	fmt.Fprintf(&b, `"value":%q}`, m.value)
	return b.String()
}

func (l line) text() string {
	if l.blank {
		return " "
	}
	id := ""
	if l.id != nil {
		id = fmt.Sprintf(`"id":"%s",`, *l.id)
	}
	switch {
	case l.marker != "" && l.mark != "":
		return fmt.Sprintf(`{%s"txn":%q,"marker":%q,"low_water_mark":%s}`, id, l.txn, l.marker, l.mark)
	case l.marker != "":
		return fmt.Sprintf(`{%s"txn":%q,"marker":%q}`, id, l.txn, l.marker)
	case l.batch:
		var texts []string
		for _, m := range l.messages {
			texts = append(texts, m.text())
		}
		return fmt.Sprintf(`{%s"batch":[%s]}`, id, strings.Join(texts, ","))
	case l.size > 0:
		id += fmt.Sprintf(`"batch_size":%d,`, l.size)
	}
	return "{" + id + l.messages[0].text()[1:]
}

// reference is the rules of ingest written down as naively as can be. It knows
// nothing of segments and commits, and looks through its whole log.
type reference struct {
	log     []string
	entries []segments.Position // of the log, in order
	txns    txnfilter.State
	seen    []message // all that was added, with producer
	lines   map[string]int
}

func newReference() *reference { return &reference{lines: map[string]int{}} }

func (r *reference) last() segments.Position {
	if len(r.entries) == 0 {
		return segments.None
	}
	return r.entries[len(r.entries)-1]
}

func (r *reference) duplicate(m message) bool {
	return m.producer != "" && slices.ContainsFunc(r.seen, func(s message) bool {
		return s.producer == m.producer && s.epoch == m.epoch && s.sequence >= m.sequence
	})
}

func (r *reference) fenced(m message) bool {
	return m.producer != "" && slices.ContainsFunc(r.seen, func(s message) bool {
		return s.producer == m.producer && s.epoch > m.epoch
	})
}

// run applies the lines up to and including the given one, and says which line
// is bad, or 0.
func (r *reference) run(lines []line, through int, source string) (bad, added, duplicates int) {
	ledger := r.last().Ledger + 1
	open, openSize := segments.None, 0 // last row of a batch that came row by row
	for i, l := range lines[:through] {
		n := i + 1
		if l.blank {
			continue
		}
		if source != "" && n <= r.lines[source] {
			duplicates += len(l.messages)
			continue
		}
		// enter finds the entry for a row at index.
		enter := func() (segments.Position, bool) {
			switch {
			case l.id == nil && r.last().Ledger == ledger:
				return r.last().NextEntry(), true
			case l.id == nil:
				return segments.At(ledger, 0), true
			case l.size > 0 && !open.IsNone() && l.id.EntryPosition() == r.last():
				return r.last(), l.size == openSize && l.id.After(open)
			}
			return l.id.EntryPosition(), l.id.EntryPosition().After(r.last())
		}
		if l.marker != "" {
			id, _ := segments.ParseTxnID(l.txn)
			if r.txns.HasEnded(id) {
				continue
			}
			at, ok := enter()
			if !ok {
				return n, added, duplicates
			}
			var mark segments.Null[uint64]
			if l.mark != "" {
				mark.Valid = true
				fmt.Sscan(l.mark, &mark.V)
			}
			r.txns.End(id, l.marker == "commit", mark)
			r.log = append(r.log, fmt.Sprintf("%s %s %s", at, l.marker, l.txn))
			r.entries, open = append(r.entries, at), segments.None
			continue
		}
		var entry segments.Position
		entered := false
		for index, m := range l.messages {
			if r.duplicate(m) {
				duplicates++
				continue
			}
			if r.fenced(m) {
				return n, added, duplicates
			}
			if !entered {
				var ok bool
				if entry, ok = enter(); !ok {
					return n, added, duplicates
				}
				entered = true
			}
			if m.txn != "" {
				id, _ := segments.ParseTxnID(m.txn)
				before := segments.None
				for _, e := range r.entries {
					if e.Before(entry) {
						before = e
					}
				}
				if r.txns.Add(id, entry, before) != nil {
					return n, added, duplicates
				}
			}
			at := entry
			switch {
			case l.batch:
				at.Batch = int32(index)
			case l.size > 0:
				at.Batch = l.id.Batch
			}
			r.log = append(r.log, fmt.Sprintf("%s %s", at, m.text()))
			if r.last() != entry {
				r.entries, open = append(r.entries, entry), segments.None
			}
			if l.size > 0 {
				open, openSize = at, l.size
			}
			if m.producer != "" {
				r.seen = append(r.seen, m)
			}
			added++
		}
	}
	return 0, added, duplicates
}

// flat is the log of a topic as the reference writes it.
func flat(w *world) []string {
	var log []string
	for _, m := range w.rows() {
		if m.Kind.IsMarker() {
			log = append(log, show(&m))
			continue
		}
		v := message{key: string(m.Key), value: string(m.Value), producer: m.Producer.V, epoch: int(m.Epoch.V), sequence: int(m.Sequence.V)}
		if m.Txn.Valid {
			v.txn = m.Txn.V.String()
		}
		log = append(log, fmt.Sprintf("%s %s", m.Position, v.text()))
	}
	return log
}

// TestAnyRunsGiveTheLogOfTheReference cuts random inputs into random runs,
// sends them again in part, in whole and under names, and compares the topic
// with the reference after each. Values are large, so that there are several
// segments. It prints its seed when it fails.
func TestAnyRunsGiveTheLogOfTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, r := newWorld(t, smallest), newReference()
		var inputs [][]line
		for range rapid.IntRange(1, 6).Draw(t, "runs") {
			source := rapid.SampledFrom([]string{"", "", "app"}).Draw(t, "source")
			var input []line
			if len(inputs) > 0 && rapid.IntRange(0, 2).Draw(t, "again") > 0 {
				input = slices.Clone(rapid.SampledFrom(inputs).Draw(t, "input"))
				if rapid.Bool().Draw(t, "cut") {
					input = input[:rapid.IntRange(0, len(input)).Draw(t, "length")]
				}
				if explicit := slices.ContainsFunc(input, func(l line) bool { return l.id != nil }); !explicit && rapid.Bool().Draw(t, "more") {
					input = append(input, drawLines(t, r, false)...)
				}
			} else {
				input = drawLines(t, r, rapid.Bool().Draw(t, "with ids"))
			}
			inputs = append(inputs, input)
			run(t, w, r, input, source)
		}
	})
}

// run runs the input for both and compares.
func run(t *rapid.T, w *world, r *reference, input []line, source string) {
	var texts []string
	for _, l := range input {
		texts = append(texts, l.text())
	}
	result, err := w.ingestAs(source, texts...)

	trial := &reference{log: slices.Clone(r.log), entries: slices.Clone(r.entries), txns: r.txns.Clone(), seen: slices.Clone(r.seen), lines: r.lines}
	bad, added, duplicates := trial.run(input, len(input), source)
	if bad == 0 {
		if err != nil || int(result.Messages) != added || int(result.Duplicates) != duplicates {
			t.Fatalf("%v: got %s, %v, want %d messages, %d duplicates", texts, brief(result), err, added, duplicates)
		}
		if result.State == ingest.Ingested {
			trial.lines[source] = len(input)
			for trial.lines[source] > 0 && input[trial.lines[source]-1].blank {
				trial.lines[source]--
			}
		}
		*r = *trial
	} else {
		var l *ingest.LineError
		if !errors.As(err, &l) || int(l.Line) != bad {
			t.Fatalf("%v: got %v, want line %d to be bad", texts, err, bad)
		}
		// What was committed is the lines that the result says.
		if result.State == ingest.Ingested {
			if bad, added, _ := r.run(input, int(result.Lines), source); bad != 0 || int(result.Messages) != added || result.Lines >= l.Line {
				t.Fatalf("%v: got %+v, %v, want %d messages of them", texts, result, err, added)
			}
			r.lines[source] = int(result.Lines)
		}
	}
	if got := flat(w); !slices.Equal(got, r.log) {
		t.Fatalf("%v\ngot\n %s\nwant\n %s", texts, strings.Join(got, "\n "), strings.Join(r.log, "\n "))
	}
	m := w.latest()
	state, err := txnfilter.Decode(m.Transactions)
	if err != nil {
		t.Fatal(err)
	}
	if m.Last != r.last() || m.MaxRead != r.txns.MaxRead(r.last()) || !slices.Equal(state.Open(), r.txns.Open()) {
		t.Fatalf("%v: last %s, max read %s, open %v, want %s, %s, %v", texts, m.Last, m.MaxRead, state.Open(), r.last(), r.txns.MaxRead(r.last()), r.txns.Open())
	}
	w.wantNoOrphans()
}

func drawLines(t *rapid.T, r *reference, explicit bool) []line {
	var lines []line
	at := r.last()
	n := 0
	value := func() string {
		n++
		return fmt.Sprintf("%d.%d %s", len(r.log), n, strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 200, 600}).Draw(t, "size")))
	}
	txn := func() string {
		return fmt.Sprintf("%d,%d", rapid.IntRange(0, 1).Draw(t, "coordinator"), rapid.IntRange(0, 6).Draw(t, "number"))
	}
	draw := func() message {
		m := message{key: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key"), value: value()}
		if rapid.IntRange(0, 9).Draw(t, "in transaction") == 0 {
			m.txn = txn()
		}
		if rapid.IntRange(0, 2).Draw(t, "with producer") > 0 {
			m.producer = rapid.SampledFrom([]string{"p", "q"}).Draw(t, "producer")
			m.sequence = rapid.IntRange(0, 30).Draw(t, "sequence")
			if rapid.IntRange(0, 19).Draw(t, "new epoch") == 0 {
				m.epoch = rapid.IntRange(1, 2).Draw(t, "epoch")
			}
		}
		return m
	}
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		var l line
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			lines = append(lines, line{blank: true})
			continue
		case 1:
			l.marker, l.txn = rapid.SampledFrom([]string{"commit", "abort"}).Draw(t, "marker"), txn()
			if rapid.IntRange(0, 3).Draw(t, "with mark") == 0 {
				l.mark = fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "mark"))
			}
		case 2, 3:
			l.batch = true
			for range rapid.IntRange(1, 4).Draw(t, "messages") {
				l.messages = append(l.messages, draw())
			}
		default:
			l.messages = []message{draw()}
		}
		if explicit {
			// Mostly above what was there, so that a run gets somewhere.
			at = at.NextEntry()
			if rapid.IntRange(0, 3).Draw(t, "jump") == 0 {
				at = segments.At(at.Ledger+1, 0)
			}
			if at.Ledger < 0 {
				at = segments.At(0, 0)
			}
			if rapid.IntRange(0, 39).Draw(t, "back") == 0 {
				at = segments.At(max(0, at.Ledger-1), 0)
			}
			id := at
			l.id = &id
			if len(l.messages) == 1 && !l.batch && rapid.IntRange(0, 2).Draw(t, "as batch") == 0 {
				size := rapid.IntRange(1, 4).Draw(t, "batch size")
				for index := range size {
					if index > 0 && rapid.Bool().Draw(t, "gap") {
						continue
					}
					row := id
					row.Batch = int32(index)
					lines = append(lines, line{id: &row, size: size, messages: []message{draw()}})
				}
				continue
			}
		}
		lines = append(lines, l)
	}
	return lines
}

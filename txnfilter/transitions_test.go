package txnfilter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// TestEveryTransition walks scripts through a state and states what is kept
// after the last step, as JSON. The steps are:
//
//	+1,4 3:1 3:0    message of (1,4) in entry 3:1, which follows 3:0
//	c1,4 3          commit of (1,4) with mark 3; the mark may be left out
//	a1,4 3          abort, likewise
//	f3:1            forget through 3:1
//
// A step that is refused or late has to say so with a "!" at its end.
func TestEveryTransition(t *testing.T) {
	for _, c := range []struct {
		name    string
		script  string
		want    string
		maxRead string // with the last entry at 9:9
	}{
		{"nothing ever", "", "", "9:9"},

		// From never seen.
		{"a first message opens", "+1,4 3:1 3:0",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}]}`, "3:0"},
		{"a first message at the start of a topic has none before it", "+1,4 0:0 -1:-1",
			`{"open":[{"id":"1,4","first":"0:0","before":"-1:-1","last":"0:0"}]}`, "-1:-1"},
		{"an end of what was never seen ends it", "c1,4",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}]}`, "9:9"},
		{"an abort without messages leaves nothing to filter", "a1,4",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}]}`, "9:9"},
		{"a mark ends what was never seen", "c1,4 9; +1,5 3:1 3:0!; c1,9!; a1,4!",
			`{"coordinators":[{"id":"1","mark":"9"}]}`, "9:9"},
		{"a mark of zero is a mark", "c1,4 0; +1,0 3:1 3:0!",
			`{"coordinators":[{"id":"1","mark":"0","ended":[{"from":"4","to":"4"}]}]}`, "9:9"},

		// From open.
		{"a further message moves the last one", "+1,4 3:1 3:0; +1,4 3:7 3:6",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:7"}]}`, "3:0"},
		{"only entries are kept", "+1,4 3:1:0 3:0:5; +1,4 3:1:1 3:0:5",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}]}`, "3:0"},
		{"a commit leaves that it has ended", "+1,4 3:1 3:0; c1,4",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}]}`, "9:9"},
		{"an abort leaves what to filter", "+1,4 3:1 3:0; +1,4 3:7 3:6; a1,4",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}],"aborted":[{"id":"1,4","last":"3:7"}]}`, "9:9"},
		{"a mark aborts all at or below it, of its coordinator",
			"+1,3 3:0 -1:-1; +1,4 3:1 3:0; +1,5 3:2 3:1; +2,1 3:3 3:2; c1,9 4",
			`{"open":[{"id":"1,5","first":"3:2","before":"3:1","last":"3:2"},{"id":"2,1","first":"3:3","before":"3:2","last":"3:3"}],` +
				`"coordinators":[{"id":"1","mark":"4","ended":[{"from":"9","to":"9"}]}],` +
				`"aborted":[{"id":"1,3","last":"3:0"},{"id":"1,4","last":"3:1"}]}`, "3:1"},
		{"an end comes before the mark it brings", "+1,4 3:1 3:0; +1,5 3:2 3:1; c1,4 5",
			`{"coordinators":[{"id":"1","mark":"5"}],"aborted":[{"id":"1,5","last":"3:2"}]}`, "9:9"},
		{"the first open one counts, whichever ends", "+1,4 3:1 3:0; +1,5 3:2 3:1; +2,7 3:3 3:2; a1,5",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"},{"id":"2,7","first":"3:3","before":"3:2","last":"3:3"}],` +
				`"coordinators":[{"id":"1","ended":[{"from":"5","to":"5"}]}],"aborted":[{"id":"1,5","last":"3:2"}]}`, "3:0"},
		{"transactions that begin in one entry keep their order", "+2,1 3:1:0 3:0; +1,9 3:1:1 3:0; +1,2 3:1:2 3:0",
			`{"open":[{"id":"2,1","first":"3:1","before":"3:0","last":"3:1"},{"id":"1,9","first":"3:1","before":"3:0","last":"3:1"},` +
				`{"id":"1,2","first":"3:1","before":"3:0","last":"3:1"}]}`, "3:0"},

		// From ended: nothing leads on, but Forget.
		{"a committed one takes nothing more", "+1,4 3:1 3:0; c1,4; +1,4 3:3 3:2!; c1,4!; a1,4!",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}]}`, "9:9"},
		{"an aborted one takes nothing more", "+1,4 3:1 3:0; a1,4; +1,4 3:3 3:2!; c1,4!; a1,4!",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}],"aborted":[{"id":"1,4","last":"3:1"}]}`, "9:9"},
		{"a late end does not bring its mark", "+1,4 3:1 3:0; +1,5 3:2 3:1; c1,5; c1,5 9!",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}],"coordinators":[{"id":"1","ended":[{"from":"5","to":"5"}]}]}`, "3:0"},
		{"what a mark aborted cannot be committed", "+1,4 3:1 3:0; c1,9 4; c1,4!",
			`{"coordinators":[{"id":"1","mark":"4","ended":[{"from":"9","to":"9"}]}],"aborted":[{"id":"1,4","last":"3:1"}]}`, "9:9"},
		{"a mark never goes down", "c1,9 5; c1,8 3; +1,4 3:1 3:0!",
			`{"coordinators":[{"id":"1","mark":"5","ended":[{"from":"8","to":"9"}]}]}`, "9:9"},
		{"a mark swallows ended ones", "c1,2; c1,4; c1,6; c1,7; c1,20 6",
			`{"coordinators":[{"id":"1","mark":"6","ended":[{"from":"7","to":"7"},{"from":"20","to":"20"}]}]}`, "9:9"},
		{"coordinators are apart", "c1,4 4; +2,4 3:1 3:0; a2,4; c2,5",
			`{"coordinators":[{"id":"1","mark":"4"},{"id":"2","ended":[{"from":"4","to":"5"}]}],"aborted":[{"id":"2,4","last":"3:1"}]}`, "9:9"},
		{"an aborted one is forgotten with its last message", "+1,4 3:1 3:0; +1,4 3:3 3:2; a1,4; +1,5 3:5 3:4; a1,5; f3:3",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"5"}]}],"aborted":[{"id":"1,5","last":"3:5"}]}`, "9:9"},
		{"an aborted one is kept until its last message goes", "+1,4 3:1 3:0; +1,4 3:3 3:2; a1,4; f3:2",
			`{"coordinators":[{"id":"1","ended":[{"from":"4","to":"4"}]}],"aborted":[{"id":"1,4","last":"3:3"}]}`, "9:9"},
		{"open ones are never forgotten", "+1,4 3:1 3:0; f9:9",
			`{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}]}`, "3:0"},

		// The intervals of ended sequences.
		{"ended neighbours join", "c1,4; c1,6; c1,5; c1,3; c1,7; c1,9",
			`{"coordinators":[{"id":"1","ended":[{"from":"3","to":"7"},{"from":"9","to":"9"}]}]}`, "9:9"},
		{"the ends of the numbers", "c1,0; c1,18446744073709551615; c1,1; c1,18446744073709551614; +1,0 3:1 3:0!",
			`{"coordinators":[{"id":"1","ended":[{"from":"0","to":"1"},{"from":"18446744073709551614","to":"18446744073709551615"}]}]}`, "9:9"},
		{"the highest mark ends everything", "+1,18446744073709551615 3:1 3:0; c1,5 18446744073709551615; +1,6 3:3 3:2!",
			`{"coordinators":[{"id":"1","mark":"18446744073709551615"}],"aborted":[{"id":"1,18446744073709551615","last":"3:1"}]}`, "9:9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s txnfilter.State
			for step := range strings.SplitSeq(c.script, ";") {
				if step = strings.TrimSpace(step); step != "" {
					walk(t, &s, step)
				}
			}
			got, err := s.Encode()
			if err != nil || string(got) != c.want {
				t.Errorf("state is\n%s, %v, want\n%s", got, err, c.want)
			}
			if got := s.MaxRead(segments.At(9, 9)).String(); got != c.maxRead {
				t.Errorf("max read position is %s, want %s", got, c.maxRead)
			}
			back, err := txnfilter.Decode(got)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := back.Encode(); err != nil || string(again) != c.want {
				t.Errorf("decoded and encoded again it is\n%s, %v, want\n%s", again, err, c.want)
			}
		})
	}
}

func walk(t *testing.T, s *txnfilter.State, step string) {
	t.Helper()
	step, refused := strings.CutSuffix(step, "!")
	fields := strings.Fields(step[1:])
	switch step[0] {
	case '+':
		id := txn(t, fields[0])
		err := s.Add(id, position(t, fields[1]), position(t, fields[2]))
		if errors.Is(err, txnfilter.ErrTransactionEnded) != refused || (err != nil) != refused {
			t.Errorf("%s: got %v", step, err)
		}
		if err != nil && err.Error() != fmt.Sprintf("transaction (%s) has ended; start a new transaction", fields[0]) {
			t.Errorf("%s: got %v", step, err)
		}
		if s.IsOpen(id) == refused || s.HasEnded(id) != refused {
			t.Errorf("%s: open is %v, ended is %v", step, s.IsOpen(id), s.HasEnded(id))
		}
	case 'c', 'a':
		id := txn(t, fields[0])
		var mark segments.Null[uint64]
		if len(fields) > 1 {
			var v uint64
			if _, err := fmt.Sscan(fields[1], &v); err != nil {
				t.Fatal(err)
			}
			mark = segments.Some(v)
		}
		if got := s.End(id, txnfilter.Outcome(step[0] == 'c'), mark); got == refused {
			t.Errorf("%s: got %v", step, got)
		}
		if s.IsOpen(id) || !s.HasEnded(id) {
			t.Errorf("%s: open is %v, ended is %v", step, s.IsOpen(id), s.HasEnded(id))
		}
	case 'f':
		s.Forget(position(t, fields[0]))
	default:
		t.Fatalf("no such step: %s", step)
	}
}

func txn(t *testing.T, text string) segments.TxnID {
	t.Helper()
	id, err := segments.ParseTxnID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func position(t *testing.T, text string) segments.Position {
	t.Helper()
	p, err := segments.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

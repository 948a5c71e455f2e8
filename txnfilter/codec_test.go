package txnfilter_test

import (
	"bytes"
	"testing"

	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// TestAStateThatCannotBeIsRefused decodes states that break one rule each.
func TestAStateThatCannotBeIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":                       `{"open":`,
		"something behind":               `{} {}`,
		"a field of a later version":     `{"prepared":[]}`,
		"a number for an id":             `{"open":[{"id":14,"first":"3:1","before":"3:0","last":"3:1"}]}`,
		"a sequence that is no number":   `{"coordinators":[{"id":"1","ended":[{"from":"x","to":"4"}]}]}`,
		"no transaction id":              `{"open":[{"id":"1;4","first":"3:1","before":"3:0","last":"3:1"}]}`,
		"no first entry":                 `{"open":[{"id":"1,4","before":"3:0","last":"3:1"}]}`,
		"a first entry with an index":    `{"open":[{"id":"1,4","first":"3:1:0","before":"3:0","last":"3:1"}]}`,
		"before is not before":           `{"open":[{"id":"1,4","first":"3:1","before":"3:1","last":"3:1"}]}`,
		"last lies before first":         `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:0"}]}`,
		"open out of order":              `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"},{"id":"1,5","first":"3:0","before":"-1:-1","last":"3:0"}]}`,
		"open twice":                     `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"},{"id":"1,4","first":"3:2","before":"3:1","last":"3:2"}]}`,
		"one entry, two entries before":  `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"},{"id":"1,5","first":"3:1","before":"2:0","last":"3:1"}]}`,
		"open and below the mark":        `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}],"coordinators":[{"id":"1","mark":"4"}]}`,
		"open and ended":                 `{"open":[{"id":"1,4","first":"3:1","before":"3:0","last":"3:1"}],"coordinators":[{"id":"1","ended":[{"from":"3","to":"5"}]}]}`,
		"a coordinator of nothing":       `{"coordinators":[{"id":"1"}]}`,
		"coordinators out of order":      `{"coordinators":[{"id":"2","mark":"1"},{"id":"1","mark":"1"}]}`,
		"an interval upside down":        `{"coordinators":[{"id":"1","ended":[{"from":"5","to":"4"}]}]}`,
		"intervals that touch":           `{"coordinators":[{"id":"1","ended":[{"from":"3","to":"4"},{"from":"5","to":"5"}]}]}`,
		"an interval below the mark":     `{"coordinators":[{"id":"1","mark":"9","ended":[{"from":"9","to":"10"}]}]}`,
		"aborted and not ended":          `{"aborted":[{"id":"1,4","last":"3:1"}]}`,
		"aborted without a last message": `{"coordinators":[{"id":"1","mark":"9"}],"aborted":[{"id":"1,4","last":"-1:-1"}]}`,
		"aborted out of order":           `{"coordinators":[{"id":"1","mark":"9"}],"aborted":[{"id":"1,4","last":"3:1"},{"id":"1,3","last":"3:1"}]}`,
	} {
		if s, err := txnfilter.Decode([]byte(text)); err == nil {
			got, _ := s.Encode()
			t.Errorf("%s: %s was taken as %s", name, text, got)
		}
	}
}

// FuzzDecode decodes any bytes: they are refused, or a state that comes back
// the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(`{"open":[{"id":"1,5","first":"3:2","before":"3:1","last":"3:2"},{"id":"2,1","first":"3:3","before":"3:2","last":"3:3"}],` +
		`"coordinators":[{"id":"1","mark":"4","ended":[{"from":"9","to":"9"}]}],"aborted":[{"id":"1,3","last":"3:0"},{"id":"1,4","last":"3:1"}]}`))
	f.Add([]byte(`{"coordinators":[{"id":"1","ended":[{"from":"0","to":"1"},{"from":"18446744073709551614","to":"18446744073709551615"}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := txnfilter.Decode(b)
		if err != nil {
			return
		}
		first, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := txnfilter.Decode(first)
		if err != nil {
			t.Fatalf("%s does not decode: %v", first, err)
		}
		if again, err := back.Encode(); err != nil || !bytes.Equal(again, first) {
			t.Fatalf("got %s, %v, want %s", again, err, first)
		}
	})
}

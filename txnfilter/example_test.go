package txnfilter_test

import (
	"fmt"

	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// Two transactions on a topic: the one that began first hides the other, which
// is committed, until the mark of a third one's end aborts it.
func Example() {
	var state txnfilter.State
	first, second, third := segments.TxnID{Most: 1, Least: 4}, segments.TxnID{Most: 1, Least: 5}, segments.TxnID{Most: 1, Least: 6}

	// Entry 0:0 is a plain message, which needs no transaction.
	fmt.Println(state.Add(first, segments.At(0, 1), segments.At(0, 0)))
	fmt.Println(state.Add(second, segments.At(0, 2), segments.At(0, 1)))
	fmt.Println(state.End(second, txnfilter.Committed, segments.Null[uint64]{})) // its marker is entry 0:3
	fmt.Println("open:", state.Open(), "max read:", state.MaxRead(segments.At(0, 3)))

	fmt.Println(state.End(third, txnfilter.Committed, segments.Some[uint64](4))) // entry 0:4
	fmt.Println("open:", state.Open(), "max read:", state.MaxRead(segments.At(0, 4)))
	fmt.Println("aborted:", state.IsAborted(first), state.IsAborted(second))
	fmt.Println(state.Add(first, segments.At(0, 5), segments.At(0, 4)))

	kept, _ := state.Encode()
	fmt.Println(string(kept))
	// Output:
	// <nil>
	// <nil>
	// true
	// open: [1,4] max read: 0:0
	// true
	// open: [] max read: 0:4
	// aborted: true false
	// transaction (1,4) has ended; start a new transaction
	// {"coordinators":[{"id":"1","mark":"4","ended":[{"from":"5","to":"6"}]}],"aborted":[{"id":"1,4","last":"0:1"}]}
}

package readerlib

import (
	"fmt"
	"testing"
)

func TestTheHeadsThatAreHeldAreThoseUsedLast(t *testing.T) {
	var h heads
	const extra = 10
	for i := range maxHeads + extra {
		h.get(headName{object: "0"}) // in use all the time
		h.put(headName{object: fmt.Sprint(i)}, head{})
	}
	if len(h.held) != maxHeads || len(h.used) != maxHeads {
		t.Errorf("%d heads and %d names are held, want %d", len(h.held), len(h.used), maxHeads)
	}
	for i := range maxHeads + extra {
		if _, ok := h.get(headName{object: fmt.Sprint(i)}); ok != (i == 0 || i > extra) {
			t.Errorf("head %d is held: %v", i, ok)
		}
	}
}

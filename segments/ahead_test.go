package segments

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// watched is a source of zeros that knows what is asked of it at once. Reads
// wait until as many are under way as it wants.
type watched struct {
	mu           sync.Mutex
	reads        int
	bytes, peak  int64 // under way
	wants        int
	fails        int64 // offset of the read that fails
	enough       chan struct{}
	under        int
	closedEnough bool
}

func (w *watched) ReadAt(ctx context.Context, p []byte, off int64) error {
	w.mu.Lock()
	w.reads++
	w.under++
	w.bytes += int64(len(p))
	w.peak = max(w.peak, w.bytes)
	if w.under >= w.wants && !w.closedEnough {
		close(w.enough)
		w.closedEnough = true
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.under--
		w.bytes -= int64(len(p))
	}()
	select {
	case <-w.enough:
	case <-ctx.Done():
		return ctx.Err()
	}
	if off == w.fails {
		return errors.New("no luck")
	}
	return nil
}

func evenExtents(n int, bytes int64) []extent {
	var list []extent
	for i := range int64(n) {
		list = append(list, extent{i * 2 * bytes, bytes})
	}
	return list
}

// TestReadingAheadKeepsToItsBounds: two reads are under way at first, never more
// bytes than allowed beside the one that is waited for, and all come in order.
func TestReadingAheadKeepsToItsBounds(t *testing.T) {
	for _, bytes := range []int64{1 << 10, 3 << 20, fetchBytes} {
		w := &watched{wants: 2, fails: -1, enough: make(chan struct{})}
		list := evenExtents(20, bytes)
		next := 0
		for s, err := range fetchAhead(t.Context(), w, list) {
			if err != nil || s.off != list[next].off || int64(len(s.bytes)) != bytes {
				t.Fatalf("read %d of %d bytes: got %d at %d, %v", next, bytes, len(s.bytes), s.off, err)
			}
			next++
		}
		if next != len(list) || w.reads != len(list) || w.under != 0 {
			t.Errorf("%d of %d came, by %d reads, %d under way at the end", next, len(list), w.reads, w.under)
		}
		if most := bytes + aheadBytes; w.peak > most || w.peak < 2*bytes {
			t.Errorf("reads of %d bytes: %d bytes under way at most, want %d to %d", bytes, w.peak, 2*bytes, most)
		}
	}
}

// TestReadingAheadEndsWithItsLoop: whoever leaves the loop, or meets an error,
// leaves no read behind, and has not asked for much. The test's main sees that no
// goroutine is left.
func TestReadingAheadEndsWithItsLoop(t *testing.T) {
	w := &watched{wants: 1, fails: -1, enough: make(chan struct{})}
	for range fetchAhead(t.Context(), w, evenExtents(20, 1<<10)) {
		break
	}
	if w.under != 0 || w.reads > 2 {
		t.Errorf("%d reads, %d under way, want 2 at most and none", w.reads, w.under)
	}

	w = &watched{wants: 1, fails: 4 << 10, enough: make(chan struct{})}
	n := 0
	var last error
	for _, last = range fetchAhead(t.Context(), w, evenExtents(20, 1<<10)) {
		n++
	}
	if n != 3 || last == nil || w.under != 0 {
		t.Errorf("%d answers, the last with error %v, %d under way, want the third to fail and none", n, last, w.under)
	}
}

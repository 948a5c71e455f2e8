package compactor

import "testing"

func TestAPolicySuitsTheMemory(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		memory   int64
		segments int
		want     Policy
	}{
		{512 * mib, 0, Policy{RangeBytes: 32 * mib, PieceBytes: 4 * mib, Parallel: 4, ShareBytes: defaultShare}},
		{512 * mib, 400, Policy{RangeBytes: 32 * mib, PieceBytes: 4 * mib, Parallel: 4, ShareBytes: defaultShare}},
		{512 * mib, 800, Policy{RangeBytes: 64 * mib, PieceBytes: 8 * mib, Parallel: 2, ShareBytes: defaultShare}},
		{512 * mib, 100_000, Policy{RangeBytes: 64 * mib, PieceBytes: 8 * mib, Parallel: 1, ShareBytes: defaultShare}},
		{256 * mib, 0, Policy{RangeBytes: 32 * mib, PieceBytes: 4 * mib, Parallel: 2, ShareBytes: defaultShare}},
		{64 * mib, 0, Policy{RangeBytes: 16 * mib, PieceBytes: 2 * mib, Parallel: 1, ShareBytes: defaultShare}},
		{1, 0, Policy{RangeBytes: mib, PieceBytes: mib / 4, Parallel: 1, ShareBytes: defaultShare}},
		{64 << 30, 0, Policy{RangeBytes: 64 * mib, PieceBytes: 8 * mib, Parallel: 16, ShareBytes: defaultShare}},
	} {
		if got := PolicyFor(c.memory, c.segments); got != c.want || got.Validate() != nil {
			t.Errorf("%d bytes, %d segments: %+v, want %+v", c.memory, c.segments, got, c.want)
		}
	}
	if DefaultPolicy() != PolicyFor(512*mib, 0) {
		t.Errorf("by default %+v", DefaultPolicy())
	}
}

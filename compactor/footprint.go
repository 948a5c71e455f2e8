package compactor

import "github.com/ledgerfold/ledgerfold/manifest"

// Footprint is what a compacted tier takes in the store, beside what it shows.
type Footprint struct {
	Segments  int64 `json:"segments"` // that a read and a run have to open
	Bytes     int64 `json:"bytes"`
	LiveBytes int64 `json:"live_bytes"` // of the rows that are shown, about

	// Amplification is how many bytes are stored for each that is shown; 1
	// where nothing is stored.
	Amplification float64 `json:"amplification"`
}

// FootprintOf is that of m.
func FootprintOf(m *manifest.Manifest) Footprint { return stored(m.Compacted).amplified() }

// FootprintAfter is what that of m will be when p is done, as far as it can be
// known before: as if no row would die.
func FootprintAfter(m *manifest.Manifest, p *Plan) Footprint {
	f := stored(m.Compacted)
	if !p.IsEmpty() {
		list := stretches(m.Compacted, nil)
		for _, s := range reclaimable(list, m.Settings.MaxDeadShare, m.Settings.SegmentBytes) {
			rewritten := stored(m.Compacted[s.from:s.to])
			f.Segments -= rewritten.Segments
			f.Bytes += rewritten.LiveBytes - rewritten.Bytes
			if n, _, size := sum(list[s.from:s.to]); n > 0 {
				f.Segments += max(1, ceil(size, m.Settings.SegmentBytes))
			}
		}
	}
	var dirty int64
	for _, s := range overlapping(m.Originals, p.Range()) {
		dirty += s.Info.Bytes
	}
	f.Segments += ceil(dirty, m.Settings.SegmentBytes)
	f.Bytes += dirty
	f.LiveBytes += dirty
	return f.amplified()
}

// stored adds up segments.
func stored(list []manifest.Segment) Footprint {
	var f Footprint
	for i := range list {
		s := &list[i]
		if s.Object == "" {
			continue
		}
		f.Segments++
		f.Bytes += s.Info.Bytes
		f.LiveBytes += int64(float64(s.Info.Bytes) / float64(s.Info.Counts.Rows()) * float64(s.LiveRows()))
	}
	return f
}

func (f Footprint) amplified() Footprint {
	f.Amplification = 1
	if f.Bytes > 0 && f.LiveBytes > 0 {
		f.Amplification = float64(f.Bytes) / float64(f.LiveBytes)
	}
	return f
}

package compactor

import "github.com/ledgerfold/ledgerfold/manifest"

// Estimate is what a plan is expected to cost, before anything was read, or what
// it has cost: the requests and bytes that a store bills. Listings count as gets. Bytes and
// puts are bounds, whatever dies; gets are about right where nothing is adopted. The rewriting
// of segments that waste space only because of what dies in this run is not in
// it: nobody knows before.
type Estimate struct {
	Gets       int64 `json:"gets"`
	Puts       int64 `json:"puts"`
	ReadBytes  int64 `json:"read_bytes"`
	WriteBytes int64 `json:"write_bytes"`
}

// Requests is the number of requests of either sort.
func (e Estimate) Requests() int64 { return e.Gets + e.Puts }

// What reads and commits cost, about.
const (
	pageBytes    = 1 << 20 // one ranged read of a key index
	headerBytes  = 48      // header columns of a row
	commitGets   = 4       // find and read the latest version, twice
	commitPuts   = 2
	rowBytes     = 2 // a dead row
	manifestSize = 16 << 10
)

// estimate adds up the plan p of m.
func estimate(m *manifest.Manifest, p *Plan, dirty []*manifest.Segment, policy Policy) Estimate {
	if p.IsEmpty() {
		return Estimate{Gets: commitGets / 2, ReadBytes: manifestSize}
	}
	e := Estimate{Gets: commitGets, Puts: commitPuts, ReadBytes: 2 * manifestSize, WriteBytes: manifestSize}
	ranges := int64(0)
	for _, t := range p.Tasks {
		if t.Kind == TaskResolve {
			ranges++
		}
	}
	index := func(s *manifest.Segment) {
		e.Gets += 1 + max(ranges, ceil(s.Info.Index.Bytes-s.Info.Index.HeadBytes, pageBytes))
		e.ReadBytes += s.Info.Index.Bytes
	}
	older := olderOf(m, p)
	for _, s := range older {
		if len(dirty) > 0 {
			index(s)
		} else {
			e.Gets++
			e.ReadBytes += s.Info.Index.HeadBytes
		}
		if s.Dead != nil {
			e.Gets++
			e.ReadBytes += s.Dead.Bytes
		}
		if s.LiveTombstones > 0 {
			e.Gets++
		}
		e.Puts++ // its new dead rows
	}
	var rows, bytes int64
	for _, s := range dirty {
		written := s.Info.Bytes
		if as := stretchOf(s, s.Info.Counts.Rows()); s.Range.Clip(p.Range()) == s.Range && as.tier(m.Settings.SegmentBytes) < 0 {
			// It is adopted, unless so much of it is dead that less is left.
			written = int64((1 - m.Settings.MaxDeadShare) * float64(written))
			e.Puts++
			e.WriteBytes += s.Info.Counts.Rows() * rowBytes
		}
		index(s)
		if needsHeaders(s, m.Settings, p.Range()) {
			headers := min(s.Info.Counts.Rows()*headerBytes, s.Info.Bytes)
			e.Gets += ceil(s.Info.Bytes, m.Settings.BatchBytes) // they lie apart, one stretch in each batch
			e.ReadBytes += headers
		}
		e.Gets += ceil(s.Info.Bytes, policy.PieceBytes)
		e.ReadBytes += s.Info.Bytes
		e.WriteBytes += written + s.Info.Index.Bytes
		rows += s.Info.Counts.Rows()
		bytes += written
	}
	if len(older) > 0 {
		e.WriteBytes += rows * rowBytes
	}
	e.Puts += 2 * ceil(bytes, m.Settings.SegmentBytes)
	return e
}

// addReclaim adds the rewriting of neighbouring segments.
func (e *Estimate) addReclaim(tier []manifest.Segment, list []stretch, settings manifest.Settings, policy Policy) {
	for i := range tier {
		if list[i].live == 0 {
			continue
		}
		s := &tier[i]
		bytes := s.Info.Bytes * list[i].live / list[i].rows
		e.Gets += 2 + ceil(s.Info.Bytes, policy.PieceBytes)
		e.ReadBytes += s.Info.Bytes + s.Info.Index.HeadBytes
		e.WriteBytes += bytes + s.Info.Index.Bytes
	}
	if n, _, size := sum(list); n > 0 {
		e.Puts += 2 * max(1, ceil(size, settings.SegmentBytes))
	}
}

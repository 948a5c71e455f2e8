package compactor

import (
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// shares cuts what plan p folds into as many ranges as it has write tasks, or
// fewer, so that about the same is to be written of each, and no less than the
// plan says. They end where originals end: an original is read by one task.
// What is adopted costs nothing, and weighs nothing.
//
//	originals   | 9 of 10 dead | 9 of 10 | 7 of 10 | 5 of 10 | adopted | adopted |
//	shares      (             1                    |              2              ]
func (f *folded) shares(p *Plan, settings manifest.Settings) []segments.Range {
	r := p.Range()
	weights := make([]float64, len(f.sources))
	var all float64
	for i, s := range f.sources {
		if !s.older && !s.adopts(f.left[i], r, settings) {
			weights[i] = float64(s.segment.Info.Bytes) * float64(f.left[i].GetCardinality()) / float64(s.rows())
			all += weights[i]
		}
	}
	n := p.of(TaskWrite)
	if p.ShareBytes > 0 {
		n = min(n, int(all/float64(p.ShareBytes)))
	}
	n = max(n, 1)

	var list []segments.Range
	rest := segments.Range{After: r.After, Through: r.After}
	var sum float64
	for i, s := range f.sources {
		if s.older {
			continue
		}
		rest.Through = s.segment.Range.Clip(r).Through
		sum += weights[i]
		if len(list) < n-1 && sum >= all/float64(n)*float64(len(list)+1) {
			list = append(list, rest)
			rest.After = rest.Through
		}
	}
	if rest.Through = r.Through; !rest.IsEmpty() || len(list) == 0 {
		list = append(list, rest)
	}
	return list
}

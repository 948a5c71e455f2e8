package compactor

import (
	"context"
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// folded says which rows of which source are left, and accounts for the
// others.
type folded struct {
	sources []*source
	left    []*roaring.Bitmap // by source: of an original what is to be written, of an older segment nil
	died    []*roaring.Bitmap // by source: of an older segment what was alive before, of an original nil
	report  manifest.Report

	rewritten map[string]bool // objects of older segments whose rows were put into others
}

// of finds the source that is the compacted segment with an object, and what
// died of it. It is nil where the fold had no need of that segment, and then
// nothing did.
func (f *folded) of(object string) (*source, *roaring.Bitmap) {
	for i, s := range f.sources {
		if s.older && s.segment.Object == object {
			return s, f.died[i]
		}
	}
	return nil, roaring.New()
}

// resolveAll does the resolve tasks of a plan and puts together what they found.
func resolveAll(ctx context.Context, sources []*source, p *Plan, settings manifest.Settings, policy Policy, tell *teller) (*verdict, error) {
	tasks := p.Tasks[:p.of(TaskResolve)]
	all := newVerdict(sources)
	var mu sync.Mutex // of all
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(policy.Parallel)
	for i, t := range tasks {
		g.Go(func() error {
			v, err := resolve(gctx, sources, t.Digests, settings.EventTimeOrder)
			if err != nil {
				return fmt.Errorf("resolve digests %s to %s: %w", t.Digests.From, t.Digests.Through, err)
			}
			mu.Lock()
			all.add(v)
			mu.Unlock()
			tell.tell(Resolved{N: i + 1, Of: len(tasks)})
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return all, nil
}

// settle decides the fate of every row, from who lost his key: first the fold,
// then the retention of tombstones. So a tombstone still takes its key from
// others in the very run that drops it.
func settle(sources []*source, v *verdict, p *Plan, settings manifest.Settings) (*folded, error) {
	f := &folded{
		sources: sources,
		left:    make([]*roaring.Bitmap, len(sources)),
		died:    make([]*roaring.Bitmap, len(sources)),
	}
	rows, older := &f.report.Rows, &f.report.Older
	rows.Superseded, rows.Deleted = v.dirty.Superseded, v.dirty.Deleted
	older.Superseded, older.Deleted = v.older.Superseded, v.older.Deleted

	expire := set(p.Expire)
	expireNew := settings.TombstoneRetention.Passed(p.Now, p.Now)
	for i, s := range sources {
		losers := v.losers[i].bitmap()
		if s.older {
			f.died[i] = losers
			if expire[s.segment.Object] {
				expired := roaring.AndNot(s.tombstones, losers)
				older.Expired += int64(expired.GetCardinality())
				f.died[i].Or(expired)
			}
			continue
		}
		rows.In += s.in
		rows.Markers += s.markers
		rows.Aborted += s.aborted
		left := roaring.New()
		left.AddRange(0, s.rows())
		left.AndNot(s.out)
		left.AndNot(losers)
		if settings.DropKeyless {
			rows.KeylessDropped += int64(s.keyless.GetCardinality())
			left.AndNot(s.keyless)
		}
		if expireNew {
			rows.Expired += int64(left.AndCardinality(s.tombstones))
			left.AndNot(s.tombstones)
		}
		rows.Kept += int64(left.GetCardinality())
		f.left[i] = left
	}
	return f, check(f.report.Rows)
}

// check asserts that no row is missing from an account, or in it twice.
// Committing a fold that lost count of a row would lose the row.
func check(a manifest.RowAccount) error {
	if sum := a.Kept + a.Superseded + a.Deleted + a.Aborted + a.Markers + a.Expired + a.KeylessDropped; sum != a.In {
		return fmt.Errorf("%w: %d rows went in, but %d are accounted for: %+v", manifest.ErrInvariant, a.In, sum, a)
	}
	return nil
}

package compactor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// bury writes down which rows of older segments are dead now: those that were,
// and those that died in this fold. The segments themselves stay as they are;
// those that were rewritten are left out.
func bury(ctx context.Context, store *shelf, f *folded, tell *teller) ([]manifest.DeadUpdate, error) {
	var updates []manifest.DeadUpdate
	for i, s := range f.sources {
		if !s.older || f.died[i].IsEmpty() || f.rewritten[s.segment.Object] {
			continue
		}
		now, body, err := store.dead(roaring.Or(s.out, f.died[i]))
		if err != nil {
			return nil, fmt.Errorf("write dead rows of %s: %w", s.segment.Object, err)
		}
		if err := store.put(ctx, now.Object, body); err != nil {
			return nil, err
		}
		updates = append(updates, manifest.DeadUpdate{
			Object:         s.segment.Object,
			Was:            s.segment.Dead,
			Now:            now,
			LiveTombstones: int64(s.tombstones.GetCardinality() - s.tombstones.AndCardinality(f.died[i])),
		})
		tell.tell(Buried{Object: s.segment.Object, Rows: now.Rows})
	}
	return updates, nil
}

// dead names dead rows, and gives the body to put under that name.
func (s *shelf) dead(rows *roaring.Bitmap) (manifest.DeadRows, *bytes.Reader, error) {
	body, err := bitmapBytes(rows)
	if err != nil {
		return manifest.DeadRows{}, nil, err
	}
	sum := sha256.Sum256(body)
	return manifest.DeadRows{
		Object: s.deadKey(),
		Bytes:  int64(len(body)),
		SHA256: hex.EncodeToString(sum[:]),
		Rows:   int64(rows.GetCardinality()),
	}, bytes.NewReader(body), nil
}

// bitmapBytes is the portable form of rows. The same rows give the same bytes,
// however the set came about.
func bitmapBytes(rows *roaring.Bitmap) ([]byte, error) {
	rows.RunOptimize()
	return rows.ToBytes()
}

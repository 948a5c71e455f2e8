package segments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// Verify reads the whole segment and checks it against Info's digest, then
// decodes every batch. It reads the whole key index too, and compares: that
// it has the rows with keys and the tombstones, no more and no less, and that
// Info tells of these rows. What it cannot compare is the digests in the
// index, as a File does not know the secret they were made with.
//
// Bytes go by once, a ranged read at a time, so a segment of any size takes
// the memory of one. Each batch is checked against its own checksum before it
// is decoded; the digest of the whole is known at the end.
func (f *File) Verify(ctx context.Context) error {
	v := verifier{File: f, sum: sha256.New(), keyed: roaring.New(), tombstones: roaring.New()}
	if err := v.data(ctx); err != nil {
		return err
	}
	return v.index(ctx)
}

// verifier is what Verify has seen so far.
type verifier struct {
	*File
	sum        hash.Hash
	tally      tally
	keyed      *roaring.Bitmap
	tombstones *roaring.Bitmap
}

// read reads e of the segment and adds it to the digest.
func (v *verifier) read(ctx context.Context, e extent) (span, error) {
	s, err := fetch(ctx, v.File.data, e)
	if err != nil {
		return span{}, fmt.Errorf("verify %s: %w", v.object, err)
	}
	v.sum.Write(s.bytes)
	return s, nil
}

// data goes through the segment from front to back. The blocks fill what is
// between both.
func (v *verifier) data(ctx context.Context) error {
	blocks := v.head.Blocks
	front, err := v.read(ctx, extent{0, blocks[0].Offset})
	if err != nil {
		return err
	}
	if n, err := parseFront(front.bytes); err != nil {
		return v.corrupt(err)
	} else if n != blocks[0].Offset {
		return v.corrupt(fmt.Errorf("the first batch begins at %d, want %d", blocks[0].Offset, n))
	}
	end := blocks[0].Offset
	for i := 0; i < len(blocks); {
		n, whole := reach(len(blocks)-i, func(j int) extent { return blocks[i+j].extent(All) }, fetchBytes)
		bytes, err := v.read(ctx, whole)
		if err != nil {
			return err
		}
		for ; n > 0; n, i = n-1, i+1 {
			e := blocks[i].extent(All)
			if e.off != end {
				return corruptBlock(v.object, i, fmt.Errorf("it begins at %d, want %d", e.off, end))
			}
			end = e.end()
			rows, err := v.decode(i, All, bytes.at(e))
			if err != nil {
				return corruptBlock(v.object, i, err)
			}
			if err := v.count(rows, v.blocks[i]); err != nil {
				return corruptBlock(v.object, i, err)
			}
		}
	}
	back, err := v.read(ctx, extent{end, v.info.Bytes - end})
	if err != nil {
		return err
	}
	if err := checkBack(back.bytes); err != nil {
		return v.corrupt(err)
	}
	if sum := hex.EncodeToString(v.sum.Sum(nil)); sum != v.info.SHA256 {
		return v.corrupt(fmt.Errorf("its SHA-256 is %s, want %s", sum, v.info.SHA256))
	}
	return nil
}

// count adds the rows of block b to what was seen.
func (v *verifier) count(rows *Rows, b Block) error {
	newest := rows.PublishTime(0)
	for i := range rows.Len() {
		m := rows.Message(i)
		v.tally.add(&m)
		row := rows.First() + uint32(i)
		if m.Key != nil {
			v.keyed.Add(row)
		}
		if m.Kind == KindTombstone {
			v.tombstones.Add(row)
		}
		newest = max(newest, m.PublishTime)
	}
	if newest != b.MaxPublish {
		return fmt.Errorf("its newest publish time is %s, want %s", newest, b.MaxPublish)
	}
	return nil
}

// index goes through the key index, and compares with what the segment has.
func (v *verifier) index(ctx context.Context) error {
	want := v.info
	v.tally.fill(&want)
	want.Ledgers = v.info.Ledgers
	if !reflect.DeepEqual(v.info, want) {
		return v.corrupt(fmt.Errorf("its rows make %+v, not %+v", want, v.info))
	}
	// A segment may stand for more than the rows that are left (compaction), so
	// what it tells of ledgers need only hold its rows.
	for _, l := range v.tally.ledgers {
		if !slices.ContainsFunc(v.info.Ledgers, func(told Ledger) bool {
			return told.Ledger == l.Ledger && told.First <= l.First && l.Last <= told.Last && l.MaxPublish <= told.MaxPublish
		}) {
			return v.corrupt(fmt.Errorf("its rows are of %+v, not of %+v", l, v.info.Ledgers))
		}
	}
	found := roaring.New()
	for e, err := range v.Entries(ctx, AllDigests()) {
		if err != nil {
			return err
		}
		found.Add(e.Row)
	}
	// As many entries as rows, and the same rows: none is there twice.
	if uint64(v.head.Entries) != v.keyed.GetCardinality() || !found.Equals(v.keyed) {
		return v.corrupt(fmt.Errorf("key index has %d entries of %d rows, want %d", v.head.Entries, found.GetCardinality(), v.keyed.GetCardinality()))
	}
	tombstones, err := v.Tombstones(ctx)
	if err != nil {
		return err
	}
	if !tombstones.Equals(v.tombstones) {
		return v.corrupt(fmt.Errorf("key index has %d tombstones, want %d", tombstones.GetCardinality(), v.tombstones.GetCardinality()))
	}
	return nil
}

package segments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"
)

// IndexEntry says that the key of a row has a digest.
type IndexEntry struct {
	Digest Digest
	Row    uint32
}

// compare orders entries by digest, then row.
func (e IndexEntry) compare(o IndexEntry) int {
	if c := e.Digest.Compare(o.Digest); c != 0 {
		return c
	}
	return cmp.Compare(e.Row, o.Row)
}

// DigestRange is the digests from From through Through.
type DigestRange struct {
	From    Digest `json:"from"`
	Through Digest `json:"through"`
}

// AllDigests is the range of every digest.
func AllDigests() DigestRange {
	var all DigestRange
	for i := range all.Through {
		all.Through[i] = 0xFF
	}
	return all
}

// Entries yields the entries of the key index in r, in order of digest, then
// row. All keyed messages and tombstones are in the index, whatever became of
// their transactions; markers and keyless messages are not. Pages are fetched
// as they are needed, at most 1 MiB at once.
func (f *File) Entries(ctx context.Context, r DigestRange) iter.Seq2[IndexEntry, error] {
	return func(yield func(IndexEntry, error) bool) {
		first, end := f.pages(r)
		var last *IndexEntry // nothing yet
		for i := first; i < end; {
			n, whole := reach(end-i, func(j int) extent { return f.behindHead(f.head.Fences[i+j].extent()) }, pageFetchBytes)
			bytes, err := fetch(ctx, f.index, whole)
			if err != nil {
				yield(IndexEntry{}, fmt.Errorf("read key index of %s: %w", f.object, err))
				return
			}
			for ; n > 0; n, i = n-1, i+1 {
				page, err := f.page(i, bytes)
				if err != nil {
					yield(IndexEntry{}, f.corrupt(fmt.Errorf("key index page %d: %w", i, err)))
					return
				}
				for ; len(page) > 0; page = page[entryBytes:] {
					e := storedEntry(page)
					if e.Row >= uint32(f.head.Rows) || last != nil && e.compare(*last) <= 0 {
						yield(IndexEntry{}, f.corrupt(fmt.Errorf("key index page %d: row %d of digest %s is out of place", i, e.Row, e.Digest)))
						return
					}
					last = &e
					if e.Digest.Compare(r.From) < 0 {
						continue
					}
					if e.Digest.Compare(r.Through) > 0 || !yield(e, nil) {
						return
					}
				}
			}
		}
	}
}

// pages is the pages that may have entries in r: from the last one that begins
// before r, to the last one that begins in it.
func (f *File) pages(r DigestRange) (first, end int) {
	fences := f.head.Fences
	first = sort.Search(len(fences), func(i int) bool { return fences[i].Digest.Compare(r.From) >= 0 })
	end = sort.Search(len(fences), func(i int) bool { return fences[i].Digest.Compare(r.Through) > 0 })
	return max(first-1, 0), end
}

// page is the stored entries of page i, checked against its fence.
func (f *File) page(i int, from span) ([]byte, error) {
	fence := &f.head.Fences[i]
	page := from.at(f.behindHead(fence.extent()))
	if crc := crc32c(page); crc != fence.CRC {
		return nil, fmt.Errorf("its CRC-32C is %08x, want %08x", crc, fence.CRC)
	}
	if storedEntry(page).Digest != fence.Digest {
		return nil, errors.New("it does not begin with the digest that its fence tells")
	}
	return page, nil
}

// behindHead is e, counted from the end of the head, in the index.
func (f *File) behindHead(e extent) extent {
	e.off += f.info.Index.HeadBytes
	return e
}

// Lookup is the rows whose key has digest d, going up, in at most one ranged
// read where they lie in one page.
func (f *File) Lookup(ctx context.Context, d Digest) ([]uint32, error) {
	var rows []uint32
	for e, err := range f.Entries(ctx, DigestRange{From: d, Through: d}) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, e.Row)
	}
	return rows, nil
}

// Tombstones is the set of rows that are tombstones. It costs one ranged read,
// or none where the segment has none. The set is the caller's.
func (f *File) Tombstones(ctx context.Context) (*roaring.Bitmap, error) {
	t := f.head.Tombstones
	if t.Bytes == 0 {
		if n := f.info.Counts.Tombstones; n != 0 {
			return nil, f.corrupt(fmt.Errorf("key index has no tombstones, want %d", n))
		}
		return roaring.New(), nil
	}
	bytes, err := fetch(ctx, f.index, f.behindHead(extent{t.Offset, t.Bytes}))
	if err != nil {
		return nil, fmt.Errorf("read tombstones of %s: %w", f.object, err)
	}
	if crc := crc32c(bytes.bytes); crc != t.CRC {
		return nil, f.corrupt(fmt.Errorf("tombstones have CRC-32C %08x, want %08x", crc, t.CRC))
	}
	set, err := parseBitmap(bytes.bytes)
	if err != nil {
		return nil, f.corrupt(fmt.Errorf("tombstones: %w", err))
	}
	n := int64(set.GetCardinality())
	if n != f.info.Counts.Tombstones {
		return nil, f.corrupt(fmt.Errorf("key index has %d tombstones, want %d", n, f.info.Counts.Tombstones))
	}
	if n > 0 && int64(set.Maximum()) >= f.head.Rows {
		return nil, f.corrupt(fmt.Errorf("tombstones: row %d is not one of %d", set.Maximum(), f.head.Rows))
	}
	return set, nil
}

// parseBitmap reads a bitmap, and makes an error of a panic: the checksum was
// right, but that is no proof against malice.
func parseBitmap(b []byte) (set *roaring.Bitmap, err error) {
	defer func() {
		if r := recover(); r != nil {
			set, err = nil, fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	set = roaring.New()
	if err := set.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	return set, set.Validate()
}

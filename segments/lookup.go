package segments

import (
	"context"
	"encoding/binary"
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

// IndexPage is entries of a key index as they are stored, in order of digest,
// then row. It stays valid as long as it is referenced, and may keep a whole
// ranged read in memory.
type IndexPage []byte

// Len is the number of entries.
func (p IndexPage) Len() int { return len(p) / entryBytes }

// Entry is entry i, from 0.
func (p IndexPage) Entry(i int) IndexEntry { return storedEntry(p[i*entryBytes:]) }

// Digest is the digest of entry i, as two words whose order is that of digests:
// what goes over millions of entries has no time for more.
func (p IndexPage) Digest(i int) (hi, lo uint64) {
	b := p[i*entryBytes : i*entryBytes+16]
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
}

// Row is the row of entry i.
func (p IndexPage) Row(i int) uint32 { return binary.LittleEndian.Uint32(p[i*entryBytes+16:]) }

// check checks that the entries go up, also from the last one of the page
// before, and that each is of one of rows rows.
func (p IndexPage) check(before IndexPage, rows int64) error {
	hi, lo, row := uint64(0), uint64(0), int64(-1) // before all
	if n := before.Len(); n > 0 {
		hi, lo = before.Digest(n - 1)
		row = int64(before.Row(n - 1))
	}
	for i := range p.Len() {
		nextHi, nextLo := p.Digest(i)
		next := int64(p.Row(i))
		after := nextHi > hi || nextHi == hi && (nextLo > lo || nextLo == lo && next > row)
		if !after || next >= rows {
			return fmt.Errorf("row %d of digest %s is out of place", next, p.Entry(i).Digest)
		}
		hi, lo, row = nextHi, nextLo, next
	}
	return nil
}

// clip is the entries of p in r.
func (p IndexPage) clip(r DigestRange) IndexPage {
	n := p.Len()
	from := sort.Search(n, func(i int) bool { return p.Entry(i).Digest.Compare(r.From) >= 0 })
	end := sort.Search(n, func(i int) bool { return p.Entry(i).Digest.Compare(r.Through) > 0 })
	return p[from*entryBytes : max(from, end)*entryBytes]
}

// Pages yields the entries of the key index in r, in order of digest, then
// row. All keyed messages and tombstones are in the index, whatever became of
// their transactions; markers and keyless messages are not. No page is empty.
// They are fetched as they are needed, at most 1 MiB at once.
func (f *File) Pages(ctx context.Context, r DigestRange) iter.Seq2[IndexPage, error] {
	return func(yield func(IndexPage, error) bool) {
		first, end := f.pages(r)
		var last IndexPage
		for i := first; i < end; {
			n, whole := reach(end-i, func(j int) extent { return f.behindHead(f.head.Fences[i+j].extent()) }, pageFetchBytes)
			bytes, err := fetch(ctx, f.index, whole)
			if err != nil {
				yield(nil, fmt.Errorf("read key index of %s: %w", f.object, err))
				return
			}
			for ; n > 0; n, i = n-1, i+1 {
				page, err := f.page(i, bytes)
				if err == nil {
					err = page.check(last, f.head.Rows)
				}
				if err != nil {
					yield(nil, f.corrupt(fmt.Errorf("key index page %d: %w", i, err)))
					return
				}
				last = page
				if part := page.clip(r); len(part) > 0 && !yield(part, nil) {
					return
				}
			}
		}
	}
}

// Entries yields the entries of Pages one by one.
func (f *File) Entries(ctx context.Context, r DigestRange) iter.Seq2[IndexEntry, error] {
	return func(yield func(IndexEntry, error) bool) {
		for page, err := range f.Pages(ctx, r) {
			if err != nil {
				yield(IndexEntry{}, err)
				return
			}
			for i := range page.Len() {
				if !yield(page.Entry(i), nil) {
					return
				}
			}
		}
	}
}

// MostEntries is how many entries of the key index may lie in r: those of all
// pages that have one in it.
func (f *File) MostEntries(r DigestRange) int64 {
	first, end := f.pages(r)
	var n int64
	for i := first; i < end; i++ {
		n += f.head.Fences[i].Count
	}
	return n
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
func (f *File) page(i int, from span) (IndexPage, error) {
	fence := &f.head.Fences[i]
	page := IndexPage(from.at(f.behindHead(fence.extent())))
	if crc := crc32c(page); crc != fence.CRC {
		return nil, fmt.Errorf("its CRC-32C is %08x, want %08x", crc, fence.CRC)
	}
	if page.Entry(0).Digest != fence.Digest {
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

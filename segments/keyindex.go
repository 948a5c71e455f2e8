package segments

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
)

// A page is pageEntries entries, the last one maybe less. An entry is stored
// as the digest's bytes and the row, little-endian.
const (
	pageEntries = 4096
	entryBytes  = 20
)

// entry is an IndexEntry as it is sorted: two comparisons of words instead of
// one of bytes.
type entry struct {
	hi, lo uint64
	row    uint32
}

func newEntry(d Digest, row uint32) entry {
	return entry{hi: binary.BigEndian.Uint64(d[:8]), lo: binary.BigEndian.Uint64(d[8:]), row: row}
}

func (e entry) digest() (d Digest) {
	binary.BigEndian.PutUint64(d[:8], e.hi)
	binary.BigEndian.PutUint64(d[8:], e.lo)
	return d
}

// append appends e as it is stored.
func (e entry) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, e.hi)
	b = binary.BigEndian.AppendUint64(b, e.lo)
	return binary.LittleEndian.AppendUint32(b, e.row)
}

// storedEntry is the entry that b begins with.
func storedEntry(b []byte) IndexEntry {
	return IndexEntry{Digest: Digest(b[:16]), Row: binary.LittleEndian.Uint32(b[16:])}
}

func compareEntries(a, b entry) int {
	if c := cmp.Compare(a.hi, b.hi); c != 0 {
		return c
	}
	if c := cmp.Compare(a.lo, b.lo); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// writeIndex writes the key index of s. The head goes first, and has the
// checksums of what follows, so pages are made twice rather than kept.
func (w *Writer) writeIndex(s *Sealed, blocks []headBlock) error {
	slices.SortFunc(w.entries, compareEntries)
	h := head{
		Format:  FormatVersion,
		Rows:    int64(w.rows),
		Blocks:  blocks,
		Entries: int64(len(w.entries)),
		Fences:  []fence{},
	}
	var end int64
	var page []byte
	for entries := range slices.Chunk(w.entries, pageEntries) {
		page = appendPage(page[:0], entries)
		h.Fences = append(h.Fences, fence{
			Digest: entries[0].digest(),
			Offset: end,
			Count:  int64(len(entries)),
			CRC:    crc32c(page),
		})
		end += int64(len(page))
	}
	var tombstones bytes.Buffer
	if !w.tombstones.IsEmpty() {
		w.tombstones.RunOptimize()
		if _, err := w.tombstones.WriteTo(&tombstones); err != nil {
			return fmt.Errorf("write tombstones: %w", err)
		}
	}
	h.Tombstones = headTombstones{Offset: end, Bytes: int64(tombstones.Len()), CRC: crc32c(tombstones.Bytes())}

	text, err := h.marshal()
	if err != nil {
		return err
	}
	s.Index = new(Buffer)
	s.Index.Write(text)
	for entries := range slices.Chunk(w.entries, pageEntries) {
		page = appendPage(page[:0], entries)
		s.Index.Write(page)
	}
	s.Index.Write(tombstones.Bytes())

	sum := sha256.Sum256(text)
	s.Info.Index = IndexInfo{
		Bytes:      s.Index.Size(),
		HeadBytes:  int64(len(text)),
		HeadSHA256: hex.EncodeToString(sum[:]),
	}
	return nil
}

func appendPage(b []byte, entries []entry) []byte {
	for _, e := range entries {
		b = e.append(b)
	}
	return b
}

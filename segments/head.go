package segments

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// head is the first part of a key index, in JSON. It says where everything is,
// in the segment and in the index, and has the checksum of each piece; a
// manifest has the digest of the head. So whoever trusts a manifest can check
// every byte that he reads, and need not read others for it.
//
//	key index:  | head | page | page | ... | tombstones |
//	                   ^ offsets count from here
type head struct {
	Format     int            `json:"format"`
	Rows       int64          `json:"rows"`
	Blocks     []headBlock    `json:"blocks"`
	Entries    int64          `json:"entries"`
	Fences     []fence        `json:"fences"`
	Tombstones headTombstones `json:"tombstones"`
}

// headBlock is one record batch. Its message is, from Offset in the segment,
// Metadata bytes, and Body bytes of which the first Header are the buffers of
// the header columns.
type headBlock struct {
	FirstRow      uint32   `json:"first_row"`
	Rows          uint32   `json:"rows"`
	First         Position `json:"first"`
	Last          Position `json:"last"`
	MaxPublish    Millis   `json:"max_publish"`
	Offset        int64    `json:"offset"`
	Metadata      int64    `json:"metadata"`
	Header        int64    `json:"header"`
	Body          int64    `json:"body"`
	HeaderCRC     uint32   `json:"header_crc32c"`  // of metadata and headers
	CRC           uint32   `json:"crc32c"`         // of metadata and body
	HeaderDecoded int64    `json:"header_decoded"` // bytes of the headers' buffers, not compressed
	Decoded       int64    `json:"decoded"`        // bytes of all buffers, not compressed
}

// describe puts in what Block tells.
func (b *headBlock) describe(d Block) {
	b.FirstRow, b.Rows = d.FirstRow, d.Rows
	b.First, b.Last, b.MaxPublish = d.First, d.Last, d.MaxPublish
}

// block is what Block tells.
func (b *headBlock) block() Block {
	return Block{FirstRow: b.FirstRow, Rows: b.Rows, First: b.First, Last: b.Last, MaxPublish: b.MaxPublish}
}

// extent is where the bytes to read for cols lie in the segment.
func (b *headBlock) extent(cols Columns) extent {
	if cols == Headers {
		return extent{b.Offset, b.Metadata + b.Header}
	}
	return extent{b.Offset, b.Metadata + b.Body}
}

// fence is one page of entries.
type fence struct {
	Digest Digest `json:"digest"` // of its first entry
	Offset int64  `json:"offset"`
	Count  int64  `json:"count"` // of entries
	CRC    uint32 `json:"crc32c"`
}

// extent is where the page lies behind the head.
func (f *fence) extent() extent { return extent{f.Offset, f.Count * entryBytes} }

// headTombstones is where the bitmap of tombstones lies. There is none if it
// has no bytes.
type headTombstones struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	CRC    uint32 `json:"crc32c"`
}

// maxDecoded bounds what the buffers of a block come to. A row takes no more
// in columns than Message.Bytes says, beside a few bytes for each column.
const maxDecoded = maxBatchBytes + 4096

// maxHeadBytes bounds the head of an index: it is some 300 bytes for each
// batch and 100 for each page.
const maxHeadBytes = 64 << 20

// parseHead reads the head of the index that info tells of, and checks that
// all it points at lies where it can.
func parseHead(b []byte, info Info) (*head, error) {
	h := new(head)
	if err := json.Unmarshal(b, h); err != nil {
		return nil, err
	}
	if h.Format != FormatVersion {
		return nil, fmt.Errorf("it has format version %d, want %d", h.Format, FormatVersion)
	}
	if err := h.checkBlocks(info); err != nil {
		return nil, err
	}
	if err := h.checkPages(info.Index.Bytes - int64(len(b))); err != nil {
		return nil, err
	}
	return h, nil
}

// checkBlocks checks that the blocks hold all rows in order, and lie one behind
// the other in the segment.
func (h *head) checkBlocks(info Info) error {
	if h.Rows != info.Counts.Rows() || h.Rows < 1 || h.Rows > math.MaxUint32 {
		return fmt.Errorf("it has %d rows, want %d", h.Rows, info.Counts.Rows())
	}
	var row, end int64
	last := None
	for i := range h.Blocks {
		b := &h.Blocks[i]
		switch {
		case int64(b.FirstRow) != row || b.Rows == 0 || int64(b.Rows) > math.MaxInt32:
			return fmt.Errorf("block %d has %d rows from %d, after %d", i, b.Rows, b.FirstRow, row)
		case !b.First.After(last) || b.Last.Before(b.First):
			return fmt.Errorf("block %d has positions from %s to %s, after %s", i, b.First, b.Last, last)
		case b.Offset < end || b.Metadata <= 0 || b.Header < 0 || b.Body < b.Header ||
			b.Offset > info.Bytes || b.Metadata > info.Bytes-b.Offset || b.Body > info.Bytes-b.Offset-b.Metadata:
			return fmt.Errorf("block %d has no place at %d after %d, with %d and %d of %d bytes", i, b.Offset, end, b.Metadata, b.Body, info.Bytes)
		case b.HeaderDecoded < 0 || b.Decoded < b.HeaderDecoded || b.Decoded > maxDecoded:
			return fmt.Errorf("block %d decodes to %d bytes, %d of them headers", i, b.Decoded, b.HeaderDecoded)
		}
		row += int64(b.Rows)
		last = b.Last
		end = b.Offset + b.Metadata + b.Body
	}
	if row != h.Rows {
		return fmt.Errorf("its blocks have %d rows, want %d", row, h.Rows)
	}
	return nil
}

// checkPages checks that the pages and the tombstones fill the rest bytes
// behind the head.
func (h *head) checkPages(rest int64) error {
	var count, end int64
	for i := range h.Fences {
		f := &h.Fences[i]
		switch {
		case f.Offset != end || f.Count <= 0 || f.Count > pageEntries || f.Count*entryBytes > rest-end:
			return fmt.Errorf("page %d has no place at %d, with %d entries", i, f.Offset, f.Count)
		case i > 0 && f.Digest.Compare(h.Fences[i-1].Digest) < 0:
			return fmt.Errorf("page %d lies before the one before it", i)
		}
		count += f.Count
		end += f.Count * entryBytes
	}
	if count != h.Entries || count > h.Rows {
		return fmt.Errorf("its pages have %d entries, want %d, of %d rows", count, h.Entries, h.Rows)
	}
	if t := h.Tombstones; t.Offset != end || t.Bytes < 0 || t.Bytes != rest-end {
		return fmt.Errorf("tombstones have no place at %d, with %d of %d bytes", t.Offset, t.Bytes, rest-end)
	}
	return nil
}

// marshal is the JSON of h.
func (h *head) marshal() ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write key index head: %w", err)
	}
	if len(b) > maxHeadBytes {
		return nil, errors.New("the segment has too many batches for its index")
	}
	return b, nil
}

package segments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// Source reads ranges of one object. It fills p wholly or fails, like
// objstore.Store's ReadAt.
type Source interface {
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// Columns chooses what is read of a row.
type Columns int

// Headers are all columns up to ordering_key, which lie together in front of
// each batch: Value and Properties stay unread. All are all.
const (
	Headers Columns = iota
	All
)

// Block describes one record batch of a segment, as the key index's head
// tells it.
type Block struct {
	FirstRow   uint32   // number of its first row in the segment
	Rows       uint32   // at least 1
	First      Position // of its first row
	Last       Position // of its last row
	MaxPublish Millis
}

// File is one segment opened for reading. Every byte is checked against a
// digest or checksum before it is decoded; bytes that do not match, or that do
// not decode, are a CorruptError that names Object. It is safe for concurrent
// use and needs no closing.
//
// What vouches for what, from the manifest down:
//
//	Info.Index.HeadSHA256 -> head of the index -> CRC-32C of each block's
//	    headers, of each block, of each page of entries, of the tombstones
//	Info.SHA256 -> the segment as a whole, for Verify
//
// No Arrow footer or schema is ever read: the head knows where the blocks lie,
// and the schema is always the same.
type File struct {
	object      string
	data, index Source
	info        Info
	head        *head
	blocks      []Block
	inflater    *inflater
}

// Open reads the head of the key index, in one ranged read. object names the
// segment in errors.
func Open(ctx context.Context, object string, data, index Source, info Info) (*File, error) {
	f := &File{object: object, data: data, index: index, info: info, inflater: newInflater()}
	if n := info.Index.HeadBytes; n <= 0 || n > info.Index.Bytes || n > maxHeadBytes {
		return nil, f.corrupt(fmt.Errorf("key index head has %d of %d bytes", n, info.Index.Bytes))
	}
	head, err := fetch(ctx, index, extent{0, info.Index.HeadBytes})
	if err != nil {
		return nil, fmt.Errorf("open %s: key index head: %w", object, err)
	}
	if sum := sha256.Sum256(head.bytes); hex.EncodeToString(sum[:]) != info.Index.HeadSHA256 {
		return nil, f.corrupt(fmt.Errorf("key index head has SHA-256 %x, want %s", sum, info.Index.HeadSHA256))
	}
	if f.head, err = parseHead(head.bytes, info); err != nil {
		return nil, f.corrupt(fmt.Errorf("key index head: %w", err))
	}
	f.blocks = make([]Block, len(f.head.Blocks))
	for i := range f.head.Blocks {
		f.blocks[i] = f.head.Blocks[i].block()
	}
	return f, nil
}

// corrupt is err about the whole.
func (f *File) corrupt(err error) error {
	return &CorruptError{Object: f.object, Batch: -1, Err: err}
}

// corruptBlock is err about one block, and its column where err knows it.
func corruptBlock(object string, block int, err error) error {
	c := &CorruptError{Object: object, Batch: block, Err: err}
	var column *columnError
	if errors.As(err, &column) {
		c.Column, c.Err = column.column, column.err
	}
	return c
}

// Info is what Open was given.
func (f *File) Info() Info { return f.info }

// Blocks lists the record batches, in order. The slice is not to be changed.
func (f *File) Blocks() []Block { return f.blocks }

// Scan yields the rows of the blocks numbered in blocks, which go up, block by
// block in order. Neighbours are fetched together, in ranged reads of at most
// 8 MiB, or one block if that is larger. While one is looked at, up to eight
// others of together no more than 8 MiB are under way; none is when Scan ends.
func (f *File) Scan(ctx context.Context, blocks []int, cols Columns) iter.Seq2[*Rows, error] {
	return func(yield func(*Rows, error) bool) {
		for i, b := range blocks {
			if b < 0 || b >= len(f.blocks) || i > 0 && b <= blocks[i-1] {
				yield(nil, fmt.Errorf("scan %s: block %d is out of order, or not one of %d", f.object, b, len(f.blocks)))
				return
			}
		}
		var reads []extent
		var each []int // blocks of each read
		for rest := blocks; len(rest) > 0; {
			n, whole := reach(len(rest), func(i int) extent { return f.head.Blocks[rest[i]].extent(cols) }, fetchBytes)
			reads, each = append(reads, whole), append(each, n)
			rest = rest[n:]
		}
		rest := blocks
		for bytes, err := range fetchAhead(ctx, f.data, reads) {
			if err != nil {
				yield(nil, fmt.Errorf("scan %s: %w", f.object, err))
				return
			}
			for _, b := range rest[:each[0]] {
				rows, err := f.decode(b, cols, bytes.at(f.head.Blocks[b].extent(cols)))
				if err != nil {
					yield(nil, corruptBlock(f.object, b, err))
					return
				}
				if !yield(rows, nil) {
					return
				}
			}
			rest, each = rest[each[0]:], each[1:]
		}
	}
}

// decode makes rows of the bytes of block i.
func (f *File) decode(i int, cols Columns, b []byte) (*Rows, error) {
	block := &f.head.Blocks[i]
	want, decoded := block.CRC, block.Decoded
	if cols == Headers {
		want, decoded = block.HeaderCRC, block.HeaderDecoded
	}
	if crc := crc32c(b); crc != want {
		return nil, fmt.Errorf("its CRC-32C is %08x, want %08x", crc, want)
	}
	m, err := parseMessage(b)
	if err != nil {
		return nil, err
	}
	if m.metaBytes != block.Metadata || m.bodyBytes != block.Body {
		return nil, fmt.Errorf("its metadata and body have %d and %d bytes, want %d and %d", m.metaBytes, m.bodyBytes, block.Metadata, block.Body)
	}
	rows, err := decodeBatch(m, b[m.metaBytes:], cols, f.inflater, budget(decoded*decodedShare))
	if err != nil {
		return nil, err
	}
	if rows.len != int(block.Rows) || rows.Position(0) != block.First || rows.Position(rows.len-1) != block.Last {
		return nil, fmt.Errorf("it has %d rows, want %d from %s to %s", rows.len, block.Rows, block.First, block.Last)
	}
	rows.first = block.FirstRow
	return rows, nil
}

// Gather yields the rows numbered in rows, whole, in order. Blocks without a
// wanted row are not fetched.
func (f *File) Gather(ctx context.Context, rows *roaring.Bitmap) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if rows.IsEmpty() {
			return
		}
		if last := rows.Maximum(); int64(last) >= f.head.Rows {
			yield(Message{}, fmt.Errorf("gather from %s: row %d is not one of %d", f.object, last, f.head.Rows))
			return
		}
		// One pass over the wanted rows finds the blocks, a second one picks.
		var blocks []int
		wanted := rows.Iterator()
		for i, b := range f.blocks {
			wanted.AdvanceIfNeeded(b.FirstRow)
			if !wanted.HasNext() {
				break
			}
			if wanted.PeekNext()-b.FirstRow < b.Rows {
				blocks = append(blocks, i)
			}
		}
		wanted = rows.Iterator()
		for batch, err := range f.Scan(ctx, blocks, All) {
			if err != nil {
				yield(Message{}, err)
				return
			}
			for wanted.HasNext() && wanted.PeekNext()-batch.first < uint32(batch.len) {
				if !yield(batch.Message(int(wanted.Next()-batch.first)), nil) {
					return
				}
			}
		}
	}
}

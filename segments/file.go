package segments

import (
	"context"
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
// digest or checksum before Arrow sees it; bytes that do not match, or that do
// not decode, are a CorruptError that names Object. It is safe for concurrent
// use and needs no closing.
type File struct{}

// Open reads the head of the key index, in one ranged read. object names the
// segment in errors.
func Open(ctx context.Context, object string, data, index Source, info Info) (*File, error) {
	panic("not built")
}

// Info is what Open was given.
func (f *File) Info() Info { panic("not built") }

// Blocks lists the record batches, in order. The slice is not to be changed.
func (f *File) Blocks() []Block { panic("not built") }

// Scan yields the rows of the blocks numbered in blocks, which go up, block by
// block in order. Neighbours are fetched together, in ranged reads of at most
// 8 MiB, or one block if that is larger.
func (f *File) Scan(ctx context.Context, blocks []int, cols Columns) iter.Seq2[*Rows, error] {
	panic("not built")
}

// Gather yields the rows numbered in rows, whole, in order. Blocks without a
// wanted row are not fetched.
func (f *File) Gather(ctx context.Context, rows *roaring.Bitmap) iter.Seq2[Message, error] {
	panic("not built")
}

// Verify reads the whole segment and checks it against Info's digest, then
// decodes every batch.
func (f *File) Verify(ctx context.Context) error { panic("not built") }

// Tombstones is the set of rows that are tombstones. It costs one ranged read,
// or none where the segment has none. The set is the caller's.
func (f *File) Tombstones(ctx context.Context) (*roaring.Bitmap, error) { panic("not built") }

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
func AllDigests() DigestRange { panic("not built") }

// Entries yields the entries of the key index in r, in order of digest, then
// row. All keyed messages and tombstones are in the index, whatever became of
// their transactions; markers and keyless messages are not.
func (f *File) Entries(ctx context.Context, r DigestRange) iter.Seq2[IndexEntry, error] {
	panic("not built")
}

// Lookup is the rows whose key has digest d, going up, in at most one ranged
// read where they lie in one page.
func (f *File) Lookup(ctx context.Context, d Digest) ([]uint32, error) { panic("not built") }

// Rows is the decoded rows of one block. It stays valid as long as it is
// referenced; what its methods return shares its memory and is not to be
// changed.
type Rows struct{}

// Len is the number of rows.
func (r *Rows) Len() int { panic("not built") }

// First is the number of the first row in its segment.
func (r *Rows) First() uint32 { panic("not built") }

// Position of row i, from 0. So for the other accessors.
func (r *Rows) Position(i int) Position { panic("not built") }

// Kind of row i.
func (r *Rows) Kind(i int) Kind { panic("not built") }

// Key of row i; nil for a keyless one.
func (r *Rows) Key(i int) []byte { panic("not built") }

// Txn is the transaction of row i.
func (r *Rows) Txn(i int) Null[TxnID] { panic("not built") }

// PublishTime of row i.
func (r *Rows) PublishTime(i int) Millis { panic("not built") }

// EventTime of row i.
func (r *Rows) EventTime(i int) Null[Millis] { panic("not built") }

// Message is row i; without Value and Properties where only Headers were read.
func (r *Rows) Message(i int) Message { panic("not built") }

package segments

import (
	"errors"
	"fmt"
)

// ErrCorrupt says that stored bytes are not what was written. The error names
// the object, and where it can the batch and the column.
var ErrCorrupt = errors.New("corrupt")

// CorruptError is ErrCorrupt with the place.
type CorruptError struct {
	Object string // key of the object; empty when the caller knows it
	Batch  int    // record batch, from 0; -1 when it is about the whole
	Column string // empty when it is about the batch
	Err    error  // what was seen
}

func (e *CorruptError) Error() string {
	place := e.Object
	if place == "" {
		place = "segment"
	}
	if e.Batch >= 0 {
		place += fmt.Sprintf(", batch %d", e.Batch)
	}
	if e.Column != "" {
		place += ", column " + e.Column
	}
	return fmt.Sprintf("%s: corrupt: %v", place, e.Err)
}

// Unwrap gives what was seen.
func (e *CorruptError) Unwrap() error { return e.Err }

// Is makes every CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Compression names how the buffers of a segment are compressed.
type Compression string

// The compressions of Arrow IPC.
const (
	CompressionNone Compression = "none"
	CompressionLZ4  Compression = "lz4"
	CompressionZstd Compression = "zstd"
)

// Counts counts the rows of a segment. Messages, Tombstones, Commits and
// Aborts add up to the rows; Keyless (messages without key) and InTxn (messages
// and tombstones of a transaction) are counted among them.
type Counts struct {
	Messages   int64 `json:"messages"`
	Tombstones int64 `json:"tombstones"`
	Commits    int64 `json:"commits"`
	Aborts     int64 `json:"aborts"`
	Keyless    int64 `json:"keyless"`
	InTxn      int64 `json:"in_txn"`
}

// Rows is the number of rows of any kind.
func (c Counts) Rows() int64 { return c.Messages + c.Tombstones + c.Commits + c.Aborts }

// Ledger tells what one segment holds of one ledger: its first and last entry,
// and the newest publish time among them.
type Ledger struct {
	Ledger     int64  `json:"ledger"`
	First      int64  `json:"first"`
	Last       int64  `json:"last"`
	MaxPublish Millis `json:"max_publish"`
}

// Info is what a manifest carries of a segment, so that nobody needs to open
// it to know it, and nobody needs to trust its bytes.
type Info struct {
	Bytes      int64        `json:"bytes"`
	SHA256     string       `json:"sha256"` // of the whole segment, in hexadecimal
	Counts     Counts       `json:"counts"`
	MinPublish Millis       `json:"min_publish"`
	MaxPublish Millis       `json:"max_publish"`
	MinEvent   Null[Millis] `json:"min_event"`
	MaxEvent   Null[Millis] `json:"max_event"`
	Ledgers    []Ledger     `json:"ledgers"` // in order
	Index      IndexInfo    `json:"index"`
}

// IndexInfo is what a manifest carries of a segment's key index. Head is the
// part that says where everything is; its digest vouches for the rest.
type IndexInfo struct {
	Bytes      int64  `json:"bytes"`
	HeadBytes  int64  `json:"head_bytes"`
	HeadSHA256 string `json:"head_sha256"` // in hexadecimal
}

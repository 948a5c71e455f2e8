package segments

import (
	"encoding/binary"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// What an LZ4 frame begins with: its magic number, a byte of flags, a byte that
// says how large blocks may be, and a checksum of these two. Arrow writes it
// without a length, and with blocks that stand each for itself and have no
// checksum.
const (
	lz4Magic     = 0x184D2204
	lz4Flags     = 0x60 // version 1, independent blocks, and nothing else
	lz4HeadBytes = 7
	lz4SizeBytes = 4
	lz4Stored    = 1 << 31 // in the size of a block that is as it is
)

// plainFrame is the blocks of b, with the mark of their end, if b is a frame as
// Arrow writes them. All others are left to the library's reader of frames,
// which copies each block twice.
func plainFrame(b []byte) (blocks []byte, plain bool) {
	plain = len(b) >= lz4HeadBytes && binary.LittleEndian.Uint32(b) == lz4Magic && b[4] == lz4Flags
	if !plain {
		return nil, false
	}
	return b[lz4HeadBytes:], true
}

// inflateBlocks inflates blocks, up to the mark of their end, to length bytes.
func inflateBlocks(b []byte, length int64) ([]byte, error) {
	out := make([]byte, length)
	n := 0
	for i := 0; ; i++ {
		if len(b) < lz4SizeBytes {
			return nil, fmt.Errorf("inflate: block %d is missing", i)
		}
		size := binary.LittleEndian.Uint32(b)
		b = b[lz4SizeBytes:]
		if size == 0 {
			break
		}
		stored := size&lz4Stored != 0
		size &^= lz4Stored
		if uint64(size) > uint64(len(b)) {
			return nil, fmt.Errorf("inflate: block %d has %d bytes, of which %d are there", i, size, len(b))
		}
		block := b[:size]
		b = b[size:]
		if !stored {
			m, err := lz4.UncompressBlock(block, out[n:])
			if err != nil {
				return nil, fmt.Errorf("inflate block %d: %w", i, err)
			}
			n += m
			continue
		}
		if len(block) > len(out)-n {
			return nil, fmt.Errorf("a buffer of %d bytes inflates to more", length)
		}
		n += copy(out[n:], block)
	}
	if n != len(out) || len(b) > 0 {
		return nil, fmt.Errorf("a buffer of %d bytes inflates to %d, with %d bytes behind it", len(out), n, len(b))
	}
	return out, nil
}

package segments

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// What RFC 8878 says of Zstandard frames.
const (
	zstdMagic      = 0xFD2FB528
	zstdSkipMagic  = 0x184D2A50 // and the fifteen above it
	zstdBlockBytes = 128 << 10  // no block inflates to more
)

var errZstdCut = errors.New("a Zstandard frame is cut off")

// ZstdMost is the most bytes that the Zstandard frames in b can inflate to. It
// goes by the blocks that are there, of which each costs some bytes, and not by
// what a frame says of its content: a decoder may allocate as much without
// being led on by a lie. Nothing is inflated.
func ZstdMost(b []byte) (int64, error) {
	most := int64(0)
	for len(b) > 0 {
		n, rest, err := zstdFrame(b)
		if err != nil {
			return 0, err
		}
		most += n
		b = rest
	}
	return most, nil
}

// zstdFrame is the most bytes that the frame in front of b can inflate to, and
// what follows it.
func zstdFrame(b []byte) (most int64, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, errZstdCut
	}
	magic := binary.LittleEndian.Uint32(b)
	if magic&^0xF == zstdSkipMagic {
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if n > int64(len(b)-8) {
			return 0, nil, errZstdCut
		}
		return 0, b[8+n:], nil
	}
	if magic != zstdMagic {
		return 0, nil, fmt.Errorf("a Zstandard frame begins with %08x", magic)
	}
	descriptor := b[4]
	single := descriptor>>5&1 == 1
	header := 5 + [4]int{0, 1, 2, 4}[descriptor&3] + [4]int{0, 2, 4, 8}[descriptor>>6]
	switch {
	case !single:
		header++ // the window
	case descriptor>>6 == 0:
		header++ // a content size of one byte
	}
	if header > len(b) {
		return 0, nil, errZstdCut
	}
	b = b[header:]
	for last := false; !last; {
		if len(b) < 3 {
			return 0, nil, errZstdCut
		}
		block := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		last = block&1 == 1
		stored, size := block>>3, block>>3
		switch block >> 1 & 3 {
		case 1: // one byte, so many times
			stored = 1
		case 2:
			size = zstdBlockBytes
		case 3:
			return 0, nil, errors.New("a Zstandard block is of a reserved type")
		}
		if size > zstdBlockBytes {
			return 0, nil, fmt.Errorf("a Zstandard block has %d bytes", size)
		}
		if stored > len(b)-3 {
			return 0, nil, errZstdCut
		}
		most += int64(size)
		b = b[3+stored:]
	}
	if descriptor>>2&1 == 1 { // a checksum
		if len(b) < 4 {
			return 0, nil, errZstdCut
		}
		b = b[4:]
	}
	return most, b, nil
}

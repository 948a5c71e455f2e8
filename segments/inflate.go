package segments

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A compressed buffer begins with the length that it has when it is inflated,
// in lengthBytes bytes; or with notCompressed, if what follows is as it is.
const (
	lengthBytes   = 8
	notCompressed = -1
)

// inflater decompresses buffers. It is safe for concurrent use.
//
// Arrow's own reader would make a streaming decompressor for each batch, whose
// window is as large as the stream says, up to half a gigabyte; here nothing
// is allocated that was not asked for first.
type inflater struct {
	zstd func() (*zstd.Decoder, error) // made at the first use; it runs nothing of its own
	lz4  sync.Pool                     // of *lz4.Reader
}

func newInflater() *inflater {
	return &inflater{
		zstd: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		}),
		lz4: sync.Pool{New: func() any { return lz4.NewReader(nil) }},
	}
}

// budget is how many bytes a decode may still allocate.
type budget int64

func (b *budget) take(n int64) error {
	if n > int64(*b) {
		return fmt.Errorf("it takes %d bytes, more than the %d allowed", n, *b)
	}
	*b -= budget(n)
	return nil
}

// buffer is what the compressed buffer b holds. What b says of its length is
// not believed beyond left.
func (in *inflater) buffer(c codec, b []byte, left *budget) ([]byte, error) {
	if c == codecNone || len(b) == 0 {
		return b, nil
	}
	if len(b) < lengthBytes {
		return nil, fmt.Errorf("a buffer of %d bytes has no room for its length", len(b))
	}
	length, b := int64(binary.LittleEndian.Uint64(b)), b[lengthBytes:]
	if length == notCompressed {
		return b, nil
	}
	if length < 0 {
		return nil, fmt.Errorf("a buffer has length %d", length)
	}
	if most, err := inflatedMost(c, b); err != nil {
		return nil, err
	} else if length > most {
		return nil, fmt.Errorf("a buffer has length %d, and its %d bytes can inflate to %d", length, len(b), most)
	}
	if err := left.take(length); err != nil {
		return nil, err
	}
	switch c {
	case codecLZ4:
		return in.inflateLZ4(b, length)
	case codecZstd:
		return in.inflateZstd(b, length)
	}
	return nil, fmt.Errorf("codec %d is none of ours", c)
}

// lz4Share is how many bytes one byte of LZ4 can stand for: one more byte makes
// a match longer by 255.
const lz4Share = 255

// inflatedMost is the most bytes that b can inflate to.
func inflatedMost(c codec, b []byte) (int64, error) {
	if c == codecZstd {
		return ZstdMost(b)
	}
	return lz4Share * int64(len(b)), nil
}

func (in *inflater) inflateZstd(b []byte, length int64) ([]byte, error) {
	decoder, err := in.zstd()
	if err != nil {
		return nil, fmt.Errorf("start zstd: %w", err)
	}
	out, err := decoder.DecodeAll(b, make([]byte, 0, length))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if int64(len(out)) != length {
		return nil, fmt.Errorf("a buffer of %d bytes inflates to %d", length, len(out))
	}
	return out, nil
}

func (in *inflater) inflateLZ4(b []byte, length int64) ([]byte, error) {
	if blocks, plain := plainFrame(b); plain {
		return inflateBlocks(blocks, length)
	}
	r := in.lz4.Get().(*lz4.Reader)
	defer in.lz4.Put(r)
	r.Reset(bytes.NewReader(b))
	out := make([]byte, length)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	// Reading to the end also checks what stands there.
	switch n, err := r.Read(make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("a buffer of %d bytes inflates to more", length)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("inflate the end of a buffer: %w", err)
	}
	return out, nil
}

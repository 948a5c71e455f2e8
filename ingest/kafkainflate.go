package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/ledgerfold/ledgerfold/segments"
)

// batchInflater decompresses the records of batches. What a batch says of its
// length is not believed: there is room for what its bytes can hold, and never
// for more than most.
type batchInflater struct {
	most int64
	out  []byte // of the last one; used again

	gzip *gzip.Reader
	lz4  *lz4.Reader
	zstd *zstd.Decoder
}

// errTooLarge says that a batch would inflate to more than is allowed.
var errTooLarge = errors.New("it would inflate to more bytes than are allowed")

// The codecs of batches, by their numbers.
const (
	codecNone = iota
	codecGzip
	codecSnappy
	codecLZ4
	codecZstd
)

// inflate is what b holds, which is valid until the next call.
func (in *batchInflater) inflate(codec int16, b []byte) (out []byte, err error) {
	defer func() {
		// Whoever wrote the batch may have made it for these decompressors.
		if p := recover(); p != nil {
			*in = batchInflater{most: in.most}
			out, err = nil, fmt.Errorf("it cannot be decompressed: panic: %v", p)
		}
	}()
	if in.out = in.out[:0]; cap(in.out) > longKept {
		in.out = nil
	}
	name := ""
	switch codec {
	case codecNone:
		return b, nil
	case codecGzip:
		name = "gzip"
		if in.gzip == nil {
			in.gzip = new(gzip.Reader)
		}
		if err = in.gzip.Reset(bytes.NewReader(b)); err == nil {
			err = in.readAll(in.gzip)
		}
	case codecSnappy:
		name = "snappy"
		err = in.snappy(b)
	case codecLZ4:
		name = "lz4"
		if in.lz4 == nil {
			in.lz4 = lz4.NewReader(nil)
		}
		in.lz4.Reset(bytes.NewReader(b))
		err = in.readAll(in.lz4)
	case codecZstd:
		name = "zstd"
		err = in.zstandard(b)
	default:
		return nil, fmt.Errorf("it is compressed by the unknown codec %d", codec)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be decompressed (%s): %w", name, err)
	}
	return in.out, nil
}

func (in *batchInflater) readAll(r io.Reader) error {
	for {
		if len(in.out) == cap(in.out) {
			in.out = slices.Grow(in.out, max(4096, len(in.out)))
		}
		n, err := r.Read(in.out[len(in.out):cap(in.out)])
		in.out = in.out[:len(in.out)+n]
		switch {
		case int64(len(in.out)) > in.most:
			return errTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// xerialMagic begins what Java's snappy library writes: blocks behind their
// lengths. Other clients write one block, and nothing in front of it.
var xerialMagic = []byte("\x82SNAPPY\x00")

func (in *batchInflater) snappy(b []byte) error {
	const headerBytes = 16 // magic and two versions
	if !bytes.HasPrefix(b, xerialMagic) {
		return in.snappyBlock(b)
	}
	if len(b) < headerBytes {
		return io.ErrUnexpectedEOF
	}
	for b = b[headerBytes:]; len(b) > 0; {
		if len(b) < 4 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(b))
		b = b[4:]
		if n > int64(len(b)) {
			return io.ErrUnexpectedEOF
		}
		if err := in.snappyBlock(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// snappyShare is more bytes than one byte of snappy can stand for: three can
// make 64.
const snappyShare = 22

func (in *batchInflater) snappyBlock(b []byte) error {
	n, err := s2.DecodedLen(b)
	switch {
	case err != nil:
		return err
	case int64(n) > snappyShare*int64(len(b)):
		return s2.ErrCorrupt
	case int64(len(in.out))+int64(n) > in.most:
		return errTooLarge
	}
	in.out = slices.Grow(in.out, n)
	block, err := s2.Decode(in.out[len(in.out):len(in.out)+n], b)
	if err != nil {
		return err
	}
	in.out = append(in.out, block...)
	return nil
}

func (in *batchInflater) zstandard(b []byte) error {
	most, err := segments.ZstdMost(b)
	if err != nil {
		return err
	}
	if in.zstd == nil {
		in.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(windowBytesMax), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return err
		}
	}
	in.out = slices.Grow(in.out, int(min(most, in.most)))
	in.out, err = in.zstd.DecodeAll(b, in.out)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) && most > in.most {
		return errTooLarge
	}
	return err
}

package segments

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// writeData writes the batches into the Arrow file of s, and tells where they
// lie in it and what vouches for them.
func (w *Writer) writeData(s *Sealed, r Range) ([]headBlock, error) {
	schema := fileSchema(w.settings, r)
	options := []ipc.Option{ipc.WithSchema(schema), ipc.WithAllocator(memory.NewGoAllocator())}
	switch w.settings.Compression {
	case CompressionNone:
	case CompressionLZ4:
		options = append(options, ipc.WithLZ4())
	case CompressionZstd:
		options = append(options, ipc.WithZstd())
	default:
		return nil, fmt.Errorf("compression %q is none of none, lz4, zstd", w.settings.Compression)
	}
	sum := sha256.New()
	file, err := ipc.NewFileWriter(io.MultiWriter(s.Data, sum), options...)
	if err != nil {
		return nil, fmt.Errorf("start Arrow file: %w", err)
	}
	var blocks []headBlock
	for i := range w.batches {
		b := &w.batches[i]
		start := s.Data.Size()
		if err := file.Write(b.record); err != nil {
			return nil, fmt.Errorf("write batch %d: %w", i, err)
		}
		b.record = nil // let its memory go
		if i == 0 {
			// Arrow writes magic and schema with the first batch.
			start = 8
			start += 8 + int64(binary.LittleEndian.Uint32(s.Data.copyAt(start+4, 4)))
		}
		block, err := survey(s.Data, start)
		if err != nil {
			return nil, fmt.Errorf("survey batch %d: %w", i, err)
		}
		block.describe(b.Block)
		blocks = append(blocks, block)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("end Arrow file: %w", err)
	}
	s.Info.Bytes = s.Data.Size()
	s.Info.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return blocks, nil
}

// survey finds out where in the record batch message at off, the last one
// written, the headers end, how large it is when decoded, and its checksums.
func survey(data *Buffer, off int64) (headBlock, error) {
	prefix := data.copyAt(off, 8)
	m, err := parseMessage(data.copyAt(off, 8+int64(binary.LittleEndian.Uint32(prefix[4:]))))
	if err != nil {
		return headBlock{}, err
	}
	meta, err := parseBatch(m)
	if err != nil {
		return headBlock{}, err
	}
	b := headBlock{Offset: off, Metadata: m.metaBytes, Body: m.bodyBytes}
	for i := range batchBuffers {
		start, n := pair(meta.buffers, i)
		if i == headerBuffers {
			b.Header, b.HeaderDecoded = start, b.Decoded
		}
		if n > 0 && meta.codec != codecNone {
			raw := int64(binary.LittleEndian.Uint64(data.copyAt(off+m.metaBytes+start, lengthBytes)))
			if raw == notCompressed {
				raw = n - lengthBytes
			}
			n = raw
		}
		b.Decoded += n
	}
	b.HeaderCRC = crcOf(0, data, off, m.metaBytes+b.Header)
	b.CRC = crcOf(b.HeaderCRC, data, off+m.metaBytes+b.Header, b.Body-b.Header)
	return b, nil
}

// crcOf goes on from crc with the CRC-32C of the n bytes of b at off.
func crcOf(crc uint32, b *Buffer, off, n int64) uint32 {
	for piece := range b.pieces(off, n) {
		crc = crc32.Update(crc, castagnoli(), piece)
	}
	return crc
}

// castagnoli is the table of CRC-32C, which processors compute themselves.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// crc32c is the CRC-32C of b.
func crc32c(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

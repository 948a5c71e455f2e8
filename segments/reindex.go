package segments

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Reindex makes the key index of a segment anew, from the segment alone: the
// same bytes as the writer's, whose digest is in info. It reads the whole
// segment and holds it in memory. A segment whose own bytes are damaged is a
// CorruptError that names object; nothing of it is decoded.
func Reindex(ctx context.Context, object string, data Source, info Info, h Hasher) (*Buffer, error) {
	r := reindexer{info: info, data: new(Buffer), writer: NewWriter(WriterSettings{}, h)}
	if err := r.read(ctx, object, data); err != nil {
		return nil, fmt.Errorf("reindex %s: %w", object, err)
	}
	blocks, err := r.blocks()
	if err != nil {
		return nil, fmt.Errorf("reindex %s: %w", object, err)
	}
	var s Sealed
	if err := r.writer.writeIndex(&s, blocks); err != nil {
		return nil, fmt.Errorf("reindex %s: %w", object, err)
	}
	if s.Info.Index != info.Index {
		return nil, fmt.Errorf("reindex %s: %w", object, errors.New("this program makes another index of it than its writer did"))
	}
	return s.Index, nil
}

type reindexer struct {
	info   Info
	data   *Buffer
	writer *Writer // of the index
}

// read reads the segment, and holds it to its digest.
func (r *reindexer) read(ctx context.Context, object string, data Source) error {
	sum := sha256.New()
	for off := int64(0); off < r.info.Bytes; {
		s, err := fetch(ctx, data, extent{off, min(fetchBytes, r.info.Bytes-off)})
		if err != nil {
			return err
		}
		sum.Write(s.bytes)
		r.data.Write(s.bytes)
		off += int64(len(s.bytes))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.info.SHA256 {
		return &CorruptError{Object: object, Batch: -1, Err: fmt.Errorf("its SHA-256 is %s, want %s", got, r.info.SHA256)}
	}
	return nil
}

// blocks goes through the record batches, tells where they lie, and gives
// their keys to the writer.
func (r *reindexer) blocks() ([]headBlock, error) {
	const magic = 8
	length := func(off int64) int64 { return int64(binary.LittleEndian.Uint32(r.data.copyAt(off+4, 4))) }
	var blocks []headBlock
	in := newInflater()
	for off := magic + 8 + length(magic); length(off) != 0; {
		b, err := survey(r.data, off)
		if err != nil {
			return nil, err
		}
		m, err := parseMessage(r.data.copyAt(off, b.Metadata))
		if err != nil {
			return nil, err
		}
		rows, err := decodeBatch(m, r.data.copyAt(off+b.Metadata, b.Body), All, in, budget(b.Decoded*decodedShare))
		if err != nil {
			return nil, err
		}
		rows.first = r.writer.rows
		b.describe(r.note(rows))
		blocks = append(blocks, b)
		off += b.Metadata + b.Body
	}
	return blocks, nil
}

// note gives the rows of a batch to the writer.
func (r *reindexer) note(rows *Rows) Block {
	w := r.writer
	b := Block{FirstRow: w.rows, Rows: uint32(rows.Len()), First: rows.Position(0), Last: rows.Position(rows.Len() - 1), MaxPublish: rows.PublishTime(0)}
	for i := range rows.Len() {
		if key := rows.Key(i); key != nil {
			w.entries = append(w.entries, newEntry(w.hasher.Digest(key), w.rows))
		}
		if rows.Kind(i) == KindTombstone {
			w.tombstones.Add(w.rows)
		}
		b.MaxPublish = max(b.MaxPublish, rows.PublishTime(i))
		w.rows++
	}
	return b
}

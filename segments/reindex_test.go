package segments

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// TestReindexMakesTheSameIndex makes the index of segments anew, of batches of
// any size and in each compression, and gets the bytes that the writer made.
func TestReindexMakesTheSameIndex(t *testing.T) {
	for seed, batch := range []int64{1, 300, 4000, 1 << 20} {
		for _, c := range compressions() {
			s := store(t, WriterSettings{Topic: "topic", BatchBytes: batch, Compression: c}, someRows(uint64(seed), 300))
			index, err := Reindex(context.Background(), "object-1", s.data, s.info, testHasher())
			if err != nil {
				t.Fatalf("batches of %d, %s: %v", batch, c, err)
			}
			if !bytes.Equal(all(t, index), s.index.bytes) {
				t.Errorf("batches of %d, %s: another index", batch, c)
			}

			s.data.bytes = bytes.Clone(s.data.bytes)
			s.data.bytes[len(s.data.bytes)/2] ^= 1
			var corrupt *CorruptError
			if _, err := Reindex(context.Background(), "object-1", s.data, s.info, testHasher()); !errors.As(err, &corrupt) || corrupt.Object != "object-1" {
				t.Errorf("of damaged bytes: %v", err)
			}
		}
	}
	s := store(t, WriterSettings{}, someRows(1, 10))
	if _, err := Reindex(context.Background(), "object-1", s.data, s.info, NewHasher([SecretBytes]byte{9})); err == nil {
		// Only the head is vouched for by its digest, and it has a checksum of
		// each page, so digests of another secret make another head.
		t.Error("another secret makes the same index")
	}
}

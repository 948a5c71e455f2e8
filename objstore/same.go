package objstore

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Same reports whether the object at key has the bytes of body. It compares a
// stretch at a time. Whoever put an object under a name of his own, and is told
// that it exists, finds out so that a client or a proxy has made the request
// twice.
func Same(ctx context.Context, s Store, key string, body Body) (bool, error) {
	const stretch = 4 << 20
	size := body.Size()
	want := make([]byte, min(stretch, size))
	got := make([]byte, len(want)+1)
	for off := int64(0); off < size; off += stretch {
		n := min(stretch, size-off)
		if _, err := io.ReadFull(io.NewSectionReader(body, off, n), want[:n]); err != nil {
			return false, err
		}
		err := s.ReadAt(ctx, key, got[:n], off)
		if errors.Is(err, ErrRange) {
			return false, nil // shorter
		}
		if err != nil {
			return false, err
		}
		if !bytes.Equal(got[:n], want[:n]) {
			return false, nil
		}
	}
	err := s.ReadAt(ctx, key, got[:1], size)
	if errors.Is(err, ErrRange) {
		return true, nil // it ends where body does
	}
	return false, err // longer, or unreadable
}

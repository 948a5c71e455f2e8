package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Get believes the announced length, and no less than that length is an object.
func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	b, err := s.get(ctx, key, max)
	if err != nil {
		return nil, objstore.Failed("get", key, s.readOutcome(err))
	}
	return b, nil
}

func (s *Store) get(ctx context.Context, key string, max int64) ([]byte, error) {
	answer, err := s.open(ctx, key, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.Length > max {
		return nil, objstore.ErrTooLarge
	}
	b := make([]byte, answer.Length)
	return b, readExactly(answer.Body, b)
}

// ReadAt asks for just the range, and makes sure that it was given that range.
func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if err := s.readAt(ctx, key, p, off); err != nil {
		return objstore.Failed("read", key, fmt.Errorf("%d bytes at %d: %w", len(p), off, s.readOutcome(err)))
	}
	return nil
}

func (s *Store) readAt(ctx context.Context, key string, p []byte, off int64) error {
	size := int64(len(p))
	if size == 0 {
		return s.readNothingAt(ctx, key, off)
	}
	if err := check(ctx, key); err != nil {
		return err
	}
	if off < 0 || off > math.MaxInt64-size {
		return objstore.ErrRange
	}
	want := fmt.Sprintf("%d-%d", off, off+size-1)
	answer, err := s.open(ctx, key, "bytes="+want)
	if err != nil {
		return err
	}
	defer answer.Body.Close()

	var first, last, total int64
	if _, err := fmt.Sscanf(answer.Range, "bytes %d-%d/%d", &first, &last, &total); err != nil {
		return fmt.Errorf("asked for bytes %s, answered Content-Range %q", want, answer.Range)
	}
	if total < off+size {
		return objstore.ErrRange // the answer ends where the object does
	}
	if first != off || last != off+size-1 {
		return fmt.Errorf("asked for bytes %s, answered bytes %d-%d", want, first, last)
	}
	return readExactly(answer.Body, p)
}

// readNothingAt asks for the whole object, to learn its size, and reads none of
// it: HTTP has no word for an empty range.
func (s *Store) readNothingAt(ctx context.Context, key string, off int64) error {
	answer, err := s.open(ctx, key, "")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if off < 0 || off > answer.Length {
		return objstore.ErrRange
	}
	return nil
}

// open refuses an answer of unknown length. Its end could not be told from a
// broken connection.
func (s *Store) open(ctx context.Context, key, rng string) (Answer, error) {
	if err := check(ctx, key); err != nil {
		return Answer{}, err
	}
	answer, err := s.client.Get(ctx, s.base+key, rng)
	if err == nil && answer.Length < 0 {
		answer.Body.Close()
		err = errors.New("answer without Content-Length")
	}
	return answer, err
}

// readExactly fills p with the whole of r. It goes on to the end of r, where a
// client library reports a checksum that does not match; io.ReadFull would stop
// before, or drop an error that comes with the last bytes.
func readExactly(r io.Reader, p []byte) error {
	n := 0
	var beyond [1]byte
	for {
		rest := p[n:]
		if len(rest) == 0 {
			rest = beyond[:]
		}
		m, err := r.Read(rest)
		if n == len(p) && m > 0 {
			return fmt.Errorf("answer is longer than its %d bytes", len(p))
		}
		n += m
		switch {
		case err == io.EOF && n < len(p):
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

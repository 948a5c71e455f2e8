package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// tmp holds what is being written. Its name is not of the keys' alphabet.
const tmp = "tmp~"

// Put returns when the object and its name are on disk.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	return objstore.Failed("put", key, s.put(ctx, key, body))
}

func (s *Store) put(ctx context.Context, key string, body objstore.Body) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	aside, err := s.writeAside(ctx, body)
	if aside != "" {
		defer os.Remove(aside) // one that stays takes space and nothing else
	}
	if err == nil {
		err = s.link(ctx, aside, s.path(key))
	}
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: %w", objstore.ErrDenied, err)
	}
	return err
}

// writeAside writes body to a new file and waits until it is on disk. The file
// is the caller's to remove, whatever the error.
func (s *Store) writeAside(ctx context.Context, body objstore.Body) (path string, err error) {
	dir := filepath.Join(s.dir, tmp)
	if err := makeDir(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "put-") // 0600
	if err != nil {
		return "", err
	}
	n, err := io.Copy(f, &bodyReader{ctx, io.NewSectionReader(body, 0, body.Size())})
	if err == nil && n != body.Size() {
		err = fmt.Errorf("body ends after %d of %d bytes: %w", n, body.Size(), io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = f.Sync()
	}
	return f.Name(), errors.Join(err, f.Close())
}

// bodyReader ends the copying of a body when its context ends.
type bodyReader struct {
	ctx  context.Context // of the one Put
	body io.Reader
}

func (r *bodyReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.body.Read(p)
}

// link gives the file aside the name path, unless something has it.
//
// A Delete may remove an empty folder between its making and the link. Then the
// link finds no folder, and they are made again. It would take a Delete at just
// that moment each time for link to give up.
func (s *Store) link(ctx context.Context, aside, path string) error {
	dir := filepath.Dir(path)
	var err error
	for range 1000 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err = makeDir(dir); err == nil {
			err = os.Link(aside, path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Lstat(path); statErr == nil && info.IsDir() {
			return errors.New("its key is a folder of another's")
		}
		// Somebody may have been killed between linking this name and waiting
		// for the disk, and the caller will rely on the object.
		if err := s.syncUp(dir); err != nil {
			return err
		}
		return objstore.ErrExists
	}
	if err != nil {
		return err
	}
	return s.syncUp(dir)
}

// syncUp waits until the names in dir, and of dir and the folders above it, are
// on disk. They may have been made by somebody who did not live to wait. One
// that is gone again was emptied by a Delete, and there is no name to wait for.
func (s *Store) syncUp(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		if err := syncDir(dir); err != nil && !missing(err) {
			return err
		}
		if dir == s.dir {
			return nil
		}
	}
}

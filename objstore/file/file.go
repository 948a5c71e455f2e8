// Package file is an objstore.Store in a folder: one file per object, at the
// path that is its key.
//
// Any number of processes may share the folder, and any of them may be killed
// at any moment. A body is written to a file aside, under tmp~ in the same
// folder, made durable, and then given its name by link(2). The file system
// lets one of several links of a name win, so a name is either absent or names
// a whole object, and it never changes.
//
//	<dir>/tmp~/put-123456789      being written; never listed ("~" is in no key)
//	<dir>/01J.../m/0000000000000001
//
// A process that is killed may leave its file in tmp~. It takes space and does
// no harm; tmp~ may be emptied whenever nothing is writing.
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

// Store is an objstore.Store in a folder.
type Store struct {
	dir string // absolute
}

var _ objstore.Store = (*Store)(nil)

// Open returns the store in dir. It makes nothing: a folder that is missing is
// an empty store, and the first Put makes it.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	switch info, err := os.Stat(abs); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", dir, kind(err))
	case !info.IsDir():
		return nil, fmt.Errorf("open %s: not a folder", dir)
	}
	return &Store{dir: abs}, nil
}

func (s *Store) path(key string) string { return filepath.Join(s.dir, filepath.FromSlash(key)) }

// Get reads an object whole.
func (s *Store) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	b, err := s.get(ctx, key, max)
	if err != nil {
		return nil, objstore.Failed("get", key, kind(err))
	}
	return b, nil
}

func (s *Store) get(ctx context.Context, key string, max int64) ([]byte, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > max {
		return nil, objstore.ErrTooLarge
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	return b, nil
}

func (s *Store) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if err := s.readAt(ctx, key, p, off); err != nil {
		return objstore.Failed("read", key, fmt.Errorf("%d bytes at %d: %w", len(p), off, kind(err)))
	}
	return nil
}

func (s *Store) readAt(ctx context.Context, key string, p []byte, off int64) error {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return err
	}
	defer f.Close()
	if off < 0 || off > size || int64(len(p)) > size-off {
		return objstore.ErrRange
	}
	_, err = io.ReadFull(io.NewSectionReader(f, off, int64(len(p))), p)
	return err
}

// open returns the file of key and its size. It takes a folder for what it is:
// no object.
func (s *Store) open(ctx context.Context, key string) (*os.File, int64, error) {
	if err := check(ctx, key); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(s.path(key))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = objstore.ErrNotFound
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// Delete removes an object, and the folders that are left empty: the key of
// one of them is free for an object then, as it is in S3.
func (s *Store) Delete(ctx context.Context, key string) error {
	return objstore.Failed("delete", key, kind(s.delete(ctx, key)))
}

func (s *Store) delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	path := s.path(key)
	if info, err := os.Lstat(path); missing(err) || err == nil && info.IsDir() {
		return nil
	}
	if err := os.Remove(path); err != nil && !missing(err) {
		return err
	}
	dir := filepath.Dir(path)
	for dir != s.dir && os.Remove(dir) == nil { // fails if something is in it
		dir = filepath.Dir(dir)
	}
	if err := syncDir(dir); !missing(err) {
		return err
	}
	return nil
}

func check(ctx context.Context, key string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

// kind adds the outcome that err of the file system stands for, if it is one.
func kind(err error) error {
	switch {
	case missing(err):
		return objstore.ErrNotFound
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", objstore.ErrDenied, err)
	}
	return err
}

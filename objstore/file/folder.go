package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// makeDir makes dir and what is missing above it, and waits until the names it
// made are on disk.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // if it is no folder, its next use says so
	}
	if err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(dir)); err != nil && !missing(err) {
		return err
	}
	return nil
}

// syncDir waits until the names in dir are on disk. Windows has no call for it.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// missing reports whether err says that there is no such file. ENOTDIR is the
// answer for a path that leads through a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

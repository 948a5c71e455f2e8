package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/file"
)

// folder is a store in a new folder that has the objects of another one, and
// what removes it. They are written without the care that the store takes, since
// a benchmark may be started again.
func folder(ctx context.Context, from objstore.Store) (store *file.Store, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ledgerfold-bench-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // what stays is in the folder for such things
	defer func() {
		if err != nil {
			remove()
		}
	}()
	for e, err := range from.List(ctx, "", "") {
		if err != nil {
			return nil, nil, err
		}
		body, err := from.Get(ctx, e.Key, e.Bytes)
		if err != nil {
			return nil, nil, err
		}
		path := filepath.Join(dir, filepath.FromSlash(e.Key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(path, body, 0o644); err != nil {
			return nil, nil, err
		}
	}
	store, err = file.Open(dir)
	return store, remove, err
}

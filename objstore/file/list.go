package file

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// List walks the folders depth first and holds the names of one folder per
// level. Folders that can hold nothing of the range are not opened.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		if err := objstore.CheckPrefix(prefix); err != nil {
			yield(objstore.Entry{}, objstore.Failed("list", prefix, err))
			return
		}
		w := walk{ctx: ctx, prefix: prefix, after: after, yield: yield}
		w.folder(s.dir, "")
	}
}

// walk is one listing under way.
type walk struct {
	ctx           context.Context // of the one listing
	prefix, after string
	yield         func(objstore.Entry, error) bool
}

// folder yields the objects in dir, whose keys begin with under. It reports
// whether to go on.
//
// Sorted by name alone, a folder "a" would come before a file "a-b", but
// "a/x" sorts after "a-b", because "/" sorts after "-". What a folder holds has
// the folder's name and "/" in common, and no name holds a "/", so a folder is
// sorted by its name with the "/".
func (w walk) folder(dir, under string) bool {
	if err := w.ctx.Err(); err != nil {
		return w.fail(err)
	}
	found, err := os.ReadDir(dir)
	if missing(err) {
		return true // never made, or emptied and removed since it was seen
	}
	if err != nil {
		return w.fail(err)
	}
	names := make([]name, 0, len(found))
	for _, d := range found {
		if n, ok := nameOf(d, under); ok && w.wants(n) {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.key, b.key) })

	for _, n := range names {
		if n.IsDir() && !w.folder(filepath.Join(dir, n.Name()), n.key) {
			return false
		}
		if !n.IsDir() && !w.object(n) {
			return false
		}
	}
	return true
}

// name is a file's key, or the beginning that all keys in a folder share.
type name struct {
	fs.DirEntry
	key string
}

// nameOf returns no name for what is no part of the store, such as tmp.
func nameOf(d fs.DirEntry, under string) (name, bool) {
	key := under + d.Name()
	if objstore.CheckKey(key) != nil {
		return name{}, false
	}
	if d.IsDir() {
		return name{d, key + "/"}, true
	}
	return name{d, key}, d.Type().IsRegular()
}

// wants reports whether n is, or may hold, an object of the range.
func (w walk) wants(n name) bool {
	if !n.IsDir() {
		return strings.HasPrefix(n.key, w.prefix) && n.key > w.after
	}
	inPrefix := strings.HasPrefix(n.key, w.prefix) || strings.HasPrefix(w.prefix, n.key)
	return inPrefix && (n.key > w.after || strings.HasPrefix(w.after, n.key))
}

func (w walk) object(n name) bool {
	info, err := n.Info()
	if missing(err) {
		return true // deleted since
	}
	if err != nil {
		return w.fail(err)
	}
	return w.yield(objstore.Entry{Key: n.key, Bytes: info.Size(), Modified: info.ModTime()}, nil)
}

func (w walk) fail(err error) bool {
	w.yield(objstore.Entry{}, objstore.Failed("list", w.prefix, kind(err)))
	return false
}

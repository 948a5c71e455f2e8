package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/file"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

func open(t *testing.T, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s objstore.Store, key, body string) {
	t.Helper()
	if err := s.Put(t.Context(), key, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, s objstore.Store) []string {
	t.Helper()
	var keys []string
	for e, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Key)
	}
	return keys
}

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return open(t, t.TempDir()) })
}

func TestNothingIsMadeBeforeTheFirstPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	s := open(t, dir)
	if got := list(t, s); got != nil {
		t.Errorf("List = %q, want nothing", got)
	}
	if _, err := s.Get(t.Context(), "a", 1); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Errorf("Delete = %v", err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Stat = %v, want no folder", err)
	}
	put(t, s, "a/b", "x")
	if got, want := list(t, open(t, dir)), []string{"a/b"}; !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}

// What a store holds may be private.
func TestOthersMayReadNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	put(t, open(t, dir), "a/b", "x")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if got := info.Mode().Perm(); got&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for group and others", path, got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A writer that is killed leaves its file in tmp~. Others may put all sorts of
// things into the folder. None of it is an object.
func TestWhatIsNoObjectIsNotListed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/b", "x")
	for _, path := range []string{"tmp~/put-1", "tmp~/a/b", "a/b~", "lost+found/x", "a/with space", "ü", "a/c,d"} {
		full := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, []byte("left over"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a/b"), filepath.Join(dir, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "empty/folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, want := list(t, s), []string{"a/b"}; !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}

func TestAPutLeavesNothingAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a", "x")
	_ = s.Put(t.Context(), "a", strings.NewReader("y"))                                  // loses
	_ = s.Put(t.Context(), "b", broken{strings.NewReader("z")})                          // ends early
	_ = s.Put(t.Context(), "a/c", strings.NewReader("under an object, which cannot be")) // fails
	left, err := os.ReadDir(filepath.Join(dir, "tmp~"))
	if err != nil || len(left) != 0 {
		t.Errorf("aside are %v, %v; want nothing", left, err)
	}
}

// broken claims a byte more than it has.
type broken struct{ *strings.Reader }

func (b broken) Size() int64 { return b.Reader.Size() + 1 }

func TestDeleteLeavesNoEmptyFolders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/b/c/d", "x")
	put(t, s, "a/e", "x")
	if err := s.Delete(t.Context(), "a/b/c/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat a/b = %v, want no such folder", err)
	}
	if err := s.Delete(t.Context(), "a/e"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 || left[0].Name() != "tmp~" {
		t.Errorf("the folder holds %v, want tmp~ alone", left)
	}
}

// A Delete removes the folder that a Put has just made for its object, again
// and again.
func TestPutsAndDeletesShareAFolder(t *testing.T) {
	s := open(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 4 {
		key := fmt.Sprintf("a/b/%d", i)
		wg.Go(func() {
			for range 100 {
				if err := s.Put(t.Context(), key, strings.NewReader(key)); err != nil {
					t.Error(err)
					return
				}
				if b, err := s.Get(t.Context(), key, 10); err != nil || string(b) != key {
					t.Errorf("Get = %q, %v", b, err)
					return
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := list(t, s); got != nil {
		t.Errorf("List = %q, want nothing", got)
	}
}

func TestWhatMayNotBeReadIsErrDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read everything")
	}
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a/b", "x")
	if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "a"), 0o700)
	if _, err := s.Get(t.Context(), "a/b", 1); !errors.Is(err, objstore.ErrDenied) {
		t.Errorf("Get = %v, want ErrDenied", err)
	}
}

// Any keys, listed from anywhere, come in the order of their bytes.
func TestListIsASortedRange(t *testing.T) {
	element := rapid.StringMatching(`[ab.=_A0-]{1,3}`).Filter(func(s string) bool { return s != "." && s != ".." })
	key := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(element, 1, 3).Draw(t, "elements"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		s := open(t, dir)
		var keys []string
		for _, k := range rapid.SliceOfN(key, 0, 12).Draw(rt, "keys") {
			if isFolderOfAnother(keys, k) {
				continue
			}
			if err := s.Put(t.Context(), k, bytes.NewReader(nil)); err != nil {
				rt.Fatal(err)
			}
			keys = append(keys, k)
		}
		slices.Sort(keys)
		prefix := rapid.OneOf(rapid.Just(""), key, element).Draw(rt, "prefix")
		after := rapid.OneOf(rapid.Just(""), key, rapid.String()).Draw(rt, "after")

		var want, got []string
		for _, k := range keys {
			if strings.HasPrefix(k, prefix) && k > after {
				want = append(want, k)
			}
		}
		for e, err := range s.List(t.Context(), prefix, after) {
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, e.Key)
		}
		if !slices.Equal(got, want) {
			rt.Errorf("List(%q, %q) of %q = %q, want %q", prefix, after, keys, got, want)
		}
	})
}

// isFolderOfAnother reports whether key cannot be beside keys.
func isFolderOfAnother(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool {
		return k == key || strings.HasPrefix(k, key+"/") || strings.HasPrefix(key, k+"/")
	})
}

package objstore_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func TestCheckKeyTakesTheAlphabet(t *testing.T) {
	for _, key := range []string{
		"a", "0", "a/b", "A-Z_0.9=x/m/0000000000000001", "...", "..a", ".hidden", "a/-",
		strings.Repeat("e", 255), strings.Repeat("abc/", 255) + "last",
	} {
		if err := objstore.CheckKey(key); err != nil {
			t.Errorf("CheckKey(%.40q) = %v, want nil", key, err)
		}
	}
}

func TestCheckKeyRefusesEverythingElse(t *testing.T) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "../a", "a/..",
		"a b", "a\x00b", "a\nb", `a\b`, "a%2Fb", "\xff", "é", "a?b", "a~", "a+b", "a,b",
		strings.Repeat("e", 256), strings.Repeat("abc/", 255) + "longer",
	} {
		if err := objstore.CheckKey(key); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("CheckKey(%.40q) = %v, want ErrInvalid", key, err)
		}
	}
}

func TestCheckPrefixTakesTheBeginningsOfKeys(t *testing.T) {
	for _, prefix := range []string{"", "a", "a/", "a/b", ".", "..", "a/.", strings.Repeat("e", 254)} {
		if err := objstore.CheckPrefix(prefix); err != nil {
			t.Errorf("CheckPrefix(%.40q) = %v, want nil", prefix, err)
		}
	}
	for _, prefix := range []string{"/", "//", "a//", "../", "./a", "a/../b", "a b", "\x00", strings.Repeat("e", 255)} {
		if err := objstore.CheckPrefix(prefix); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("CheckPrefix(%.40q) = %v, want ErrInvalid", prefix, err)
		}
	}
}

func TestFailedNamesTheActAndTheKey(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"m/1", "put m/1: object exists"},
		{"m/", "put m/: object exists"},
		{"", "put: object exists"},
		{"a\x1b[2J\n", `put "a\x1b[2J\n": object exists`},
		{strings.Repeat("k", 300), `put "` + strings.Repeat("k", 80) + `": object exists`},
	} {
		if got := objstore.Failed("put", c.key, objstore.ErrExists); got.Error() != c.want || !errors.Is(got, objstore.ErrExists) {
			t.Errorf("Failed = %q, want %q", got, c.want)
		}
	}
	if err := objstore.Failed("put", "m/1", nil); err != nil {
		t.Errorf("Failed of nil = %v, want nil", err)
	}
}

// Whatever passes stays where it is when a file system looks at it, and every
// beginning of it passes as a prefix.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"", "a/b", "../a", "a//b", "a/.", "..a/b.c=d-e_f", "\x00"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if objstore.CheckKey(key) != nil {
			return
		}
		if key == "" || path.IsAbs(key) || path.Clean(key) != key || strings.HasPrefix(path.Clean(key), "../") {
			t.Errorf("CheckKey(%q) = nil, but the path leads elsewhere", key)
		}
		for i := range key {
			last := key[strings.LastIndexByte(key[:i], '/')+1 : i]
			if len(last) < 255 && objstore.CheckPrefix(key[:i]) != nil {
				t.Errorf("CheckPrefix(%q) = %v, but a key begins with it", key[:i], objstore.CheckPrefix(key[:i]))
			}
		}
	})
}

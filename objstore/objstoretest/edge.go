package objstoretest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func deleteOfAMissingKey(t *testing.T, s objstore.Store) {
	put(t, s, "a/b", []byte("x"))
	for _, key := range []string{"never", "a", "a/never", "a/b/c", "x/y/z"} {
		if err := s.Delete(t.Context(), key); err != nil {
			t.Errorf("Delete(%q) = %v, want nil", key, err)
		}
	}
	wantList(t, s, "", "", "a/b")
}

func deleteFreesTheKey(t *testing.T, s objstore.Store) {
	put(t, s, "a/b", []byte("first"))
	put(t, s, "a/c", []byte("beside"))
	for range 2 {
		if err := s.Delete(t.Context(), "a/b"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Get(t.Context(), "a/b", 100); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("Get after Delete = %v, want ErrNotFound", err)
	}
	wantList(t, s, "", "", "a/c")
	put(t, s, "a/b", []byte("second"))
	wantObject(t, s, "a/b", []byte("second"))
}

func aCancelledContextDoesNothing(t *testing.T, s objstore.Store) {
	put(t, s, "there", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	for _, size := range []int{1, big} {
		if err := s.Put(ctx, "a", bytes.NewReader(make([]byte, size))); !errors.Is(err, context.Canceled) {
			t.Errorf("Put of %d bytes = %v, want context.Canceled", size, err)
		}
	}
	if _, err := s.Get(ctx, "there", 100); !errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want context.Canceled", err)
	}
	if err := s.ReadAt(ctx, "there", make([]byte, 1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadAt = %v, want context.Canceled", err)
	}
	if err := listError(ctx, s, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("List = %v, want context.Canceled", err)
	}
	if err := s.Delete(ctx, "there"); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete = %v, want context.Canceled", err)
	}
	wantList(t, s, "", "", "there")
}

func invalidKeysAreRefused(t *testing.T, s objstore.Store) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../a", "a/.", "./a",
		"a b", "a\x00", "a\n", `a\b`, "a%2Fb", "\xff", "ü", "a?b", "a~b", strings.Repeat("k", 256),
	} {
		if err := s.Put(t.Context(), key, bytes.NewReader([]byte("x"))); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("Put(%.20q) = %v, want ErrInvalid", key, err)
		}
		if _, err := s.Get(t.Context(), key, 100); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("Get(%.20q) = %v, want ErrInvalid", key, err)
		}
		if err := s.ReadAt(t.Context(), key, make([]byte, 1), 0); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("ReadAt(%.20q) = %v, want ErrInvalid", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("Delete(%.20q) = %v, want ErrInvalid", key, err)
		}
	}
	for _, prefix := range []string{"/", "../", "a//", "a\x00", "./"} {
		if err := listError(t.Context(), s, prefix); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("List(%q) = %v, want ErrInvalid", prefix, err)
		}
	}
	wantList(t, s, "", "")
}

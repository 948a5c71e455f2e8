package s3server

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// withGo sets up a cache folder and a go command that is the given script.
func withGo(t *testing.T, script string) (cache string) {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("PATH", bin)
	if script != "" {
		if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "ledgerfold", "versitygw-v1.8.0")
}

func TestVersitygwIsBuiltOnceForAll(t *testing.T) {
	cache := withGo(t, `echo "$@" >> "$HOME/asked"; echo built > "$GOBIN/versitygw"`)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			path, err := install(t.Context())
			if err != nil {
				t.Error(err)
			} else if b, err := os.ReadFile(path); err != nil || string(b) != "built\n" {
				t.Errorf("%s = %q, %v", path, b, err)
			}
		})
	}
	wg.Wait()
	asked, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "asked"))
	if want := "install github.com/versity/versitygw/cmd/versitygw@v1.8.0\n"; err != nil || string(asked) != want {
		t.Errorf("go was asked %q, %v; want %q", asked, err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "build-*")); len(left) != 0 {
		t.Errorf("left are %q, want nothing", left)
	}
}

func TestAFailedBuildSaysWhatToDo(t *testing.T) {
	for script, wants := range map[string][]string{
		"":                                 {"install Go", "LEDGERFOLD_MINIO"},
		"echo no such host >&2; exit 1":    {"no such host", "LEDGERFOLD_MINIO"},
		"echo built nothing, and is happy": {"versitygw"},
	} {
		cache := withGo(t, script)
		_, err := install(t.Context())
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("install with go %q = %v, want it to say %q", script, err, want)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*[^k]")); len(left) != 0 { // but the lock
			t.Errorf("left are %q, want nothing", left)
		}
	}
}

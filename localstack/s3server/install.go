package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	versitygwModule  = "github.com/versity/versitygw/cmd/versitygw"
	versitygwVersion = "v1.8.0"
)

// install returns the path of the versitygw binary, and builds it if it is not
// there yet. Its version is in the path, and the go command checks its source
// against the checksum database.
//
// It is built beside its place and renamed into it, so nobody ever runs half of
// it, and it does no harm if several build at once. A lock makes them wait for
// the first instead, where the system has one.
func install(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for versitygw, set HOME or LEDGERFOLD_MINIO: %w", err)
	}
	dir := filepath.Join(cache, "ledgerfold", "versitygw-"+versitygwVersion)
	name := "versitygw"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(path) { // somebody built it while we waited
		return path, nil
	}
	return path, build(ctx, dir, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func build(ctx context.Context, dir, path string) error {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("no Go toolchain to build versitygw with; install Go, or set LEDGERFOLD_MINIO to the path of a MinIO binary: %w", err)
	}
	aside, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside) // one that stays takes space and nothing else

	cmd := exec.CommandContext(ctx, goCommand, "install", versitygwModule+"@"+versitygwVersion)
	cmd.Dir = aside // outside of any module
	cmd.Env = append(buildEnvironment(), "GOBIN="+aside, "CGO_ENABLED=0", "GOWORK=off")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go install %s@%s; without a network, set LEDGERFOLD_MINIO to the path of a MinIO binary: %w\n%s",
			versitygwModule, versitygwVersion, err, bytes.TrimSpace(output.Bytes()))
	}
	return os.Rename(filepath.Join(aside, filepath.Base(path)), path)
}

// buildEnvironment leaves out what would build for another machine.
func buildEnvironment() []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if name != "GOOS" && name != "GOARCH" && name != "GOBIN" {
			env = append(env, kv)
		}
	}
	return env
}

// Package endtoend runs the real commands as processes of their own, on a
// folder and on a real S3 server.
package endtoend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
)

// binaries builds the commands once. The folder is left to the system's
// cleaning of temporary files by TestMain.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ledgerfold-endtoend-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "../../cmd/compact", "../../cmd/reader").CombinedOutput()
	if err != nil {
		return dir, errors.New(string(out))
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binaries(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// world is a store, and the environment in which commands find it.
type world struct {
	t   *testing.T
	bin string
	env []string
}

// stores are the kinds of store that every end-to-end test runs on.
var stores = []string{"folder", "s3", "minio"}

func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatalf("build the commands: %v", err)
	}
	w := &world{t: t, bin: bin, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
	if kind == "folder" {
		w.env = append(w.env, "LEDGERFOLD_STORE="+t.TempDir())
		return w
	}
	server := s3servertest.Start(t)
	w.env = append(w.env, server.Env()...)
	if kind == "minio" {
		w.env = append(w.env, "LEDGERFOLD_STORE="+server.MinioURL())
	}
	return w
}

// result is what a command left.
type result struct {
	out, err string
	code     int
}

// try runs a command and returns what it left, whatever that is.
func (w *world) try(ctx context.Context, stdin io.Reader, name string, args ...string) result {
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, name), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.env, stdin, &out, &errs
	err := cmd.Run()
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		code = -1
		errs.WriteString(err.Error())
	}
	return result{out.String(), errs.String(), code}
}

// run runs a command that must succeed, and returns its output.
func (w *world) run(stdin io.Reader, name string, args ...string) string {
	w.t.Helper()
	r := w.try(w.t.Context(), stdin, name, args...)
	if r.code != 0 {
		w.t.Fatalf("%s %s: exit %d\n%s", name, strings.Join(args, " "), r.code, r.err)
	}
	return r.out
}

package s3server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/objstore/open"
)

// orphanVariable makes this test binary start a server and wait to be killed.
const orphanVariable = "LEDGERFOLD_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	s, err := s3server.Start(context.Background(), s3server.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%-40s\n", s.Endpoint())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func start(t *testing.T) *s3server.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("no S3 server with -short")
	}
	s, err := s3server.Start(t.Context(), s3server.Options{Bucket: "a-bucket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func isOpen(endpoint string) bool {
	c, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err == nil {
		c.Close()
	}
	return err == nil
}

func TestEachURLIsTheStore(t *testing.T) {
	s := start(t)
	for i, url := range []string{s.URL(), s.MinioURL(), "s3://a-bucket", s.Getenv("LEDGERFOLD_STORE")} {
		store, err := open.Open(t.Context(), url, s.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), fmt.Sprint("k", i), bytes.NewReader([]byte("x"))); err != nil {
			t.Errorf("Put through %s = %v", url, err)
		}
		if _, err := store.Get(t.Context(), "k0", 1); err != nil {
			t.Errorf("Get through %s = %v", url, err)
		}
	}
}

func TestEachStartHasCredentialsOfItsOwn(t *testing.T) {
	a, b := start(t), start(t)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3", "MC_HOST_local"} {
		if a.Getenv(name) == "" || a.Getenv(name) == b.Getenv(name) {
			t.Errorf("%s is %q and %q, want two values", name, a.Getenv(name), b.Getenv(name))
		}
	}
	if a.Getenv("AWS_REGION") != "us-east-1" || a.Getenv("AWS_EC2_METADATA_DISABLED") != "true" || a.Getenv("AWS") != "" {
		t.Errorf("Env = %q", a.Env())
	}
}

func TestStopLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := start(t)
	store, err := open.Open(t.Context(), s.URL(), s.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(t.Context(), "k", bytes.NewReader([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Stop(); err != nil {
			t.Errorf("Stop = %v", err)
		}
	}
	<-s.Ended()
	if isOpen(s.Endpoint()) {
		t.Error("the server still listens")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v; want nothing", left, err)
	}
}

// Whoever lists the processes of this machine sees no credentials.
func TestNoArgumentIsASecret(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	s := start(t)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, _ := os.ReadFile(path) // the process may have ended
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			if bytes.Contains(line, []byte(s.Getenv(name))) {
				t.Errorf("%s is an argument: %q", name, line)
			}
		}
	}
}

// Who starts a server may be killed, and cannot stop it then.
func TestTheServerDiesWithItsParent(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("no S3 server with -short, and only Linux ties it to its parent")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanVariable+"=1", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 41)
	if _, err := io.ReadFull(stdout, line); err != nil {
		t.Fatal(err)
	}
	endpoint := strings.TrimSpace(string(line))
	if !isOpen(endpoint) {
		t.Fatal("the server does not listen")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 1000 { // the system takes a moment to kill the server too
		if !isOpen(endpoint) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the server still listens")
}

func TestAMinIOThatIsNotThereIsNamed(t *testing.T) {
	t.Setenv("LEDGERFOLD_MINIO", filepath.Join(t.TempDir(), "missing"))
	_, err := s3server.Start(t.Context(), s3server.Options{})
	if err == nil || !strings.Contains(err.Error(), "LEDGERFOLD_MINIO") {
		t.Errorf("Start = %v, want an error that names the variable", err)
	}
}

func TestAServerThatEndsAtOnceIsQuoted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	script := filepath.Join(dir, "minio")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no room for a server >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := s3server.Start(t.Context(), s3server.Options{MinIO: script})
	if err == nil || !strings.Contains(err.Error(), "no room for a server") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Start = %v, want what the program said and its status", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left are %v, want nothing", left)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "minio")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s3server.Start(ctx, s3server.Options{MinIO: script}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start = %v, want context.Canceled", err)
	}
}

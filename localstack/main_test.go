package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
)

// The lines are for a shell, so a shell reads them.
func TestTheVariablesAreForAShell(t *testing.T) {
	if testing.Short() {
		t.Skip("no S3 server with -short")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	stderr := &onSecondLine{then: interrupt}
	if err := run(ctx, s3server.Options{}, &stdout, stderr); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", stdout.String()+`echo "$LEDGERFOLD_STORE $MC_HOST_local"`)
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	store, mc, _ := strings.Cut(string(out), " ")
	if !strings.HasPrefix(store, "s3://ledgerfold?endpoint=http://127.0.0.1:") || !strings.HasSuffix(store, "&region=us-east-1") {
		t.Errorf("the store is %q", store)
	}
	if !strings.HasPrefix(mc, "http://LOCAL") {
		t.Errorf("the alias is %q", mc)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left are %v, want nothing", left)
	}
}

// onSecondLine calls then when a second line is written: the server is up.
type onSecondLine struct {
	then  func()
	lines int
}

var _ io.Writer = (*onSecondLine)(nil)

func (w *onSecondLine) Write(p []byte) (int, error) {
	if w.lines += bytes.Count(p, []byte("\n")); w.lines == 2 {
		w.then()
	}
	return len(p), nil
}

func TestQuote(t *testing.T) {
	for _, c := range [][2]string{{"a b", "'a b'"}, {"", "''"}, {"it's", `'it'\''s'`}} {
		if got := quote(c[0]); got != c[1] {
			t.Errorf("quote(%q) = %s, want %s", c[0], got, c[1])
		}
	}
}

package cases

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A command that waits for input stops at a signal, with the code that shells
// expect. That it has read what is more than a pipe holds shows that it runs.
func TestASignalEndsAnIngestThatWaits(t *testing.T) {
	for _, test := range []struct {
		signal syscall.Signal
		want   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		env := append(os.Environ(), "LEDGERFOLD_STORE="+t.TempDir())
		create := exec.Command("compact", "create", "orders")
		create.Env = env
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		cmd := exec.Command("compact", "ingest", "orders")
		cmd.Env = env
		var errs strings.Builder
		cmd.Stderr = &errs
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, strings.Repeat("\n", 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(test.signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the code is looked at below
		if got := cmd.ProcessState.ExitCode(); got != test.want || !strings.Contains(errs.String(), "stopped by a signal") {
			t.Errorf("%v: exit %d, want %d\n%s", test.signal, got, test.want, errs.String())
		}
	}
}

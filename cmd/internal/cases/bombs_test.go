package cases

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// gzipped is what write writes, compressed.
func gzipped(t *testing.T, write func(w io.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rle is a zstd frame of n blocks that are each one byte, repeated 128 KiB
// times: every four bytes of it become 128 KiB. Its window is 1 KiB << window.
func rle(window byte, n int, bytes ...byte) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window << 3}
	for i := range n {
		header := uint32(128<<10)<<3 | 1<<1 // size, and the type RLE
		if i == n-1 {
			header |= 1 // the last
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), bytes[i%len(bytes)])
	}
	return frame
}

// A small input that becomes a large one is read as it unpacks: memory stays
// where it is without an input, and what makes no sense is told by its line.
func TestABombTakesNoMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process's memory is in other units elsewhere")
	}
	const most = 96 << 20
	blank := append(bytes.Repeat([]byte(" "), 200_000), '\n')
	for name, test := range map[string]struct {
		input []byte
		code  int
		says  string
	}{
		"gzip of blank lines": {gzipped(t, func(w io.Writer) {
			for range 500 { // 100 MB
				_, _ = w.Write(blank)
			}
		}), 0, ""},
		"zstd of blank lines":              {rle(10, 200, '\n', '\r'), 0, ""},
		"zstd that refers two GiB back":    {rle(21, 10, ' '), 6, "line 1: "},
		"zstd of no message":               {rle(10, 2, '\n', 'x'), 6, "line 131073: "},
		"gzip of a gzip, which is no text": {gzipped(t, func(w io.Writer) { _, _ = w.Write(gzipped(t, func(w io.Writer) { _, _ = w.Write(blank) })) }), 6, "line 1: "},
		"gzip that is cut off":             {gzipped(t, func(w io.Writer) { _, _ = w.Write(blank) })[:100], 6, "line 1: "},
	} {
		dir := t.TempDir()
		env := []string{"LEDGERFOLD_STORE=" + filepath.Join(dir, "store")}
		if r := try(t, env, "", "compact", "create", "orders"); r.code != 0 {
			t.Fatal(r.err)
		}
		file := filepath.Join(dir, "input")
		if err := os.WriteFile(file, test.input, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("compact", "ingest", "orders", file)
		var errs strings.Builder
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), &errs
		err := cmd.Run()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			t.Fatal(err)
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		peak := usage.Maxrss << 10
		t.Logf("%s: %d bytes, exit %d, at most %d MiB\n%s", name, len(test.input), cmd.ProcessState.ExitCode(), peak>>20, errs.String())
		if cmd.ProcessState.ExitCode() != test.code || !strings.Contains(errs.String(), test.says) || peak > most {
			t.Errorf("%s: exit %d, want %d and %q; %d MiB\n%s", name, cmd.ProcessState.ExitCode(), test.code, test.says, peak>>20, errs.String())
		}
	}
}

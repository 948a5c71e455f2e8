package output

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestNothingThatATerminalObeysGetsThrough(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 😀 \\":       "plain é 😀 \\",
		"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`,
		"a\nb\tc\r":          `a\nb\tc\r`,
		"\u009b2J":           `\u009b2J`,
		"\u202eevil":         `\u202eevil`,
		"bad \xff byte":      `bad \xff byte`,
		"\x00\x7f":           `\x00\x7f`,
		"persistent://a/b/c": "persistent://a/b/c",
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCellsOfDifferentBytesDiffer(t *testing.T) {
	seen := map[string][]byte{}
	for _, b := range [][]byte{nil, {}, []byte("(null)"), []byte(`""`), []byte(`"(null)"`), []byte(" "), []byte("a"), []byte("a "), []byte(`"a "`), {0xff}, []byte(`\xff`), {0}} {
		cell := Cell(b)
		if before, taken := seen[cell]; taken {
			t.Errorf("%q and %q are both shown as %s", before, b, cell)
		}
		seen[cell] = b
	}
}

func TestATableOfManyPagesHasOneHeaderAndNoControls(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, Column{Name: "id"}, Column{Name: "key", Most: 10})
	for range 2*pageRows + 1 {
		if err := table.Row("3:0", "\x1b[2J a long key"); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2*pageRows+2 {
		t.Errorf("got %d lines, want a header and %d rows", len(lines), 2*pageRows+1)
	}
	if strings.ContainsRune(b.String(), 0x1b) || strings.Count(b.String(), "ID") != 1 {
		t.Errorf("got\n%.200q", b.String())
	}
}

func TestAClosedPipeIsToldFromAFailure(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	out := NewWriter(w)
	io.WriteString(out, "data")
	if err := out.Flush(); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	full := NewWriter(writerFunc(func([]byte) (int, error) { return 0, io.ErrShortWrite }))
	io.WriteString(full, "data")
	if err := full.Flush(); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want another error than ErrClosed", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

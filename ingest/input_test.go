package ingest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ledgerfold/ledgerfold/ingest"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, text string, options ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAnInputIsReadHoweverItComes gives the same lines in several forms.
func TestAnInputIsReadHoweverItComes(t *testing.T) {
	one, two := "{\"value\":\"1\"}\n", "{\"value\":\"2\"}\n"
	skippable := []byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	for name, in := range map[string]io.Reader{
		"text":                      strings.NewReader(one + two),
		"without the last newline":  strings.NewReader(strings.TrimSuffix(one+two, "\n")),
		"blank lines":               strings.NewReader("\n \t\r\n" + one + "\n\n" + two + "\n \n  "),
		"lines as Windows ends":     strings.NewReader(strings.ReplaceAll(one+two, "\n", "\r\n")),
		"a byte order mark":         strings.NewReader("\xef\xbb\xbf" + one + two),
		"byte by byte":              iotest.OneByteReader(strings.NewReader(one + two)),
		"data with the end":         iotest.DataErrReader(strings.NewReader(one + two)),
		"gzip":                      bytes.NewReader(gzipped(t, one+two)),
		"gzip byte by byte":         iotest.OneByteReader(bytes.NewReader(gzipped(t, one+two))),
		"gzip in two members":       io.MultiReader(bytes.NewReader(gzipped(t, one)), bytes.NewReader(gzipped(t, two))),
		"zstd":                      bytes.NewReader(zstded(t, one+two)),
		"zstd in two frames":        io.MultiReader(bytes.NewReader(zstded(t, one)), bytes.NewReader(zstded(t, two))),
		"zstd behind a skipped one": io.MultiReader(bytes.NewReader(skippable), bytes.NewReader(zstded(t, one+two))),
	} {
		w := newWorld(t)
		r, err := ingest.Run(t.Context(), w.topic, in, w.settings(), w.components())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		equal(t, name, w.log(), []string{`{"id":"0:0","value":"1"}`, `{"id":"0:1","value":"2"}`})
		if name == "blank lines" && r.Lines != 6 {
			t.Errorf("%s: %d lines, want 6", name, r.Lines)
		}
	}
	for name, in := range map[string][]byte{"nothing": nil, "blank": []byte("\n\n"), "gzip of nothing": gzipped(t, ""), "zstd of nothing": zstded(t, "")} {
		w := newWorld(t)
		r, err := ingest.Run(t.Context(), w.topic, bytes.NewReader(in), w.settings(), w.components())
		if err != nil || r.State != ingest.AlreadyIngested || r.Version != 0 {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// TestAnInputThatIsBrokenIsBadInput: what a decompressor refuses is the
// input's fault, and what cannot be read is not.
func TestAnInputThatIsBrokenIsBadInput(t *testing.T) {
	long := strings.Repeat("{\"value\":\"1\"}\n", 1000)
	flipped := func(b []byte, i int) []byte {
		b = bytes.Clone(b)
		b[i] ^= 0x55
		return b
	}
	gz, zs := gzipped(t, long), zstded(t, long)
	window := zstded(t, long+strings.Repeat("x", 1<<20), zstd.WithWindowSize(1<<29), zstd.WithSingleSegment(false))
	for name, in := range map[string][]byte{
		"gzip, magic alone":   gz[:2],
		"gzip, cut":           gz[:len(gz)/2],
		"gzip, cut at end":    gz[:len(gz)-1],
		"gzip, wrong sum":     flipped(gz, len(gz)-6),
		"gzip and more":       append(bytes.Clone(gz), "garbage"...),
		"zstd, magic alone":   zs[:4],
		"zstd, cut":           zs[:len(zs)/2],
		"zstd, wrong sum":     flipped(zs, len(zs)-1),
		"zstd, a huge window": window,
		"binary":              {0, 1, 2, 3, '\n'},
	} {
		w := newWorld(t)
		r, err := ingest.Run(t.Context(), w.topic, bytes.NewReader(in), w.settings(), w.components())
		if !errors.Is(err, ingest.ErrBadInput) || r.State != ingest.AlreadyIngested || len(w.log()) != 0 {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	broken := errors.New("the disk is gone")
	for name, b := range map[string][]byte{"text": []byte(long), "gzip": gz, "zstd": zs, "nothing": nil} {
		w := newWorld(t)
		in := io.MultiReader(bytes.NewReader(b[:len(b)/2]), iotest.ErrReader(broken))
		_, err := ingest.Run(t.Context(), w.topic, in, w.settings(), w.components())
		if !errors.Is(err, broken) || errors.Is(err, ingest.ErrBadInput) || len(w.log()) != 0 {
			t.Errorf("%s that cannot be read: got %v", name, err)
		}
	}
}

// TestALineMayBeLongUpToItsBound goes over the reader's own memory, and over
// the bound.
func TestALineMayBeLongUpToItsBound(t *testing.T) {
	const size = 3 << 20
	w := newWorld(t)
	line := `{"value":"` + strings.Repeat("x", size) + `"}`
	s := w.settings()
	s.LineBytesMax = int64(len(line))
	in := `{"value":"1"}` + "\n" + line + "\n" + `{"value":"3"}` + "\n" + line
	w.must(ingest.Run(t.Context(), w.topic, strings.NewReader(in), s, w.components()))
	if rows := w.rows(); len(rows) != 4 || len(rows[1].Value) != size || len(rows[3].Value) != size || string(rows[2].Value) != "3" {
		t.Errorf("got %d rows", len(rows))
	}
	for _, bound := range []int64{int64(len(line)) - 1, 1 << 20, 12} {
		s.LineBytesMax, s.Job = bound, w.settings().Job
		_, err := ingest.Run(t.Context(), w.topic, strings.NewReader(in), s, w.components())
		if !errors.Is(err, ingest.ErrBadInput) || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("bound of %d: got %v", bound, err)
		}
	}
}

package bucket

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestPartsAreNeitherTooSmallNorTooMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(threshold+1, 5<<40).Draw(t, "size")
		part := partSize(size)
		parts := (size + part - 1) / part
		if part < 5<<20 || part > 5<<30 || parts > maxParts || (parts-1)*part >= size {
			t.Errorf("%d bytes are %d parts of %d bytes", size, parts, part)
		}
	})
}

// Wherever a listing is asked to start, the service is told to start no later.
func TestNothingIsLostByWhereTheServiceStarts(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte("ab/-\x00~\xff")), 0, 4),
		func(b []byte) string { return string(b) })
	rapid.Check(t, func(t *rapid.T) {
		prefix, after, key := text.Draw(t, "prefix"), text.Draw(t, "after"), text.Draw(t, "key")
		s := &Store{base: "base/"}
		start, ok := s.startAfter(prefix, after)
		wanted := strings.HasPrefix(prefix+key, prefix) && prefix+key > after
		if wanted && (!ok || start != "" && s.base+prefix+key <= start) {
			t.Errorf("startAfter(%q, %q) = %q, %v; loses %q", prefix, after, start, ok, prefix+key)
		}
		if start != "" && !strings.HasPrefix(start, s.base+prefix) {
			t.Errorf("startAfter(%q, %q) = %q, which is outside of the prefix", prefix, after, start)
		}
	})
}

// An error may come with the last bytes, after them, or before.
func TestReadExactlyReadsToTheEnd(t *testing.T) {
	damaged := errors.New("checksum did not match")
	body := func() io.Reader { return strings.NewReader("12345") }
	for name, c := range map[string]struct {
		r    io.Reader
		want error // nil for none, errAny for any
	}{
		"whole":                          {body(), nil},
		"whole, end with the last bytes": {iotest.DataErrReader(body()), nil},
		"byte by byte":                   {iotest.OneByteReader(body()), nil},
		"short":                          {strings.NewReader("1234"), io.ErrUnexpectedEOF},
		"empty":                          {strings.NewReader(""), io.ErrUnexpectedEOF},
		"long":                           {strings.NewReader("123456"), errAny},
		"damaged":                        {io.MultiReader(body(), iotest.ErrReader(damaged)), damaged},
		"damaged, told with the last bytes": {
			iotest.DataErrReader(io.MultiReader(body(), iotest.ErrReader(damaged))), damaged,
		},
	} {
		p := make([]byte, 5)
		err := readExactly(c.r, p)
		if c.want == errAny && err == nil || c.want != errAny && !errors.Is(err, c.want) {
			t.Errorf("%s: readExactly = %v, want %v", name, err, c.want)
		}
		if err == nil && !bytes.Equal(p, []byte("12345")) {
			t.Errorf("%s: read %q", name, p)
		}
	}
	if err := readExactly(strings.NewReader(""), nil); err != nil {
		t.Errorf("readExactly of nothing = %v", err)
	}
}

var errAny = errors.New("any")

package segments

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
)

// attemptBytes is what one look at any bytes may allocate, and foreignBytes
// what the tests let DecodeFile allocate for a batch.
const (
	attemptBytes = 64 << 20
	foreignBytes = 16 << 20
)

// allocated is the bytes that do allocates, but for what is small.
func allocated(do func()) int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - before)
}

// touch reads everything of every row, as a user would, and counts the rows.
func touch(rows *Rows) int {
	sum := 0
	for i := range rows.Len() {
		m := rows.Message(i)
		c := m.Clone()
		sum += len(c.Key) + len(c.Value) + len(c.OrderingKey) + len(c.Producer.V)
		for _, p := range c.Properties {
			sum += len(p.Key) + len(p.Value)
		}
	}
	_ = sum
	return rows.Len()
}

// decodeForeign is how many rows DecodeFile finds in data.
func decodeForeign(data []byte) (int, error) {
	n := 0
	for rows, err := range DecodeFile("object-1", data, foreignBytes) {
		if err != nil {
			return n, err
		}
		n += touch(rows)
	}
	return n, nil
}

// readWhole reads everything of s that there is.
func readWhole(s *stored) error {
	ctx := context.Background()
	f, err := Open(ctx, "object-1", s.data, s.index, s.info)
	if err != nil {
		return err
	}
	for _, cols := range []Columns{Headers, All} {
		for rows, err := range f.Scan(ctx, blockNumbers(f), cols) {
			if err != nil {
				return err
			}
			touch(rows)
		}
	}
	for _, err := range f.Entries(ctx, AllDigests()) {
		if err != nil {
			return err
		}
	}
	_, err = f.Tombstones(ctx)
	return err
}

// verifyWhole opens s and verifies it.
func verifyWhole(s *stored) error {
	f, err := Open(context.Background(), "object-1", s.data, s.index, s.info)
	if err != nil {
		return err
	}
	return f.Verify(context.Background())
}

// namesObject fails unless err is about object-1, and ErrCorrupt if it must be.
func namesObject(t *testing.T, err error, corrupt bool) {
	t.Helper()
	if !strings.Contains(err.Error(), "object-1") {
		t.Fatalf("error does not name the object: %v", err)
	}
	if corrupt && !errors.Is(err, ErrCorrupt) {
		t.Fatalf("error is not ErrCorrupt: %v", err)
	}
}

// TestCorruptFilesOfOthersAreRefused reads what broke other readers of Arrow.
func TestCorruptFilesOfOthersAreRefused(t *testing.T) {
	files, err := filepath.Glob("testdata/arrow-corrupt/*-*")
	if err != nil || len(files) != 80 {
		t.Fatalf("found %d files, %v, want 80", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var found error
		if n := allocated(func() { _, found = decodeForeign(data) }); n > attemptBytes {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if found == nil {
			t.Fatalf("%s: no error", name)
		}
		namesObject(t, found, true)
	}
}

// mutate changes data in one of the ways that disks, networks and fuzzers
// have. Half of the changes are near the ends, where the structure is.
func mutate(rnd *rand.Rand, data []byte) (mutated []byte, what string) {
	data = slices.Clone(data)
	place := func(width int) int {
		n := len(data) - width
		if rnd.IntN(2) == 0 {
			return rnd.IntN(n)
		}
		if edge := min(1500, n); rnd.IntN(2) == 0 {
			return rnd.IntN(edge)
		} else {
			return n - edge + rnd.IntN(edge)
		}
	}
	word := func() uint64 {
		special := []uint64{0, 1, 1<<31 - 1, 1 << 31, 1 << 33, 1 << 40, 1 << 62, 1<<64 - 1, 1<<64 - 2}
		if rnd.IntN(2) == 0 {
			return special[rnd.IntN(len(special))]
		}
		return rnd.Uint64() >> rnd.IntN(64)
	}
	switch rnd.IntN(5) {
	case 0:
		n := 1 + rnd.IntN(4)
		what = fmt.Sprintf("%d bits flipped at", n)
		for range n {
			at := place(1)
			data[at] ^= 1 << rnd.IntN(8)
			what += fmt.Sprintf(" %d", at)
		}
	case 1:
		at := place(1)
		data[at] = byte(rnd.IntN(256))
		what = fmt.Sprintf("byte written at %d", at)
	case 2:
		at := place(4) &^ 3
		binary.LittleEndian.PutUint32(data[at:], uint32(word()))
		what = fmt.Sprintf("uint32 written at %d", at)
	case 3:
		at := place(8) &^ 3
		binary.LittleEndian.PutUint64(data[at:], word())
		what = fmt.Sprintf("uint64 written at %d", at)
	default:
		at := place(1)
		data = data[:at]
		what = fmt.Sprintf("cut at %d", at)
	}
	return data, what
}

// reseal makes every checksum of s right again, as one could who may write to
// the bucket and to the manifest: what is left is what the decoder checks.
func reseal(tb testing.TB, s *stored) {
	tb.Helper()
	var h head
	if err := json.Unmarshal(s.index.bytes[:s.info.Index.HeadBytes], &h); err != nil {
		tb.Fatal(err)
	}
	crc := func(e extent) uint32 {
		end := min(e.end(), int64(len(s.data.bytes)))
		return crc32c(s.data.bytes[min(e.off, end):end])
	}
	for i := range h.Blocks {
		b := &h.Blocks[i]
		b.HeaderCRC, b.CRC = crc(b.extent(Headers)), crc(b.extent(All))
	}
	text, err := h.marshal()
	if err != nil {
		tb.Fatal(err)
	}
	rest := s.index.bytes[s.info.Index.HeadBytes:]
	s.index = &source{bytes: slices.Concat(text, rest)}
	sum := sha256.Sum256(text)
	s.info.Index = IndexInfo{int64(len(s.index.bytes)), int64(len(text)), hex.EncodeToString(sum[:])}
	sum = sha256.Sum256(s.data.bytes)
	s.info.SHA256 = hex.EncodeToString(sum[:])
}

// TestCorruptBytesAreNamedAndHarmless changes good segments and their indexes
// in 10,000 ways. What was written is vouched for, so every change that is
// read is an error; a file without a digest may come out with other values,
// but with as many rows; and so may one whose checksums were forged. Nothing
// panics, nothing allocates 64 MiB, and all of it happens in this process.
func TestCorruptBytesAreNamedAndHarmless(t *testing.T) {
	const seed = 7
	mutations := 10000
	if raceDetector {
		mutations = 1000
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d, %d mutations", seed, mutations)
	rows := someRows(seed, 60) // small, so that every byte has its turn
	var good []*stored
	for _, c := range compressions() {
		s := store(t, WriterSettings{Topic: "topic", BatchBytes: 4000, Compression: c}, rows)
		if err := readWhole(s); err != nil {
			t.Fatal(err)
		}
		good = append(good, s)
	}
	var refused, survived, forged, forgedRefused int
	var most int64
	for i := range mutations {
		s := good[i%len(good)]
		bad := &stored{data: s.data, index: s.index, info: s.info}
		var what string
		inIndex := i%4 == 0
		if inIndex {
			bad.index = new(source)
			bad.index.bytes, what = mutate(rnd, s.index.bytes)
		} else {
			bad.data = new(source)
			bad.data.bytes, what = mutate(rnd, s.data.bytes)
		}
		if string(bad.data.bytes) == string(s.data.bytes) && string(bad.index.bytes) == string(s.index.bytes) {
			continue
		}
		blamed := fmt.Sprintf("mutation %d (%s)", i, what)
		watch := func(do func()) {
			t.Helper()
			n := allocated(do)
			if most = max(most, n); n > attemptBytes {
				t.Fatalf("%s: %d bytes allocated", blamed, n)
			}
		}
		cut := len(bad.data.bytes)+len(bad.index.bytes) < len(s.data.bytes)+len(s.index.bytes)

		var err error
		watch(func() { err = readWhole(bad) })
		switch {
		case err != nil:
			namesObject(t, err, !cut)
		case inIndex || blocksDiffer(s, bad):
			t.Fatalf("%s: read without an error", blamed)
		}
		watch(func() { err = verifyWhole(bad) })
		if err == nil {
			t.Fatalf("%s: verified without an error", blamed)
		}
		namesObject(t, err, !cut)
		if inIndex {
			continue
		}

		var n int
		watch(func() { n, err = decodeForeign(bad.data.bytes) })
		switch {
		case err != nil:
			refused++
			namesObject(t, err, true)
		case n != len(rows):
			t.Fatalf("%s: decodes to %d rows, want %d", blamed, n, len(rows))
		default:
			survived++
		}

		reseal(t, bad)
		forged++
		watch(func() { err = readWhole(bad) })
		if err != nil {
			forgedRefused++
			namesObject(t, err, !cut)
		}
		watch(func() { _ = verifyWhole(bad) })
	}
	t.Logf("%d files without a digest: %d refused, %d with all rows", refused+survived, refused, survived)
	t.Logf("%d with forged checksums: %d refused", forged, forgedRefused)
	t.Logf("at most %d bytes allocated in one go", most)
}

// blocksDiffer reports whether b differs from a in bytes that a scan reads.
func blocksDiffer(a, b *stored) bool {
	first, end := blockBytes(a)
	return len(b.data.bytes) < int(end) || string(a.data.bytes[first:end]) != string(b.data.bytes[first:end])
}

// blockBytes is where the blocks of s begin and end.
func blockBytes(s *stored) (first, end int64) {
	var h head
	if err := json.Unmarshal(s.index.bytes[:s.info.Index.HeadBytes], &h); err != nil {
		panic(err)
	}
	return h.Blocks[0].Offset, h.Blocks[len(h.Blocks)-1].extent(All).end()
}

// TestLyingLengthsAreRefused writes lengths into a segment that no memory can
// hold: the length of each buffer in a batch's metadata, and the length in
// front of each compressed buffer. Checksums are forged, so that the decoder
// sees them.
func TestLyingLengthsAreRefused(t *testing.T) {
	minus := int64(-2)
	lies := []uint64{1 << 33, 1 << 40, 1 << 62, uint64(minus)}
	for _, c := range compressions() {
		good := store(t, WriterSettings{Compression: c}, someRows(3, 300))
		first, _ := blockBytes(good)
		m, err := parseMessage(good.data.bytes[first:])
		if err != nil {
			t.Fatal(err)
		}
		meta, err := parseBatch(m)
		if err != nil {
			t.Fatal(err)
		}
		_, pos := m.header.vector(2, pairBytes)
		var places []int64 // of lengths
		for i := range int64(batchBuffers) {
			off, n := pair(meta.buffers, int(i))
			places = append(places, first+8+pos+i*pairBytes, first+8+pos+i*pairBytes+8)
			if n > 0 && c != CompressionNone {
				places = append(places, first+m.metaBytes+off)
			}
		}
		tried := 0
		for _, place := range places {
			for _, lie := range lies {
				bad := &stored{data: &source{bytes: slices.Clone(good.data.bytes)}, index: good.index, info: good.info}
				binary.LittleEndian.PutUint64(bad.data.bytes[place:], lie)
				reseal(t, bad)
				for _, read := range []func() error{
					func() error { return readWhole(bad) },
					func() error { return verifyWhole(bad) },
					func() error { _, err := decodeForeign(bad.data.bytes); return err },
				} {
					var err error
					if n := allocated(func() { err = read() }); n > attemptBytes {
						t.Fatalf("%s: %x at %d: %d bytes allocated", c, lie, place, n)
					}
					var corrupt *CorruptError
					if !errors.As(err, &corrupt) {
						t.Fatalf("%s: %x at %d: got %v, want a CorruptError", c, lie, place, err)
					}
					if corrupt.Object != "object-1" || corrupt.Batch != 0 || corrupt.Column == "" {
						t.Fatalf("%s: %x at %d: the error names no place: %v", c, lie, place, err)
					}
					tried++
				}
			}
		}
		t.Logf("%s: %d lies refused", c, tried)
	}
}

// TestABombIsRefused has rows of zeros, which compress to almost nothing.
func TestABombIsRefused(t *testing.T) {
	rows := make([]Message, 64)
	for i := range rows {
		rows[i] = Message{Position: At(0, int64(i)), BatchSize: 1, Key: []byte{1}, Value: make([]byte, 1<<20)}
	}
	s := store(t, WriterSettings{BatchBytes: 1 << 30, Compression: CompressionZstd}, rows)
	var err error
	n := allocated(func() { _, err = decodeForeign(s.data.bytes) })
	if err == nil || n > foreignBytes {
		t.Fatalf("%d bytes stand for %d: %d bytes allocated, error %v", s.info.Bytes, 64<<20, n, err)
	}
	namesObject(t, err, true)
	t.Logf("%d bytes stand for %d: %v", s.info.Bytes, 64<<20, err)
}

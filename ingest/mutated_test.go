package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/segments"
)

// drain makes records of an input, to its end or its first error, and touches
// all that they hold.
func drain(format string, input []byte) error {
	s := Settings{Format: format, Key: "id", Now: time.Unix(1700000000, 0)}
	if format != Debezium {
		s.Key = ""
	}
	s = s.withDefaults()
	in, closeInput, err := plain(&source{r: bytes.NewReader(input)})
	if err != nil {
		return &LineError{1, err}
	}
	defer closeInput()
	f := formats[format].open(in, &s)
	var p pending
	for {
		var rec record
		if err := f.next(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		p.add(&rec)
		p.reset()
	}
}

// TestMutatedInputsAreTheInputsFault changes good inputs of every format in
// thousands of ways: those of Kafka in 10,000, half of them with checksums that
// were made right again. What comes of it is records, or an error that says
// where the input is bad, within 64 MiB.
func TestMutatedInputsAreTheInputsFault(t *testing.T) {
	good := map[string][][]byte{
		Kcat: {[]byte(`{"topic":"t","partition":0,"offset":1,"tstype":"create","ts":-1,"headers":["a","1","n",null],"key":"k\u0000\"é","payload":"{\"a\":1}"}` + "\n" + `{"topic":"t","partition":0,"offset":2,"key":{"a":[1]},"payload":null}`)},
		Rpk:  {[]byte("{\n\"topic\":\"t\",\"key\":\"k\",\"value\":\"v\\ufffe\",\"headers\":[{\"key\":\"a\",\"value\":\"1\"}],\n\"timestamp\":5,\"partition\":0,\"offset\":0}\n{\"topic\":\"t\",\"partition\":0,\"offset\":1}")},
	}
	for format, pattern := range map[string]string{KafkaLog: "testdata/kafka-log/*.log", Debezium: "testdata/debezium/*.txt", Arrow: "../segments/testdata/golden-v1-*.arrow"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			good[format] = append(good[format], b)
		}
	}
	for format, inputs := range good {
		for i, input := range inputs {
			if err := drain(format, input); err != nil {
				t.Fatalf("%s, input %d: %v", format, i, err)
			}
		}
		const seed = 3
		rnd := rand.New(rand.NewPCG(seed, 0))
		mutations := 2000
		if format == KafkaLog {
			mutations = 10000
		}
		var bad, taken int
		var most int64
		for i := range mutations {
			input := mutated(rnd, inputs[i%len(inputs)])
			if format == KafkaLog && i%2 == 0 {
				rightSum(input)
			}
			var err error
			n := bytesOf(func() { err = drain(format, input) })
			if most = max(most, n); n > 64<<20 {
				t.Fatalf("%s, mutation %d: %d bytes allocated", format, i, n)
			}
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, ErrBadInput) || strings.Contains(err.Error(), "panic"):
				t.Fatalf("%s, mutation %d: %v", format, i, err)
			default:
				bad++
			}
		}
		t.Logf("%s: %d mutations refused, %d taken; at most %d bytes allocated in one go", format, bad, taken, most)
	}
}

func mutated(rnd *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	switch rnd.IntN(5) {
	case 0:
		b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
	case 1:
		b[rnd.IntN(min(len(b), 130))] = byte(rnd.IntN(256))
	case 2:
		binary.BigEndian.PutUint32(b[rnd.IntN(len(b)-4):], []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, rnd.Uint32()}[rnd.IntN(6)])
	case 3:
		b = b[:rnd.IntN(len(b))]
	case 4:
		from, to := rnd.IntN(len(b)), rnd.IntN(len(b))
		copy(b[from:], b[to:min(len(b), to+rnd.IntN(100))])
	}
	return b
}

// rightSum makes the checksum of the first batch right.
func rightSum(b []byte) {
	if len(b) < batchHeaderBytes {
		return
	}
	end := batchLengthEnd + int64(int32(binary.BigEndian.Uint32(b[8:])))
	if end >= batchHeaderBytes && end <= int64(len(b)) {
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[batchCheckedFrom:end], castagnoli))
	}
}

// bytesOf is how many bytes do allocates.
func bytesOf(do func()) int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	do()
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - before)
}

// TestCountsOfTransactionsGoOnFromAnyState finds the next sequence whatever has
// ended.
func TestCountsOfTransactionsGoOnFromAnyState(t *testing.T) {
	for _, ended := range []uint64{0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1025} {
		tail := tail{counts: make(map[uint64]uint64)}
		for n := range ended {
			tail.txns.End(segments.TxnID{Most: 7, Least: n}, true, segments.Null[uint64]{})
		}
		if got := tail.count(7); got != ended || tail.count(7) != ended || tail.count(8) != 0 {
			t.Errorf("after %d: got %d", ended, got)
		}
	}
	tail := tail{counts: make(map[uint64]uint64)}
	tail.txns.End(segments.TxnID{Most: 7}, true, segments.Some(uint64(1<<64-1)))
	if id := (segments.TxnID{Most: 7, Least: tail.count(7)}); !tail.txns.HasEnded(id) {
		t.Errorf("after the last there can be: got %s", id)
	}
}

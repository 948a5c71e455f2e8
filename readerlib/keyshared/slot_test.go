package keyshared

import (
	"testing"

	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/twmb/murmur3"
)

// The values are those of the tests of Pulsar's own clients: the first three of
// the one in Go, the others of those in Java and C++.
func TestKeysHashAsPulsarHashesThem(t *testing.T) {
	for key, want := range map[string]uint32{
		"": 0, "hello": 0x248bfa47, "test": 0x3a6bd213,
		"k1": 2110152746, "k2": 1479966664, "key1": 462881061,
		"key2": 1936800180, "key01": 39696932, "key02": 751761803,
	} {
		if got := murmur3.Sum32([]byte(key)) & 0x7fffffff; got != want {
			t.Errorf("hash of %q is %d, want %d", key, got, want)
		}
		slot := Slot(want % 65536)
		if slot == 0 {
			slot = 1 // 0 is never used
		}
		if got := SlotOf([]byte(key)); got != slot {
			t.Errorf("slot of %q is %d, want %d", key, got, slot)
		}
	}
}

func TestTheOrderingKeyComesBeforeTheKey(t *testing.T) {
	m := segments.Message{Position: segments.At(3, 7)}
	expect := func(want string) {
		t.Helper()
		if got := string(OrderOf(&m)); got != want {
			t.Errorf("ordered by %q, want %q", got, want)
		}
	}
	expect("3:7")
	m.Producer, m.Sequence = segments.Some("p"), segments.Some(int64(9))
	expect("p-9")
	m.Key = []byte{}
	expect("") // an empty key is a key
	m.Key = []byte("k")
	expect("k")
	m.OrderingKey = []byte("o")
	expect("o")
}

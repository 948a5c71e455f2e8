package manifest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// sealed is body with the seal that it should have, as whoever forges one
// gives it; nil where body cannot have one.
func sealed(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if len(body) < 2 || body[len(body)-1] != '}' {
		return nil
	}
	if n := len(body) - sealBytes; n > 0 && bytes.HasPrefix(body[n:], []byte(sealStart)) {
		body = append(bytes.Clone(body[:n]), '}')
	}
	b, err := seal(rawJSON(body))
	if err != nil {
		return nil
	}
	return b
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// TestNoChangedByteIsRead changes each bit of a manifest, and of the other
// sealed objects.
func TestNoChangedByteIsRead(t *testing.T) {
	e, err := encode(many(2), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := seal(wireTag{formatVersion, "backup", 12345})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{e.body, tag} {
		if err := unseal(body, new(struct{})); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for bit := range 8 * len(body) {
			changed := bytes.Clone(body)
			changed[bit/8] ^= 1 << (bit % 8)
			if err := unseal(changed, new(struct{})); !errors.Is(err, segments.ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Fatalf("bit %d: %v\n%s", bit, err, changed)
			}
		}
		for n := range len(body) {
			if err := unseal(body[:n], new(struct{})); !errors.Is(err, segments.ErrCorrupt) {
				t.Fatalf("%d bytes of %d: %v", n, len(body), err)
			}
		}
	}
}

// Who reads back whether it won, and is given damaged bytes, does not take
// itself for the loser.
func TestDamagedBytesAreNoDefeat(t *testing.T) {
	base := new(mem.Store)
	topic := newTopic(t, base)
	m, err := topic.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := "T1/m/00000000000000000001"
	asked := 0
	faulty := fault.New(base, func(op fault.Op) fault.Fault {
		switch {
		case op.Key == key && op.Verb == fault.Put && asked == 0:
			return fault.Twice
		case op.Key == key && op.Verb == fault.Get:
			if asked++; asked < 3 {
				return fault.Wrong
			}
		}
		return fault.None
	})
	got, err := through(topic, faulty).Commit(t.Context(), change("1", appendTo(m, "J1", at(0, 4))))
	if err != nil || got.Commit != "C1" || asked != 3 {
		t.Errorf("Commit = %+v, %v, after %d looks", got, err, asked)
	}
	if _, err := base.Get(t.Context(), key, 1<<20); errors.Is(err, objstore.ErrNotFound) {
		t.Error("it is not there")
	}
}

// A put that somebody on the way has made twice is a success, whatever was put;
// other bytes at the same name are none.
func TestAnOwnObjectThatExistsIsPut(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	for _, size := range []int{0, 10, 5 << 20} {
		key := DataKey("J1", size)
		body := bytes.Repeat([]byte("x"), size)
		calm := through(topic, fault.New(topic.store, fault.Rule{Verb: fault.Put, Fault: fault.Twice}.Hook()))
		if err := calm.Put(t.Context(), key, bytes.NewReader(body)); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err := topic.Put(t.Context(), key, bytes.NewReader(append(body, 'y'))); !errors.Is(err, objstore.ErrExists) {
			t.Errorf("other bytes: %v, want ErrExists", err)
		}
		if err := topic.Put(t.Context(), key, bytes.NewReader(append(bytes.Clone(body[:max(0, size-1)]), 'y'))); !errors.Is(err, objstore.ErrExists) {
			t.Errorf("other bytes of the same size: %v, want ErrExists", err)
		}
	}
}

package count_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(*testing.T) objstore.Store { return count.New(new(mem.Store)) })
}

func TestEveryVerbAndByteIsCounted(t *testing.T) {
	ctx := t.Context()
	s := count.New(new(mem.Store))
	_ = s.Put(ctx, "a", strings.NewReader("12345"))
	before := s.Snapshot()

	_ = s.Put(ctx, "a", strings.NewReader("678")) // refused, but sent
	_, _ = s.Get(ctx, "a", 5)
	_, _ = s.Get(ctx, "a", 4) // too large: no bytes
	_ = s.ReadAt(ctx, "a", make([]byte, 2), 0)
	_ = s.ReadAt(ctx, "a", make([]byte, 9), 0) // out of range
	for range s.List(ctx, "", "") {
	}
	_ = s.Delete(ctx, "a")

	want := count.Snapshot{Puts: 1, Gets: 2, Reads: 2, Lists: 1, Deletes: 1, BytesPut: 3, BytesRead: 7}
	if got := s.Snapshot().Sub(before); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if got := want.Requests(); got != 7 {
		t.Errorf("Requests = %d, want 7", got)
	}
}

func TestAListCountsByTheThousand(t *testing.T) {
	below := new(mem.Store)
	for i := range 1001 {
		if err := below.Put(t.Context(), fmt.Sprint(i), strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
	}
	s := count.New(below)
	for range s.List(t.Context(), "", "") {
	}
	if got := s.Snapshot().Lists; got != 2 {
		t.Errorf("1001 entries are %d requests, want 2", got)
	}
}

package readerlib_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// counted is a world that is read through a counting store.
func counted(t *testing.T, build func(*world)) (*world, *count.Store) {
	t.Helper()
	below := new(mem.Store)
	w := newWorld(t, below)
	build(w)
	s := count.New(below)
	w.through(t, s)
	return w, s
}

// cost counts what do costs.
func cost(t *testing.T, s *count.Store, do func() error) count.Snapshot {
	t.Helper()
	before := s.Snapshot()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return s.Snapshot().Sub(before)
}

func drain(w *world, r *readerlib.Reader) func() error {
	return func() error {
		for _, err := range r.Messages(w.ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// Payloads are random enough not to be compressed away, and far larger than
// all headers together.
func TestReadingHeadersFetchesNoPayload(t *testing.T) {
	const rows, payload = 64, 20_000
	w, s := counted(t, func(w *world) {
		w.batchBytes = 100_000
		var all []segments.Message
		for i := range rows {
			m := msg(fmt.Sprint("1:", i), fmt.Sprint("k", i), "")
			m.Value = noise(payload, byte(i))
			all = append(all, m)
		}
		w.ingest(t, all...)
		w.compact(t, pos(fmt.Sprint("1:", rows-1)), never)
	})
	for _, o := range options() {
		o.HeadersOnly = true
		r := open(t, w, o)
		got := cost(t, s, drain(w, r))
		if got.BytesRead > rows*payload/20 {
			t.Errorf("%v: headers of %d bytes of payload cost %d bytes", o, rows*payload, got.BytesRead)
		}
		seek(t, w, r, readerlib.Earliest())
		got = cost(t, s, func() error {
			for {
				if _, err := r.Next(w.ctx); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
		if got.BytesRead > rows*payload/20 {
			t.Errorf("%v: headers by Next cost %d bytes", o, got.BytesRead)
		}
		o.HeadersOnly = false
		if got := cost(t, s, drain(w, open(t, w, o))); got.BytesRead < rows*payload {
			t.Errorf("%v: the messages are %d bytes, which cannot be all", o, got.BytesRead)
		}
	}
}

func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed) + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// The requests that the documentation promises.
func TestAnswersCostWhatTheySay(t *testing.T) {
	w, s := counted(t, func(w *world) {
		w.batchBytes = 300
		for l := range int64(4) {
			var all []segments.Message
			for i := range int64(50) {
				all = append(all, msg(segments.At(l, i).String(), fmt.Sprint("k", l, "-", i), "v"))
			}
			w.ingest(t, all...)
			w.compact(t, segments.At(l, 49), never)
		}
	})
	r := open(t, w, folded)
	requests := func(do func() error) int64 { return cost(t, s, do).Requests() }
	last := func() error { _, err := r.LastMessageID(w.ctx); return err }
	get := func(key string) func() error {
		return func() error { _, _, err := r.Get(w.ctx, []byte(key)); return err }
	}
	for _, c := range []struct {
		what string
		want int64
		do   func() error
	}{
		{"the last message id opens the last segment", 1, last},
		{"and is kept", 0, last},
		{"has-message too", 0, func() error { _, err := r.HasMessageAvailable(w.ctx); return err }},
		{"a start at a place costs nothing", 0, func() error { return r.Seek(w.ctx, readerlib.After(pos("2:10"))) }},
		{"a key of the newest segment: its index and a block", 2, get("k3-7")},
		{"a key of the oldest: three more heads, four indexes, a block", 3 + 4 + 1, get("k0-7")},
		{"again, with all heads open", 4 + 1, get("k0-8")},
		{"all that is left after 2:10: two ranges of blocks", 2, drain(w, r)},
		{"the end, found again", 0, drain(w, r)},
		{"refresh without news: a LIST and a GET", 2, func() error { _, err := r.Refresh(w.ctx); return err }},
		{"and nothing is forgotten", 0, last},
	} {
		if got := requests(c.do); got != c.want {
			t.Errorf("%s: %d requests, want %d", c.what, got, c.want)
		}
	}
	if got := requests(drain(w, open(t, w, folded))); got != 4*2 {
		t.Errorf("reading all, two for each segment: %d requests, want %d", got, 4*2)
	}
}

// However long the hidden tail, the reads that pass it only double.
func TestALongHiddenTailCostsFewReads(t *testing.T) {
	w, s := counted(t, func(w *world) {
		w.batchBytes = 1 // a block a row
		all := []segments.Message{msg("1:0", "a", "1")}
		for i := range int64(1000) {
			all = append(all, in("1,1", msg(segments.At(1, i+1).String(), "b", "1")))
		}
		w.ingest(t, append(all, marker("1:1001", segments.KindAbort, "1,1"))...)
	})
	r := open(t, w, readerlib.Options{})
	if got := cost(t, s, func() error { mustLast(t, w, r, "1:0"); return nil }).Requests(); got > 12 {
		t.Errorf("passing 1000 hidden blocks took %d requests", got)
	}
}

// Only blocks with a live row are read.
func TestDeadBlocksAreNotRead(t *testing.T) {
	w, s := counted(t, func(w *world) {
		w.batchBytes = 1
		var all []segments.Message
		for i := range int64(20) {
			m := msg(segments.At(1, i).String(), fmt.Sprint("k", i), "")
			m.Value = noise(10_000, byte(i))
			all = append(all, m)
		}
		w.ingest(t, all...)
		w.compact(t, pos("1:19"), never)
		for i := range all {
			all[i] = msg(segments.At(2, int64(i)).String(), string(all[i].Key), "-")
		}
		w.ingest(t, all[:19]...)
		w.compact(t, pos("2:18"), always)
	})
	if got := cost(t, s, drain(w, open(t, w, folded))); got.BytesRead > 30_000 {
		t.Errorf("one live message of 10000 bytes among 19 dead ones cost %d bytes", got.BytesRead)
	}
}

// What lies before the horizon is not read of an original that straddles it.
func TestBlocksBeforeTheHorizonAreNotRead(t *testing.T) {
	w, s := counted(t, func(w *world) {
		w.batchBytes = 1
		var all []segments.Message
		for i := range int64(20) {
			m := msg(segments.At(1, i).String(), "k", "")
			m.Value = noise(10_000, byte(i))
			all = append(all, m)
		}
		w.ingest(t, all...)
		w.compact(t, pos("1:18"), never)
	})
	if got := cost(t, s, drain(w, open(t, w, folded))); got.BytesRead > 40_000 {
		t.Errorf("two live messages of 10000 bytes among 18 dead ones cost %d bytes", got.BytesRead)
	}
}

// Next reads several megabytes at a time, in order, and no byte twice.
func TestNextReadsManyBlocksAtOnce(t *testing.T) {
	const rows = 20
	w, s := counted(t, func(w *world) {
		w.batchBytes = 1
		var all []segments.Message
		for i := range int64(rows) {
			m := msg(segments.At(1, i).String(), "k", "")
			m.Value = noise(1<<20, byte(i))
			all = append(all, m)
		}
		w.ingest(t, all...)
	})
	r := open(t, w, readerlib.Options{})
	got := cost(t, s, func() error {
		for i := range int64(rows) {
			m, err := r.Next(w.ctx)
			if err != nil {
				return err
			}
			if m.Position != segments.At(1, i) || !bytes.Equal(m.Value, noise(1<<20, byte(i))) {
				t.Errorf("message %d is %s, with %d bytes", i, m.Position, len(m.Value))
			}
		}
		return nil
	})
	if got.Requests() > 5 || got.BytesRead > (rows+1)<<20 {
		t.Errorf("%d megabytes cost %d requests, %d bytes", rows, got.Requests(), got.BytesRead)
	}
	mustEnd(t, w, r, segments.At(1, rows-1).String())
}

// Every call is made with each object that the version names gone in turn. It
// may do without the object, and then is right; else it is ErrSnapshotExpired.
func TestAMissingObjectIsAnExpiredSnapshot(t *testing.T) {
	below := new(mem.Store)
	w := newWorld(t, below)
	w.batchBytes = 300
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"), msg("1:2", "c", "1"), msg("1:3", "a", "2"))
	w.compact(t, pos("1:3"), never)
	w.ingest(t, msg("2:0", "b", "-"), in("1,1", msg("2:1", "c", "2")), marker("2:2", segments.KindAbort, "1,1"))
	w.compact(t, pos("2:0"), never)
	v := w.head.Version
	newer := w.head
	w.ingest(t, msg("3:0", "d", "1"))
	w.compact(t, pos("3:0"), always)

	calls := map[string]func(*readerlib.Reader) (any, error){
		"messages": func(r *readerlib.Reader) (any, error) {
			var all []segments.Message
			for m, err := range r.Messages(w.ctx) {
				if err != nil {
					return nil, err
				}
				all = append(all, m)
			}
			return all, nil
		},
		"next": func(r *readerlib.Reader) (any, error) { return r.Next(w.ctx) },
		"last": func(r *readerlib.Reader) (any, error) { return r.LastMessageID(w.ctx) },
		"has":  func(r *readerlib.Reader) (any, error) { return r.HasMessageAvailable(w.ctx) },
		"get":  func(r *readerlib.Reader) (any, error) { m, _, err := r.Get(w.ctx, []byte("c")); return m, err },
		"seek": func(r *readerlib.Reader) (any, error) {
			err := r.Seek(w.ctx, readerlib.Since(segments.Millis(1000).Time()))
			return r.Place(), err
		},
		"changes": func(r *readerlib.Reader) (any, error) {
			var all []readerlib.Change
			for c, err := range readerlib.Changes(w.ctx, w.topic, v, w.head.Version) {
				if err != nil {
					return nil, err
				}
				all = append(all, c)
			}
			return all, nil
		},
	}
	var objects []string
	for _, s := range append(newer.Originals, newer.Compacted...) {
		for _, object := range []string{s.Object, s.Index} {
			if object != "" {
				objects = append(objects, object)
			}
		}
		if s.Dead != nil {
			objects = append(objects, s.Dead.Object)
		}
	}
	topic, missed := w.topic, map[string]int{}
	for name, call := range calls {
		for _, o := range options() {
			o.Version = readerlib.Numbered(v)
			w.topic = topic
			want, err := call(open(t, w, o))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, object := range objects {
				w.through(t, fault.New(below, func(op fault.Op) fault.Fault {
					if strings.HasSuffix(op.Key, object) {
						return fault.Missing
					}
					return fault.None
				}))
				got, err := call(open(t, w, o))
				switch {
				case errors.Is(err, readerlib.ErrSnapshotExpired):
					missed[name]++
				case err != nil:
					t.Errorf("%s without %s: %v", name, object, err)
				case fmt.Sprint(got) != fmt.Sprint(want):
					t.Errorf("%s without %s is %v, want %v", name, object, got, want)
				}
			}
		}
	}
	for name := range calls {
		if missed[name] == 0 {
			t.Errorf("%s never missed an object", name)
		}
	}
}

// After an error the place is where it was, and reading goes on there.
func TestAFailedReadCanBeTriedAgain(t *testing.T) {
	below := new(mem.Store)
	w := newWorld(t, below)
	w.batchBytes = 1
	for l := range int64(3) {
		w.ingest(t, msg(segments.At(l, 0).String(), "a", "1"), msg(segments.At(l, 1).String(), "b", "1"))
	}
	var seen bytes.Buffer
	calls := 0
	w.through(t, fault.New(below, func(op fault.Op) fault.Fault {
		if calls++; calls%2 == 0 && op.Verb == fault.ReadAt {
			return fault.Before
		}
		return fault.None
	}))
	r := open(t, w, readerlib.Options{})
	for tries := 0; ; tries++ {
		if tries > 20 {
			t.Fatalf("no end after %d tries, saw %s", tries, &seen)
		}
		failed := false
		for m, err := range r.Messages(w.ctx) {
			if failed = err != nil; failed {
				break
			}
			fmt.Fprint(&seen, m.Position, " ")
		}
		if !failed {
			break
		}
	}
	if want := "0:0 0:1 1:0 1:1 2:0 2:1 "; seen.String() != want {
		t.Errorf("saw %s, want %s", &seen, want)
	}
}

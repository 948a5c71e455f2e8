package ingest

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/segments"
)

// TestPendingRecordsComeBackAsTheyWere keeps random records, across blocks and
// resets, and compares. It prints its seed when it fails.
func TestPendingRecordsComeBackAsTheyWere(t *testing.T) {
	var p pending
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(records(), 0, 20).Draw(t, "records")
		for i := range want {
			p.add(&want[i])
		}
		got := []record{}
		// Twice: a run may be overtaken more than once.
		for range 2 {
			got = got[:0]
			if err := p.each(func(rec *record) error { got = append(got, *rec); return nil }); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, append([]record{}, want...)) {
				t.Fatalf("got  %+v\nwant %+v", got, want)
			}
		}
		p.reset()
		if err := p.each(func(rec *record) error { t.Fatalf("still there: %+v", rec); return nil }); err != nil {
			t.Fatal(err)
		}
	})
}

// TestARecordStaysWithinItsBound is about the room that add sets aside: were
// it too small, a block would move and be no use the next time.
func TestARecordStaysWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := records().Draw(t, "record")
		if got, bound := len(appendRecord(nil, &rec)), sizeBound(&rec); got > bound {
			t.Fatalf("%d bytes, bound %d", got, bound)
		}
	})
}

// TestBlocksAreUsedAgain fills and resets many times over.
func TestBlocksAreUsedAgain(t *testing.T) {
	var p pending
	rec := record{line: 1, messages: []segments.Message{{Value: make([]byte, 1000)}}}
	for range 50 {
		for range 5000 {
			p.add(&rec)
		}
		p.reset()
	}
	if n := len(p.free); n > 8 {
		t.Errorf("%d blocks for 5 MB at a time", n)
	}
	rec.messages[0].Value = make([]byte, 3*blockBytes)
	p.add(&rec)
	p.reset()
	for _, b := range p.free {
		if cap(b) != blockBytes {
			t.Errorf("a block of %d bytes is kept", cap(b))
		}
	}
}

func maybe[T any](g *rapid.Generator[T]) *rapid.Generator[segments.Null[T]] {
	return rapid.Custom(func(t *rapid.T) segments.Null[T] {
		if !rapid.Bool().Draw(t, "there") {
			return segments.Null[T]{}
		}
		return segments.Some(g.Draw(t, "value"))
	})
}

func records() *rapid.Generator[record] {
	ids := rapid.Custom(func(t *rapid.T) segments.TxnID {
		return segments.TxnID{Most: rapid.Uint64().Draw(t, "most"), Least: rapid.Uint64().Draw(t, "least")}
	})
	positions := rapid.Custom(func(t *rapid.T) segments.Position {
		return segments.Position{Ledger: rapid.Int64Min(0).Draw(t, "ledger"), Entry: rapid.Int64Min(0).Draw(t, "entry"), Batch: rapid.Int32Min(-1).Draw(t, "index")}
	})
	bytes := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()))
	millis := rapid.Map(rapid.Int64(), func(n int64) segments.Millis { return segments.Millis(n) })
	properties := rapid.Custom(func(t *rapid.T) segments.Property {
		return segments.Property{Key: rapid.String().Draw(t, "key"), Value: bytes.Draw(t, "value")}
	})
	messages := rapid.Custom(func(t *rapid.T) segments.Message {
		m := segments.Message{
			Position:    segments.None,
			BatchSize:   rapid.Int32Min(1).Draw(t, "batch size"),
			Key:         bytes.Draw(t, "key"),
			Txn:         maybe(ids).Draw(t, "txn"),
			PublishTime: millis.Draw(t, "publish"),
			EventTime:   maybe(millis).Draw(t, "event"),
			Producer:    maybe(rapid.String()).Draw(t, "producer"),
			Sequence:    maybe(rapid.Int64()).Draw(t, "sequence"),
			Epoch:       maybe(rapid.Int32()).Draw(t, "epoch"),
			OrderingKey: bytes.Draw(t, "ordering key"),
			Value:       bytes.Draw(t, "value"),
		}
		if list := rapid.SliceOfN(properties, 0, 3).Draw(t, "properties"); len(list) > 0 {
			m.Properties = list
		}
		return m
	})
	return rapid.Custom(func(t *rapid.T) record {
		rec := record{
			line: rapid.Int64Min(1).Draw(t, "line"), id: maybe(positions).Draw(t, "id"),
			entry: maybe(rapid.Int64Min(0)).Draw(t, "entry"), counted: rapid.Bool().Draw(t, "counted"),
		}
		if rapid.IntRange(0, 3).Draw(t, "marker") == 0 {
			rec.kind = rapid.SampledFrom([]segments.Kind{segments.KindCommit, segments.KindAbort}).Draw(t, "kind")
			rec.txn, rec.mark = ids.Draw(t, "txn"), maybe(rapid.Uint64()).Draw(t, "mark")
			return rec
		}
		rec.batch = rapid.Bool().Draw(t, "batch")
		n := 1
		if rec.batch {
			n = 4
		}
		rec.messages = rapid.SliceOfN(messages, 1, n).Draw(t, "messages")
		return rec
	})
}

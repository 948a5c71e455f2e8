package segments

import (
	"math/rand/v2"

	"pgregory.net/rapid"
)

// drawRows is up to 60 rows of every shape that the rules allow.
func drawRows(t *rapid.T) []Message {
	rows := rapid.SliceOfN(rapid.Custom(drawRow), 1, 60).Draw(t, "rows")
	at := Position{Ledger: 0, Entry: 0, Batch: -1}
	for i := range rows {
		at = after(at, rows[i].Position, &rows[i].BatchSize)
		rows[i].Position = at
	}
	return rows
}

// drawRow is a row whose position says how it lies to the row before it.
func drawRow(t *rapid.T) Message {
	text := rapid.SampledFrom([]string{"", "p", "producer", "Erzähler", "日本"})
	m := Message{
		Position: Position{
			Ledger: int64(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "ledgers on")),
			Entry:  rapid.Int64Range(0, 2).Draw(t, "entries on"),
			Batch:  rapid.Int32Range(-1, 3).Draw(t, "batch index on"),
		},
		BatchSize:   rapid.Int32Range(1, 9).Draw(t, "batch size"),
		Kind:        Kind(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3}).Draw(t, "kind")),
		Txn:         drawNull(t, "txn", rapid.Custom(func(t *rapid.T) TxnID { return TxnID{rapid.Uint64().Draw(t, "most"), rapid.Uint64().Draw(t, "least")} })),
		PublishTime: Millis(rapid.Int64().Draw(t, "publish")),
		EventTime:   drawNull(t, "event", rapid.Map(rapid.Int64(), func(n int64) Millis { return Millis(n) })),
		Producer:    drawNull(t, "producer", text),
		Sequence:    drawNull(t, "sequence", rapid.Int64()),
		Epoch:       drawNull(t, "epoch", rapid.Int32()),
		OrderingKey: drawBytes(t, "ordering key"),
		Properties: rapid.OneOf(
			rapid.Just[[]Property](nil),
			rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Property { return Property{text.Draw(t, "key"), drawBytes(t, "value")} }), 0, 3),
		).Draw(t, "properties"),
	}
	switch m.Kind {
	case KindMessage:
		m.Key, m.Value = drawBytes(t, "key"), drawBytes(t, "value")
		if m.Key != nil && m.Value == nil {
			m.Value = []byte{}
		}
	case KindTombstone:
		m.Key = append([]byte{}, drawBytes(t, "key")...)
		m.Value = rapid.SampledFrom([][]byte{nil, {}}).Draw(t, "value")
	default:
		m.Txn.Valid = true
	}
	return m
}

// drawBytes is null, empty, a common key, or any bytes.
func drawBytes(t *rapid.T, label string) []byte {
	return rapid.OneOf(
		rapid.SampledFrom([][]byte{nil, {}, []byte("a"), []byte("b"), {0xFF, 0}}),
		rapid.SliceOfN(rapid.Byte(), 0, 200),
	).Draw(t, label)
}

func drawNull[T any](t *rapid.T, label string, of *rapid.Generator[T]) Null[T] {
	if rapid.Bool().Draw(t, label+" is null") {
		return Null[T]{}
	}
	return Some(of.Draw(t, label))
}

// after is a position after at by steps, in a batch of *size or in none.
func after(at, steps Position, size *int32) Position {
	switch {
	case steps.Ledger > 0:
		at = Position{Ledger: at.Ledger + steps.Ledger, Entry: steps.Entry, Batch: -1}
	case at.Batch >= 0 && steps.Batch >= 0 && at.Batch+1 < *size:
		at.Batch++
		return at
	default:
		at = At(at.Ledger, at.Entry+1+steps.Entry)
	}
	if steps.Batch < 0 || *size < 2 {
		*size = 1
		return at
	}
	at.Batch = min(steps.Batch, *size-1)
	return at
}

// someRows is n rows of every kind, made of seed.
func someRows(seed uint64, n int) []Message {
	rnd := rand.New(rand.NewPCG(seed, 1))
	nullable := func(max int) []byte {
		if rnd.IntN(4) == 0 {
			return nil
		}
		b := make([]byte, rnd.IntN(max))
		for i := range b {
			b[i] = byte(rnd.IntN(256)) >> rnd.IntN(8)
		}
		return b
	}
	rows := make([]Message, 0, n)
	at := None
	for range n {
		m := Message{
			BatchSize:   1 + rnd.Int32N(6),
			PublishTime: Millis(1700000000000 + rnd.Int64N(1000000)),
			OrderingKey: nullable(8),
		}
		steps := Position{Entry: rnd.Int64N(2), Batch: rnd.Int32N(4) - 1}
		if rnd.IntN(50) == 0 {
			steps.Ledger = 1 + rnd.Int64N(3)
		}
		if at.IsNone() {
			at = At(0, 0)
		}
		at = after(at, steps, &m.BatchSize)
		m.Position = at
		if rnd.IntN(2) == 0 {
			m.EventTime = Some(Millis(rnd.Int64N(1<<41) - 1<<40))
		}
		if rnd.IntN(2) == 0 {
			m.Producer = Some([]string{"", "p", "producer", "Erzähler"}[rnd.IntN(4)])
			m.Sequence = Some(rnd.Int64())
		}
		if rnd.IntN(3) == 0 {
			m.Epoch = Some(rnd.Int32())
		}
		if rnd.IntN(3) == 0 {
			m.Txn = Some(TxnID{Most: rnd.Uint64N(3), Least: rnd.Uint64()})
		}
		switch m.Kind = Kind(rnd.IntN(8)); {
		case m.Kind == KindTombstone:
			m.Key = append([]byte{}, nullable(3)...)
			if rnd.IntN(2) == 0 {
				m.Value = []byte{}
			}
		case m.Kind.IsMarker():
			m.Txn = Some(TxnID{Most: 1, Least: rnd.Uint64N(9)})
		default:
			m.Kind = KindMessage
			m.Key = nullable(4)
			m.Value = nullable(60)
			if m.Key != nil && m.Value == nil {
				m.Value = []byte{}
			}
		}
		if rnd.IntN(3) == 0 {
			m.Properties = []Property{}
			for range rnd.IntN(3) {
				m.Properties = append(m.Properties, Property{Key: []string{"", "k", "größe"}[rnd.IntN(3)], Value: nullable(5)})
			}
		}
		rows = append(rows, m)
	}
	return rows
}

package segments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind tells what a row is.
type Kind uint8

// The kinds of rows, as stored.
const (
	KindMessage   Kind = 0 // a message with a value, or with a null value and no key
	KindTombstone Kind = 1 // a message that deletes its key
	KindCommit    Kind = 2 // marker: its transaction is committed
	KindAbort     Kind = 3 // marker: its transaction is aborted
)

// IsMarker reports whether rows of this kind end a transaction. Markers are
// never shown to a user.
func (k Kind) IsMarker() bool { return k == KindCommit || k == KindAbort }

// Null is a value that may be missing. The zero value is missing.
type Null[T any] struct {
	V     T
	Valid bool
}

// MarshalJSON gives null for a missing value.
func (n Null[T]) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.V)
}

// UnmarshalJSON reads null as a missing value.
func (n *Null[T]) UnmarshalJSON(b []byte) error {
	*n = Null[T]{}
	if string(b) == "null" {
		return nil
	}
	n.Valid = true
	return json.Unmarshal(b, &n.V)
}

// Some is a value that is there.
func Some[T any](v T) Null[T] { return Null[T]{V: v, Valid: true} }

// Millis is a moment, in milliseconds since 1970 UTC.
type Millis int64

// MillisOf is the millisecond that holds t.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time is m as a time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// String prints m as RFC 3339 in UTC with three decimals.
func (m Millis) String() string { return m.Time().Format("2006-01-02T15:04:05.000Z07:00") }

// TxnID names a transaction: its coordinator, and the sequence that the
// coordinator gave it (Pulsar's most and least significant bits). The text
// form is most,least. The zero value is a transaction like any other.
type TxnID struct {
	Most  uint64
	Least uint64
}

// String gives the text form, as in 1,4.
func (id TxnID) String() string {
	return strconv.FormatUint(id.Most, 10) + "," + strconv.FormatUint(id.Least, 10)
}

// ErrTxnID says that a text is not a transaction id.
var ErrTxnID = errors.New("not a transaction id (want coordinator,sequence)")

// ParseTxnID reads the text form that String prints, and nothing else. Its
// errors are ErrTxnID.
func ParseTxnID(text string) (TxnID, error) {
	most, least, ok := strings.Cut(text, ",")
	if !ok {
		return TxnID{}, fmt.Errorf("%q: %w", text, ErrTxnID)
	}
	var id TxnID
	var errMost, errLeast error
	id.Most, errMost = strconv.ParseUint(most, 10, 64)
	id.Least, errLeast = strconv.ParseUint(least, 10, 64)
	if errMost != nil || errLeast != nil || id.String() != text {
		return TxnID{}, fmt.Errorf("%q: %w", text, ErrTxnID)
	}
	return id, nil
}

// MarshalText gives the text form.
func (id TxnID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text form.
func (id *TxnID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseTxnID(string(text))
	return err
}

// Property is one header of a message. Their order and repeats are kept.
type Property struct {
	Key   string
	Value []byte // nil is null, which is not empty
}

// Message is one row of a topic: a message, a tombstone, or a marker. In byte
// slices nil is null and an empty slice is empty; the two are never mixed up.
type Message struct {
	Position    Position
	BatchSize   int32 // of the entry; 1 when it is not a batch
	Kind        Kind
	Key         []byte // nil: keyless
	Txn         Null[TxnID]
	PublishTime Millis
	EventTime   Null[Millis]
	Producer    Null[string]
	Sequence    Null[int64]
	Epoch       Null[int32]
	OrderingKey []byte
	Value       []byte
	Properties  []Property // nil: none
}

// Clone returns a copy that shares no memory with m.
func (m Message) Clone() Message {
	m.Key = bytes.Clone(m.Key)
	m.OrderingKey = bytes.Clone(m.OrderingKey)
	m.Value = bytes.Clone(m.Value)
	m.Properties = slices.Clone(m.Properties)
	for i := range m.Properties {
		m.Properties[i].Value = bytes.Clone(m.Properties[i].Value)
	}
	return m
}

// Bytes is about how much memory and raw column space the row takes. It is
// what batches and segments are measured by while they are written.
func (m *Message) Bytes() int64 {
	n := 96 + len(m.Key) + len(m.OrderingKey) + len(m.Value) + len(m.Producer.V)
	for _, p := range m.Properties {
		n += 16 + len(p.Key) + len(p.Value)
	}
	return int64(n)
}

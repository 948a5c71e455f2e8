package keyshared

import (
	"strconv"

	"github.com/twmb/murmur3"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Slot is what keys are assigned to workers by. Slot 0 is never used, as in
// Pulsar.
type Slot uint16

// slots is how many there are, with the one that is never used.
const slots = 1 << 16

// SlotOf is the slot of a key: the same as Pulsar's.
func SlotOf(key []byte) Slot {
	// Pulsar's hashes are Java's ints without the sign. That changes nothing
	// in the lower 16 bits, but this is what is written down.
	s := Slot(murmur3.Sum32(key) & 0x7fffffff % slots)
	return max(s, 1)
}

// OrderOf is the key by which m is ordered: its ordering key, or else its key.
// Without either there is no order to keep. Then it is producer-sequence, as in
// Pulsar, or else the position, so that such messages spread over all workers.
func OrderOf(m *segments.Message) []byte {
	switch {
	case m.OrderingKey != nil:
		return m.OrderingKey
	case m.Key != nil:
		return m.Key
	case m.Producer.Valid && m.Sequence.Valid:
		b := append([]byte(m.Producer.V), '-')
		return strconv.AppendInt(b, m.Sequence.V, 10)
	}
	return []byte(m.Position.String())
}

// Slots is the run of slots First through Last.
type Slots struct {
	First, Last Slot
}

func (r Slots) overlaps(q Slots) bool { return r.First <= q.Last && q.First <= r.Last }

// String prints the run as in 1-32768.
func (r Slots) String() string {
	return strconv.Itoa(int(r.First)) + "-" + strconv.Itoa(int(r.Last))
}

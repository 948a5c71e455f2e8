package dlq

import (
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Letter is a dead letter that was read back.
type Letter struct {
	At      segments.Position // of the letter, in its own topic
	Written segments.Millis
	Copies  int // letters of the same message, this one included

	Origin  Origin
	Cause   Cause
	Payload Payload

	// Message is the message as it was, at its position in the topic of
	// origin. Without payload that is all there is of it.
	Message segments.Message
}

// identity is what letters of the same message have in common.
type identity struct {
	topic manifest.TopicID
	group string
	at    segments.Position
}

// List reads the letters among messages, in order, each message of origin once:
// its first letter, which counts the others. Messages that are no letters are
// counted as others.
func List(messages iter.Seq2[segments.Message, error]) (letters []Letter, others int, err error) {
	first := make(map[identity]int)
	for m, err := range messages {
		if err != nil {
			return letters, others, err
		}
		l, ok := parse(&m)
		if !ok {
			others++
			continue
		}
		id := identity{l.Origin.ID, l.Origin.Group, l.Message.Position}
		if i, double := first[id]; double {
			letters[i].Copies++
			continue
		}
		first[id] = len(letters)
		letters = append(letters, l)
	}
	return letters, others, nil
}

// parse reads a letter. ok is false for what is none.
func parse(m *segments.Message) (l Letter, ok bool) {
	text := make(map[string]string)
	for _, p := range m.Properties {
		text[p.Key] = string(p.Value) // the letter's own come last
	}
	at, err := segments.ParsePosition(text[PropertyPosition])
	own, ownErr := strconv.Atoi(text[PropertyOwn])
	if err != nil || ownErr != nil || own < 0 || own > len(m.Properties) || text[PropertyTopicID] == "" {
		return l, false
	}
	attempts, _ := strconv.Atoi(text[PropertyAttempts]) // not known where missing
	l = Letter{
		At: m.Position, Written: m.PublishTime, Copies: 1,
		Origin:  Origin{text[PropertyTopic], manifest.TopicID(text[PropertyTopicID]), text[PropertyGroup]},
		Cause:   Cause{keyshared.Reason(text[PropertyReason]), attempts, text[PropertyMessage]},
		Payload: Payload(text[PropertyPayload]),
	}
	l.Message = m.Clone()
	l.Message.Position, l.Message.BatchSize = at, 1
	if l.Message.Properties = l.Message.Properties[:own]; own == 0 {
		l.Message.Properties = nil
	}
	return l, true
}

// Again is the message to send back for a letter. It names the letter as its
// producer and sequence, so a topic takes it once, however often it is sent,
// if letters are sent in order and the topic has not forgotten the producer.
// ok is false where there is no payload: a message that is gone must not come
// back as a delete.
func (l *Letter) Again(letters manifest.TopicID) (m segments.Message, ok bool, err error) {
	if l.Payload != Present {
		return m, false, nil
	}
	if l.At.Batch >= 0 || l.At.Ledger >= math.MaxInt32 || l.At.Entry >= math.MaxUint32 {
		return m, false, fmt.Errorf("letter %s has no number", l.At)
	}
	m = l.Message
	m.PublishTime = 0 // it is published when it is sent
	m.Producer, m.Epoch = segments.Some("dlq-"+string(letters)), segments.Null[int32]{}
	m.Sequence = segments.Some(l.At.Ledger<<32 | l.At.Entry)
	return m, true, nil
}

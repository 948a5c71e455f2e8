package dlq

import (
	"strconv"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Properties of a letter, after those of its message. Where the message has one
// of the same name, that one comes first, and the letter's own is the last.
const (
	PropertyTopic       = "dlq.topic"
	PropertyTopicID     = "dlq.topic_id"
	PropertyPosition    = "dlq.position"
	PropertyGroup       = "dlq.group"
	PropertyReason      = "dlq.reason"   // for programs
	PropertyAttempts    = "dlq.attempts" // missing: not known
	PropertyMessage     = "dlq.message"  // for people; missing: there is none
	PropertyPublishTime = "dlq.publish_time"
	PropertyProducer    = "dlq.producer"
	PropertySequence    = "dlq.sequence"
	PropertyPayload     = "dlq.payload"
	PropertyOwn         = "dlq.own_properties" // how many are the message's
)

// Payload says whether a letter holds its message.
type Payload string

// The payloads.
const (
	Present    Payload = "present"
	Absent     Payload = "absent"     // the topic has no message there, for good
	Unreadable Payload = "unreadable" // it is damaged
)

// Origin is where letters come from.
type Origin struct {
	Topic string
	ID    manifest.TopicID
	Group string
}

// TopicName is the topic of the letters of o, unless another is chosen.
func (o Origin) TopicName() string { return o.Topic + "-" + o.Group + "-DLQ" }

// Cause is why a message is dead.
type Cause struct {
	Reason   keyshared.Reason
	Attempts int    // 0: not known
	Message  string // for people; may be empty
}

// Letter makes the letter of a message. It shares its memory. It has no
// position or publish time: it gets those where it is written.
func (o Origin) Letter(m *segments.Message, c Cause) segments.Message {
	letter := segments.Message{
		BatchSize: 1, Kind: m.Kind, Key: m.Key, OrderingKey: m.OrderingKey, Value: m.Value, EventTime: m.EventTime,
	}
	letter.Properties = append(letter.Properties, m.Properties...)
	own := len(letter.Properties)
	o.describe(&letter, m.Position, c, Present)
	add(&letter, PropertyPublishTime, m.PublishTime.String())
	if m.Producer.Valid {
		add(&letter, PropertyProducer, m.Producer.V)
	}
	if m.Sequence.Valid {
		add(&letter, PropertySequence, strconv.FormatInt(m.Sequence.V, 10))
	}
	add(&letter, PropertyOwn, strconv.Itoa(own))
	return letter
}

// HeadersOnly makes the letter of a message of which the position is all that
// is to be had.
func (o Origin) HeadersOnly(at segments.Position, c Cause, why Payload) segments.Message {
	letter := segments.Message{BatchSize: 1}
	o.describe(&letter, at, c, why)
	add(&letter, PropertyOwn, "0")
	return letter
}

func (o Origin) describe(letter *segments.Message, at segments.Position, c Cause, p Payload) {
	topic := o.Topic
	if topic == "" {
		topic = string(o.ID) // its name is not known
	}
	add(letter, PropertyTopic, topic)
	add(letter, PropertyTopicID, string(o.ID))
	add(letter, PropertyPosition, at.String())
	add(letter, PropertyGroup, o.Group)
	add(letter, PropertyReason, string(c.Reason))
	if c.Attempts > 0 {
		add(letter, PropertyAttempts, strconv.Itoa(c.Attempts))
	}
	if c.Message != "" {
		add(letter, PropertyMessage, c.Message)
	}
	add(letter, PropertyPayload, string(p))
}

func add(m *segments.Message, key, value string) {
	m.Properties = append(m.Properties, segments.Property{Key: key, Value: []byte(value)})
}

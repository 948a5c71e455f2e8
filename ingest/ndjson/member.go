package ndjson

import "math/bits"

// member is a name that means something in a line.
type member uint8

const (
	memberID member = iota
	memberBatch
	memberBatchSize
	memberKey
	memberKeyBase64
	memberValue
	memberValueBase64
	memberPublishTime
	memberEventTime
	memberProducer
	memberSequence
	memberEpoch
	memberTxn
	memberOrderingKey
	memberOrderingKeyBase64
	memberProperties
	memberMarker
	memberMark
)

var memberNames = [...]string{
	memberID:                "id",
	memberBatch:             "batch",
	memberBatchSize:         "batch_size",
	memberKey:               "key",
	memberKeyBase64:         "key_base64",
	memberValue:             "value",
	memberValueBase64:       "value_base64",
	memberPublishTime:       "publish_time",
	memberEventTime:         "event_time",
	memberProducer:          "producer",
	memberSequence:          "sequence",
	memberEpoch:             "epoch",
	memberTxn:               "txn",
	memberOrderingKey:       "ordering_key",
	memberOrderingKeyBase64: "ordering_key_base64",
	memberProperties:        "properties",
	memberMarker:            "marker",
	memberMark:              "low_water_mark",
}

func (m member) String() string { return memberNames[m] }

// The members that go together. A marker may carry its times: those of it are
// of no use to anybody, and a tool that stamps every line is not wrong.
var (
	batchMembers    = setOf(memberID, memberBatch)
	markerMembers   = setOf(memberID, memberTxn, memberMarker, memberMark, memberPublishTime, memberEventTime)
	propertyMembers = setOf(memberKey, memberValue, memberValueBase64)
	messageMembers  = setOf(memberKey, memberKeyBase64, memberValue, memberValueBase64,
		memberPublishTime, memberEventTime, memberProducer, memberSequence, memberEpoch, memberTxn,
		memberOrderingKey, memberOrderingKeyBase64, memberProperties)
)

// lookup finds the member with a name. The compiler makes a search by length
// and text of it, without a hash and without a copy.
func lookup(name []byte) (member, bool) {
	switch string(name) {
	case "id":
		return memberID, true
	case "batch":
		return memberBatch, true
	case "batch_size":
		return memberBatchSize, true
	case "key":
		return memberKey, true
	case "key_base64":
		return memberKeyBase64, true
	case "value":
		return memberValue, true
	case "value_base64":
		return memberValueBase64, true
	case "publish_time":
		return memberPublishTime, true
	case "event_time":
		return memberEventTime, true
	case "producer":
		return memberProducer, true
	case "sequence":
		return memberSequence, true
	case "epoch":
		return memberEpoch, true
	case "txn":
		return memberTxn, true
	case "ordering_key":
		return memberOrderingKey, true
	case "ordering_key_base64":
		return memberOrderingKeyBase64, true
	case "properties":
		return memberProperties, true
	case "marker":
		return memberMarker, true
	case "low_water_mark":
		return memberMark, true
	}
	return 0, false
}

// members is a set of them.
type members uint32

func setOf(list ...member) members {
	var s members
	for _, m := range list {
		s.add(m)
	}
	return s
}

func (s *members) add(m member) { *s |= 1 << m }

func (s members) includes(m member) bool { return s>>m&1 == 1 }

// outside is a member of s that is not in t, if there is one.
func (s members) outside(t members) (member, bool) {
	rest := s &^ t
	if rest == 0 {
		return 0, false
	}
	return member(bits.TrailingZeros32(uint32(rest))), true
}

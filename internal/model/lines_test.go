package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/segments"
)

// line is a line of an input: a message, a batch of messages, or the end of a
// transaction.
type line struct {
	id         segments.Null[segments.Position]
	messages   []segments.Message // BatchSize is that of their entry
	batch      bool               // they come as {"batch":[...]}
	end        segments.Kind      // KindCommit or KindAbort, of txn
	txn        segments.TxnID
	mark       segments.Null[uint64]
	blank, bad bool
}

// byClock is the publish time of a message whose line gives none.
const byClock = segments.Millis(math.MinInt64)

// sum is what lines came to.
type sum struct{ messages, duplicates, gaps int64 }

// view tells which list of messages is read.
type view struct{ compacted, uncommitted bool }

// text is the line as it goes in.
func (l *line) text() string {
	switch {
	case l.blank:
		return " \t"
	case l.bad:
		return `{"key":"a"}` // neither a value nor null
	}
	var fields []string
	if l.id.Valid {
		fields = append(fields, fmt.Sprintf(`"id":"%s"`, l.id.V))
	}
	switch {
	case l.end != segments.KindMessage:
		name := map[segments.Kind]string{segments.KindCommit: "commit", segments.KindAbort: "abort"}[l.end]
		fields = append(fields, fmt.Sprintf(`"txn":"%s","marker":"%s"`, l.txn, name))
		if l.mark.Valid {
			fields = append(fields, fmt.Sprintf(`"low_water_mark":"%d"`, l.mark.V))
		}
	case l.batch:
		var all []string
		for _, m := range l.messages {
			all = append(all, "{"+strings.Join(fieldsOf(&m), ",")+"}")
		}
		fields = append(fields, `"batch":[`+strings.Join(all, ",")+"]")
	default:
		if l.id.Valid && l.id.V.Batch >= 0 {
			fields = append(fields, fmt.Sprintf(`"batch_size":%d`, l.messages[0].BatchSize))
		}
		fields = append(fields, fieldsOf(&l.messages[0])...)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// fieldsOf lists what a line says of a message.
func fieldsOf(m *segments.Message) (fields []string) {
	if m.Key != nil {
		fields = append(fields, bytesField("key", m.Key))
	}
	fields = append(fields, bytesField("value", m.Value))
	if m.PublishTime != byClock {
		fields = append(fields, fmt.Sprintf(`"publish_time":"%s"`, m.PublishTime))
	}
	if m.EventTime.Valid {
		fields = append(fields, fmt.Sprintf(`"event_time":"%s"`, m.EventTime.V))
	}
	if m.Producer.Valid {
		fields = append(fields, fmt.Sprintf(`"producer":%q`, m.Producer.V))
	}
	if m.Sequence.Valid {
		fields = append(fields, fmt.Sprintf(`"sequence":"%d"`, m.Sequence.V))
	}
	if m.Epoch.Valid {
		fields = append(fields, fmt.Sprintf(`"epoch":%d`, m.Epoch.V))
	}
	if m.Txn.Valid {
		fields = append(fields, fmt.Sprintf(`"txn":"%s"`, m.Txn.V))
	}
	if m.OrderingKey != nil {
		fields = append(fields, bytesField("ordering_key", m.OrderingKey))
	}
	if len(m.Properties) > 0 {
		var all []string
		for _, p := range m.Properties {
			all = append(all, fmt.Sprintf(`{"key":%q,%s}`, p.Key, bytesField("value", p.Value)))
		}
		fields = append(fields, `"properties":[`+strings.Join(all, ",")+"]")
	}
	return fields
}

func bytesField(name string, b []byte) string {
	switch {
	case b == nil:
		return `"` + name + `":null`
	case !utf8.Valid(b):
		return `"` + name + `_base64":"` + base64.StdEncoding.EncodeToString(b) + `"`
	}
	text, err := json.Marshal(string(b))
	if err != nil {
		panic(err)
	}
	return `"` + name + `":` + string(text)
}

// textOf is a whole input.
func textOf(lines []line) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(lines[i].text())
		b.WriteByte('\n')
	}
	return b.String()
}

// show prints a message for people.
func show(m *segments.Message) string {
	bytes := func(b []byte) string {
		if b == nil {
			return "null"
		}
		text := strconv.Quote(string(b))
		if long := strings.Index(text, "xxxx"); long >= 0 {
			text = fmt.Sprintf(`%s..." (%d bytes)`, text[:long], len(b))
		}
		return text
	}
	text := fmt.Sprintf("%s of %d: %s=%s, kind %d, published %s", m.Position, m.BatchSize, bytes(m.Key), bytes(m.Value), m.Kind, m.PublishTime)
	if m.EventTime.Valid {
		text += fmt.Sprintf(", event %s", m.EventTime.V)
	}
	if m.Txn.Valid {
		text += fmt.Sprintf(", txn %s", m.Txn.V)
	}
	if m.Producer.Valid || m.Sequence.Valid || m.Epoch.Valid {
		text += fmt.Sprintf(", sent by %+v %+v %+v", m.Producer, m.Sequence, m.Epoch)
	}
	if m.OrderingKey != nil || m.Properties != nil {
		text += fmt.Sprintf(", ordering key %s, properties %q", bytes(m.OrderingKey), m.Properties)
	}
	return text
}

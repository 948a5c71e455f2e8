package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// debezium is the format of change events of databases, one a line:
//
//	{"key":{"id":1},"value":{"before":null,"after":{"id":1,"name":"a"},"source":{"ts_ms":5},"op":"c","ts_ms":7}}
//	{"key":{"id":1},"value":null}
//	{"before":null,"after":{"id":1,"name":"a"},"op":"c","ts_ms":7}       a value alone, where --key says what its key is
//
// A key, and a value, may be wrapped as {"schema":...,"payload":...}; only the
// payload counts. The message is the row after the change, as compact JSON,
// under its key as compact JSON: a topic is then the table. Names, texts and
// numbers stay as they are written.
type debezium struct {
	lines     lines
	now       segments.Millis
	keys      []keyPath
	inComment bool

	text     []byte // the line
	json     jsontext.Parser
	made     []byte // keys and rows of the line
	messages []segments.Message
}

func newDebezium(in *bufio.Reader, s *Settings) format {
	keys, err := parseKeyPaths(s.Key)
	if err != nil {
		panic(fmt.Sprintf("settings were not validated: %v", err))
	}
	return &debezium{lines: lines{r: in, max: s.LineBytesMax}, now: segments.MillisOf(s.Now), keys: keys}
}

func (f *debezium) next(rec *record) error {
	for len(f.messages) == 0 {
		text, err := f.lines.next()
		if err != nil {
			return err
		}
		if f.isComment(text) {
			continue
		}
		if err := f.line(text); err != nil {
			return &LineError{f.lines.read, err}
		}
	}
	*rec = record{line: f.lines.read, messages: f.messages[:1:1]}
	f.messages = f.messages[1:]
	return nil
}

// isComment reports whether a line is part of a /* comment */, as the licence
// in front of somebody's sample.
func (f *debezium) isComment(text []byte) bool {
	text = bytes.TrimSpace(text)
	if !f.inComment && !bytes.HasPrefix(text, []byte("/*")) {
		return false
	}
	f.inComment = !bytes.HasSuffix(text, []byte("*/"))
	return true
}

// line makes the messages of an event: one; two where a key changes; none of an
// event that is about no row.
func (f *debezium) line(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("not UTF-8")
	}
	f.text, f.json, f.made, f.messages = text, jsontext.New(text), f.made[:0], f.messages[:0]
	whole, err := f.json.Span()
	if err == nil {
		err = f.json.End()
	}
	if err != nil {
		return err
	}
	pair, _, err := f.members(whole, "key", "value", "op", "payload")
	if err != nil {
		return err
	}
	key, value := absent, whole
	if pair["value"].is && !pair["op"].is && !pair["payload"].is {
		key, value = pair["key"], pair["value"].Span
	}
	if key, err = f.payload(key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	event, err := f.payload(member{value, true})
	if err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if f.isNull(event) {
		return f.tombstone(key)
	}
	return f.event(key, event)
}

// tombstone follows a delete, so that a broker forgets the key.
func (f *debezium) tombstone(key member) error {
	if f.isNull(key) {
		return errors.New("a null without a key: there is nothing to delete")
	}
	f.add(f.compact(key), nil, f.now, segments.Null[segments.Millis]{})
	return nil
}

// event makes the messages of a change event.
func (f *debezium) event(key, event member) error {
	m, _, err := f.members(event.Span, "before", "after", "source", "op", "ts_ms", "status", "id", "ddl", "tableChanges")
	if err != nil {
		return err
	}
	publish, err := f.millis(m["ts_ms"])
	if err != nil {
		return fmt.Errorf("ts_ms: %w", err)
	}
	if !publish.Valid {
		publish.V = f.now
	}
	source, _, err := f.members(m["source"].Span, "ts_ms")
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	changed, err := f.millis(source["ts_ms"])
	if err != nil {
		return fmt.Errorf("source: ts_ms: %w", err)
	}
	op, err := f.string(m["op"])
	if err != nil {
		return fmt.Errorf("op: %w", err)
	}
	switch op {
	case "c", "r", "u":
		if f.isNull(m["after"]) {
			return fmt.Errorf("op %s without a row in \"after\": the row cannot be told", op)
		}
		return f.row(key, m, publish.V, changed)
	case "d":
		k := f.compact(key)
		if f.isNull(key) {
			if k, err = f.keyOf(m["before"]); err != nil {
				return fmt.Errorf("before: %w", err)
			}
		}
		f.add(k, nil, publish.V, changed)
		return nil
	case "m": // a message that somebody wrote into the database's log
		return nil
	case "t":
		return errors.New("op t empties the table, which does not fold by key; take the line out, and delete the rows by their keys")
	case "":
		isTransaction := m["status"].is && m["id"].is
		isSchemaChange := m["ddl"].is || m["tableChanges"].is
		if isTransaction || isSchemaChange || f.isHeartbeat(event) {
			return nil
		}
		return errors.New("no \"op\": only whole change events are read, not rows that a transform took out of them")
	}
	return fmt.Errorf("op %q is none of c, r, u, d, t, m", op)
}

// row adds the row that a change left. Without a key of its own it may have
// taken another row's place: then that one goes.
func (f *debezium) row(key member, m map[string]member, publish segments.Millis, changed segments.Null[segments.Millis]) error {
	value, err := f.rowText(m["after"])
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	if !f.isNull(key) {
		f.add(f.compact(key), value, publish, changed)
		return nil
	}
	now, err := f.keyOf(m["after"])
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	// What a database keeps of the row before may lack the key, if that did not
	// change.
	if old, err := f.keyOf(m["before"]); err == nil && !bytes.Equal(old, now) {
		f.add(old, nil, publish, changed)
	}
	f.add(now, value, publish, changed)
	return nil
}

// add adds a message; a nil value deletes.
func (f *debezium) add(key, value []byte, publish segments.Millis, event segments.Null[segments.Millis]) {
	f.messages = append(f.messages, segments.Message{
		Position: segments.None, BatchSize: 1, Key: key, Value: value, PublishTime: publish, EventTime: event,
	})
}

// member is the value of a member, if it is there.
type member struct {
	jsontext.Span
	is bool
}

var absent member

// members are those of an object that are wanted, and how many others it has;
// of anything else there are none.
func (f *debezium) members(s jsontext.Span, wanted ...string) (found map[string]member, others int, err error) {
	found = make(map[string]member, len(wanted))
	if s.End == s.From || f.text[s.From] != '{' {
		return found, 0, nil
	}
	json := f.json.Within(s)
	if err := json.Open('{', "an object"); err != nil {
		return nil, 0, err
	}
	for first := true; ; first = false {
		name, more, err := json.RawMember(first)
		if err != nil || !more {
			return found, others, err
		}
		value, err := json.Span()
		if err != nil {
			return nil, 0, err
		}
		w := slices.Index(wanted, string(name))
		switch {
		case w < 0:
			others++
		case found[wanted[w]].is:
			return nil, 0, fmt.Errorf("%q is there twice", wanted[w])
		default:
			found[wanted[w]] = member{value, true}
		}
	}
}

// payload is m without the schema that may be around it, which is an object or
// null. A row may have columns of these names.
func (f *debezium) payload(m member) (member, error) {
	if !m.is {
		return m, nil
	}
	wrapped, others, err := f.members(m.Span, "schema", "payload")
	schema := wrapped["schema"]
	if err != nil || others > 0 || !schema.is || !wrapped["payload"].is || !f.isNull(schema) && f.text[schema.From] != '{' {
		return m, err
	}
	return wrapped["payload"], nil
}

func (f *debezium) isNull(m member) bool {
	return !m.is || string(f.json.Bytes(m.Span)) == "null"
}

// compact is the JSON of m without blanks.
func (f *debezium) compact(m member) []byte {
	from := len(f.made)
	f.made = jsontext.AppendCompact(f.made, f.json.Bytes(m.Span))
	return f.made[from:len(f.made):len(f.made)]
}

// string is what a string says; nothing where it is not there or null.
func (f *debezium) string(m member) (string, error) {
	if f.isNull(m) {
		return "", nil
	}
	json := f.json.Within(m.Span)
	text, err := json.String()
	return string(text), err
}

func (f *debezium) millis(m member) (none segments.Null[segments.Millis], err error) {
	if f.isNull(m) {
		return none, nil
	}
	json := f.json.Within(m.Span)
	n, err := json.Int64()
	if err != nil {
		return none, err
	}
	return segments.Some(segments.Millis(n)), nil
}

// rowText is a row. MongoDB's are strings of JSON: then it is what they say.
func (f *debezium) rowText(m member) ([]byte, error) {
	switch f.text[m.From] {
	case '{':
		return f.compact(m), nil
	case '"':
		// A copy, for the string is taken out of its escapes in place.
		from := len(f.made)
		f.made = append(f.made, f.json.Bytes(m.Span)...)
		json := jsontext.New(f.made[from:len(f.made):len(f.made)])
		return json.String()
	}
	return nil, errors.New("a row is an object")
}

// isHeartbeat reports whether an event says nothing but that the connector is
// alive.
func (f *debezium) isHeartbeat(event member) bool {
	json := f.json.Within(event.Span)
	if json.Open('{', "an object") != nil {
		return false
	}
	n := 0
	for first := true; ; first = false {
		name, more, err := json.RawMember(first)
		if err != nil || !more {
			return err == nil && n > 0
		}
		if !strings.HasPrefix(string(name), "ts_") || json.Skip() != nil {
			return false
		}
		n++
	}
}

// keyPath is where a row has a part of its key: names inside each other.
type keyPath []string

// parseKeyPaths reads "id", or "region,address.zip".
func parseKeyPaths(text string) ([]keyPath, error) {
	if text == "" {
		return nil, nil
	}
	var paths []keyPath
	for part := range strings.SplitSeq(text, ",") {
		path := keyPath(strings.Split(part, "."))
		for _, name := range path {
			if name == "" || strings.ContainsAny(name, "\"\\") || !utf8.ValidString(name) {
				return nil, fmt.Errorf("key is %q, want the names of columns, as in id or region,id", text)
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// keyOf makes the key of a row: {"id":1}, as Debezium would have made it.
func (f *debezium) keyOf(row member) ([]byte, error) {
	if len(f.keys) == 0 {
		return nil, errors.New("the event has no key; say with --key which columns are")
	}
	if f.isNull(row) {
		return nil, errors.New("there is no row to take the key from")
	}
	text, err := f.rowText(row)
	if err != nil {
		return nil, err
	}
	in := debezium{text: text, json: jsontext.New(text)}
	if _, err := in.json.Span(); err != nil {
		return nil, err
	}
	from := len(f.made)
	for i, path := range f.keys {
		value, err := in.lookup(path)
		if err != nil {
			return nil, err
		}
		f.made = append(f.made, "{,"[min(i, 1)], '"')
		f.made = append(f.made, path[len(path)-1]...)
		f.made = append(f.made, '"', ':')
		f.made = jsontext.AppendCompact(f.made, in.json.Bytes(value.Span))
	}
	f.made = append(f.made, '}')
	return f.made[from:len(f.made):len(f.made)], nil
}

// lookup follows a path into the row that is the text.
func (f *debezium) lookup(path keyPath) (member, error) {
	at := member{jsontext.Span{From: 0, End: len(f.text)}, true}
	for _, name := range path {
		m, _, err := f.members(at.Span, name)
		if err != nil {
			return absent, err
		}
		if at = m[name]; !at.is {
			return absent, fmt.Errorf("there is no %q in the row", strings.Join(path, "."))
		}
	}
	return at, nil
}

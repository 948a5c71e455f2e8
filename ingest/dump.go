package ingest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/jsontext"
	"github.com/ledgerfold/ledgerfold/segments"
)

// dump is what the tools that print records of Kafka have in common: they print
// those of every partition they were asked for, and a topic of ours is one.
type dump struct {
	chosen segments.Null[int32]
	now    segments.Millis

	begun     bool
	topic     string
	partition segments.Null[int32]

	message    [1]segments.Message
	properties []segments.Property
}

// printed is what a tool prints of one record.
type printed struct {
	topic     []byte
	partition segments.Null[int32]
	offset    segments.Null[int64]
	millis    segments.Null[int64]
	key       []byte
	value     []byte
}

// take makes rec of what was printed, or reports false if it is of a partition
// that was not chosen.
func (d *dump) take(p *printed, rec *record) (bool, error) {
	if d.chosen.Valid && !p.partition.Valid {
		return false, errors.New("no \"partition\"")
	}
	if d.chosen.Valid && p.partition != d.chosen {
		return false, nil
	}
	if !d.begun {
		d.begun, d.topic, d.partition = true, string(p.topic), p.partition
	}
	switch {
	case string(p.topic) != d.topic:
		return false, fmt.Errorf("it is of topic %q, and those before it are of %q; a topic is one partition", p.topic, d.topic)
	case p.partition != d.partition:
		return false, fmt.Errorf("it is of partition %d, and those before it are of %d; a topic is one partition, so choose one", p.partition.V, d.partition.V)
	case !p.offset.Valid:
		return false, errors.New("no \"offset\"")
	}
	if err := checkOffset(p.offset.V); err != nil {
		return false, err
	}
	m := &d.message[0]
	*m = segments.Message{Position: segments.None, BatchSize: 1, PublishTime: d.now, Key: p.key, Value: p.value}
	if p.millis.Valid && p.millis.V != noTimestamp {
		m.PublishTime = segments.Millis(p.millis.V)
	}
	if len(d.properties) > 0 {
		m.Properties = d.properties
	}
	*rec = record{line: p.offset.V + 1, entry: p.offset, messages: d.message[:]}
	return true, nil
}

// noTimestamp is what Kafka has for a record without one.
const noTimestamp = -1

// checkOffset finds an offset that no partition has: from the last one on,
// there would be no number for what comes behind it.
func checkOffset(offset int64) error {
	if offset < 0 || offset == math.MaxInt64 {
		return fmt.Errorf("there is no offset %d", offset)
	}
	return nil
}

// common reads the value of a member that all of them print, or passes over one
// that means nothing.
func (p *printed) common(name string, json *jsontext.Parser) (err error) {
	switch name {
	case "topic":
		p.topic, err = json.String()
	case "partition":
		p.partition.V, err = json.Int32()
		p.partition.Valid = true
	case "offset":
		p.offset.V, err = json.Int64()
		p.offset.Valid = true
	default:
		err = json.Skip()
	}
	return err
}

// addHeader keeps a header. Its key must be text.
func (d *dump) addHeader(key, value []byte) error {
	if !utf8.Valid(key) {
		return errors.New("the name of a header is not UTF-8")
	}
	d.properties = append(d.properties, segments.Property{Key: string(key), Value: value})
	return nil
}

// names remembers which names of an object were read.
type names []string

// namesOf are the names that mean something in a format.
func namesOf(list ...string) map[string]string {
	known := make(map[string]string, len(list))
	for _, name := range list {
		known[name] = name
	}
	return known
}

// add is the name as one of known, or nothing. It refuses one that is there
// twice: readers differ in which of them counts.
func (n *names) add(raw []byte, known map[string]string) (string, error) {
	name, ok := known[string(raw)]
	if !ok {
		return "", nil
	}
	if slices.Contains(*n, name) {
		return "", fmt.Errorf("%q is there twice", name)
	}
	*n = append(*n, name)
	return name, nil
}

// read reads an object: member is called for each of its members, with its name
// if it is one of known and nothing otherwise, and reads its value.
func (n *names) read(json *jsontext.Parser, known map[string]string, member func(name string) error) error {
	*n = (*n)[:0]
	if err := json.Open('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		raw, more, err := json.Member(first)
		if err != nil || !more {
			return err
		}
		name, err := n.add(raw, known)
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return inMember(name, err)
		}
	}
}

// inMember puts the name of the member in front of what is wrong with it.
func inMember(name string, err error) error {
	if name == "" {
		return err
	}
	return fmt.Errorf("%q: %w", name, err)
}

package ingest

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// The formats, by their names.
const (
	NDJSON   = "ndjson"    // message lines, which package ndjson describes
	Kcat     = "kcat"      // what kcat -J prints
	Rpk      = "rpk"       // what rpk topic consume prints
	KafkaLog = "kafka-log" // a segment of a partition, as it lies on a broker's disk
	Debezium = "debezium"  // change events of databases
	Arrow    = "arrow"     // an Arrow IPC file or stream
)

// format makes records of an input.
type format interface {
	// next fills rec, and what is in it stays valid until the next call. It
	// returns io.EOF after the last record. What is wrong with the input is a
	// LineError or a PlaceError; other errors are those of reading it.
	next(rec *record) error
}

// formats tells of each format by what its records are counted, and makes it.
var formats = map[string]struct {
	unit unit
	open func(in *bufio.Reader, s *Settings) format
}{
	NDJSON: {inLines, func(in *bufio.Reader, s *Settings) format {
		return &messageLines{lines: lines{r: in, max: s.LineBytesMax}, decoder: ndjson.Decoder{Now: segments.MillisOf(s.Now)}}
	}},
	Kcat:     {inOffsets, newKcat},
	Rpk:      {inOffsets, newRpk},
	KafkaLog: {inOffsets, newKafkaLog},
	Debezium: {inLines, newDebezium},
	Arrow:    {inRows, newArrow},
}

// Formats lists the names of the formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// checkFormat is ErrFormat for what is not the name of one.
func checkFormat(name string) error {
	if _, ok := formats[name]; !ok {
		return fmt.Errorf("%w %q (want one of %s)", ErrFormat, name, strings.Join(Formats(), ", "))
	}
	return nil
}

// unit is what the records of a format are counted by. A record's line is that
// count, from 1; that of an offset is the offset after it.
type unit string

const (
	inLines   unit = "line"
	inRows    unit = "row"
	inOffsets unit = "offset"
)

// number is what the record with a line is called.
func (u unit) number(line int64) int64 {
	if u == inOffsets {
		return line - 1
	}
	return line
}

// bad is the error for the record with a line.
func (u unit) bad(line int64, err error) error {
	if u == inLines {
		return &LineError{line, err}
	}
	return &PlaceError{fmt.Sprintf("%s %d", u, u.number(line)), err}
}

// span names the records from one line to another.
func (u unit) span(from, to int64) string {
	return fmt.Sprintf("%ss %d to %d", u, u.number(from), u.number(to))
}

// messageLines is the ndjson format.
type messageLines struct {
	lines   lines
	decoder ndjson.Decoder
}

func (f *messageLines) next(rec *record) error {
	text, err := f.lines.next()
	if err != nil {
		return err
	}
	line, err := f.decoder.Decode(text)
	if err != nil {
		return &LineError{f.lines.read, err}
	}
	*rec = record{
		line: f.lines.read, id: line.ID, messages: line.Messages, batch: line.Batch,
		kind: line.Kind, txn: line.Txn, mark: line.Mark,
	}
	return nil
}

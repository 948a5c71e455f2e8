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

// NDJSON is the format of message lines, which package ndjson describes.
const NDJSON = "ndjson"

// format makes records of an input.
type format interface {
	// next fills rec, and what is in it stays valid until the next call. It
	// returns io.EOF after the last record. What is wrong with the input is a
	// LineError; other errors are those of reading it.
	next(rec *record) error
}

// formats makes each format by its name. Its publish time is for messages that
// bring none.
var formats = map[string]func(in *bufio.Reader, lineBytesMax int64, publish segments.Millis) format{
	NDJSON: func(in *bufio.Reader, lineBytesMax int64, publish segments.Millis) format {
		return &messageLines{lines: lines{r: in, max: lineBytesMax}, decoder: ndjson.Decoder{Now: publish}}
	},
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

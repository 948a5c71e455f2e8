package output

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// CSV writes messages as lines of comma-separated values (RFC 4180), under a
// line with the names of the columns. There is a column for each field, and for
// keys, values and ordering keys another, with the ending _base64, which has
// those that are not UTF-8.
//
// What is null, or not there, is nothing; what is empty is a pair of quotes. So
// the two can be told apart, as PostgreSQL and DuckDB do.
//
// Cells are what was stored: a spreadsheet may take one that begins with an
// equals sign for a formula, as it does with any file. Only on a terminal is
// what it might obey escaped.
type CSV struct {
	w      *Writer
	fields []ndjson.Field
	begun  bool
	line   []byte
}

// NewCSV makes one on w.
func NewCSV(w *Writer, fields []ndjson.Field) *CSV { return &CSV{w: w, fields: fields} }

// Row writes the line of a message.
func (c *CSV) Row(m *segments.Message) error {
	if err := c.begin(); err != nil {
		return err
	}
	c.line = c.line[:0]
	for _, f := range c.fields {
		switch f {
		case ndjson.Key:
			c.addBytes(m.Key)
		case ndjson.Value:
			c.addBytes(m.Value)
		case ndjson.OrderingKey:
			c.addBytes(m.OrderingKey)
		case ndjson.Properties:
			c.addProperties(m)
		case ndjson.Producer:
			if m.Producer.Valid {
				c.add([]byte(m.Producer.V))
			} else {
				c.add(nil)
			}
		default: // what is there is never empty
			if text := cell(m, f); text != "" {
				c.add([]byte(text))
			} else {
				c.add(nil)
			}
		}
	}
	return c.end()
}

// Close writes the names of the columns, if there was no message.
func (c *CSV) Close() error { return c.begin() }

func (c *CSV) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	c.line = c.line[:0]
	for _, f := range c.fields {
		c.add([]byte(f))
		if f == ndjson.Key || f == ndjson.Value || f == ndjson.OrderingKey {
			c.add([]byte(f + "_base64"))
		}
	}
	return c.end()
}

// end writes the line, in which every cell put a comma behind itself.
func (c *CSV) end() error {
	c.line[len(c.line)-1] = '\n'
	_, err := c.w.Write(c.line)
	return err
}

// addBytes adds the cells of bytes: as text, or as base64.
func (c *CSV) addBytes(b []byte) {
	if b == nil || utf8.Valid(b) {
		c.add(b)
		c.add(nil)
		return
	}
	c.add(nil)
	c.line = base64.StdEncoding.AppendEncode(c.line, b)
	c.line = append(c.line, ',')
}

// addProperties adds properties as message lines show them, a list of JSON.
func (c *CSV) addProperties(m *segments.Message) {
	if len(m.Properties) == 0 {
		c.add(nil)
		return
	}
	line := ndjson.Append(nil, m, []ndjson.Field{ndjson.Properties})
	line = bytes.TrimPrefix(line, []byte("{"+strconv.Quote(string(ndjson.Properties))+":"))
	c.add(bytes.TrimSuffix(line, []byte("}")))
}

// add adds a cell; nil is nothing.
func (c *CSV) add(text []byte) {
	if c.w.terminal {
		text = escapeCell(text)
	}
	if text == nil || len(text) > 0 && !bytes.ContainsAny(text, "\",\r\n") && text[0] != ' ' && text[len(text)-1] != ' ' {
		c.line = append(append(c.line, text...), ',')
		return
	}
	c.line = append(c.line, '"')
	for _, b := range text {
		if b == '"' {
			c.line = append(c.line, '"')
		}
		c.line = append(c.line, b)
	}
	c.line = append(c.line, '"', ',')
}

func escapeCell(text []byte) []byte {
	if text == nil {
		return nil
	}
	return []byte(Escape(string(text)))
}

package reader

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// viewFlags choose which list of messages a command is about: a view of a
// version.
func viewFlags() []cli.Flag {
	return append(topic.VersionFlags(), isolationFlag(), &cli.BoolFlag{
		Name: "compacted", Usage: "the compacted view: what compaction left, and every message after it",
	})
}

func isolationFlag() cli.Flag {
	return &cli.StringFlag{Name: "isolation", Value: "read-committed", Usage: "read-committed, or read-uncommitted to see open transactions too"}
}

func fieldsFlag() cli.Flag {
	return &cli.StringFlag{Name: "fields", Usage: "fields to show, in this order, as in id,key,value"}
}

func keyBase64Flag() cli.Flag {
	return &cli.BoolFlag{Name: "key-base64", Usage: "keys are given as base64"}
}

// options are what the flags of viewFlags, as far as a command has them, say.
func options(s *program.Session) (readerlib.Options, error) {
	var o readerlib.Options
	var err error
	if o.Version, err = topic.ChosenVersion(s); err != nil {
		return o, err
	}
	if s.Flags.Bool("compacted") {
		o.View = readerlib.Compacted
	}
	switch text := s.Flags.String("isolation"); text {
	case "", "read-committed":
	case "read-uncommitted":
		o.Isolation = readerlib.ReadUncommitted
	default:
		return o, program.Usagef("unknown isolation %q; use read-committed or read-uncommitted", text)
	}
	return o, nil
}

// open opens a reader on the topic that is the first argument.
func open(ctx context.Context, s *program.Session, o readerlib.Options) (*source, error) {
	t, err := s.Topic(ctx, s.Args[0])
	if err != nil {
		return nil, err
	}
	r, err := readerlib.Open(ctx, t, o)
	if err != nil {
		return nil, settle(ctx, t, nil, err)
	}
	return &source{r, t}, nil
}

// source is a reader and its topic.
type source struct {
	*readerlib.Reader
	topic *manifest.Topic
}

// settle tells what an error of reading means here.
func (src *source) settle(ctx context.Context, err error) error {
	return settle(ctx, src.topic, src.Snapshot(), err)
}

// settle tells an object that a collection removed from one that is lost. A
// version that was overtaken while it was read may be collected, and reading
// again gives the newer one; of the newest version nothing is ever collected.
func settle(ctx context.Context, t *manifest.Topic, read *manifest.Manifest, err error) error {
	if !errors.Is(err, readerlib.ErrSnapshotExpired) {
		return err
	}
	newest, newestErr := t.Latest(ctx)
	if newestErr != nil || read != nil && read.Version != newest.Version {
		return err
	}
	return fmt.Errorf("the newest version of topic %q: %w: %v", t.Name(), manifest.ErrMissing, err)
}

// position reads a position that was given for a flag or argument.
func position(name, text string) (segments.Position, error) {
	p, err := segments.ParsePosition(text)
	if err != nil {
		return p, program.Usagef("%s: %w", name, err)
	}
	return p, nil
}

// keyBytes is the key that was typed as text.
func keyBytes(s *program.Session, text string) ([]byte, error) {
	if !s.Flags.Bool("key-base64") {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, program.Usagef("%q is not base64", text)
	}
	return key, nil
}

// messagePrinter prints messages, each as soon as it comes: as lines, in the
// pages of a table, or as a file of another kind, where the command has it.
type messagePrinter struct {
	out    *output.Writer
	fields []ndjson.Field
	table  *output.Table // or nil; so for the others
	csv    *output.CSV
	arrow  *segments.ArrowWriter
}

// The formats that reader read has beside those of all commands.
const (
	formatCSV   = "csv"
	formatArrow = "arrow"
)

// newMessagePrinter shows what --fields asks for, or what suits the format.
//
// A message line has no transaction where what is shown is settled: a copy of
// it must not open transactions anew.
func newMessagePrinter(s *program.Session, o readerlib.Options) (*messagePrinter, error) {
	p := &messagePrinter{out: s.Out}
	switch {
	case s.Flags.IsSet("fields"):
		var err error
		if p.fields, err = ndjson.ParseFields(s.Flags.String("fields")); err != nil {
			return nil, program.Usagef("--fields: %w", err)
		}
	case !s.JSON() && s.Format != formatCSV && s.Format != formatArrow:
		p.fields = output.TableFields()
	case o.Isolation == readerlib.ReadUncommitted:
		p.fields = ndjson.AllFields()
	default:
		p.fields = ndjson.SettledFields()
	}
	var err error
	switch {
	case s.JSON():
	case s.Format == formatCSV:
		p.csv = output.NewCSV(s.Out, p.fields)
	case s.Format == formatArrow && s.Out.IsTerminal():
		return nil, program.Usagef("an Arrow file is nothing for a terminal; redirect it, as in > messages.arrow")
	case s.Format == formatArrow:
		p.arrow, err = segments.NewArrowWriter(s.Out, arrowColumns(s, p.fields)...)
	default:
		p.table = output.NewTable(s.Out, output.Columns(p.fields)...)
	}
	return p, err
}

// arrowColumns are the columns that fields are in, or none where they were not
// chosen: then it is all of a segment.
func arrowColumns(s *program.Session, fields []ndjson.Field) []string {
	if !s.Flags.IsSet("fields") {
		return nil
	}
	var columns []string
	for _, f := range fields {
		switch f {
		case ndjson.ID:
			columns = append(columns, "ledger", "entry", "batch_index", "batch_size")
		case ndjson.Txn:
			columns = append(columns, "txn_most", "txn_least")
		default:
			columns = append(columns, string(f))
		}
	}
	return columns
}

// headersOnly reports whether all that is shown is in the headers.
func (p *messagePrinter) headersOnly() bool {
	return !slices.Contains(p.fields, ndjson.Value) && !slices.Contains(p.fields, ndjson.Properties)
}

func (p *messagePrinter) print(m *segments.Message) error {
	switch {
	case p.table != nil:
		return p.table.Row(output.Cells(m, p.fields)...)
	case p.csv != nil:
		return p.csv.Row(m)
	case p.arrow != nil:
		row := *m
		if !slices.Contains(p.fields, ndjson.Txn) {
			row.Txn = segments.Null[segments.TxnID]{} // as in a message line
		}
		return p.arrow.Write(&row)
	}
	return p.out.Line(m, p.fields)
}

// printGone prints that a key is gone.
func (p *messagePrinter) printGone(key []byte) error {
	if p.table == nil {
		return p.out.Gone(key)
	}
	cells := make([]any, len(p.fields))
	for i, f := range p.fields {
		switch f {
		case ndjson.ID:
			cells[i] = "deleted"
		case ndjson.Key:
			cells[i] = output.Cell(key)
		default:
			cells[i] = ""
		}
	}
	return p.table.Row(cells...)
}

func (p *messagePrinter) close() error {
	switch {
	case p.table != nil:
		return p.table.Close()
	case p.csv != nil:
		return p.csv.Close()
	case p.arrow != nil:
		return p.arrow.Close()
	}
	return nil
}

package reader

import (
	"bytes"
	"context"
	"iter"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

func read() program.Command {
	return program.Command{
		Name:  "read",
		Usage: "print the messages of a topic",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Formats: []string{formatCSV, formatArrow},
		Flags: append(viewFlags(),
			&cli.StringFlag{Name: "from", Value: "earliest", Usage: "where to begin: earliest, latest, a position as in 3:0 or 3:0:1, or @TIME"},
			&cli.BoolFlag{Name: "exclusive", Usage: "begin after the position of --from, not at it"},
			&cli.StringFlag{Name: "to", Usage: "the last position to print; without a batch index, its whole entry"},
			&cli.Int64Flag{Name: "limit", Usage: "print at most so many messages", Value: math.MaxInt64, DefaultText: "all"},
			&cli.StringFlag{Name: "key-prefix", Usage: "only messages whose key begins so"},
			keyBase64Flag(),
			fieldsFlag(),
			&cli.BoolFlag{Name: "follow", Usage: "at the end, wait for more; ended by a signal, --to or --limit"},
			intervalFlag(),
		),
		Detail: `Prints message lines, which compact ingest takes; on a terminal, a table.
-o csv prints comma-separated values, in which nothing is null and "" is empty.
-o arrow writes an Arrow IPC file, which compact ingest --format arrow takes, and
other tools read. What is printed is one version of the topic, whatever is written meanwhile;
with --follow, what each later version adds, each message once.`,
		Run: func(ctx context.Context, s *program.Session) error {
			o, err := options(s)
			if err != nil {
				return err
			}
			if o.Start, err = start(s.Flags.String("from"), s.Flags.Bool("exclusive")); err != nil {
				return err
			}
			choice, err := newSelection(s)
			if err != nil {
				return err
			}
			printer, err := newMessagePrinter(s, o)
			if err != nil {
				return err
			}
			o.HeadersOnly = printer.headersOnly()
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			messages := r.Messages(ctx)
			if s.Flags.Bool("follow") {
				wait, err := waiting(s, o, printer)
				if err != nil {
					return err
				}
				messages = r.Follow(ctx, wait)
			}
			return printMessages(ctx, r, messages, choice, printer)
		},
	}
}

func printMessages(ctx context.Context, r *source, messages iter.Seq2[segments.Message, error], choice *selection, printer *messagePrinter) error {
	if choice.limit == 0 {
		return printer.close()
	}
	for m, err := range messages {
		if err != nil {
			return r.settle(ctx, err)
		}
		if choice.isPast(m.Position) {
			break
		}
		if !choice.has(&m) {
			continue
		}
		if err := printer.print(&m); err != nil {
			return err
		}
		if choice.limit--; choice.limit == 0 {
			break
		}
	}
	return printer.close()
}

// start reads the value of --from.
func start(text string, exclusive bool) (readerlib.Start, error) {
	switch text {
	case "earliest":
		return readerlib.Earliest(), nil
	case "latest":
		return readerlib.Latest(), nil
	}
	if at, isTime := strings.CutPrefix(text, "@"); isTime {
		t, err := program.ParseTime(at)
		if err != nil {
			return readerlib.Start{}, program.Usagef("--from: %w", err)
		}
		return readerlib.Since(t), nil
	}
	p, err := position("--from", text)
	if exclusive {
		return readerlib.After(p), err
	}
	return readerlib.At(p), err
}

// selection is which of the messages from the start on are printed.
type selection struct {
	end       segments.Position // the last; covers its entry
	limit     int64             // how many are left
	byPrefix  bool
	keyPrefix []byte
}

func newSelection(s *program.Session) (*selection, error) {
	choice := &selection{
		end:      segments.Position{Ledger: math.MaxInt64, Entry: math.MaxInt64, Batch: math.MaxInt32},
		limit:    s.Flags.Int64("limit"),
		byPrefix: s.Flags.IsSet("key-prefix"),
	}
	if choice.limit < 0 {
		return nil, program.Usagef("--limit is %d, want 0 or more", choice.limit)
	}
	if s.Flags.IsSet("to") {
		to, err := position("--to", s.Flags.String("to"))
		if err != nil {
			return nil, err
		}
		choice.end = upTo(to)
	}
	var err error
	choice.keyPrefix, err = keyBytes(s, s.Flags.String("key-prefix"))
	return choice, err
}

// upTo is p as an upper bound: without a batch index it covers its entry.
func upTo(p segments.Position) segments.Position {
	if p.Batch < 0 {
		return p.EndOfEntry()
	}
	return p
}

func (c *selection) isPast(p segments.Position) bool { return p.After(c.end) }

func (c *selection) has(m *segments.Message) bool {
	return !c.byPrefix || m.Key != nil && bytes.HasPrefix(m.Key, c.keyPrefix)
}

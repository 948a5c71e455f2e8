package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// laterFormats are those that the contract has and package ingest has not yet.
var laterFormats = []string{"pulsar", "pulsar-offload"}

func ingestCommand() program.Command {
	return program.Command{
		Name:  "ingest",
		Usage: "add messages to a topic",
		Args:  "TOPIC [FILE|-]",
		Least: 1, Most: 2,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: ingest.NDJSON, Usage: "of the input: " + strings.Join(ingest.Formats(), ", ")},
			stringFlag("source", "name of the input; its lines (rows, offsets) are counted, so that running it again adds only what is new"),
			&cli.Int64Flag{Name: "partition", Usage: "of kcat and rpk: the one to take, where there are several", DefaultText: "the only one"},
			stringFlag("max-line", "refuse lines longer than this (default 256MiB, at most 2GiB); reading one takes some five times its length in memory"),
			stringFlag("key", "of debezium: the columns of a row that are its key where it comes without one, as in id or region,id"),
		},
		Detail: `Reads message lines from FILE, or from standard input, also compressed (gzip, zstd):

  {"key":"k1","value":"v1"}                      the next entry of the topic
  {"key":"k1","value":null}                      deletes the key
  {"id":"3:0","key":"k1","value":"v1"}           at this position, which must lie above all others
  {"batch":[{"key":"a","value":"1"},...]}        several messages in one entry
  {"key":"k1","value":"v1","txn":"1,4"}          in a transaction, until {"txn":"1,4","marker":"commit"}

Messages that have a producer and a sequence are added once, however often they come.

Other formats: kcat and rpk (records of one partition of Kafka, as kcat -J and rpk topic
consume print them), kafka-log (a segment of a partition), debezium (change events, one a
line), arrow (an Arrow IPC file or stream with columns key and value, or those of a segment).
In Kafka's, offsets become entries.`,
		Run: func(ctx context.Context, s *program.Session) error {
			if err := checkFormat(s.Flags.String("format")); err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			in, size, err := openInput(ctx, s)
			if err != nil {
				return err
			}
			defer in.Close()
			result, err := ingestLines(ctx, s, t, in, size, s.Flags.String("source"))
			if err != nil {
				return err
			}
			return printIngested(s, t.Name(), &result)
		},
	}
}

func checkFormat(name string) error {
	switch {
	case slices.Contains(ingest.Formats(), name):
		return nil
	case slices.Contains(laterFormats, name):
		return program.Usagef("format %s is not built yet; use ndjson", name)
	}
	return program.Usagef("unknown format %q; use ndjson", name)
}

// openInput opens the input that the second argument names, and tells its size
// if that is known.
func openInput(ctx context.Context, s *program.Session) (io.ReadCloser, int64, error) {
	if len(s.Args) < 2 || s.Args[1] == "-" {
		if s.Progress && output.IsTerminal(s.In) {
			fmt.Fprintln(s.Err, "reading message lines from the terminal; Ctrl-D ends them")
		}
		return interruptible(ctx, func() (io.Reader, error) { return s.In, nil }), 0, nil
	}
	switch info, err := os.Stat(s.Args[1]); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, program.Missing(err)
	case err != nil:
		return nil, 0, err
	case info.IsDir():
		return nil, 0, program.Usagef("%s is a folder", s.Args[1])
	case !info.Mode().IsRegular():
		// Opening a named pipe waits until there is a writer.
		return interruptible(ctx, func() (io.Reader, error) { return os.Open(s.Args[1]) }), 0, nil
	default:
		f, err := os.Open(s.Args[1])
		return f, info.Size(), err
	}
}

// interruptible reads what open opens, and stops waiting for it when ctx ends.
// The goroutine that is left waiting goes with the process, which is about to
// end.
func interruptible(ctx context.Context, open func() (io.Reader, error)) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		r, err := open()
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{in}, r, make([]byte, 256<<10))
		}
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
	return out
}

// ingestLines adds the lines of in, whose size is known or 0, to a topic.
func ingestLines(ctx context.Context, s *program.Session, t *manifest.Topic, in io.Reader, size int64, source string) (ingest.Result, error) {
	m, err := t.Latest(ctx)
	if err != nil {
		return ingest.Result{}, err
	}
	watch := &ingestWatch{s: s, topic: t.Name(), bar: s.NewBar("ingest "+t.Name(), size, program.Bytes)}
	defer watch.bar.Close()
	settings := ingest.Settings{
		Format: s.Flags.String("format"),
		Source: source,
		Now:    s.Now(),
		Job:    s.JobID(m),
		Writer: s.Writer(),
		Key:    s.Flags.String("key"),
	}
	if text := s.Flags.String("max-line"); text != "" {
		n, err := humanize.ParseBytes(text)
		if err != nil || n < 1 || n > math.MaxInt32+1 {
			return ingest.Result{}, program.Usagef("--max-line: %q is not a length of a line (want 256MiB, up to 2GiB)", text)
		}
		settings.LineBytesMax = int64(min(n, math.MaxInt32))
	}
	if s.Flags.IsSet("partition") {
		n := s.Flags.Int64("partition")
		if n < 0 || n > math.MaxInt32 {
			return ingest.Result{}, program.Usagef("--partition is %d, want 0 to %d", n, math.MaxInt32)
		}
		settings.Partition = segments.Some(int32(n))
	}
	if err := settings.Validate(); err != nil {
		return ingest.Result{}, program.Usagef("%w", err)
	}
	result, err := ingest.Run(ctx, t, in, settings, ingest.Components{
		NewCommit: s.CommitID,
		Pause:     program.Pause,
		Observer:  watch,
	})
	if err != nil && errors.Is(err, manifest.ErrUnknown) && source == "" {
		err = fmt.Errorf("%w; lines without producer and sequence would be added twice if they are in: look with `reader last-message-id` first", err)
	}
	if errors.Is(err, ingest.ErrBadInput) && len(s.Args) > 1 && s.Args[1] != "-" {
		err = fmt.Errorf("%s: %w", s.Args[1], err)
	}
	return result, err
}

// ingestWatch turns the events of an ingest into log lines and a progress bar.
type ingestWatch struct {
	s     *program.Session
	topic string
	bar   *program.Bar
	bytes int64
}

// Progressed implements ingest.Observer; so do the others.
func (w *ingestWatch) Progressed(p ingest.Progress) {
	w.bar.Add(p.Bytes - w.bytes)
	w.bytes = p.Bytes
}

func (w *ingestWatch) SegmentCommitted(e ingest.SegmentCommitted) {
	w.s.Log.Info(e.String(), "topic", w.topic)
}

func (w *ingestWatch) Overtaken(e ingest.Overtaken) {
	w.s.Log.Info(e.String(), "topic", w.topic)
}

// ingested is the answer, as JSON.
type ingested struct {
	Topic      string            `json:"topic"`
	State      ingest.State      `json:"state"`
	First      segments.Position `json:"first"`
	Last       segments.Position `json:"last"`
	Messages   int64             `json:"messages"`
	Duplicates int64             `json:"duplicates"`
	Gaps       int64             `json:"gaps"`
	Version    manifest.Version  `json:"version,string"`
}

func printIngested(s *program.Session, topic string, r *ingest.Result) error {
	answer := ingested{topic, r.State, r.First, r.Last, r.Messages, r.Duplicates, r.Gaps, r.Version}
	if s.JSON() {
		return s.Out.JSON(answer)
	}
	l := output.NewList(s.Out)
	l.Add("topic", answer.Topic)
	l.Add("state", answer.State)
	l.Add("first", answer.First)
	l.Add("last", answer.Last)
	l.Add("messages", answer.Messages)
	l.Add("duplicates", answer.Duplicates)
	l.Add("gaps in sequences", answer.Gaps)
	l.Add("version", fmt.Sprint(answer.Version))
	return l.Close()
}

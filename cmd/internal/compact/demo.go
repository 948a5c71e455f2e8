package compact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/history"
	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

// errDemoDiffers says that the demo did not come to the right answer.
var errDemoDiffers = errors.New("what was read back is not the right answer")

func demo() program.Command {
	return program.Command{
		Name:    "demo",
		Usage:   "show all of it at work on a real change log, and prove the result",
		NoStore: true,
		Text:    true,
		Flags: []cli.Flag{
			stringFlag("topic", "name of the topic to make (default: files)"),
			boolFlag("sample", "take the history that comes with the program, not the repository's"),
			boolFlag("s3", "on an S3 server that runs on this machine for as long as the demo"),
		},
		Detail: `Takes the git history of the folder it is run in, or one that comes with the program,
as a change log of files: each commit is a batch, the key is the path, and a deleted file
is a null value. Ingests it three times as it grows, folds it after each, reads back what
is left, and compares it with the tree that git has. Needs no input and no server, and leaves the
topic in --store or, if none is given, in a new folder that it names.`,
		Run: func(ctx context.Context, s *program.Session) error {
			d := &demonstration{s: s, topic: s.Flags.String("topic"), began: time.Now()}
			if d.topic == "" {
				d.topic = "files"
			}
			return d.run(ctx)
		},
	}
}

// demonstration is one run of the demo. What it says goes to standard output,
// step by step, or at the end as JSON.
type demonstration struct {
	s       *program.Session
	topic   string
	began   time.Time
	store   *count.Store
	address string // of the store, as the user can type it
	gone    bool   // the store does not outlive the demo
	answer  demoAnswer
}

// demoAnswer is what the demo found, as JSON.
type demoAnswer struct {
	Store          string   `json:"store"`
	Topic          string   `json:"topic"`
	History        string   `json:"history"`
	Commits        int      `json:"commits"`
	Messages       int      `json:"messages"`
	Keys           int      `json:"keys"`
	Right          bool     `json:"right"`
	Differences    []string `json:"differences,omitempty"`
	InputBytes     int64    `json:"input_bytes"`
	OriginalBytes  int64    `json:"original_bytes"`
	CompactedBytes int64    `json:"compacted_bytes"`
	Requests       int64    `json:"requests"`
	Seconds        float64  `json:"seconds"`
}

func (d *demonstration) run(ctx context.Context) error {
	log, err := d.history(ctx)
	if err != nil {
		return err
	}
	d.answer.History, d.answer.Commits, d.answer.Messages, d.answer.InputBytes = log.Origin, log.Commits, log.Changes, log.Bytes()
	d.say("history  %s: %s commits, %s changes, %s as message lines",
		log.Origin, humanize.Comma(int64(log.Commits)), humanize.Comma(int64(log.Changes)), size(log.Bytes()))

	stop, err := d.openStore(ctx)
	if err != nil {
		return err
	}
	defer stop()
	t, err := d.s.CreateTopic(ctx, d.store, d.topic, manifest.DefaultSettings())
	if errors.Is(err, manifest.ErrTopicExists) {
		return fmt.Errorf("%w (take another name with --topic NAME, or `compact delete %s`)", err, d.topic)
	}
	if err != nil {
		return err
	}
	d.answer.Store, d.answer.Topic = program.Address(d.address), d.topic
	d.say("store    %s, topic %s", d.answer.Store, d.topic)

	// Each part is the log so far, as it would be where it goes on growing: what
	// is in already is not added again.
	const parts = 3
	for part := range parts {
		soFar := log.Lines[:len(log.Lines)*(part+1)/parts]
		if err := d.part(ctx, t, part+1, bytes.Join(soFar, nil)); err != nil {
			return err
		}
	}
	return d.prove(ctx, t, log)
}

// history is the change log to take.
func (d *demonstration) history(ctx context.Context) (*history.Log, error) {
	if d.s.Flags.Bool("sample") {
		return history.Sample()
	}
	log, err := history.Git(ctx, ".")
	if err == nil && len(log.Lines) > 0 || ctx.Err() != nil {
		return log, err
	}
	if err != nil && !errors.Is(err, history.ErrNoRepository) {
		return nil, err
	}
	d.s.Log.Info("there is no git history here, taking the sample", "err", err)
	return history.Sample()
}

// openStore opens the store that was asked for, or makes one.
func (d *demonstration) openStore(ctx context.Context) (stop func(), err error) {
	stop, env := func() {}, os.Getenv
	d.address = d.s.Flags.String("store")
	switch {
	case d.s.Flags.Bool("s3"):
		d.say("server   starting an S3 server on this machine; the first start takes a minute or two")
		server, err := s3server.Start(ctx, s3server.Options{})
		if err != nil {
			return nil, err
		}
		// What cannot be removed is in a folder for temporary files.
		stop = func() { _ = server.Stop() }
		d.address, env, d.gone = server.URL(), server.Getenv, true
	case d.address == "":
		if d.address, err = os.MkdirTemp("", "ledgerfold-demo-"); err != nil {
			return nil, err
		}
	}
	store, err := program.OpenStore(ctx, d.address, env)
	if err != nil {
		stop()
		return nil, err
	}
	d.store = count.New(store)
	return stop, nil
}

// part ingests the log so far and folds what is there.
func (d *demonstration) part(ctx context.Context, t *manifest.Topic, n int, lines []byte) error {
	began := time.Now()
	in, err := ingestLines(ctx, d.s, t, bytes.NewReader(lines), int64(len(lines)), "demo")
	if err != nil {
		return err
	}
	d.say("ingest   part %d: %s messages from %s to %s (%s were in already), in %s", n,
		humanize.Comma(in.Messages), in.First, in.Last, humanize.Comma(in.Duplicates), since(began))

	began = time.Now()
	result, err := runTopic(ctx, d.s, objstore.Store(d.store), t.Name())
	if err != nil {
		return err
	}
	rows, older := result.Rows, result.Older
	d.say("run      part %d: of %s rows %s kept, %s superseded, %s deleted; of older ones %s died; version %d, in %s", n,
		humanize.Comma(rows.In), humanize.Comma(rows.Kept), humanize.Comma(rows.Superseded), humanize.Comma(rows.Deleted),
		humanize.Comma(older.Superseded+older.Deleted+older.Expired), result.Version, since(began))
	return nil
}

// prove reads back what is left and compares it.
func (d *demonstration) prove(ctx context.Context, t *manifest.Topic, log *history.Log) error {
	began := time.Now()
	r, err := readerlib.Open(ctx, t, readerlib.Options{View: readerlib.Compacted})
	if err != nil {
		return err
	}
	got := make(map[string]history.File)
	for m, err := range r.Messages(ctx) {
		if err != nil {
			return err
		}
		if m.Value == nil {
			continue // a delete that slow readers can still learn of
		}
		if got[string(m.Key)], err = history.ParseFile(m.Value); err != nil {
			return fmt.Errorf("message %s: %w", m.Position, err)
		}
	}
	d.say("read     %s keys, in %s", humanize.Comma(int64(len(got))), since(began))

	st, err := statusOf(r.Snapshot())
	if err != nil {
		return err
	}
	a := &d.answer
	a.Keys, a.Differences = len(got), log.Compare(got)
	a.Right = a.Differences == nil
	a.OriginalBytes, a.CompactedBytes = st.Originals.Bytes, st.Compacted.Bytes
	a.Requests, a.Seconds = d.store.Snapshot().Requests(), time.Since(d.began).Seconds()

	if a.Right {
		d.say("compare  the same %s files as in the tree of the last commit", humanize.Comma(int64(len(log.Want))))
	} else {
		d.say("compare  NOT the same as the tree of the last commit:\n         %s", strings.Join(a.Differences, "\n         "))
	}
	d.say("bytes    %s of lines, %s of originals, %s compacted: %s",
		size(a.InputBytes), size(a.OriginalBytes), size(a.CompactedBytes), saved(a.OriginalBytes, a.CompactedBytes))
	d.say("took     %.1f s and %s requests to the store", a.Seconds, humanize.Comma(a.Requests))
	d.sayWhatNext(log)
	if d.s.JSON() {
		if err := d.s.Out.JSON(a); err != nil {
			return err
		}
	}
	if !a.Right {
		return errDemoDiffers
	}
	return nil
}

// sayWhatNext gives commands to type, for the store that is there now.
func (d *demonstration) sayWhatNext(log *history.Log) {
	if d.gone {
		d.say("\nThe server and what it stored are gone with the demo. `go run ./localstack` starts one that stays.")
		return
	}
	someKey := "README.md"
	if _, ok := log.Want[someKey]; !ok && len(log.Want) > 0 {
		someKey = slices.Min(slices.Collect(maps.Keys(log.Want)))
	}
	d.say("\nNow type:\n")
	d.say("  export LEDGERFOLD_STORE=%s", shellQuote(d.answer.Store))
	topic := shellQuote(d.topic)
	d.say("  compact status %s", topic)
	d.say("  reader get %s %s", topic, shellQuote(someKey))
	d.say("  reader read %s --compacted --limit 5", topic)
	d.say("  reader versions %s", topic)
}

// say prints a step, at once.
func (d *demonstration) say(format string, args ...any) {
	if d.s.JSON() {
		return
	}
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(d.s.Out, output.Escape(line)) // paths may hold anything
	}
	// An output that fails is told at the end of the command.
	_ = d.s.Out.Flush()
}

func size(n int64) string { return humanize.IBytes(uint64(n)) }

func since(t time.Time) string { return fmt.Sprintf("%.2f s", time.Since(t).Seconds()) }

// saved tells how much smaller after is.
func saved(before, after int64) string {
	if before == 0 || after > before {
		return "nothing saved"
	}
	return fmt.Sprintf("%.0f%% saved", 100*(1-float64(after)/float64(before)))
}

// shellQuote quotes a word for a POSIX shell, where it has to be.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./:@%+=,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

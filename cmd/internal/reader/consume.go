package reader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/readerlib/dlq"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

func consume() program.Command {
	return program.Command{
		Name:  "consume",
		Usage: "share the messages of a topic among workers, in order by key, and remember what is done",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "name under which it is remembered what is finished"},
			&cli.Int64Flag{Name: "workers", Value: 1, Usage: "how many work side by side; a key is with one of them"},
			&cli.StringFlag{Name: "exec", Usage: "command that handles message lines, run by sh for each worker (default: print them)"},
			&cli.StringFlag{Name: "timeout", Value: "0s", Usage: "of a command for one message", DefaultText: "none"},
			&cli.Int64Flag{Name: "max-attempts", Value: 5, Usage: "a message that has failed so often becomes a dead letter"},
			&cli.StringFlag{Name: "backoff", Value: "1s", Usage: "how long a message that failed waits; doubles up to a minute"},
			&cli.StringFlag{Name: "dlq-topic", Usage: "topic of the dead letters, made when it is needed", DefaultText: "TOPIC-GROUP-DLQ"},
			&cli.StringFlag{Name: "strategy", Value: "auto-split", Usage: "how keys are divided: auto-split or consistent-hashing"},
			&cli.BoolFlag{Name: "allow-out-of-order", Usage: "let nothing wait for earlier messages of its key"},
			&cli.Int64Flag{Name: "look-ahead", Value: 20_000, Usage: "messages that may be read and unfinished"},
			&cli.StringFlag{Name: "save-interval", Value: "1s", Usage: "how often it is saved what is finished"},
			&cli.BoolFlag{Name: "compacted", Usage: "the compacted view: what compaction left, and every message after it"},
			&cli.StringFlag{Name: "from", Value: "earliest", Usage: "where a new group begins: earliest, latest, a position, or @TIME"},
			&cli.BoolFlag{Name: "follow", Usage: "at the end, wait for more; ended by a signal"},
			intervalFlag(),
		},
		Detail: `Each worker's command reads message lines on its standard input, one at a time, and
answers each: by a line "ok", "retry" or "reject", with a reason after it if it likes; or by
ending, where exit status 0 is ok, 65 is reject, and all else is retry. What it prints
besides goes to standard error.

A message that failed is handled again before the later ones of its key. After
--max-attempts, the last of them alone, or when it is rejected, it goes to the topic of dead
letters (reader dlq list), and is finished when it is there. What is finished is saved from
time to time and at the end, also after a signal; whoever runs the same group goes on from there,
and a process that had it before stops with exit code 5. A message may be handled twice
after a crash, never not at all.

Prints what was done as JSON when it ends (on standard error without --exec).`,
		Run: runConsume,
	}
}

// consumption is what the flags of consume say.
type consumption struct {
	settings keyshared.Settings
	group    string
	workers  int
	command  string
	timeout  time.Duration
	letters  string
	options  readerlib.Options
	follow   bool
	interval time.Duration
}

func newConsumption(s *program.Session) (c consumption, err error) {
	c.group, c.command, c.follow = s.Flags.String("group"), s.Flags.String("exec"), s.Flags.Bool("follow")
	if c.group == "" {
		return c, program.Usagef("--group is missing").WithHint("name the group that goes on from where it stopped: --group NAME")
	}
	if err := manifest.CheckName(c.group); err != nil {
		return c, program.Usagef("--group: %w", err)
	}
	c.letters = dlq.Origin{Topic: s.Args[0], Group: c.group}.TopicName()
	if s.Flags.IsSet("dlq-topic") {
		c.letters = s.Flags.String("dlq-topic")
	}
	if err := manifest.CheckName(c.letters); err != nil {
		return c, program.Usagef("topic of dead letters: %w", err).WithHint("choose another: --dlq-topic NAME")
	}
	if c.letters == s.Args[0] {
		return c, program.Usagef("--dlq-topic is the topic itself, which would never come to an end")
	}
	if n := s.Flags.Int64("workers"); n < 1 || n > 1000 {
		return c, program.Usagef("--workers is %d, want 1 to 1000", n)
	}
	c.workers = int(s.Flags.Int64("workers"))
	for _, flag := range []string{"max-attempts", "look-ahead"} {
		if n := s.Flags.Int64(flag); n < 1 || n > 1_000_000 {
			return c, program.Usagef("--%s is %d, want 1 to 1000000", flag, n)
		}
	}
	c.settings = keyshared.Settings{
		AllowOutOfOrder: s.Flags.Bool("allow-out-of-order"),
		LookAhead:       int(s.Flags.Int64("look-ahead")),
		MaxAttempts:     int(s.Flags.Int64("max-attempts")),
	}
	switch text := s.Flags.String("strategy"); text {
	case "auto-split":
	case "consistent-hashing":
		c.settings.Strategy = keyshared.ConsistentHashing
	default:
		return c, program.Usagef("unknown strategy %q; use auto-split or consistent-hashing", text)
	}
	if c.settings.BackoffFirst, err = duration(s, "backoff"); err != nil {
		return c, err
	}
	c.settings.BackoffFirst = max(c.settings.BackoffFirst, time.Millisecond)
	if c.settings.SaveEvery, err = duration(s, "save-interval"); err != nil {
		return c, err
	}
	c.settings.SaveEvery = max(c.settings.SaveEvery, time.Millisecond)
	if c.timeout, err = duration(s, "timeout"); err != nil {
		return c, err
	}
	if c.interval, err = interval(s); err != nil {
		return c, err
	}
	if c.options, err = options(s); err != nil {
		return c, err
	}
	c.options.Start, err = start(s.Flags.String("from"), false)
	return c, err
}

func runConsume(ctx context.Context, s *program.Session) error {
	c, err := newConsumption(s)
	if err != nil {
		return err
	}
	store, err := s.Store(ctx)
	if err != nil {
		return err
	}
	t, err := s.TopicIn(ctx, store, s.Args[0])
	if err != nil {
		return err
	}
	saved, err := keyshared.Resume(ctx, t, c.group, string(s.CommitID()))
	if err != nil {
		return err
	}
	from := saved.Frontier()
	if from.Through.Valid {
		c.options.Start = from.Start()
	}
	r, err := open(ctx, s, c.options)
	if err != nil {
		return err
	}
	if !from.Through.Valid && !r.Place().IsNone() {
		// Where a new group begins is remembered even if there is nothing yet.
		from.Through = segments.Some(r.Place())
	}
	warnOfTrim(s, &c, r, from)

	office := dlq.Office{
		Origin: dlq.Origin{Topic: t.Name(), ID: t.ID(), Group: c.group},
		To:     &topicWriter{s: s, store: store, name: c.letters, create: true},
	}
	group := keyshared.NewGroup(c.settings, from, keyshared.Components{
		Clock: realClock{},
		Bury:  office.Bury,
		Save:  saved.Save,
	})
	err = work(ctx, s, &c, r, group)
	if err == nil || ctx.Err() != nil {
		if printErr := printConsumed(s, &c, t.Name(), group); err == nil {
			err = printErr
		}
	}
	return r.settle(ctx, err)
}

// warnOfTrim tells of originals that were trimmed before the group read them.
func warnOfTrim(s *program.Session, c *consumption, r *source, from keyshared.Frontier) {
	trimmed := r.Snapshot().RetainedAfter
	if c.options.View == readerlib.Raw && from.Through.Valid && trimmed.After(r.Place()) {
		s.Log.Warn("originals were trimmed that the group has not finished", "topic", s.Args[0], "group", c.group, "after", r.Place(), "through", trimmed)
	}
}

// errEnd ends a group that does not follow its topic.
var errEnd = errors.New("end of the topic")

// work runs the group and its workers to their end.
func work(ctx context.Context, s *program.Session, c *consumption, r *source, group *keyshared.Group) error {
	bar := s.NewBar("consume "+s.Args[0], 0, program.Steps)
	defer bar.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers errgroup.Group
	var printing sync.Mutex
	other := &lockedWriter{w: s.Err}
	for n := range c.workers {
		workers.Go(func() error {
			handle := func(_ context.Context, d keyshared.Delivery) keyshared.Answer {
				printing.Lock()
				defer printing.Unlock()
				// It is handled when it is out. Where that can't be, it is still
				// there the next time.
				err := s.Out.Line(d.Message, ndjson.SettledFields())
				if err == nil {
					err = s.Out.Flush()
				}
				if err != nil {
					stop(err)
					return keyshared.Answer{Verdict: keyshared.Untried}
				}
				return keyshared.Answer{}
			}
			if c.command != "" {
				worker := &child{command: c.command, timeout: c.timeout, other: other}
				defer worker.close()
				handle = func(ctx context.Context, d keyshared.Delivery) keyshared.Answer {
					return worker.handle(ctx, ndjson.Append(nil, d.Message, ndjson.SettledFields()))
				}
			}
			counted := func(ctx context.Context, d keyshared.Delivery) keyshared.Answer {
				a := handle(ctx, d)
				if a.Verdict == keyshared.Handled {
					bar.Add(1)
				} else if a.Verdict != keyshared.Untried {
					s.Log.Info("message failed", "topic", s.Args[0], "position", d.Message.Position, "attempt", d.Attempt, "err", a.Detail)
				}
				return a
			}
			return group.Work(ctx, fmt.Sprintf("worker-%d", n+1), nil, counted)
		})
	}
	err := group.Run(ctx, func(ctx context.Context) iter.Seq2[segments.Message, error] {
		return func(yield func(segments.Message, error) bool) {
			// A version that is collected while it is worked on is left for a newer one.
			for m, err := range r.Follow(ctx, func(ctx context.Context) error {
				if !c.follow {
					return errEnd
				}
				return pause(ctx, c.interval)
			}) {
				if errors.Is(err, errEnd) {
					return
				}
				if !yield(m, err) {
					return
				}
			}
		}
	})
	if workErr := workers.Wait(); err == nil && !errors.Is(workErr, context.Cause(ctx)) {
		err = workErr
	}
	return err
}

// lockedWriter lets several goroutines write, a line or more at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// realClock is the keyshared.Clock of real time.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Timer(d time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// consumed is the answer, as JSON.
type consumed struct {
	Topic      string           `json:"topic"`
	Group      string           `json:"group"`
	Finished   int64            `json:"finished"`
	Retried    int64            `json:"retried"`
	Dead       int64            `json:"dead"`
	Passed     int64            `json:"already_finished"`
	Unfinished int              `json:"unfinished"`
	Through    string           `json:"through"`
	Letters    string           `json:"dlq_topic"`
	Workers    map[string]int64 `json:"workers"`
}

func printConsumed(s *program.Session, c *consumption, topic string, group *keyshared.Group) error {
	stats := group.Stats()
	answer := consumed{
		Topic: topic, Group: c.group, Finished: stats.Finished, Retried: stats.Retried, Dead: stats.Dead,
		Passed: stats.Passed, Unfinished: len(stats.Frontier.Unfinished), Through: segments.None.String(), Letters: c.letters,
		Workers: stats.ByWorker,
	}
	if stats.Frontier.Through.Valid {
		answer.Through = stats.Frontier.Through.V.String()
	}
	out := s.Out
	if c.command == "" { // standard output is for the messages
		out = output.NewWriter(s.Err)
		defer out.Flush()
	}
	if s.JSON() && c.command == "" {
		line, err := json.Marshal(answer)
		if err == nil {
			_, err = fmt.Fprintln(out, output.Escape(string(line)))
		}
		return err
	}
	if s.JSON() {
		return out.JSON(answer)
	}
	l := output.NewList(out)
	l.Add("topic", answer.Topic)
	l.Add("group", answer.Group)
	l.Add("finished", answer.Finished)
	l.Add("failed and tried again", answer.Retried)
	l.Add("dead letters", answer.Dead)
	l.Add("finished before", answer.Passed)
	l.Add("unfinished", answer.Unfinished)
	l.Add("through", answer.Through)
	return l.Close()
}

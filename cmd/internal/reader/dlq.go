package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/readerlib/dlq"
	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
	"github.com/ledgerfold/ledgerfold/segments"
)

func deadLetters() program.Command {
	return program.Command{
		Name:  "dlq",
		Usage: "list the dead letters of a topic, or send them back",
		Args:  "list|replay TOPIC",
		Least: 2, Most: 2,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "group", Usage: "whose letters: those in TOPIC-GROUP-DLQ"},
			&cli.StringFlag{Name: "to", Usage: "of replay: send them to this topic", DefaultText: "where they are from"},
		},
		Detail: `TOPIC is a topic of dead letters, or the topic that they are from: then it is all of
TOPIC-*-DLQ, or with --group one of them. A message that has several letters, after a crash,
is listed once, with their number.

replay sends the messages back, as they were, to the topic that they are from, or to another
one. Run again it sends only what is new. Letters of messages that were gone have no payload,
and are not sent.`,
		Run: func(ctx context.Context, s *program.Session) error {
			run := listLetters
			switch s.Args[0] {
			case "list":
				if s.Flags.IsSet("to") {
					return program.Usagef("--to is for replay")
				}
			case "replay":
				run = replayLetters
			default:
				return program.Usagef("dlq takes list or replay, not %q", s.Args[0])
			}
			store, err := s.Store(ctx)
			if err != nil {
				return err
			}
			topics, err := letterTopics(ctx, s, store)
			if err != nil {
				return err
			}
			return run(ctx, s, store, topics)
		},
	}
}

// letterTopics opens the topics of dead letters that are meant.
func letterTopics(ctx context.Context, s *program.Session, store objstore.Store) ([]*manifest.Topic, error) {
	name, group := s.Args[1], s.Flags.String("group")
	names := []string{name}
	switch {
	case group != "":
		names = []string{dlq.Origin{Topic: name, Group: group}.TopicName()}
	case !strings.HasSuffix(name, "-DLQ"):
		var found []string
		for other, err := range manifest.Names(ctx, store) {
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(other, name+"-") && strings.HasSuffix(other, "-DLQ") {
				found = append(found, other)
			}
		}
		if len(found) > 0 {
			names = found
		}
	}
	var topics []*manifest.Topic
	for _, name := range names {
		t, err := s.TopicIn(ctx, store, name)
		if err != nil {
			return nil, err
		}
		topics = append(topics, t)
	}
	return topics, nil
}

// readLetters reads all letters of a topic.
func readLetters(ctx context.Context, t *manifest.Topic) ([]dlq.Letter, error) {
	r, err := readerlib.Open(ctx, t, readerlib.Options{})
	if err != nil {
		return nil, err
	}
	letters, _, err := dlq.List(r.Messages(ctx))
	if err != nil {
		return nil, settle(ctx, t, r.Snapshot(), err)
	}
	return letters, nil
}

// listed is a letter, as JSON.
type listed struct {
	ID       segments.Position `json:"id"` // of the letter
	Topic    string            `json:"topic"`
	Position segments.Position `json:"position"`
	Group    string            `json:"group"`
	Reason   keyshared.Reason  `json:"reason"`
	Attempts int               `json:"attempts,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	Payload  dlq.Payload       `json:"payload"`
	Copies   int               `json:"copies"`
	Written  segments.Millis   `json:"-"`
	Time     string            `json:"written"`
	Message  json.RawMessage   `json:"message,omitempty"`
}

func listLetters(ctx context.Context, s *program.Session, _ objstore.Store, topics []*manifest.Topic) error {
	table := output.NewTable(s.Out, output.Columns([]ndjson.Field{"letter", "topic", "position", "group", "reason", "attempts", "payload", "key", "detail"})...)
	for _, t := range topics {
		letters, err := readLetters(ctx, t)
		if err != nil {
			return err
		}
		for i := range letters {
			l := &letters[i]
			if !s.JSON() {
				if err := table.Row(l.At, output.Escape(l.Origin.Topic), l.Message.Position, output.Escape(l.Origin.Group), output.Escape(string(l.Cause.Reason)), l.Cause.Attempts, output.Escape(string(l.Payload)), output.Cell(l.Message.Key), output.Escape(l.Cause.Message)); err != nil {
					return err
				}
				continue
			}
			line := listed{
				ID: l.At, Topic: l.Origin.Topic, Position: l.Message.Position, Group: l.Origin.Group,
				Reason: l.Cause.Reason, Attempts: l.Cause.Attempts, Detail: l.Cause.Message,
				Payload: l.Payload, Copies: l.Copies, Time: l.Written.String(),
			}
			if l.Payload == dlq.Present {
				line.Message = ndjson.Append(nil, &l.Message, originalFields())
			}
			if err := s.Out.JSON(line); err != nil {
				return err
			}
		}
	}
	if s.JSON() {
		return nil
	}
	return table.Close()
}

// originalFields are those of a message that a letter keeps.
func originalFields() []ndjson.Field {
	return []ndjson.Field{ndjson.Key, ndjson.Value, ndjson.EventTime, ndjson.OrderingKey, ndjson.Properties}
}

// replayed is the answer, as JSON: one line for each topic that was sent to.
type replayed struct {
	From       string `json:"from"`
	To         string `json:"to"`
	Messages   int64  `json:"messages"`
	Duplicates int64  `json:"duplicates"` // were sent before
	Absent     int64  `json:"without_payload"`
}

func replayLetters(ctx context.Context, s *program.Session, store objstore.Store, topics []*manifest.Topic) error {
	for _, t := range topics {
		letters, err := readLetters(ctx, t)
		if err != nil {
			return err
		}
		var targets []string
		byTarget := make(map[string][]dlq.Letter)
		for _, l := range letters {
			to := l.Origin.Topic
			if s.Flags.IsSet("to") {
				to = s.Flags.String("to")
			}
			if _, ok := byTarget[to]; !ok {
				targets = append(targets, to)
			}
			byTarget[to] = append(byTarget[to], l)
		}
		for _, to := range targets {
			if to == t.Name() {
				return program.Usagef("letters of %q can't be sent to itself", to)
			}
			answer, err := replay(ctx, s, store, t, to, byTarget[to])
			if err != nil {
				return err
			}
			if err := s.Out.JSON(answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay sends letters to one topic. How far it came is the frontier of a group
// of the letters' topic, so what was sent is not sent again, ever. Between the
// sending and the saving it is known by producer and sequence.
func replay(ctx context.Context, s *program.Session, store objstore.Store, from *manifest.Topic, to string, letters []dlq.Letter) (replayed, error) {
	answer := replayed{From: from.Name(), To: to}
	target, err := s.TopicIn(ctx, store, to)
	if err != nil {
		return answer, err
	}
	saved, err := keyshared.Resume(ctx, from, "replay-"+string(target.ID()), string(s.CommitID()))
	if err != nil {
		return answer, err
	}
	through := segments.None
	if f := saved.Frontier(); f.Through.Valid {
		through = f.Through.V
	}
	var again []segments.Message
	last := through
	for i := range letters {
		if !letters[i].At.After(through) {
			answer.Duplicates++
			continue
		}
		last = letters[i].At
		m, ok, err := letters[i].Again(from.ID())
		switch {
		case err != nil:
			return answer, err
		case !ok:
			answer.Absent++
		default:
			again = append(again, m)
		}
	}
	if last == through {
		return answer, nil
	}
	if len(again) > 0 {
		w := &topicWriter{s: s, store: store, name: to}
		result, err := w.append(ctx, again, append(originalFields(), ndjson.Producer, ndjson.Sequence))
		if err != nil {
			return answer, err
		}
		answer.Messages, answer.Duplicates = result.Messages, answer.Duplicates+result.Duplicates
	}
	return answer, saved.Save(ctx, keyshared.Frontier{Through: segments.Some(last)})
}

// topicWriter is a dlq.Topic, by way of ingest.
type topicWriter struct {
	s      *program.Session
	store  objstore.Store
	name   string
	create bool // if there is none
	topic  *manifest.Topic
}

// Append implements dlq.Topic.
func (w *topicWriter) Append(ctx context.Context, letters []segments.Message) error {
	_, err := w.append(ctx, letters, originalFields())
	return err
}

func (w *topicWriter) append(ctx context.Context, messages []segments.Message, fields []ndjson.Field) (ingest.Result, error) {
	m, err := w.open(ctx)
	if err != nil {
		return ingest.Result{}, err
	}
	var lines []byte
	for i := range messages {
		lines = append(ndjson.Append(lines, &messages[i], fields), '\n')
	}
	result, err := ingest.Run(ctx, w.topic, bytes.NewReader(lines), ingest.Settings{
		Format: ingest.NDJSON, Now: w.s.Now(), Job: w.s.JobID(m), Writer: w.s.Writer(),
	}, ingest.Components{NewCommit: w.s.CommitID, Pause: program.Pause})
	if err != nil {
		err = fmt.Errorf("append to %q: %w", w.name, err)
	}
	return result, err
}

// open opens the topic, or makes it.
func (w *topicWriter) open(ctx context.Context) (*manifest.Manifest, error) {
	var err error
	if w.topic == nil {
		w.topic, err = w.s.TopicIn(ctx, w.store, w.name)
	}
	if errors.Is(err, manifest.ErrTopicNotFound) && w.create {
		w.topic, err = w.s.CreateTopic(ctx, w.store, w.name, manifest.DefaultSettings())
		if errors.Is(err, manifest.ErrTopicExists) { // somebody else was faster
			w.topic, err = w.s.TopicIn(ctx, w.store, w.name)
		}
	}
	if err != nil {
		w.topic = nil
		return nil, err
	}
	return w.topic.Latest(ctx)
}

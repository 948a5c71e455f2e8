package compact

import (
	"context"
	"errors"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func deleteTopic() program.Command {
	return program.Command{
		Name:   "delete",
		Usage:  "remove a topic and all its messages",
		Args:   "TOPIC",
		Least:  1,
		Most:   1,
		Detail: "What was deleted does not come back. The name can be used again, for a topic that\nhas nothing of this one. A delete that was interrupted can be run again.",
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil && !errors.Is(err, manifest.ErrTopicNotFound) {
				return err
			}
			// Where the name is there and the topic is not, a delete before this
			// one was interrupted, and goes on here.
			err = t.Delete(ctx, manifest.Change{
				Commit: s.CommitID(),
				Job:    s.JobID(m),
				Now:    s.Now(),
				Edit:   manifest.Delete{},
			})
			if err != nil {
				return err
			}
			if s.JSON() {
				return s.Out.JSON(struct {
					Topic string `json:"topic"`
					State string `json:"state"`
				}{t.Name(), "deleted"})
			}
			l := output.NewList(s.Out)
			l.Add("topic", t.Name())
			l.Add("state", "deleted")
			return l.Close()
		},
	}
}

package compact

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func gc() program.Command {
	return program.Command{
		Name:  "gc",
		Usage: "delete what no kept version of a topic needs",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			boolFlag("dry-run", "list what would be deleted, with the reason, and change nothing"),
			stringFlag("keep-age", "keep versions that were the newest within this time, and what jobs begun within it have put (default: 24h)"),
			&cli.Int64Flag{Name: "keep-versions", Usage: "keep at least so many of the newest versions", Value: 1},
		},
		Detail: `Versions that were not the newest for longer than --keep-age expire, but for tagged and
pinned ones; then every object goes that only expired versions name, or that was put by
a job too old to commit it. A reader of an expired version gets an error, never a short
answer. A collection that was stopped is finished by the next.`,
		Run: func(ctx context.Context, s *program.Session) error {
			keep, err := keepFlags(s)
			if err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			c, err := t.PlanCollection(ctx, keep)
			if err != nil {
				return err
			}
			if s.Flags.Bool("dry-run") {
				return listGarbage(ctx, s, c)
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			if err := c.Commit(ctx, manifest.Change{Commit: s.CommitID(), Job: s.JobID(m), Now: s.Now()}); err != nil {
				return err
			}
			result := collected{Topic: t.Name(), State: "nothing_to_do"}
			err = c.Delete(ctx, func(g manifest.Garbage) {
				result.State = "collected"
				result.Objects++
				result.Bytes += g.Bytes
				s.Log.Debug("deleted", "object", g.Key, "bytes", g.Bytes, "reason", string(g.Reason))
			})
			if err != nil {
				return err
			}
			result.ExpiredBefore = c.ExpiredBefore()
			return result.print(s)
		},
	}
}

// keepFlags makes of the flags what a collection must leave.
func keepFlags(s *program.Session) (manifest.Keep, error) {
	text := s.Flags.String("keep-age")
	if text == "" {
		text = "24h"
	}
	age, err := manifest.ParseDuration(text)
	if err != nil {
		return manifest.Keep{}, program.Usagef("--keep-age: %w", err)
	}
	if age == manifest.Forever {
		return manifest.Keep{}, program.Usagef("--keep-age: a collection that keeps everything forever is none")
	}
	n := s.Flags.Int64("keep-versions")
	if n < 1 || n > 1<<30 {
		return manifest.Keep{}, program.Usagef("--keep-versions: %d is not a number of versions to keep (want at least 1)", n)
	}
	return manifest.Keep{
		Since:    s.Now().Add(-time.Duration(age)),
		Versions: int(n),
		MinJob:   s.OldestJob(time.Duration(age)),
	}, nil
}

// collected is the answer of gc.
type collected struct {
	Topic         string           `json:"topic"`
	State         string           `json:"state"`
	Objects       int64            `json:"objects"`
	Bytes         int64            `json:"bytes"`
	ExpiredBefore manifest.Version `json:"expired_before,string"`
}

func (c collected) print(s *program.Session) error {
	if s.JSON() {
		return s.Out.JSON(c)
	}
	l := output.NewList(s.Out)
	l.Add("topic", c.Topic)
	l.Add("state", c.State)
	l.Add("deleted", fmt.Sprintf("%s objects, %s", humanize.Comma(c.Objects), humanize.IBytes(uint64(c.Bytes))))
	l.Add("oldest version", fmt.Sprint(c.ExpiredBefore))
	return l.Close()
}

// listGarbage prints what a collection would delete.
func listGarbage(ctx context.Context, s *program.Session, c *manifest.Collection) error {
	table := output.NewTable(s.Out, output.Column{Name: "object"}, output.Column{Name: "bytes", Right: true}, output.Column{Name: "reason"})
	for g, err := range c.Garbage(ctx) {
		if err != nil {
			return err
		}
		if s.JSON() {
			err = s.Out.JSON(struct {
				Object string `json:"object"`
				Bytes  int64  `json:"bytes"`
				Reason string `json:"reason"`
			}{g.Key, g.Bytes, string(g.Reason)})
		} else {
			err = table.Row(g.Key, g.Bytes, string(g.Reason))
		}
		if err != nil {
			return err
		}
	}
	if s.JSON() {
		return nil
	}
	return table.Close()
}

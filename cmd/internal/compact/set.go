package compact

import (
	"context"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func set() program.Command {
	return program.Command{
		Name:  "set",
		Usage: "change settings of a topic, from the next run on",
		Args:  "TOPIC name=value...",
		Least: 2, Most: -1,
		Detail: settingsHelp,
		Run: func(ctx context.Context, s *program.Session) error {
			// What is wrong by itself is said before the topic is looked for.
			if _, err := withSettings(manifest.DefaultSettings(), s.Args[1:]); err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			// An edit that was overtaken by another set is made again from
			// what that one left.
			return s.Retry(ctx, func() error {
				m, err := t.Latest(ctx)
				if err != nil {
					return err
				}
				next, err := withSettings(m.Settings, s.Args[1:])
				if err != nil {
					return err
				}
				if next == m.Settings {
					return printState(s, t.Name(), "already_set", m.Version)
				}
				made, err := t.Commit(ctx, manifest.Change{
					Commit: s.CommitID(),
					Job:    s.JobID(m),
					Now:    s.Now(),
					Edit:   manifest.Set{Was: m.Settings, Now: next},
				})
				if err != nil {
					return err
				}
				return printState(s, t.Name(), "set", made.Version)
			})
		},
	}
}

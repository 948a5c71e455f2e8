package compact

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func tag() program.Command {
	return program.Command{
		Name:  "tag",
		Usage: "name a version of a topic, which keeps it",
		Args:  "TOPIC NAME",
		Least: 2, Most: 2,
		Flags: []cli.Flag{
			stringFlag("version", "the version to name (default: the newest)"),
			boolFlag("move", "let a name that is taken name this version from now on"),
		},
		Run: func(ctx context.Context, s *program.Session) error {
			if s.Args[1] == "" {
				return program.Usagef("the name of the tag is empty")
			}
			text := s.Flags.String("version")
			version, err := topic.ParseVersion(text)
			if text != "" && err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			if text == "" {
				m, err := t.Latest(ctx)
				if err != nil {
					return err
				}
				version = m.Version
			}
			if err := t.Tag(ctx, s.Args[1], version, s.Flags.Bool("move")); err != nil {
				return err
			}
			if s.JSON() {
				return s.Out.JSON(struct {
					Topic   string           `json:"topic"`
					State   string           `json:"state"`
					Tag     string           `json:"tag"`
					Version manifest.Version `json:"version,string"`
				}{t.Name(), "tagged", s.Args[1], version})
			}
			l := output.NewList(s.Out)
			l.Add("topic", t.Name())
			l.Add("tag", s.Args[1])
			l.Add("version", version)
			return l.Close()
		},
	}
}

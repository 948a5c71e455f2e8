package reader

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

func changes() program.Command {
	return program.Command{
		Name:  "changes",
		Usage: "print what became different between two versions of the compacted view",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from-version", Usage: "the version before"},
			&cli.StringFlag{Name: "to-version", Usage: "the version after"},
			fieldsFlag(),
		},
		Detail: `Prints the messages that are new, in order, and then a line {"key":..,"deleted":true} for
each key that is gone without a trace. Whoever applies them to the view of the version
before has the view of the version after.`,
		Run: func(ctx context.Context, s *program.Session) error {
			for _, name := range []string{"from-version", "to-version"} {
				if !s.Flags.IsSet(name) {
					return program.Usagef("--%s is missing", name).WithHint("`reader versions TOPIC` lists the versions")
				}
			}
			from, err := topic.ParseVersion(s.Flags.String("from-version"))
			if err != nil {
				return err
			}
			to, err := topic.ParseVersion(s.Flags.String("to-version"))
			if err != nil {
				return err
			}
			if from > to {
				return program.Usagef("--from-version %d is after --to-version %d", from, to)
			}
			printer, err := newMessagePrinter(s, readerlib.Options{})
			if err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			for change, err := range readerlib.Changes(ctx, t, from, to) {
				switch {
				case err != nil:
				case change.Deleted:
					err = printer.printGone(change.Message.Key)
				default:
					err = printer.print(&change.Message)
				}
				if err != nil {
					return err
				}
			}
			return printer.close()
		},
	}
}

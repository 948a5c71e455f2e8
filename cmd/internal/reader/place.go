package reader

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

func lastMessageID() program.Command {
	return program.Command{
		Name:  "last-message-id",
		Usage: "print the position of the last message of a view",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags:  viewFlags(),
		Detail: "Prints the position alone, as in 3:0 or 3:0:1, or -1:-1 where there is no message.",
		Run: func(ctx context.Context, s *program.Session) error {
			o, err := options(s)
			if err != nil {
				return err
			}
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			last, err := r.LastMessageID(ctx)
			if err != nil {
				return r.settle(ctx, err)
			}
			_, err = fmt.Fprintln(s.Out, last)
			return err
		},
	}
}

func hasMessage() program.Command {
	return program.Command{
		Name:  "has-message",
		Usage: "tell whether a view has a message after a position",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags:  append(viewFlags(), &cli.StringFlag{Name: "after", Usage: "the position, as in 3:0 or 3:0:1, or -1:-1 for any message"}),
		Detail: "Prints true exactly when a read after that position prints a message, else false.",
		Run: func(ctx context.Context, s *program.Session) error {
			if !s.Flags.IsSet("after") {
				return program.Usagef("--after is missing").WithHint("say after which position: --after 3:0, or --after -1:-1 for any message")
			}
			after, err := position("--after", s.Flags.String("after"))
			if err != nil {
				return err
			}
			o, err := options(s)
			if err != nil {
				return err
			}
			o.Start = readerlib.After(after)
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			has, err := r.HasMessageAvailable(ctx)
			if err != nil {
				return r.settle(ctx, err)
			}
			_, err = fmt.Fprintln(s.Out, has)
			return err
		},
	}
}

// Package topic is what both command lines know of topics: listing them, and
// choosing one of their versions.
package topic

import (
	"context"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
)

// ListCommand lists the topics of a store. It reads names only, so it costs a
// listing however many topics there are.
func ListCommand() program.Command {
	return program.Command{
		Name:  "topics",
		Usage: "list the topics, by name",
		Run: func(ctx context.Context, s *program.Session) error {
			store, err := s.Store(ctx)
			if err != nil {
				return err
			}
			table := output.NewTable(s.Out, output.Column{Name: "topic"})
			for name, err := range manifest.Names(ctx, store) {
				if err != nil {
					return err
				}
				if s.JSON() {
					err = s.Out.JSON(struct {
						Topic string `json:"topic"`
					}{name})
				} else {
					err = table.Row(name)
				}
				if err != nil {
					return err
				}
			}
			return table.Close()
		},
	}
}

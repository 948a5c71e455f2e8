package compact

import (
	"context"
	"fmt"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
)

func trim() program.Command {
	return program.Command{
		Name:  "trim",
		Usage: "let go of old originals that are compacted",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Detail: `Whole ledgers go, the oldest first, when all of them lies at or below the horizon and
is older than the topic's retention (forever, unless it was set). The last ledger that
has messages stays.`,
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			result, err := compactor.Trim(ctx, t, compactorJob(s, m))
			if err != nil {
				return err
			}
			if s.JSON() {
				return s.Out.JSON(result)
			}
			l := output.NewList(s.Out)
			l.Add("topic", result.Topic)
			l.Add("state", result.State)
			l.Add("version", fmt.Sprint(result.Version))
			l.Add("first retained", result.FirstRetained)
			return l.Close()
		},
	}
}

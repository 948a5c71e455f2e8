package compact

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/segments"
)

func verify() program.Command {
	return program.Command{
		Name:  "verify",
		Usage: "prove a topic from its bytes",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			boolFlag("repair", "first make anew what can be made from the rest: key indexes"),
		},
		Detail: `Reads every object of the latest version: digests, batches, key indexes, dead rows, that
each key is shown once at most, and that the row accounts of all kept versions add up.
Changes nothing. What is wrong is listed with the object's name, and the exit code is 6.

With --repair, key indexes that are missing or damaged are made anew of their segments,
the same bytes as before. Segments and dead rows cannot be made anew: what is still wrong
is listed, and has to be restored.`,
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			var repaired []compactor.Repaired
			if s.Flags.Bool("repair") {
				repaired, err = compactor.Repair(ctx, t, m)
				for _, r := range repaired {
					s.Log.Warn("made anew", "object", r.Object, "wrong", r.Wrong)
				}
				if err != nil {
					return err
				}
			}
			proof, err := compactor.Verify(ctx, t, m)
			if err != nil {
				return err
			}
			if n := len(proof.Findings); n > 0 {
				for _, f := range proof.Findings {
					fmt.Fprintf(s.Err, "%s: %s\n", output.Escape(f.Object), output.Escape(f.Wrong))
				}
				return fmt.Errorf("verify %q: %w: %d findings", t.Name(), segments.ErrCorrupt, n)
			}
			if s.JSON() {
				return s.Out.JSON(struct {
					compactor.Proof
					Repaired []compactor.Repaired `json:"repaired,omitempty"`
				}{proof, repaired})
			}
			l := output.NewList(s.Out)
			l.Add("topic", proof.Topic)
			l.Add("version", fmt.Sprint(proof.Version))
			l.Add("segments", fmt.Sprintf("%s (%s rows, %s)", humanize.Comma(proof.Segments), humanize.Comma(proof.Rows), humanize.IBytes(uint64(proof.Bytes))))
			l.Add("keys shown", humanize.Comma(proof.Keys))
			l.Add("dead rows explained", humanize.Comma(proof.DeadExplained))
			l.Add("dead rows unexplained", humanize.Comma(proof.DeadUnexplained))
			l.Add("versions accounted for", humanize.Comma(proof.Versions))
			for _, r := range repaired {
				l.Add("made anew", r.Object)
			}
			l.Add("state", "verified")
			return l.Close()
		},
	}
}

package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func quarantine() program.Command {
	return program.Command{
		Name:  "quarantine",
		Usage: "list the segments of a topic that cannot be read, or lift one",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "lift", Usage: "look at this object again, and lift it if it is what was written (may be repeated)"},
		},
		Detail: `A run sets a segment aside that is missing or damaged, and folds no further. The segment
stays where it is. Restore the object; then the next run lifts it by itself, and --lift
does so at once. What is still not what was written stays in quarantine, exit code 6.`,
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			if objects := s.Flags.StringSlice("lift"); len(objects) > 0 {
				return lift(ctx, s, t, m, objects)
			}
			table := output.NewTable(s.Out, output.Column{Name: "object"}, output.Column{Name: "covers"}, output.Column{Name: "since"}, output.Column{Name: "cause"})
			for _, q := range m.Quarantined {
				if s.JSON() {
					err = s.Out.JSON(q)
				} else {
					err = table.Row(q.Object, q.Range, q.Since.Format(time.RFC3339), q.Cause)
				}
				if err != nil {
					return err
				}
			}
			if s.JSON() {
				return nil
			}
			return table.Close()
		},
	}
}

func lift(ctx context.Context, s *program.Session, t *manifest.Topic, m *manifest.Manifest, objects []string) error {
	watch := newRunWatch(s, t.Name())
	defer watch.close()
	result, err := compactor.Lift(ctx, t, watch, compactorJob(s, m), objects)
	if err != nil && !errors.Is(err, compactor.ErrQuarantined) {
		return err
	}
	if s.JSON() {
		return errors.Join(err, s.Out.JSON(result))
	}
	l := output.NewList(s.Out)
	l.Add("topic", result.Topic)
	l.Add("version", fmt.Sprint(result.Version))
	l.Add("lifted", fmt.Sprint(result.Lifted))
	addQuarantined(l, result.Left)
	return errors.Join(err, l.Close())
}

// addQuarantined lists what is quarantined, one object a line.
func addQuarantined(l *output.List, list []manifest.Quarantined) {
	for _, q := range list {
		l.Add("quarantined", fmt.Sprintf("%s, covers %s, since %s: %s", q.Object, q.Range, q.Since.Format(time.RFC3339), q.Cause))
	}
}

// held is the error of a run whose topic is held by what is quarantined, or
// nil.
func held(result compactor.Result) error {
	if result.State != compactor.StateQuarantined {
		return nil
	}
	var errs []error
	for _, q := range result.Quarantined {
		errs = append(errs, fmt.Errorf("run %s: %w: %s: %s", result.Topic, compactor.ErrQuarantined, q.Object, q.Cause))
	}
	return errors.Join(errs...)
}

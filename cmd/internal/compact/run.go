package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
)

// mostTries is how often a run plans anew after it was overtaken, before it
// leaves the topic to whoever is faster.
const mostTries = 5

func run() program.Command {
	return program.Command{
		Name:  "run",
		Usage: "fold topics by key",
		Args:  "TOPIC...",
		Least: 0, Most: -1,
		Flags: []cli.Flag{
			boolFlag("all", "every topic of the store"),
			stringFlag("max-duration", "end within this time (90s, 15m), keep what is complete by then, and say what is left"),
			memoryFlag(),
		},
		Detail: `Of each key the last message stays in the compacted view. Positions do not change.
Runs may overlap, repeat, and be killed at any moment: no message is lost, and the
view is either the one before or the one after.

Prints a line for each topic, with what became of the rows between the old and the
new horizon. A topic that cannot be folded does not keep the others waiting. Neither
does a segment that is missing or damaged: it is quarantined, the topic is folded up to
it, and the exit code is 6.

With --max-duration a topic is folded in slices, and each is committed when it is
complete. When the time is up the run ends with code 0, and the next one goes on.

With --max-memory less is read at a time. What comes out of it is the same.`,
		Run: func(ctx context.Context, s *program.Session) error {
			all := s.Flags.Bool("all")
			switch {
			case all && len(s.Args) > 0:
				return program.Usagef("--all and %q: name topics, or take all", s.Args[0])
			case !all && len(s.Args) == 0:
				return program.Usagef("no topic is named").WithHint("name topics, or take all of them with --all")
			}
			most, err := memory(s)
			if err != nil {
				return err
			}
			keepWithin(most)
			until, stop, err := deadline(s)
			if err != nil {
				return err
			}
			defer stop()
			store, err := s.Store(ctx)
			if err != nil {
				return err
			}
			names := s.Args
			if all {
				if names, err = allTopics(ctx, store); err != nil {
					return err
				}
			}
			return runTopics(ctx, s, store, names, runOptions{listed: all, until: until, memory: most})
		},
	}
}

func allTopics(ctx context.Context, store objstore.Store) ([]string, error) {
	var names []string
	for name, err := range manifest.Names(ctx, store) {
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// runOptions are what runs of several topics have in common.
type runOptions struct {
	listed bool                // the topics were not named, but found
	until  *compactor.Deadline // of all of them together, or nil
	memory int64               // that the process may take, or 0
}

// runTopics runs each topic once, in order, whatever becomes of the others.
func runTopics(ctx context.Context, s *program.Session, store objstore.Store, names []string, o runOptions) error {
	var failures program.Failures
	report := newRunReport(s)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		if o.until != nil && o.until.Left() <= 0 {
			s.Log.Warn("out of time: topics are left", "topics", len(names)-i, "first", name)
			break
		}
		result, err := runWithin(ctx, s, store, name, o)
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case o.listed && errors.Is(err, manifest.ErrTopicNotFound):
			// It was deleted since the topics were listed.
			s.Log.Info("topic is gone", "topic", name)
			continue
		case err != nil:
			failures.Add(fmt.Errorf("run %s: %w", name, err))
			continue
		}
		if err := report.add(result); err != nil && !errors.Is(err, output.ErrClosed) {
			failures.Add(err)
		}
		failures.Add(held(result.Result))
	}
	failures.Add(report.close())
	return failures.Err()
}

// runTopic runs a topic for as long as it takes, in the usual memory.
func runTopic(ctx context.Context, s *program.Session, store objstore.Store, name string) (compactor.Result, error) {
	answer, err := runWithin(ctx, s, store, name, runOptions{})
	return answer.Result, err
}

// runAnswer is the result of a run as it is printed: what was planned, and
// beside it what was used.
type runAnswer struct {
	compactor.Result
	Actual compactor.Estimate `json:"actual"`
}

func runWithin(ctx context.Context, s *program.Session, store objstore.Store, name string, o runOptions) (runAnswer, error) {
	counted, used := counting(store)
	t, err := s.TopicIn(ctx, counted, name)
	if err != nil {
		return runAnswer{}, err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return runAnswer{}, err
	}
	watch := newRunWatch(s, name)
	defer watch.close()
	job := compactorJob(s, m)
	job.Policy = policyFor(o.memory, m)
	warnOfSegments(s, o.memory, m)
	if o.until != nil {
		job.Deadline, job.Commits = o.until, s.CommitIDs(mostSlices)
	}
	opening := used()
	result, err := compactor.Run(ctx, t, watch, job)
	return runAnswer{result, used().Sub(opening)}, err
}

// compactorJob is what a run or a trim of m's topic must not make up itself.
func compactorJob(s *program.Session, m *manifest.Manifest) compactor.Job {
	return compactor.Job{
		ID:      s.JobID(m),
		Commits: s.CommitIDs(mostTries),
		Now:     s.Now(),
		Writer:  s.Writer(),
		Policy:  compactor.DefaultPolicy(),
	}
}

// runReport prints the results of runs as they come: as lines at once, as a
// table at the end.
type runReport struct {
	s     *program.Session
	table *output.Table
}

func newRunReport(s *program.Session) *runReport {
	right := func(name string) output.Column { return output.Column{Name: name, Right: true} }
	return &runReport{s, output.NewTable(s.Out,
		output.Column{Name: "topic"}, output.Column{Name: "state"}, right("version"), right("horizon"),
		right("in"), right("kept"), right("superseded"), right("deleted"), right("aborted"), right("markers"),
		right("expired"), right("keyless"), right("older died"), right("adopted"), right("requests"), right("planned"))}
}

func (r *runReport) add(result runAnswer) error {
	if r.s.JSON() {
		if err := r.s.Out.JSON(result); err != nil {
			return err
		}
		return r.s.Out.Flush()
	}
	rows, older := result.Rows, result.Older
	return r.table.Row(result.Topic, result.State, result.Version, result.Horizon,
		rows.In, rows.Kept, rows.Superseded, rows.Deleted, rows.Aborted, rows.Markers, rows.Expired, rows.KeylessDropped,
		older.Superseded+older.Deleted+older.Expired, result.Adopted.Rows,
		result.Actual.Requests(), result.Estimate.Requests())
}

func (r *runReport) close() error { return r.table.Close() }

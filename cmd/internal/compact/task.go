package compact

import (
	"context"
	"fmt"
	"strconv"

	"github.com/oklog/ulid/v2"
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/count"
)

func task() program.Command {
	return program.Command{
		Name:  "task",
		Usage: "do one task of a saved plan",
		Args:  "PLAN INDEX",
		Least: 2, Most: 2,
		Flags: []cli.Flag{memoryFlag()},
		Detail: `PLAN is the id that ` + "`compact plan TOPIC --save`" + ` has printed, and INDEX the number of one
of its tasks, from 0. Tasks can be done at the same time on any machines, and again: the
first result counts. The write tasks need what the resolve tasks have found; one that
comes too early ends with code 4, and is to be run again.`,
		Run: func(ctx context.Context, s *program.Session) error {
			index, err := strconv.Atoi(s.Args[1])
			if err != nil || index < 0 {
				return program.Usagef("%q is not the number of a task (want 0 or more)", s.Args[1])
			}
			p, err := openPlan(ctx, s)
			if err != nil {
				return err
			}
			watch := newRunWatch(s, p.topic.Name())
			defer watch.close()
			done, err := compactor.Do(ctx, p.topic, p.id, index, watch, p.job)
			if err != nil {
				return err
			}
			if s.JSON() {
				return s.Out.JSON(done)
			}
			l := output.NewList(s.Out)
			l.Add("topic", done.Topic)
			l.Add("task", fmt.Sprintf("%d (%s)", done.Index, done.Kind))
			l.Add("state", done.State)
			return l.Close()
		},
	}
}

func commit() program.Command {
	return program.Command{
		Name:  "commit",
		Usage: "commit a saved plan, all of whose tasks are done",
		Args:  "PLAN",
		Least: 1, Most: 1,
		Flags: []cli.Flag{memoryFlag()},
		Detail: `Prints what ` + "`compact run`" + ` prints. Where tasks are not done yet it names them, with code 4.
Where the topic was compacted since, the plan is void, code 5: make another one.`,
		Run: func(ctx context.Context, s *program.Session) error {
			p, err := openPlan(ctx, s)
			if err != nil {
				return err
			}
			watch := newRunWatch(s, p.topic.Name())
			defer watch.close()
			result, err := compactor.Finish(ctx, p.topic, p.id, watch, p.job)
			if err != nil {
				return err
			}
			report := newRunReport(s)
			if err := report.add(runAnswer{Result: result, Actual: p.used()}); err != nil {
				return err
			}
			return report.close()
		},
	}
}

// savedPlan is a plan that tasks are done for.
type savedPlan struct {
	id    manifest.JobID
	topic *manifest.Topic
	job   compactor.Job
	used  func() compactor.Estimate
}

func openPlan(ctx context.Context, s *program.Session) (*savedPlan, error) {
	if _, err := ulid.ParseStrict(s.Args[0]); err != nil {
		return nil, program.Usagef("%q is not the id of a plan", s.Args[0]).WithHint("`compact plan TOPIC --save` prints one")
	}
	most, err := memory(s)
	if err != nil {
		return nil, err
	}
	keepWithin(most)
	store, err := s.Store(ctx)
	if err != nil {
		return nil, err
	}
	id := manifest.JobID(s.Args[0])
	name, err := manifest.TopicOfPlan(ctx, store, id)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fmt.Errorf("plan %s: %w", id, compactor.ErrNoPlan)
	}
	counted, used := counting(store)
	t, err := s.TopicIn(ctx, counted, name)
	if err != nil {
		return nil, err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	job := compactorJob(s, m)
	job.Policy = policyFor(most, m)
	return &savedPlan{id, t, job, used}, nil
}

// save keeps a plan for tasks, and returns its id.
func save(ctx context.Context, s *program.Session, t *manifest.Topic, m *manifest.Manifest, p *compactor.Plan) (manifest.JobID, error) {
	id := s.JobID(m)
	return id, compactor.Keep(ctx, t, m, id, p)
}

// counting is store, and what was used of it so far.
func counting(store objstore.Store) (objstore.Store, func() compactor.Estimate) {
	counted := count.New(store)
	before := counted.Snapshot()
	return counted, func() compactor.Estimate {
		used := counted.Snapshot().Sub(before)
		return compactor.Estimate{
			Gets:       used.Gets + used.Reads + used.Lists,
			Puts:       used.Puts,
			ReadBytes:  used.BytesRead,
			WriteBytes: used.BytesPut,
		}
	}
}

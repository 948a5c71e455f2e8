package compact

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func plan() program.Command {
	return program.Command{
		Name:  "plan",
		Usage: "tell what the next run would do, and change nothing",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			boolFlag("price", "tell what it would cost, by the prices of S3 Standard"),
			stringFlag("price-file", "tell what it would cost, by the prices of this JSON file"),
			boolFlag("save", "keep the plan in the store, and print the id that compact task and compact commit take"),
			&cli.Int64Flag{Name: "tasks", Usage: "make so many tasks of each kind (default: as many as the memory asks for)"},
			memoryFlag(),
		},
		Detail: `Without --save nothing is written. With it, each of the tasks can be done anywhere:

  PLAN=$(compact plan orders --save --tasks 4 -o json | jq -r .plan)
  for i in 0 1 2 3; do compact task $PLAN $i & done; wait      the resolve tasks
  for i in 4 5 6 7; do compact task $PLAN $i & done; wait      the write tasks
  compact commit $PLAN

A price file looks like this; what it leaves out is free, and seconds are told only
with rates:

  {"name": "my store",
   "dollars_per_1000_gets": 0.0004, "dollars_per_1000_puts": 0.005,
   "dollars_per_gib_read": 0, "dollars_per_gib_written": 0,
   "rates": {"requests_per_second": 200, "bytes_read_per_second": 1e8, "bytes_written_per_second": 5e7}}`,
		Run: func(ctx context.Context, s *program.Session) error {
			prices, err := pricesOf(s)
			if err != nil {
				return err
			}
			most, err := memory(s)
			if err != nil {
				return err
			}
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			now := s.Now()
			cut, err := compactor.Survey(ctx, t, m, now)
			if err != nil {
				return err
			}
			policy := policyFor(most, m)
			policy.Tasks = int(s.Flags.Int64("tasks"))
			if err := policy.Validate(); err != nil {
				return program.Usagef("--tasks: %w", err)
			}
			p := compactor.PlanRun(m, cut, now, policy)
			var id manifest.JobID
			if s.Flags.Bool("save") && !p.IsEmpty() {
				if id, err = save(ctx, s, t, m, &p); err != nil {
					return err
				}
			}
			var price *priceOf
			if prices != nil {
				price = prices.of(m, &p)
			}
			if s.JSON() {
				return s.Out.JSON(planAnswer{id, m.Name, &p, price})
			}
			return listPlan(s.Out, id, m.Name, &p, price)
		},
	}
}

// planAnswer is the plan as it is printed. The topic is its name, as in all
// answers, where the plan itself has the id.
type planAnswer struct {
	ID    manifest.JobID `json:"plan,omitempty"` // if it was saved
	Topic string         `json:"topic"`
	*compactor.Plan
	Price *priceOf `json:"price,omitempty"`
}

func listPlan(out *output.Writer, id manifest.JobID, topic string, p *compactor.Plan, price *priceOf) error {
	l := output.NewList(out)
	l.Add("topic", topic)
	l.Add("from version", fmt.Sprint(p.Version))
	if p.IsEmpty() {
		l.Add("to do", fmt.Sprintf("nothing; the horizon stays at %s (%s)", p.From, p.Stop))
	} else {
		l.Add("horizon", fmt.Sprintf("%s to %s (%s)", p.From, p.To, p.Stop))
		l.Add("originals to fold", len(p.Inputs))
		l.Add("tombstones to expire", fmt.Sprintf("in %d segments", len(p.Expire)))
		l.Add("stretches to reclaim", len(p.Reclaim))
		l.Add("tasks", len(p.Tasks))
		if id != "" {
			l.Add("plan", id)
		}
	}
	if price != nil {
		price.list(l)
	}
	return l.Close()
}

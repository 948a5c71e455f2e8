package compact

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
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
			memoryFlag(),
		},
		Detail: `A price file looks like this; what it leaves out is free, and seconds are told only
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
			p := compactor.PlanRun(m, cut, now, policyFor(most, m))
			var price *priceOf
			if prices != nil {
				price = prices.of(m, &p)
			}
			if s.JSON() {
				return s.Out.JSON(planAnswer{m.Name, &p, price})
			}
			return listPlan(s.Out, m.Name, &p, price)
		},
	}
}

// planAnswer is the plan as it is printed. The topic is its name, as in all
// answers, where the plan itself has the id.
type planAnswer struct {
	Topic string `json:"topic"`
	*compactor.Plan
	Price *priceOf `json:"price,omitempty"`
}

func listPlan(out *output.Writer, topic string, p *compactor.Plan, price *priceOf) error {
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
	}
	if price != nil {
		price.list(l)
	}
	return l.Close()
}

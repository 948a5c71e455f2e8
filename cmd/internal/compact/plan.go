package compact

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
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
		Flags: []cli.Flag{boolFlag("price", "tell what it would cost, by the prices of S3 Standard")},
		Run: func(ctx context.Context, s *program.Session) error {
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
			p := compactor.PlanRun(m, cut, now, compactor.DefaultPolicy())
			var price *priceOf
			if s.Flags.Bool("price") {
				price = newPrice(p.Estimate)
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

// priceOf is what a plan costs at most.
type priceOf struct {
	Requests   int64   `json:"requests"`
	ReadBytes  int64   `json:"read_bytes"`
	WriteBytes int64   `json:"write_bytes"`
	Seconds    float64 `json:"seconds"`
	Dollars    float64 `json:"dollars"`
}

// What S3 Standard asks for in most regions, in dollars for each request; and
// what one machine near the bucket gets done. Bytes cost nothing inside a
// region. It is to tell cents from hundreds of dollars, and no bill.
const (
	dollarsPerGet  = 0.40 / 1e6
	dollarsPerPut  = 5.00 / 1e6
	requestSeconds = 0.02
	bytesPerSecond = 50e6
)

func newPrice(e compactor.Estimate) *priceOf {
	return &priceOf{
		Requests:   e.Requests(),
		ReadBytes:  e.ReadBytes,
		WriteBytes: e.WriteBytes,
		Seconds:    float64(e.Requests())*requestSeconds + float64(e.ReadBytes+e.WriteBytes)/bytesPerSecond,
		Dollars:    float64(e.Gets)*dollarsPerGet + float64(e.Puts)*dollarsPerPut,
	}
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
		l.Add("tasks", len(p.Tasks))
	}
	if price != nil {
		l.Add("requests, at most", humanize.Comma(price.Requests))
		l.Add("bytes read, at most", humanize.IBytes(uint64(price.ReadBytes)))
		l.Add("bytes written, at most", humanize.IBytes(uint64(price.WriteBytes)))
		l.Add("seconds, about", fmt.Sprintf("%.1f", price.Seconds))
		l.Add("dollars, at most", fmt.Sprintf("%.6f", price.Dollars))
	}
	return l.Close()
}

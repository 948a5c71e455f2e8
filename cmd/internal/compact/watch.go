package compact

import (
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/compactor"
)

// runWatch turns the events of a run into log lines and a progress bar.
type runWatch struct {
	s     *program.Session
	topic string
	bar   *program.Bar
}

func newRunWatch(s *program.Session, topic string) *runWatch {
	return &runWatch{s: s, topic: topic}
}

// Observe implements compactor.Observer.
func (w *runWatch) Observe(e compactor.Event) {
	switch e := e.(type) {
	case compactor.Planned:
		// Each original is scanned, each task done, and then there is the
		// commit.
		w.bar.Close()
		w.bar = w.s.NewBar("run "+w.topic, int64(len(e.Plan.Inputs)+len(e.Plan.Tasks)+1), program.Steps)
		w.s.Log.Info(e.String(), "topic", w.topic)
		return
	case compactor.OutOfTime, compactor.SetAside:
		w.s.Log.Warn(e.String(), "topic", w.topic)
		return
	case compactor.Overtaken, compactor.Lifted, compactor.Committed:
		w.s.Log.Info(e.String(), "topic", w.topic)
		return
	case compactor.Scanned, compactor.Resolved, compactor.Written, compactor.TookOver:
		w.bar.Add(1)
	}
	w.s.Log.Debug(e.String(), "topic", w.topic)
}

func (w *runWatch) close() { w.bar.Close() }

package keyshared

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that is sent to after d, and what stops it.
	Timer(d time.Duration) (fired <-chan time.Time, stop func() bool)
}

// Components are what a group works with.
type Components struct {
	Clock Clock

	// Bury writes dead letters. When it returns nil they are durable, and their
	// messages finished. Where it is nil, a message that dies is ErrDead.
	Bury func(ctx context.Context, dead []Dead) error

	// Save makes a frontier durable. A group whose Save fails stops.
	Save func(ctx context.Context, f Frontier) error
}

// ErrDead says that a message died in a group that has no dead letters.
var ErrDead = errors.New("message can't be handled")

// Handler handles one message. It is called by one worker, for one message at a
// time.
type Handler func(ctx context.Context, d Delivery) Answer

// Answer is what became of a message.
type Answer struct {
	Verdict Verdict
	Detail  string // why it failed, for people
}

// Verdict is what an answer means. The zero value is Handled.
type Verdict int

// The verdicts.
const (
	Handled Verdict = iota
	Failed          // try it again after a while
	Refused         // it can't be handled, ever
	Untried         // somebody else may have it at once; it counts as no attempt
)

// Group shares messages among workers, each a goroutine that calls Work. It
// may be used from several goroutines.
type Group struct {
	settings   Settings
	components Components

	mu       sync.Mutex
	d        *Dispatcher
	ended    bool  // nothing more will be offered
	hungry   bool  // the reader waits for room
	eaten    int64 // how many were finished when it began to
	over     bool
	err      error
	workers  sync.WaitGroup
	room     chan struct{} // of one: there is room
	funeral  chan struct{} // of one: there are dead
	finished chan struct{} // closed when it is over
}

// NewGroup makes a group that goes on from a frontier.
func NewGroup(s Settings, from Frontier, c Components) *Group {
	return &Group{
		settings:   s.withDefaults(),
		components: c,
		d:          NewDispatcher(s, from),
		room:       make(chan struct{}, 1),
		funeral:    make(chan struct{}, 1),
		finished:   make(chan struct{}),
	}
}

// Run reads the messages that follow gives, which are in order of position and
// begin at the frontier's Start, until they end and all of them are finished;
// or until ctx ends, or following, Bury or Save fail. It then waits for the
// workers to come back, and saves the frontier once more, also after ctx has
// ended. It is called once. The ctx that follow is given ends with the group.
func (g *Group) Run(ctx context.Context, follow func(context.Context) iter.Seq2[segments.Message, error]) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(within, func() { g.end(context.Cause(within)) })
	defer stop()

	var tasks errgroup.Group
	for _, task := range []func(context.Context) error{
		func(ctx context.Context) error { return g.read(ctx, follow(ctx)) },
		g.bury,
		g.save,
	} {
		tasks.Go(func() error {
			err := task(within)
			if err != nil {
				g.end(err)
				cancel(err)
			}
			return err
		})
	}
	<-g.finished
	// What reads may be waiting for a message that nobody needs any more.
	cancel(nil)
	_ = tasks.Wait() // g.err is the first one
	g.workers.Wait()

	g.mu.Lock()
	last, err := g.d.Frontier(), g.err
	g.mu.Unlock()
	if errors.Is(err, errSave) {
		return err
	}
	return errors.Join(err, g.saved(context.WithoutCancel(ctx), last))
}

// end ends the group, for a reason or because everything is finished.
func (g *Group) end(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.endLocked(err)
}

func (g *Group) endLocked(err error) {
	if !g.over {
		g.over, g.err = true, err
		close(g.finished)
	}
}

// unlock tells everybody what the dispatcher has for them.
func (g *Group) unlock() {
	for _, w := range g.d.woken {
		signal(w.wake)
	}
	g.d.woken = g.d.woken[:0]
	if len(g.d.dead) > 0 {
		signal(g.funeral)
	}
	if g.hungry && g.d.counts.Finished > g.eaten {
		g.hungry = false
		signal(g.room)
	}
	if g.ended && g.d.Idle() {
		g.endLocked(nil)
	}
	g.mu.Unlock()
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// read offers the messages.
func (g *Group) read(ctx context.Context, msgs iter.Seq2[segments.Message, error]) error {
	for m, err := range msgs {
		if err != nil {
			return err
		}
		m = m.Clone() // it may wait for long, and its whole block with it
		for {
			g.mu.Lock()
			taken := g.d.Offer(m)
			g.hungry, g.eaten = !taken, g.d.counts.Finished
			g.unlock()
			if taken {
				break
			}
			select {
			case <-g.room:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	g.mu.Lock()
	g.ended = true
	g.unlock()
	return nil
}

// lettersAtOnce is how many messages are buried together.
const lettersAtOnce = 1000

// bury buries the dead.
func (g *Group) bury(ctx context.Context) error {
	for {
		select {
		case <-g.funeral:
		case <-ctx.Done():
			return nil
		}
		g.mu.Lock()
		dead := g.d.Dead(lettersAtOnce)
		g.unlock()
		if len(dead) == 0 {
			continue
		}
		err := fmt.Errorf("%s (%s, attempt %d): %w: %s", dead[0].Message.Position, dead[0].Reason, dead[0].Attempts, ErrDead, dead[0].Detail)
		if g.components.Bury != nil {
			err = g.components.Bury(ctx, dead)
		}
		g.mu.Lock()
		if err != nil {
			g.d.Unburied(dead)
			g.unlock()
			return fmt.Errorf("bury %d messages: %w", len(dead), err)
		}
		for _, one := range dead {
			g.d.Buried(one)
		}
		g.unlock()
	}
}

// save saves the frontier from time to time.
func (g *Group) save(ctx context.Context) error {
	var last Counts
	for {
		fired, stop := g.components.Clock.Timer(g.settings.SaveEvery)
		select {
		case <-fired:
		case <-ctx.Done():
			stop()
			return nil
		}
		g.mu.Lock()
		counts := g.d.counts
		moved := counts.Finished != last.Finished || counts.Retried != last.Retried || counts.Offered != last.Offered
		var f Frontier
		if moved {
			f = g.d.Frontier()
		}
		g.unlock()
		if !moved {
			continue
		}
		last = counts
		if err := g.saved(ctx, f); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

var errSave = errors.New("save the frontier")

func (g *Group) saved(ctx context.Context, f Frontier) error {
	if g.components.Save == nil {
		return nil
	}
	if err := g.components.Save(ctx, f); err != nil {
		return fmt.Errorf("%w: %w", errSave, err)
	}
	return nil
}

// Stats tell what the group does now.
func (g *Group) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.d.Stats()
}

// Work makes the caller a worker, which handles messages until the group is
// over (nil) or ctx ends (its cause); it is asked between two messages. When it
// returns the worker has left, and its slots have gone to others. wants is for
// Declared only.
func (g *Group) Work(ctx context.Context, name string, wants []Slots, handle Handler) error {
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		return nil
	}
	w, err := g.d.Join(name, wants, g.components.Clock.Now())
	if err != nil {
		g.mu.Unlock()
		return err
	}
	g.workers.Add(1)
	defer g.workers.Done()
	g.unlock()
	defer func() {
		g.mu.Lock()
		g.d.Leave(w, g.components.Clock.Now())
		g.unlock()
	}()

	var taken []Delivery
	var answers []Answer
	for {
		g.mu.Lock()
		now := g.components.Clock.Now()
		for i, a := range answers {
			g.answer(taken[i], a, now)
		}
		taken, answers = taken[:0], answers[:0]
		over := g.over
		if !over && ctx.Err() == nil {
			taken = g.d.Take(w, g.settings.Batch, now, taken)
		}
		due, waiting := g.d.Due()
		g.unlock()
		switch {
		case over:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case len(taken) == 0:
			g.rest(ctx, w, due.Sub(now), waiting)
		default:
			answers = g.handleAll(ctx, taken, handle, answers)
		}
	}
}

// rest waits until there may be something for w.
func (g *Group) rest(ctx context.Context, w *Worker, wait time.Duration, waiting bool) {
	var fired <-chan time.Time
	if waiting {
		var stop func() bool
		fired, stop = g.components.Clock.Timer(wait)
		defer stop()
	}
	select {
	case <-w.wake:
	case <-fired:
	case <-g.finished:
	case <-ctx.Done():
	}
}

// handleAll handles a batch. After a message failed the later ones of its slot
// are left untried, for they come after it.
func (g *Group) handleAll(ctx context.Context, taken []Delivery, handle Handler, answers []Answer) []Answer {
	var failed map[Slot]bool
	for _, del := range taken {
		a := Answer{Verdict: Untried}
		if !failed[del.Slot] && ctx.Err() == nil {
			a = handle(ctx, del)
		}
		if a.Verdict != Handled && len(taken) > 1 && !g.settings.AllowOutOfOrder {
			if failed == nil {
				failed = make(map[Slot]bool)
			}
			failed[del.Slot] = true
		}
		answers = append(answers, a)
	}
	return answers
}

// answer passes an answer on. That it came too late is no failure: the message
// is handled again.
func (g *Group) answer(del Delivery, a Answer, now time.Time) {
	switch a.Verdict {
	case Handled:
		_ = g.d.Ack(del)
	case Failed:
		_ = g.d.Retry(del, a.Detail, now)
	case Refused:
		_ = g.d.Reject(del, a.Detail)
	default:
		_ = g.d.Release(del)
	}
}

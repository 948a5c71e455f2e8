package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// live leads a world through its unrest, and to its end.
func (w *world) live() {
	defer w.end()
	if w.calm = w.dice.oneIn(2); w.calm {
		w.start("create", (*actor).create)
		w.finish()
		w.calm = false
	}
	for w.step < w.nature.steps && w.broken == "" {
		if len(w.actors) < w.nature.crowd && w.dice.oneIn(3) {
			job := pick(w.dice, w.nature.jobs...)
			if w.truth.nameless() && w.dice.oneIn(2) {
				job = "create"
			}
			w.begin(job)
		}
		if len(w.late) > 0 && w.dice.oneIn(w.nature.landings) {
			w.land()
		}
		w.turn()
	}
	// Those that are under way come to their end. What is late may still land,
	// and after this it is lost.
	w.calm = true
	w.log("the world is calm")
	for w.turn() {
		if len(w.late) > 0 && w.dice.oneIn(w.nature.landings) {
			w.land()
		}
	}
	for len(w.late) > 0 && w.broken == "" {
		w.land()
	}
	if w.broken != "" {
		return
	}
	// Long after, when no clock is ahead any more, healthy runs end it.
	w.now = w.now.Add(100 * time.Hour)
	if err := w.settle(); err != nil {
		w.fail("in the end: %v", err)
	}
}

// settle runs everybody once more, one after the other, and checks what came
// of all.
func (w *world) settle() error {
	if w.truth.nameless() {
		w.start("create", (*actor).create)
		w.finish()
	}
	t := w.truth.named
	if t == nil {
		return errors.New("the topic cannot be created")
	}
	for _, c := range w.clients {
		if c.kind == plain && c.runs > 0 || c.acked[t.id] == len(c.lines) && w.dice.oneIn(2) {
			continue
		}
		c.runs++
		w.start("ingest", func(a *actor) { a.ingest(c, len(c.lines)) })
		w.finish()
		if w.broken == "" && c.acked[t.id] != len(c.lines) {
			return fmt.Errorf("client %s cannot ingest", c.name)
		}
	}
	// Once for what is left, once for the tombstones of that, and once to see
	// that nothing is left.
	for range 3 {
		w.now = w.now.Add(100 * time.Hour)
		w.start("run", (*actor).compact)
		w.finish()
	}
	if w.broken != "" {
		return nil
	}
	return w.judge(t)
}

// finish lets everybody come to an end.
func (w *world) finish() {
	for w.turn() {
	}
}

// judge checks what is there in the end.
func (w *world) judge(t *topic) error {
	ctx := context.Background()
	topic, err := manifest.Open(ctx, &w.store, topicName, nil)
	if err != nil {
		return err
	}
	m, err := topic.Latest(ctx)
	if err != nil {
		return err
	}
	if m.Version != t.latest().Version || m.Commit != t.latest().Commit {
		return fmt.Errorf("the latest version is %d, want %d", m.Version, t.latest().Version)
	}
	if m.Horizon != m.Last {
		return fmt.Errorf("the horizon is %s, want %s", m.Horizon, m.Last)
	}
	if err := w.clientsHave(t); err != nil {
		return err
	}
	for _, view := range []readerlib.View{readerlib.Raw, readerlib.Compacted} {
		r, err := readerlib.Open(ctx, topic, readerlib.Options{View: view})
		if err != nil {
			return err
		}
		var got []segments.Message
		for m, err := range r.Messages(ctx) {
			if err != nil {
				return err
			}
			got = append(got, m)
		}
		want := t.list(t.latest(), view == readerlib.Compacted)
		if view == readerlib.Compacted {
			// All clocks are past all retention: a tombstone is gone.
			want = slices.DeleteFunc(want, func(w wanted) bool { return w.maybe })
		}
		if err := compare(want, segments.None, got, true); err != nil {
			return fmt.Errorf("view %d: %w", view, err)
		}
	}
	proof, err := compactor.Verify(ctx, topic, m)
	if err != nil {
		return err
	}
	if len(proof.Findings) > 0 {
		return fmt.Errorf("verify: %v", proof.Findings)
	}
	return w.swept(topic, t)
}

// clientsHave checks that what clients were promised is there: the messages of
// those that have succeeded once each, and of the others no more than that.
// That no message is there twice, and that their order is right, was seen when
// they came.
func (w *world) clientsHave(t *topic) error {
	for _, c := range w.clients {
		for i, l := range c.lines {
			for _, o := range l.ops {
				if _, ok := t.places[o.id()]; !ok && i < c.acked[t.id] {
					return fmt.Errorf("%s was acknowledged, and is lost", o.id())
				}
			}
		}
	}
	return nil
}

// swept lets go of all holds, shuts out all jobs but new ones, collects, and
// checks that nothing is left but what the last version names.
func (w *world) swept(topic *manifest.Topic, t *topic) error {
	ctx := context.Background()
	clear(t.held)
	prefix := string(t.id) + "/"
	for _, folder := range []string{"pin/", "tag/"} {
		for e := range w.store.List(ctx, prefix+folder, "") {
			if err := w.store.Delete(ctx, e.Key); err != nil {
				return err
			}
		}
	}
	now := w.now
	if t.latest().MinJob != "" {
		now = now.Add(1000 * time.Hour)
	}
	minJob := manifest.JobID(fmt.Sprintf("J%013d", now.UnixMilli()))
	c, err := topic.PlanCollection(ctx, manifest.Keep{Since: now, Versions: 1, MinJob: minJob})
	if err != nil {
		return err
	}
	change := manifest.Change{Commit: manifest.CommitID(w.mint("C", now)), Job: manifest.JobID(w.mint("J", now)), Now: now}
	if err := c.Commit(ctx, change); err != nil {
		return err
	}
	if err := c.Delete(ctx, func(manifest.Garbage) {}); err != nil {
		return err
	}
	m, err := topic.Latest(ctx)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for m, err := range topic.Versions(ctx) {
		if err != nil {
			return err
		}
		for _, s := range slices.Concat(m.Originals, m.Compacted) {
			named[s.Object], named[s.Index] = true, true
			if s.Dead != nil {
				named[s.Dead.Object] = true
			}
		}
	}
	for e := range w.store.List(ctx, prefix, "") {
		name := strings.TrimPrefix(e.Key, prefix)
		switch folder, _, _ := strings.Cut(name, "/"); folder {
		case "d", "x", "b", "p", "j":
			if !named[name] {
				return fmt.Errorf("%s is left, and no version names it", name)
			}
			delete(named, name)
		case "m":
			if v := number(strings.TrimPrefix(name, "m/")); v < m.ExpiredBefore {
				return fmt.Errorf("version %d is left, of those from %d on", v, m.ExpiredBefore)
			}
		}
	}
	delete(named, "")
	if len(named) > 0 {
		return fmt.Errorf("named, and not there: %v", named)
	}
	return nil
}

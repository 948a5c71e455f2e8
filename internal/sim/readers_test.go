package sim

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// reading is a reader, and what is known of it.
type reading struct {
	*readerlib.Reader
	actor *actor
	topic *manifest.Topic
	truth *topic
	view  readerlib.View
	pin   string // id of its pin, if it holds on to its snapshot
}

// read reads the topic in parts, from a snapshot or from one after the other.
// What it gets is compared with what it must get, message by message.
func (a *actor) read() {
	t, err := manifest.Open(a.ctx, a.store(), topicName, a.pause)
	if err != nil {
		a.done(err)
		return
	}
	r := &reading{actor: a, topic: t, truth: a.truth(t), view: pick(a.dice, readerlib.Raw, readerlib.Compacted)}
	pinned := a.dice.oneIn(a.w.nature.pins)
	r.Reader, err = readerlib.Open(a.ctx, t, readerlib.Options{View: r.view})
	for try := 0; err == nil && pinned; try++ {
		if err = r.hold(); err == nil {
			break
		}
		if !errors.Is(err, manifest.ErrVersionNotFound) || try == 3 {
			break
		}
		a.w.count("read: pin came too late")
		_, err = r.Refresh(a.ctx)
	}
	if err == nil && a.sees(t, r.Snapshot()) {
		err = r.parts()
	}
	if err == nil {
		err = r.letGo()
	}
	if a.dead {
		return
	}
	a.done(err, readerlib.ErrSnapshotExpired, manifest.ErrVersionNotFound)
}

// hold pins the snapshot.
func (r *reading) hold() error {
	a, v := r.actor, r.Snapshot().Version
	id := a.w.mint("R", a.clock())
	if a.w.rules.blindPins {
		key := fmt.Sprintf("%s/pin/%020d/%s", r.topic.ID(), v, id)
		if err := a.store().Put(a.ctx, key, bytes.NewReader(nil)); err != nil {
			return err
		}
	} else if err := r.topic.Pin(a.ctx, v, id); err != nil {
		return err
	}
	if !a.dead {
		r.pin = id
		r.truth.hold(a.w, a.name, "pin "+id, v)
	}
	return nil
}

func (r *reading) letGo() error {
	if r.pin == "" {
		return nil
	}
	id := r.pin
	r.pin = ""
	delete(r.truth.held, "pin "+id)
	return r.topic.Unpin(r.actor.ctx, r.Snapshot().Version, id)
}

// parts reads a part after the other.
func (r *reading) parts() error {
	a := r.actor
	for range 1 + a.dice.IntN(4) {
		// After a failure reading is tried again, from where it was.
		err := r.part(a.dice.IntN(30))
		for try := 0; try < 3 && faulty(err); try++ {
			err = r.part(a.dice.IntN(30))
		}
		if err != nil {
			return err
		}
		if err := r.ask(); err != nil {
			return err
		}
		if a.dice.oneIn(2) {
			continue
		}
		held := r.pin != ""
		if err := r.letGo(); err != nil {
			return err
		}
		moved, err := r.Refresh(a.ctx)
		if err != nil || a.dead {
			return err
		}
		if moved {
			a.w.count("read: refreshed")
			if !a.sees(r.topic, r.Snapshot()) {
				return nil
			}
		}
		if held {
			if err := r.hold(); err != nil {
				return err
			}
		}
	}
	return nil
}

// version is the true version that the reader reads.
func (r *reading) version() *version { return r.truth.chain[r.Snapshot().Version] }

// part reads up to n messages.
func (r *reading) part(n int) error {
	var got []segments.Message
	place := r.Place()
	var failed error
	whole := true
	for m, err := range r.Messages(r.actor.ctx) {
		if err != nil {
			failed = err
			break
		}
		if got = append(got, m.Clone()); len(got) == n {
			whole = false
			break
		}
	}
	if r.actor.dead || r.truth.deleted() {
		return failed
	}
	if err := compare(r.truth.list(r.version(), r.view == readerlib.Compacted), place, got, whole && failed == nil); err != nil {
		r.actor.w.fail("%s reads version %d, view %d, after %s: %v", r.actor.name, r.Snapshot().Version, r.view, place, err)
	}
	if failed == nil && whole {
		r.actor.w.count("read: to the end")
	}
	return r.settle(failed)
}

// settle looks at an error of reading. That a version has expired can only be
// said of one that has, and that is not held.
func (r *reading) settle(err error) error {
	if !errors.Is(err, readerlib.ErrSnapshotExpired) || r.actor.dead || r.truth.deleted() {
		return err
	}
	v := r.version()
	switch {
	case r.pin != "":
		r.actor.w.fail("%s holds version %d, and it has expired: %v", r.actor.name, v.Version, err)
	case v.Version >= r.truth.latest().ExpiredBefore:
		r.actor.w.fail("%s reads version %d, and it has expired, of those from %d on: %v", r.actor.name, v.Version, r.truth.latest().ExpiredBefore, err)
	}
	return err
}

// ask asks for the last message, and for a key.
func (r *reading) ask() error {
	a := r.actor
	if !a.dice.oneIn(3) {
		return nil
	}
	last, err := r.LastMessageID(a.ctx)
	if err != nil {
		return r.settle(err)
	}
	key := fmt.Appendf(nil, "k%d", a.dice.IntN(a.w.nature.keys))
	value, found, err := r.Get(a.ctx, key)
	if err != nil {
		return r.settle(err)
	}
	if a.dead || r.truth.deleted() {
		return nil
	}
	want, maybe := segments.None, false
	for _, w := range r.truth.list(r.version(), r.view == readerlib.Compacted) {
		if w.maybe {
			maybe = true
			continue
		}
		want = w.Position
	}
	if last != want && !(maybe && last.After(want)) {
		a.w.fail("%s: the last message of version %d is %s, want %s", a.name, r.Snapshot().Version, last, want)
	}
	var winner *segments.Message
	for _, w := range r.truth.list(r.version(), true) {
		if bytes.Equal(w.Key, key) {
			winner = w.Message
		}
	}
	if wanted := winner != nil && winner.Kind == segments.KindMessage; found != wanted || found && value.Position != winner.Position {
		a.w.fail("%s: version %d has %s=%s (%v), want %v", a.name, r.Snapshot().Version, key, value.Position, found, winner)
	}
	return nil
}

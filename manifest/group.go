package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrTakenOver says that another process goes on with a group. What it has not
// finished, it will handle; whoever gets this error must stop.
var ErrTakenOver = errors.New("group taken over by another process")

// Group is how far a group of workers is, which lies beside the chain of
// versions, as tags do: a chain of objects that are created once, of which the
// last one counts.
//
//	group/<escaped name>/<n, 20 digits>
//
// A process takes a group over by creating the next object, and goes on
// creating next ones as the group moves on. So of two processes that have the
// same group the one that came first finds its next name taken, and knows.
//
// The objects before the last one are deleted; the last one never is, but with
// the topic. So a name below it may be free again, and a process that slept for
// long may create it. Therefore each looks behind itself after it has written:
//
//	sleeper                   successor
//	has 5
//	(sleeps)                  creates 6, 7 and 8, deletes 5 and 6
//	creates 6
//	lists: 8 is there, so the group was taken over
//
// A Group belongs to one goroutine.
type Group struct {
	topic  *Topic
	name   string
	holder string
	n      uint64
	begun  bool // n is an object
	state  json.RawMessage
}

// wireGroup is the body of a group's object.
type wireGroup struct {
	Format int             `json:"format"`
	Name   string          `json:"group"`
	Holder string          `json:"holder"`          // the process that wrote it
	Save   uint64          `json:"save"`            // how many it had written before
	State  json.RawMessage `json:"state,omitempty"` // missing: the group has none yet
}

// TakeGroup makes the caller the holder of a group, whoever was it before.
// holder is an id of the process that nobody else has. It costs a LIST or two,
// a GET and a PUT.
func (t *Topic) TakeGroup(ctx context.Context, name, holder string) (*Group, error) {
	if err := CheckName(name); err != nil {
		return nil, fmt.Errorf("group: %w", err)
	}
	g := &Group{topic: t, name: name, holder: holder}
	for try := 1; ; try++ {
		if err := g.look(ctx); err != nil {
			return nil, err
		}
		err := g.write(ctx, g.state)
		if !errors.Is(err, ErrTakenOver) {
			return g, err
		}
		if err := t.pause(ctx, try); err != nil {
			return nil, fmt.Errorf("take group %q of topic %q: %w: %w", name, t.Name(), ErrConflict, err)
		}
	}
}

// State is what was saved last; nil if nothing was, ever.
func (g *Group) State() json.RawMessage { return g.state }

// Save makes state what the group goes on from. Its errors are ErrTakenOver;
// ErrTopicNotFound where the topic was deleted; ErrUnknown, after which it can
// be tried again; or the store's own. It costs a PUT, a LIST and a DELETE.
func (g *Group) Save(ctx context.Context, state json.RawMessage) error {
	return g.write(ctx, state)
}

// look finds the last object of the group.
func (g *Group) look(ctx context.Context) error {
	// The last object can be outlived by a newer one between the LIST and its
	// GET. Few turns are enough, as with tags.
	for turn := 0; ; turn++ {
		list, err := g.list(ctx)
		if err != nil || len(list) == 0 {
			g.begun, g.state = false, nil
			return err
		}
		n := list[len(list)-1]
		w, err := g.read(ctx, n)
		if errors.Is(err, objstore.ErrNotFound) && turn < 3 {
			continue
		}
		if err != nil {
			return err
		}
		g.n, g.begun, g.state = n, true, w.State
		return nil
	}
}

// write creates the next object of the group.
func (g *Group) write(ctx context.Context, state json.RawMessage) error {
	next := uint64(0)
	if g.begun {
		next = g.n + 1
	}
	body, err := seal(wireGroup{formatVersion, g.name, g.holder, next, state})
	if err != nil {
		return err
	}
	older := false
	mine, err := claim(ctx, g.topic.store, g.key(next), body, func(got []byte) bool {
		// After an unknown outcome an earlier try of ours, with an older state,
		// may have this name. Then ours is the name after it.
		var w wireGroup
		older = !bytes.Equal(got, body)
		return unseal(got, &w) == nil && w.Holder == g.holder
	}, g.topic.pause)
	if err != nil {
		return fmt.Errorf("save group %q of topic %q: %w", g.name, g.topic.Name(), err)
	}
	if !mine {
		return g.takenOver()
	}
	list, err := g.list(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(list) == 0 || list[len(list)-1] > next:
		return g.takenOver()
	case g.begun && (len(list) < 2 || list[len(list)-2] != g.n):
		// Only with the topic does the last object go. What was just created
		// is in nobody's way.
		_ = g.topic.store.Delete(ctx, g.key(next))
		return errNoTopic(g.topic.Name())
	}
	for _, old := range list[:len(list)-1] {
		// Where this fails it takes space until the next save, and no more.
		_ = g.topic.store.Delete(ctx, g.key(old))
	}
	g.n, g.begun = next, true
	if older {
		return g.write(ctx, state)
	}
	g.state = state
	return nil
}

func (g *Group) takenOver() error {
	return fmt.Errorf("group %q of topic %q: %w", g.name, g.topic.Name(), ErrTakenOver)
}

func (g *Group) folder() string { return g.topic.key("group/" + escapeName(g.name) + "/") }

func (g *Group) key(n uint64) string { return g.folder() + fmt.Sprintf("%020d", n) }

// list lists the numbers of the group's objects, in order.
func (g *Group) list(ctx context.Context) ([]uint64, error) {
	var list []uint64
	for entry, err := range g.topic.store.List(ctx, g.folder(), "") {
		if err != nil {
			return nil, fmt.Errorf("list group %q of topic %q: %w", g.name, g.topic.Name(), err)
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(entry.Key, g.folder()), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list group %q: %s: %w", g.name, entry.Key, segments.ErrCorrupt)
		}
		list = append(list, n)
	}
	return list, nil
}

// maxGroupBytes bounds the object of a group: a frontier of a large look-ahead.
const maxGroupBytes = 64 << 20

func (g *Group) read(ctx context.Context, n uint64) (wireGroup, error) {
	var w wireGroup
	body, err := g.topic.store.Get(ctx, g.key(n), maxGroupBytes)
	if err != nil {
		return w, fmt.Errorf("read group %q of topic %q: %w", g.name, g.topic.Name(), err)
	}
	if err := unseal(body, &w); err != nil {
		return w, fmt.Errorf("%s: %w", g.key(n), err)
	}
	if w.Format < 1 || w.Name != g.name {
		return w, fmt.Errorf("%s: %w: it is of group %q", g.key(n), segments.ErrCorrupt, w.Name)
	}
	return w, nil
}

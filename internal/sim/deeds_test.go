package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// deed is what a command does, on the topic of the sweep. Its answer is what
// the command would print, but for what differs from run to run.
type deed struct {
	name string
	do   func(h *hand) (answer string, err error)

	// Once it is done, doing it once more may end with this.
	then error
}

// hand does deeds on a store. It is one process.
type hand struct {
	ctx   context.Context
	store objstore.Store
	ids   int // of this hand begin above it
}

func (h *hand) id(kind string) string {
	h.ids++
	return fmt.Sprintf("%s%06d", kind, h.ids)
}

var sweepDay = began.Add(240 * time.Hour)

// patience of a commit: six tries.
func sweepPause(ctx context.Context, n int) error {
	if n >= 6 {
		return errors.New("tried often enough")
	}
	return ctx.Err()
}

func (h *hand) open() (*manifest.Topic, error) {
	return manifest.Open(h.ctx, h.store, topicName, sweepPause)
}

// onTopic is a deed on the topic.
func onTopic(do func(h *hand, t *manifest.Topic) (string, error)) func(*hand) (string, error) {
	return func(h *hand) (string, error) {
		t, err := h.open()
		if err != nil {
			return "", err
		}
		return do(h, t)
	}
}

// onReader is a deed of a reader.
func onReader(view readerlib.View, do func(h *hand, r *readerlib.Reader) (string, error)) func(*hand) (string, error) {
	return onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		r, err := readerlib.Open(h.ctx, t, readerlib.Options{View: view})
		if err != nil {
			return "", err
		}
		return do(h, r)
	})
}

func (h *hand) job() compactor.Job {
	j := compactor.Job{ID: manifest.JobID(h.id("J")), Now: sweepDay, Writer: "sweep", Policy: compactor.DefaultPolicy()}
	j.Policy.Parallel = 1
	for range 5 {
		j.Commits = append(j.Commits, manifest.CommitID(h.id("C")))
	}
	return j
}

func (h *hand) change(e manifest.Edit) manifest.Change {
	return manifest.Change{Commit: manifest.CommitID(h.id("C")), Job: manifest.JobID(h.id("J")), Now: sweepDay, Edit: e}
}

func (h *hand) create(name string) error {
	n := manifest.NewTopic{
		Name: name, ID: manifest.TopicID(h.id("T")), Commit: manifest.CommitID(h.id("C")), Now: began,
		Settings: manifest.DefaultSettings(),
	}
	n.Settings.SegmentBytes, n.Settings.BatchBytes = 1<<10, 1<<10
	n.Settings.Retention, n.Settings.TombstoneRetention = 0, manifest.Forever
	n.Settings.MaxDeadShare = 1 // so that there are dead rows
	_, err := manifest.Create(h.ctx, h.store, n, sweepPause)
	return err
}

func (h *hand) ingest(t *manifest.Topic, lines string) (string, error) {
	r, err := ingest.Run(h.ctx, t, strings.NewReader(lines),
		ingest.Settings{Now: sweepDay, Job: manifest.JobID(h.id("J")), Writer: "sweep"},
		ingest.Components{NewCommit: func() manifest.CommitID { return manifest.CommitID(h.id("C")) }, Pause: sweepPause})
	return fmt.Sprint(r.Messages), err
}

func (h *hand) compact(t *manifest.Topic) (string, error) {
	r, err := compactor.Run(h.ctx, t, nil, h.job())
	if err == nil && r.State == compactor.StateQuarantined {
		err = compactor.ErrQuarantined
	}
	return fmt.Sprintf("%s %s %+v", r.State, r.Horizon, r.Report), err
}

func (h *hand) trim(t *manifest.Topic) (string, error) {
	r, err := compactor.Trim(h.ctx, t, h.job())
	return fmt.Sprintf("%s %s", r.State, r.FirstRetained), err
}

// sweepLines are messages of some keys, with what an ingest has need of to know
// them again.
func sweepLines(from, to int) string {
	var b strings.Builder
	for n := from; n < to; n++ {
		value := fmt.Sprintf("%q", fmt.Sprint(n, strings.Repeat("-", 40*(n%9))))
		if n%7 == 6 {
			value = "null"
		}
		key := n % 11
		if n%2 == 1 {
			key = n // that nobody else has
		}
		fmt.Fprintf(&b, `{"key":"k%d","value":%s,"producer":"p","sequence":"%d"}`+"\n", key, value, n)
	}
	return b.String()
}

// sweepStart is the store that each deed begins with: a topic with compacted
// segments, dead rows, a tag, ledgers to trim, versions to collect, and
// originals to fold.
func sweepStart() (*mem.Store, error) {
	s := new(mem.Store)
	h := &hand{ctx: context.Background(), store: s}
	if err := h.create(topicName); err != nil {
		return nil, err
	}
	t, err := h.open()
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { _, err := h.ingest(t, sweepLines(0, 20)); return err },
		func() error { _, err := h.compact(t); return err },
		func() error { return t.Tag(h.ctx, "first", 1, false) },
		func() error { _, err := h.ingest(t, sweepLines(20, 34)); return err },
		func() error { _, err := h.compact(t); return err },
		func() error { return t.Tag(h.ctx, "moved", 3, false) },
		func() error { _, err := h.ingest(t, sweepLines(34, 50)); return err },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// copyOf is another store with the same objects.
func copyOf(s *mem.Store) *mem.Store {
	ctx := context.Background()
	c := new(mem.Store)
	for e, err := range s.List(ctx, "", "") {
		if err == nil {
			var b []byte
			if b, err = s.Get(ctx, e.Key, e.Bytes); err == nil {
				err = c.Put(ctx, e.Key, bytes.NewReader(b))
			}
		}
		if err != nil {
			panic(err)
		}
	}
	return c
}

// stateOf is what is to be seen of a store, in text: its names, and of the
// topic the messages of both views, the settings and the tags.
func stateOf(s *mem.Store) (string, error) {
	h := &hand{ctx: context.Background(), store: s}
	var b strings.Builder
	for name, err := range manifest.Names(h.ctx, s) {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, name)
	}
	t, err := h.open()
	if errors.Is(err, manifest.ErrTopicNotFound) {
		return b.String(), nil
	}
	if err != nil {
		return "", err
	}
	m, err := t.Latest(h.ctx)
	if err != nil {
		return "", err
	}
	tags, err := t.Tags(h.ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&b, m.Settings, tags, m.Horizon, m.Quarantined)
	for _, view := range []readerlib.View{readerlib.Raw, readerlib.Compacted} {
		all, err := onReader(view, messages(said))(h)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, view, all)
	}
	proof, err := compactor.Verify(h.ctx, t, m)
	if err == nil && len(proof.Findings) > 0 {
		err = fmt.Errorf("verify finds %v", proof.Findings)
	}
	return b.String(), err
}

func said(m segments.Message) string {
	return fmt.Sprintf("%d:%s=%s", m.Sequence.V, m.Key, m.Value)
}

func placed(m segments.Message) string { return m.Position.String() + " " + said(m) }

func messages(text func(segments.Message) string) func(*hand, *readerlib.Reader) (string, error) {
	return func(h *hand, r *readerlib.Reader) (string, error) {
		var all []string
		for m, err := range r.Messages(h.ctx) {
			if err != nil {
				return "", err
			}
			all = append(all, text(m))
		}
		return strings.Join(all, "\n"), nil
	}
}

// deeds are what is swept.
var deeds = []deed{
	{name: "create", then: manifest.ErrTopicExists, do: func(h *hand) (string, error) { return "", h.create("other") }},
	{name: "ingest", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) { return h.ingest(t, sweepLines(44, 80)) })},
	{name: "run", do: onTopic((*hand).compact)},
	{name: "trim", do: onTopic((*hand).trim)},
	{name: "gc", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		keep := manifest.Keep{Since: sweepDay.Add(time.Hour), Versions: 1, MinJob: manifest.JobID(h.id("J"))}
		c, err := t.PlanCollection(h.ctx, keep)
		if err == nil {
			err = c.Commit(h.ctx, h.change(nil))
		}
		if err == nil {
			err = c.Delete(h.ctx, func(manifest.Garbage) {})
		}
		return "", err
	})},
	{name: "delete", then: manifest.ErrTopicNotFound, do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		return "", t.Delete(h.ctx, h.change(nil))
	})},
	{name: "tag", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) { return "", t.Tag(h.ctx, "new", 3, false) })},
	{name: "tag --move", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) { return "", t.Tag(h.ctx, "moved", 4, true) })},
	{name: "set", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		m, err := t.Latest(h.ctx)
		if err != nil {
			return "", err
		}
		now := m.Settings
		now.MaxDeadShare = 0.25
		if now == m.Settings {
			return "", nil
		}
		_, err = t.Commit(h.ctx, h.change(manifest.Set{Was: m.Settings, Now: now}))
		return "", err
	})},
	{name: "verify", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		m, err := t.Latest(h.ctx)
		if err != nil {
			return "", err
		}
		proof, err := compactor.Verify(h.ctx, t, m)
		if err == nil && len(proof.Findings) > 0 {
			err = fmt.Errorf("%w: %v", segments.ErrCorrupt, proof.Findings)
		}
		return fmt.Sprint(proof), err
	})},
	{name: "topics", do: func(h *hand) (string, error) {
		var names []string
		for name, err := range manifest.Names(h.ctx, h.store) {
			if err != nil {
				return "", err
			}
			names = append(names, name)
		}
		return fmt.Sprint(names), nil
	}},
	{name: "versions", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		var list []string
		for m, err := range t.Versions(h.ctx) {
			if err != nil {
				return "", err
			}
			list = append(list, fmt.Sprint(m.Version, m.Kind))
		}
		tags, err := t.Tags(h.ctx)
		return fmt.Sprint(list, tags), err
	})},
	{name: "read", do: onReader(readerlib.Raw, messages(placed))},
	{name: "read --compacted", do: onReader(readerlib.Compacted, messages(placed))},
	{name: "get", do: onReader(readerlib.Compacted, func(h *hand, r *readerlib.Reader) (string, error) {
		var keys [][]byte
		for n := range 12 {
			keys = append(keys, fmt.Append(nil, "k", n))
		}
		found, err := r.GetMany(h.ctx, keys)
		var list []string
		for _, m := range found {
			list = append(list, fmt.Sprint(m.Valid, placed(m.V)))
		}
		return strings.Join(list, "\n"), err
	})},
	{name: "last-message-id, has-message", do: onReader(readerlib.Compacted, func(h *hand, r *readerlib.Reader) (string, error) {
		last, err := r.LastMessageID(h.ctx)
		if err != nil {
			return "", err
		}
		has, err := r.HasMessageAvailable(h.ctx)
		return fmt.Sprint(last, has), err
	})},
	{name: "fetch", do: onReader(readerlib.Raw, func(h *hand, r *readerlib.Reader) (string, error) {
		got, err := r.Fetch(h.ctx, segments.At(0, 0), segments.At(9, 0))
		if err != nil {
			return "", err
		}
		for _, f := range got.Failed {
			err = errors.Join(err, f.Err)
		}
		return fmt.Sprintf("%+v", got), err
	})},
	{name: "changes", do: onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		var list []string
		for c, err := range readerlib.Changes(h.ctx, t, 2, 5) {
			if err != nil {
				return "", err
			}
			list = append(list, fmt.Sprint(placed(c.Message), c.Deleted))
		}
		slices.Sort(list)
		return strings.Join(list, "\n"), nil
	})},
}

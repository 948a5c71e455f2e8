package manifest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

func (Collect) kind() string { return "collect" }

func (e Collect) apply(m *Manifest) error {
	if e.ExpiredBefore > m.Version {
		return fmt.Errorf("%w: it expires itself", ErrInvariant)
	}
	m.ExpiredBefore = max(m.ExpiredBefore, e.ExpiredBefore)
	m.MinJob = max(m.MinJob, e.MinJob)
	m.Fenced = slices.DeleteFunc(slices.Clone(m.Fenced), func(j JobID) bool { return j < m.MinJob })
	return nil
}

// Keep says what a collection must leave.
type Keep struct {
	// Versions that were the newest at or after Since are kept, and so are the
	// newest Versions ones, of which there is at least one.
	Since    time.Time
	Versions int

	// Jobs from MinJob on may still commit what they have put. Those before it
	// are shut out.
	MinJob JobID
}

// Garbage is an object that a collection deletes, and why.
type Garbage struct {
	Key    string // below the topic's folder
	Bytes  int64
	Reason Reason
}

// Reason says why an object is garbage.
type Reason string

// The reasons.
const (
	ReasonExpired  Reason = "named by expired versions only"
	ReasonFenced   Reason = "named by no version, and its job may not commit any more"
	ReasonManifest Reason = "an expired version"
)

// Collection is a garbage collection of one topic: what it expires, and what
// it deletes.
//
// An object goes when no kept version names it and none ever will:
//
//	an expired version named it   it was committed, and a commit names only
//	                              what the version before it names, or what
//	                              its own job has put
//	its job is shut out           whatever it has put can never be committed
//
// What lies at the name of an expired version is not proof of that alone. Where
// a collection has freed the name, a write that was long on its way may have
// landed there; and who sent it may have gone on meanwhile, and be about to
// commit the same objects at another name. So each version must be the parent
// of the one after it, from a kept one backwards, or be among the commits that
// the latest version remembers. What others name waits until its job is shut
// out.
//
// How old an object is says nothing: an upload may be slow, and a clock wrong.
// A clock only chooses which jobs are shut out; a wrong choice costs a job
// that must run again, never data.
//
// The order of things is what makes it safe at every moment to stop, or to be
// overtaken:
//
//	commit    versions expire, jobs are shut out
//	list      tags and pins, which were written before their holders looked at
//	          the latest version: they see the commit or are seen here
//	delete    data, while the versions that named it are still there to tell
//	floor     the names of the expired versions are about to be free
//	delete    the expired versions
//
// A collection that stopped anywhere is finished by the next one.
type Collection struct {
	topic  *Topic
	latest *Manifest // at or after the commit
	before Version   // what lies below it is expired
	minJob JobID
}

// ExpiredBefore is the first version that is kept for its own sake.
func (c *Collection) ExpiredBefore() Version { return c.before }

// PlanCollection looks what a collection would do, and changes nothing.
func (t *Topic) PlanCollection(ctx context.Context, keep Keep) (*Collection, error) {
	latest, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	before := latest.ExpiredBefore
	switch newest, err := t.AsOf(ctx, keep.Since); {
	case errors.Is(err, ErrVersionNotFound):
		// All of them are younger.
	case err != nil:
		return nil, err
	default:
		before = max(before, newest.Version)
	}
	// A collection's own versions say nothing new about the topic, so they do
	// not count: else each would expire the one before it, for ever.
	content := latest
	for content.Kind == (Collect{}).kind() && content.Version > latest.ExpiredBefore {
		if content, err = t.load(ctx, content.Version-1); err != nil {
			return nil, err
		}
	}
	before = min(before, content.Version)
	if n := Version(max(keep.Versions, 1)); content.Version+1 >= n {
		before = min(before, content.Version+1-n)
	} else {
		before = 0
	}
	before = max(before, latest.ExpiredBefore)
	return &Collection{t, latest, before, max(keep.MinJob, latest.MinJob)}, nil
}

// Commit makes the plan binding, by a version of its own if a version expires,
// or a job is to be shut out that has left garbage. It must have succeeded
// before Delete.
func (c *Collection) Commit(ctx context.Context, change Change) error {
	if c.before == c.latest.ExpiredBefore {
		needed, err := c.shutsOutAny(ctx)
		if err != nil {
			return err
		}
		if !needed {
			c.minJob = c.latest.MinJob
			return nil
		}
	}
	change.Edit = Collect{ExpiredBefore: c.before, MinJob: c.minJob}
	m, err := c.topic.Commit(ctx, change)
	if err != nil {
		return err
	}
	c.latest = m
	return nil
}

// shutsOutAny reports whether something goes only if its job is shut out now.
func (c *Collection) shutsOutAny(ctx context.Context) (bool, error) {
	if c.minJob == c.latest.MinJob {
		return false, nil
	}
	for g, err := range c.Garbage(ctx) {
		if err != nil || g.Reason == ReasonFenced {
			return err == nil, err
		}
	}
	return false, nil
}

// Garbage yields what is to be deleted. It holds the names of all objects that
// the topic's manifests name, but no more than that.
func (c *Collection) Garbage(ctx context.Context) iter.Seq2[Garbage, error] {
	return func(yield func(Garbage, error) bool) {
		kept, expired, old, err := c.survey(ctx)
		if err != nil {
			yield(Garbage{}, err)
			return
		}
		for _, folder := range []string{"d/", "x/", "b/", "p/", "j/"} {
			for entry, err := range c.topic.store.List(ctx, c.topic.key(folder), "") {
				if err != nil {
					yield(Garbage{}, fmt.Errorf("collect topic %q: %w", c.topic.Name(), err))
					return
				}
				key := strings.TrimPrefix(entry.Key, c.topic.key(""))
				g := Garbage{Key: key, Bytes: entry.Bytes}
				switch {
				case kept[key]:
					continue
				case expired[key]:
					g.Reason = ReasonExpired
				case c.shutOut(key):
					g.Reason = ReasonFenced
				default:
					continue
				}
				if !yield(g, nil) {
					return
				}
			}
		}
		for _, entry := range old {
			g := Garbage{Key: strings.TrimPrefix(entry.Key, c.topic.key("")), Bytes: entry.Bytes, Reason: ReasonManifest}
			if !yield(g, nil) {
				return
			}
		}
	}
}

// Delete deletes what Garbage yields, and tells each of it.
func (c *Collection) Delete(ctx context.Context, tell func(Garbage)) error {
	floor := false
	for g, err := range c.Garbage(ctx) {
		if err == nil && g.Reason == ReasonManifest && !floor {
			err = c.topic.raise(ctx, c.before)
			floor = true
		}
		if err == nil {
			err = c.topic.unlink(ctx, c.topic.key(g.Key))
		}
		if err != nil {
			return fmt.Errorf("collect topic %q: %w", c.topic.Name(), err)
		}
		tell(g)
	}
	return nil
}

// surveyed is what of an expired version decides what becomes of its objects.
type surveyed struct {
	version        Version
	commit, parent CommitID
	names          []string
}

// survey finds the objects that kept versions name, those that expired ones
// name, and the expired versions themselves.
func (c *Collection) survey(ctx context.Context) (kept, expired map[string]bool, old []objstore.Entry, err error) {
	held, err := c.topic.Held(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	kept, expired = make(map[string]bool), make(map[string]bool)
	parents := make(map[Version]CommitID) // what the version after each is made from
	var gone []surveyed
	next := c.before // to be listed
	for entry, err := range c.topic.store.List(ctx, c.topic.key("m/"), "") {
		if err != nil {
			return nil, nil, nil, err
		}
		v, err := c.topic.versionOf(entry.Key)
		if err != nil {
			return nil, nil, nil, err
		}
		if v == next {
			next++
		}
		keep := v >= c.before || slices.Contains(held, v)
		if !keep {
			old = append(old, entry)
		}
		m, err := c.topic.load(ctx, v)
		if errors.Is(err, ErrMissing) && !keep {
			// Its parts went in a collection that stopped half-way; parts go
			// last, so all else that it named had gone before.
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		var names []string
		for object := range m.objects() {
			names = append(names, object)
		}
		for _, ref := range c.topic.partsOf(m.Commit) {
			names = append(names, ref.Object)
		}
		if !keep {
			gone = append(gone, surveyed{v, m.Commit, m.Parent, names})
			continue
		}
		if v > 0 {
			parents[v-1] = m.Parent
		}
		for _, name := range names {
			kept[name] = true
		}
	}
	if next <= c.latest.Version {
		// What a version names that is not listed would seem to be nobody's.
		return nil, nil, nil, fmt.Errorf("%w: version %d is not there, unless the listing lacks it", ErrConflict, next)
	}
	for _, s := range slices.Backward(gone) {
		if parents[s.version] != s.commit && !c.latest.contains(s.commit) {
			continue // it may be no version (see Collection)
		}
		if s.version > 0 {
			parents[s.version-1] = s.parent
		}
		for _, name := range s.names {
			expired[name] = true
		}
	}
	return kept, expired, old, nil
}

// shutOut reports whether the job that put an object may not commit any more.
func (c *Collection) shutOut(key string) bool {
	folders := strings.Split(key, "/")
	if len(folders) != 3 {
		return false
	}
	job := JobID(folders[1])
	return job < c.minJob || slices.Contains(c.latest.Fenced, job)
}

// objects yields what m names, but for its parts.
func (m *Manifest) objects() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range [][]Segment{m.Originals, m.Compacted} {
			for i := range list {
				s := &list[i]
				if s.Object == "" {
					continue
				}
				if !yield(s.Object) || !yield(s.Index) || s.Dead != nil && !yield(s.Dead.Object) {
					return
				}
			}
		}
	}
}

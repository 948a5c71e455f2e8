package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Change is one attempt to change a topic. Commit is its own; Job is the
// folder its objects lie in.
type Change struct {
	Commit CommitID
	Job    JobID
	Now    time.Time
	Edit   Edit
}

// Commit makes the next version of the topic from its latest by c, rebasing
// over whatever else was committed that does not conflict. It returns the
// version that c made or, where that is no longer kept, a later one, which has
// another Commit. Its errors are ErrConflict, ErrFenced, ErrTopicNotFound
// (nothing was committed and never will be: c's objects may be deleted);
// ErrUnknown (it may have been committed, or may be yet: nothing may be
// deleted); or the store's own from before anything was written.
//
// A version is an object that is created once, at the name of its number, so
// of all who want a number one gets it (see claim). The others make their
// edits again from what that one made.
//
// There is one way to be told of a success that is none. A collection frees
// the names of old versions, and a committer that slept for long may create
// such a name anew:
//
//	committer            collector
//	reads version 4
//	(sleeps)             versions 5 ... 9 are committed by others
//	                     floor/6 is written, then m/5 is deleted
//	creates m/5
//
// So after each success the floor is looked at, which was written before any
// name below it was freed. If the name lies below it, what was written there
// is no version.
func (t *Topic) Commit(ctx context.Context, c Change) (*Manifest, error) {
	if err := t.checkWriter(); err != nil {
		return nil, err
	}
	base, err := t.latest(ctx)
	if err != nil {
		return nil, err
	}
	newPart := 0
	for n := 1; ; n++ {
		if base.contains(c.Commit) {
			return t.committed(ctx, base, c.Commit)
		}
		next, err := Apply(base, c)
		if err != nil {
			return nil, err
		}
		enc, err := encode(next, t.partsOf(base.Commit), func(i int) string {
			return partKey(c.Commit, c.Job, newPart+i)
		})
		if err != nil {
			return nil, fmt.Errorf("commit topic %q: %w", t.Name(), err)
		}
		newPart += len(enc.parts)
		for _, p := range enc.parts {
			if err := t.Put(ctx, p.ref.Object, bytes.NewReader(p.body)); err != nil {
				return nil, fmt.Errorf("commit topic %q: %w", t.Name(), err)
			}
		}
		mine, err := claim(ctx, t.store, t.versionKey(next.Version), enc.body, func(got []byte) bool {
			return commitOf(got) == c.Commit
		}, t.pause)
		if err != nil {
			return nil, fmt.Errorf("commit topic %q: %w", t.Name(), err)
		}
		if mine {
			t.remember(next.Commit, enc.refs)
			if err := t.checkFloor(ctx, next); err != nil {
				return nil, err
			}
			return next, nil
		}
		pauseErr := t.pause(ctx, n)
		if base, err = t.latest(ctx); err != nil {
			return nil, err
		}
		// That somebody else's version lies there is no proof of a defeat: this
		// one may have been there before, and its name have been freed.
		switch in := base.contains(c.Commit); {
		case in:
		case base.ExpiredBefore > next.Version && base.Version-next.Version > recentCommits:
			return nil, fmt.Errorf("commit topic %q: %w: version %d is no longer kept", t.Name(), ErrUnknown, next.Version)
		case pauseErr != nil:
			return nil, fmt.Errorf("commit topic %q: lost %d races: %w: %w", t.Name(), n, ErrConflict, pauseErr)
		}
	}
}

// committed finds the version that commit c made, which is an ancestor of
// latest or latest itself. Where it is no longer kept, that it is in is what
// counts, and latest is as good.
func (t *Topic) committed(ctx context.Context, latest *Manifest, c CommitID) (*Manifest, error) {
	m := latest
	for m.Commit != c {
		parent, err := t.load(ctx, m.Version-1)
		if errors.Is(err, ErrVersionNotFound) {
			return latest, nil
		}
		if err != nil {
			return nil, err
		}
		if parent.Commit != m.Parent {
			return latest, nil // its name was freed, and somebody has slept
		}
		m = parent
	}
	return m, nil
}

// checkFloor finds out whether made, just created, is a version.
func (t *Topic) checkFloor(ctx context.Context, made *Manifest) error {
	floor, err := t.floorAbove(ctx, made.Version)
	if err != nil {
		// It was created. What is not known is whether its name was old.
		return fmt.Errorf("commit topic %q: %w: %w", t.Name(), ErrUnknown, err)
	}
	switch floor {
	case 0:
		return nil
	case floorOfDeleted:
		return t.withdraw(ctx, made, errNoTopic(t.Name()))
	}
	latest, err := t.latest(ctx)
	if errors.Is(err, ErrTopicNotFound) {
		return t.withdraw(ctx, made, err)
	}
	if err != nil {
		return fmt.Errorf("commit topic %q: %w: %w", t.Name(), ErrUnknown, err)
	}
	if latest.Version == made.Version && latest.Commit == made.Commit {
		// The topic was deleted, versions and all, and this is the only one.
		return t.withdraw(ctx, made, errNoTopic(t.Name()))
	}
	if latest.contains(made.Commit) {
		return nil // an earlier try of the same commit was in time
	}
	if latest.Version-made.Version > recentCommits {
		return fmt.Errorf("commit topic %q: %w: version %d is no longer kept", t.Name(), ErrUnknown, made.Version)
	}
	return t.withdraw(ctx, made, fmt.Errorf("commit topic %q: %w: version %d is no longer kept", t.Name(), ErrConflict, made.Version))
}

// withdraw removes what made left at a name that was old, and returns why.
func (t *Topic) withdraw(ctx context.Context, made *Manifest, why error) error {
	if made.Deleted {
		// This may be the end itself, which others have seen, and have gone on
		// from to free the names. It must stay for as long as the topic has its
		// name (see remove).
		return why
	}
	// Left there, it wastes an object and misleads nobody: no version below
	// the floor is read.
	_ = t.store.Delete(ctx, t.versionKey(made.Version))
	return why
}

// Floors lie at floor/<version, 20 digits>: names of versions below it may
// have been freed. The highest counts.

func (t *Topic) floorKey(v Version) string { return t.key(fmt.Sprintf("floor/%020d", v)) }

// raise writes the floor. It must have succeeded before the name of any
// version below v is freed.
func (t *Topic) raise(ctx context.Context, v Version) error {
	err := t.store.Put(ctx, t.floorKey(v), bytes.NewReader(nil))
	if err != nil && !errors.Is(err, objstore.ErrExists) {
		return fmt.Errorf("raise the floor of topic %q to %d: %w", t.Name(), v, err)
	}
	return nil
}

// floorOfDeleted is the floor of a topic that was deleted. Who slept through
// that may create versions at names that are free again, and others who had
// opened the topic before may go on from those; none of them is a version.
const floorOfDeleted Version = math.MaxUint64

// floorAbove is the floor if it lies above v, and 0 if it does not.
func (t *Topic) floorAbove(ctx context.Context, v Version) (Version, error) {
	floor := Version(0)
	for entry, err := range t.store.List(ctx, t.key("floor/"), t.floorKey(v)) {
		var n uint64
		if err == nil {
			n, err = strconv.ParseUint(strings.TrimPrefix(entry.Key, t.key("floor/")), 10, 64)
		}
		if err != nil {
			return 0, fmt.Errorf("read the floor of topic %q: %w", t.Name(), err)
		}
		floor = Version(n)
	}
	return floor, nil
}

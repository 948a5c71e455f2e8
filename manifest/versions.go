package manifest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Versions lie at m/<version, 20 digits>, so the order of keys is the order of
// versions and one LIST finds the newest.

func (t *Topic) versionKey(v Version) string { return t.key(fmt.Sprintf("m/%020d", v)) }

// Latest is the newest version, at the cost of a LIST and a GET, and a GET for
// each manifest part that was not read before. Its error is ErrTopicNotFound
// where the topic was deleted.
func (t *Topic) Latest(ctx context.Context) (*Manifest, error) {
	m, err := t.latest(ctx)
	if err == nil && m.Deleted {
		return nil, errNoTopic(t.Name())
	}
	return m, err
}

// latest is Latest, with the end of a deleted topic too.
func (t *Topic) latest(ctx context.Context) (*Manifest, error) {
	// A version can be collected between the LIST and the GET. Then there is a
	// newer one, so few turns are enough.
	for turn := 0; ; turn++ {
		v, err := t.lastVersion(ctx)
		if err != nil {
			return nil, err
		}
		m, err := t.load(ctx, v)
		if errors.Is(err, ErrVersionNotFound) && turn < 3 {
			continue
		}
		return m, err
	}
}

// lastVersion is the number of the newest version.
func (t *Topic) lastVersion(ctx context.Context) (Version, error) {
	t.mu.Lock()
	after := ""
	if t.seen > 0 {
		after = t.versionKey(t.seen - 1)
	}
	t.mu.Unlock()
	last, found := Version(0), false
	for v, err := range t.listVersions(ctx, after) {
		if err != nil {
			return 0, err
		}
		last, found = v, true
	}
	switch {
	case found:
		t.mu.Lock()
		t.seen = last
		t.mu.Unlock()
		return last, nil
	case after == "":
		return 0, errNoTopic(t.Name())
	}
	// All that this Topic had seen is gone, as it is when the topic is deleted.
	t.mu.Lock()
	t.seen = 0
	t.mu.Unlock()
	return t.lastVersion(ctx)
}

// listVersions yields the numbers of the versions that are there, and sort
// after the key after, in order.
func (t *Topic) listVersions(ctx context.Context, after string) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		prefix, last := t.key("m/"), ""
		for entry, err := range t.store.List(ctx, prefix, after) {
			if err != nil {
				yield(0, fmt.Errorf("list versions of topic %q: %w", t.Name(), err))
				return
			}
			v, err := t.versionOf(entry.Key)
			if err == nil && entry.Key <= last {
				err = fmt.Errorf("list versions of topic %q: %s is listed after %s: %w", t.Name(), entry.Key, last, segments.ErrCorrupt)
			}
			last = entry.Key
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// versionOf is the version that lies at a key.
func (t *Topic) versionOf(key string) (Version, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(key, t.key("m/")), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("list versions of topic %q: %s: %w", t.Name(), key, segments.ErrCorrupt)
	}
	return Version(v), nil
}

// At is version v. Its error is ErrVersionNotFound where there was none, or it
// is no longer kept.
func (t *Topic) At(ctx context.Context, v Version) (*Manifest, error) {
	latest, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if v == latest.Version {
		return latest, nil
	}
	if v > latest.Version {
		return nil, t.errNoVersion(v)
	}
	if kept, err := t.kept(ctx, latest, v); err != nil || !kept {
		return nil, errors.Join(t.errNoVersion(v), err)
	}
	return t.load(ctx, v)
}

// AsOf is the version that was the newest at a time. Its error is
// ErrVersionNotFound where there was none yet, or it is no longer kept.
func (t *Topic) AsOf(ctx context.Context, at time.Time) (*Manifest, error) {
	latest, err := t.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if !latest.Time.After(at) {
		return latest, nil
	}
	var there []Version
	for v, err := range t.listVersions(ctx, "") {
		if err != nil {
			return nil, err
		}
		if v >= latest.ExpiredBefore && v <= latest.Version {
			there = append(there, v)
		}
	}
	// Times never go back from one version to the next, so this is a search.
	var found *Manifest
	var loadErr error
	sort.Search(len(there), func(i int) bool {
		if loadErr != nil {
			return true
		}
		m, err := t.load(ctx, there[i])
		if err != nil {
			loadErr = err
			return true
		}
		if m.Time.After(at) {
			return true
		}
		found = m
		return false
	})
	if loadErr != nil {
		return nil, loadErr
	}
	if found == nil {
		return nil, fmt.Errorf("topic %q as of %s: %w", t.Name(), at.UTC().Format(time.RFC3339), ErrVersionNotFound)
	}
	return found, nil
}

// Versions yields the versions that can still be read, oldest first.
func (t *Topic) Versions(ctx context.Context) iter.Seq2[*Manifest, error] {
	return func(yield func(*Manifest, error) bool) {
		latest, err := t.Latest(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for v, err := range t.listVersions(ctx, "") {
			if err != nil {
				yield(nil, err)
				return
			}
			kept, err := t.kept(ctx, latest, v)
			if err == nil && !kept {
				continue
			}
			var m *Manifest
			if err == nil {
				m, err = t.load(ctx, v)
			}
			if errors.Is(err, ErrVersionNotFound) {
				if err = t.collected(ctx, v); err == nil {
					continue
				}
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// collected makes sure that a version which was listed, and is not there, went
// in a collection. Otherwise it is lost, which is not to be passed over.
func (t *Topic) collected(ctx context.Context, v Version) error {
	latest, err := t.Latest(ctx)
	if err == nil && v >= latest.ExpiredBefore {
		err = fmt.Errorf("topic %q version %d: %w", t.Name(), v, ErrMissing)
	}
	return err
}

// kept reports whether version v of a topic whose newest is latest can be
// read: what lies at the name of a version that is no longer kept need not be
// that version (see commit.go), unless a tag or a pin has held on to it.
func (t *Topic) kept(ctx context.Context, latest *Manifest, v Version) (bool, error) {
	if v >= latest.ExpiredBefore {
		return v <= latest.Version, nil
	}
	held, err := t.Held(ctx)
	return slices.Contains(held, v), err
}

func (t *Topic) errNoVersion(v Version) error {
	return fmt.Errorf("topic %q version %d: %w", t.Name(), v, ErrVersionNotFound)
}

// load reads a version and its parts.
func (t *Topic) load(ctx context.Context, v Version) (*Manifest, error) {
	key := t.versionKey(v)
	body, err := t.store.Get(ctx, key, maxManifestBytes)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, t.errNoVersion(v)
	}
	if err != nil {
		return nil, fmt.Errorf("load topic %q: %w", t.Name(), err)
	}
	m, refs, err := decode(body, func(ref partRef) ([]byte, error) { return t.readPart(ctx, ref) })
	if err != nil {
		return nil, fmt.Errorf("load topic %q: %s: %w", t.Name(), key, err)
	}
	if m.Topic != t.id || m.Version != v {
		return nil, fmt.Errorf("load topic %q: %s: %w: it is version %d of %s", t.Name(), key, segments.ErrCorrupt, m.Version, m.Topic)
	}
	t.remember(m.Commit, refs)
	return m, nil
}

// partsKept bounds how many parts, and the parts of how many versions, a Topic
// remembers.
const partsKept = 1024

func (t *Topic) readPart(ctx context.Context, ref partRef) ([]byte, error) {
	t.mu.Lock()
	body := t.parts[ref.SHA256]
	t.mu.Unlock()
	if body != nil {
		return body, nil
	}
	body, err := t.get(ctx, ref.Object, ref.Bytes)
	if err != nil {
		return nil, err
	}
	if err := checkDigest(ref.Object, body, ref.SHA256); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil || len(t.parts) >= partsKept {
		t.parts = make(map[string][]byte)
	}
	t.parts[ref.SHA256] = body
	return body, nil
}

// remember keeps the parts of a version, which its next version may reuse.
func (t *Topic) remember(c CommitID, refs []partRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refs == nil || len(t.refs) >= partsKept {
		t.refs = make(map[CommitID][]partRef)
	}
	t.refs[c] = refs
}

func (t *Topic) partsOf(c CommitID) []partRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refs[c]
}

package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// The outcomes that a caller may act on; all are told apart with errors.Is.
var (
	// ErrTopicNotFound says that there is no such topic (any more).
	ErrTopicNotFound = errors.New("topic not found")
	// ErrTopicExists says that the name is taken.
	ErrTopicExists = errors.New("topic exists")
	// ErrTopicName says that a text cannot be the name of a topic.
	ErrTopicName = errors.New("bad topic name")
	// ErrVersionNotFound says that there is no such version (any more).
	ErrVersionNotFound = errors.New("version not found")
	// ErrTagNotFound and ErrTagExists are about names of versions.
	ErrTagNotFound = errors.New("tag not found")
	ErrTagExists   = errors.New("tag exists")
	// ErrConflict says that an edit was not committed and never will be: what
	// it was made from has changed. Plan again from the latest version.
	ErrConflict = errors.New("overtaken by another commit")
	// ErrUnknown says that an edit may have been committed, or may still be.
	// What it names must not be deleted; the next run finds out by itself.
	ErrUnknown = errors.New("commit outcome unknown")
	// ErrUnsupported says that the topic needs a newer program.
	ErrUnsupported = errors.New("written by a newer version of ledgerfold")
	// ErrFenced says that the job was shut out by a collection.
	ErrFenced = errors.New("job fenced by a collection")
	// ErrInvariant says that an edit would make a manifest that cannot be.
	ErrInvariant = errors.New("manifest invariant broken")
	// ErrMissing says that an object that a manifest names is not there.
	ErrMissing = errors.New("object named by the manifest is missing")
)

// Topic is a named log in a store. It is safe for concurrent use.
type Topic struct {
	store  objstore.Store
	pause  Pause
	slot   nameSlot
	id     TopicID
	hasher segments.Hasher

	writerRequired []string // features that a writer must know, from the format object

	mu    sync.Mutex
	seen  Version           // a version that exists, to start listings from
	parts map[string][]byte // bodies of manifest parts by object, checked
	refs  map[CommitID][]partRef
}

// Pause waits before try number n (from 1) of a commit whose outcome is not
// known yet, or that lost a race. It ends early with an error when ctx ends or
// there is no use in going on.
type Pause func(ctx context.Context, n int) error

// NewTopic is what Create makes a topic of.
type NewTopic struct {
	Name     string
	ID       TopicID
	Commit   CommitID
	Now      time.Time
	Secret   [segments.SecretBytes]byte
	Settings Settings
}

// Create makes a topic, whose first version is 0. A name that is taken is
// ErrTopicExists. What a create that failed has left behind is a folder that
// no name leads to.
func Create(ctx context.Context, s objstore.Store, n NewTopic, pause Pause) (*Topic, error) {
	if err := CheckName(n.Name); err != nil {
		return nil, err
	}
	slot, used, err := lastSlot(ctx, s, n.Name)
	switch {
	case err != nil:
		return nil, err
	case used && !slot.live():
		slot = slot.next()
	case used:
		err := finishDelete(ctx, s, n.Name, pause)
		if err == nil {
			slot, _, err = lastSlot(ctx, s, n.Name)
		}
		if err != nil || slot.live() {
			return nil, errors.Join(fmt.Errorf("topic %q: %w", n.Name, ErrTopicExists), err)
		}
		slot = slot.next()
	}

	t := &Topic{store: s, pause: pause, slot: slot, id: n.ID, hasher: segments.NewHasher(n.Secret)}
	format, err := seal(wireFormat{
		compatibility: compatibility{formatVersion, []string{}, []string{}},
		Topic:         n.ID, Name: n.Name, Secret: n.Secret[:], Settings: n.Settings,
	})
	if err != nil {
		return nil, err
	}
	first, err := encode(&Manifest{
		Topic: n.ID, Name: n.Name, Commit: n.Commit, Kind: "create", Time: n.Now.UTC(),
		Recent: []CommitID{n.Commit}, Settings: n.Settings,
		Last: segments.None, MaxRead: segments.None, Horizon: segments.None, RetainedAfter: segments.None,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	name, err := seal(wireName{formatVersion, n.Name, n.ID})
	if err != nil {
		return nil, err
	}
	// The name comes last: it leads to a topic that is whole.
	for _, o := range []struct {
		key  string
		body []byte
	}{{t.key("format"), format}, {t.versionKey(0), first.body}, {slot.key(), name}} {
		same := func(got []byte) bool { return bytes.Equal(got, o.body) }
		mine, err := claim(ctx, s, o.key, o.body, same, pause)
		if err != nil {
			return nil, fmt.Errorf("create topic %q: %w", n.Name, err)
		}
		if !mine {
			return nil, fmt.Errorf("topic %q: %w", n.Name, ErrTopicExists)
		}
	}
	return t, nil
}

// Open finds a topic by its name, at the cost of a LIST and two GETs.
func Open(ctx context.Context, s objstore.Store, name string, pause Pause) (*Topic, error) {
	slot, id, err := findTopic(ctx, s, name)
	if err != nil {
		return nil, err
	}
	t := &Topic{store: s, pause: pause, slot: slot, id: id}
	body, err := s.Get(ctx, t.key("format"), maxManifestBytes)
	if err != nil {
		return nil, fmt.Errorf("open topic %q: %w", name, err)
	}
	format, err := decodeFormat(body)
	if err != nil {
		return nil, fmt.Errorf("open topic %q: %s: %w", name, t.key("format"), err)
	}
	t.hasher = segments.NewHasher([segments.SecretBytes]byte(format.Secret))
	t.writerRequired = format.WriterRequired
	return t, nil
}

// Name of the topic.
func (t *Topic) Name() string { return t.slot.name }

// ID of the topic, the name of its folder in the store.
func (t *Topic) ID() TopicID { return t.id }

// Hasher makes the topic's key digests.
func (t *Topic) Hasher() segments.Hasher { return t.hasher }

// Delete ends the topic by a last version, removes its objects, and takes its
// name away. Whoever writes to it at the same time gets ErrTopicNotFound,
// never a success. A Delete that failed or was stopped can be called again,
// and is finished by whoever creates a topic of that name.
func (t *Topic) Delete(ctx context.Context, c Change) error {
	c.Edit = Delete{}
	if _, err := t.Commit(ctx, c); err != nil && !errors.Is(err, ErrTopicNotFound) {
		return err
	}
	if err := t.remove(ctx); err != nil {
		return fmt.Errorf("delete topic %q: %w", t.Name(), err)
	}
	return nil
}

// finishDelete removes what is left of the topic that has a name, if it was
// deleted and whoever deleted it stopped half-way.
func finishDelete(ctx context.Context, s objstore.Store, name string, pause Pause) error {
	old, err := Open(ctx, s, name, pause)
	if err == nil {
		if _, err = old.Latest(ctx); errors.Is(err, ErrTopicNotFound) {
			return old.remove(ctx)
		}
	}
	if errors.Is(err, ErrTopicNotFound) {
		return nil // somebody else has just finished it
	}
	return err
}

// remove takes away what a topic that has ended consists of, in an order in
// which it can stop anywhere and be called again: while the name leads to the
// topic, its last version is there and says that it has ended.
func (t *Topic) remove(ctx context.Context) error {
	// From here on the names of its versions are free again; the floor tells a
	// writer that slept through this that what it wrote is no version.
	if err := t.raise(ctx, floorOfDeleted); err != nil {
		return err
	}
	last, err := t.lastVersion(ctx)
	if err != nil && !errors.Is(err, ErrTopicNotFound) {
		return err
	}
	for _, folder := range []string{"d/", "x/", "b/", "p/", "j/", "pin/", "tag/", "group/", "m/"} {
		for entry, err := range t.store.List(ctx, t.key(folder), "") {
			if err == nil && entry.Key != t.versionKey(last) {
				err = t.unlink(ctx, entry.Key)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := t.dropName(ctx); err != nil {
		return err
	}
	return t.store.Delete(ctx, t.versionKey(last))
}

// dropName ends the topic's hold on its name.
func (t *Topic) dropName(ctx context.Context) error {
	body, err := seal(wireName{formatVersion, t.Name(), t.id})
	if err != nil {
		return err
	}
	_, err = claim(ctx, t.store, t.slot.next().key(), body, func([]byte) bool { return true }, t.pause)
	return err
}

// key is the place in the store of a key of the topic.
func (t *Topic) key(key string) string { return string(t.id) + "/" + key }

// checkWriter refuses a topic that this program may read but not write.
func (t *Topic) checkWriter() error {
	if err := checkFeatures(t.writerRequired); err != nil {
		return fmt.Errorf("write topic %q: %w", t.Name(), err)
	}
	return nil
}

// contains reports whether the version or one of its last ancestors is c's.
func (m *Manifest) contains(c CommitID) bool { return slices.Contains(m.Recent, c) }

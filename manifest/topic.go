package manifest

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

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
type Topic struct{}

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
// ErrTopicExists.
func Create(ctx context.Context, s objstore.Store, n NewTopic, pause Pause) (*Topic, error) {
	panic("not built")
}

// Open finds a topic by its name.
func Open(ctx context.Context, s objstore.Store, name string, pause Pause) (*Topic, error) {
	panic("not built")
}

// Names yields the names of all topics, in bytewise order.
func Names(ctx context.Context, s objstore.Store) iter.Seq2[string, error] { panic("not built") }

// Name and ID of the topic.
func (t *Topic) Name() string { panic("not built") }
func (t *Topic) ID() TopicID  { panic("not built") }

// Hasher makes the topic's key digests.
func (t *Topic) Hasher() segments.Hasher { panic("not built") }

// Latest is the newest version.
func (t *Topic) Latest(ctx context.Context) (*Manifest, error) { panic("not built") }

// At is version v, or ErrVersionNotFound.
func (t *Topic) At(ctx context.Context, v Version) (*Manifest, error) { panic("not built") }

// AsOf is the version that was the newest at the given time.
func (t *Topic) AsOf(ctx context.Context, at time.Time) (*Manifest, error) { panic("not built") }

// Versions yields the versions that can still be read, oldest first.
func (t *Topic) Versions(ctx context.Context) iter.Seq2[*Manifest, error] { panic("not built") }

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
// version that c made. Its errors are ErrConflict (nothing was committed, c's
// objects may be deleted), ErrFenced (likewise), ErrUnknown (nothing may be
// deleted), or the store's own from before anything was written.
func (t *Topic) Commit(ctx context.Context, c Change) (*Manifest, error) { panic("not built") }

// Put writes an object of the topic, below its folder: d/<job>/..., x/<job>/...
// or b/<job>/.... An object that is there already is an error: names are made
// to be new.
func (t *Topic) Put(ctx context.Context, key string, body objstore.Body) error { panic("not built") }

// Discard deletes objects that were put for a change that was not committed.
func (t *Topic) Discard(ctx context.Context, keys []string) error { panic("not built") }

// OpenSegment opens a segment that has rows. An object that is gone is
// ErrMissing.
func (t *Topic) OpenSegment(ctx context.Context, s *Segment) (*segments.File, error) {
	panic("not built")
}

// DeadRows reads the dead rows of a segment; the set is empty if it has none,
// and the caller's.
func (t *Topic) DeadRows(ctx context.Context, s *Segment) (*roaring.Bitmap, error) {
	panic("not built")
}

// Delete ends the topic and removes its objects. Its name can be used again.
func (t *Topic) Delete(ctx context.Context, c Change) error { panic("not built") }

// Tag names version v for good: it is kept until the tag goes. A name that is
// taken is ErrTagExists unless move is set.
func (t *Topic) Tag(ctx context.Context, name string, v Version, move bool) error {
	panic("not built")
}

// Tagged is the version that a tag names.
func (t *Topic) Tagged(ctx context.Context, name string) (Version, error) { panic("not built") }

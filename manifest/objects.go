package manifest

import (
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Object keys below a topic's folder. Everything that a job writes lies under
// its own id, with a number that the job counts up, so no two jobs ever meet.
// Where several processes do the work of one job, each has a name of its own
// before its numbers (see ObjectName).

// DataKey is the key of a segment.
func DataKey(job JobID, n int) string { return DataKeyOf(job, ObjectName("", n)) }

// IndexKey is the key of a segment's key index.
func IndexKey(job JobID, n int) string { return IndexKeyOf(job, ObjectName("", n)) }

// DeadKey is the key of a dead-row bitmap.
func DeadKey(job JobID, n int) string { return DeadKeyOf(job, ObjectName("", n)) }

// ObjectName names the nth object of a process that works on a job; "" is the
// process that the job was made for.
func ObjectName(process string, n int) string {
	if process == "" {
		return fmt.Sprintf("%06d", n)
	}
	return fmt.Sprintf("%s-%06d", process, n)
}

// DataKeyOf, IndexKeyOf and DeadKeyOf are the keys of an object with a name.
func DataKeyOf(job JobID, name string) string { return fmt.Sprintf("d/%s/%s.arrow", job, name) }

// IndexKeyOf is the same for a key index.
func IndexKeyOf(job JobID, name string) string { return fmt.Sprintf("x/%s/%s", job, name) }

// DeadKeyOf is the same for a dead-row bitmap.
func DeadKeyOf(job JobID, name string) string { return fmt.Sprintf("b/%s/%s", job, name) }

// partKey is the key of a manifest part.
func partKey(commit CommitID, job JobID, n int) string {
	return fmt.Sprintf("p/%s/%s-%06d", job, commit, n)
}

// Put writes an object of the topic: a segment, a key index, or a bitmap of
// dead rows. Their names are made to be new, so one that is there already is
// this one, put by a request that somebody on the way has made twice; or it has
// other bytes, which is an error.
func (t *Topic) Put(ctx context.Context, key string, body objstore.Body) error {
	err := t.store.Put(ctx, t.key(key), body)
	if errors.Is(err, objstore.ErrExists) {
		if same, sameErr := objstore.Same(ctx, t.store, t.key(key), body); same && sameErr == nil {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("topic %q: %w", t.Name(), err)
	}
	return nil
}

// Discard deletes objects that were put for a change that was not committed.
func (t *Topic) Discard(ctx context.Context, keys []string) error {
	var errs []error
	for _, key := range keys {
		errs = append(errs, t.store.Delete(ctx, t.key(key)))
	}
	return errors.Join(errs...)
}

// get reads an object that a manifest names, whole.
func (t *Topic) get(ctx context.Context, key string, size int64) ([]byte, error) {
	body, err := t.store.Get(ctx, t.key(key), size)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, &MissingError{Object: t.key(key), Err: err}
	}
	if errors.Is(err, objstore.ErrTooLarge) {
		return nil, &segments.CorruptError{Object: t.key(key), Batch: -1, Err: err}
	}
	return body, err
}

// object is one object of a topic as a segments.Source.
type object struct {
	topic *Topic
	key   string
}

func (o object) ReadAt(ctx context.Context, p []byte, off int64) error {
	err := o.topic.store.ReadAt(ctx, o.topic.key(o.key), p, off)
	if errors.Is(err, objstore.ErrNotFound) {
		return &MissingError{Object: o.topic.key(o.key), Err: err}
	}
	if errors.Is(err, objstore.ErrRange) {
		return &segments.CorruptError{Object: o.topic.key(o.key), Batch: -1, Err: err}
	}
	return err
}

// OpenSegment opens a segment that has rows, in one ranged read. An object
// that is gone is ErrMissing, now or when the segment is read.
func (t *Topic) OpenSegment(ctx context.Context, s *Segment) (*segments.File, error) {
	return segments.Open(ctx, t.key(s.Object), object{t, s.Object}, object{t, s.Index}, s.Info)
}

// DeadRows reads the dead rows of a segment, in one GET, or none where it has
// none. The set is the caller's.
func (t *Topic) DeadRows(ctx context.Context, s *Segment) (*roaring.Bitmap, error) {
	dead := roaring.New()
	if s.Dead == nil {
		return dead, nil
	}
	body, err := t.get(ctx, s.Dead.Object, s.Dead.Bytes)
	if err != nil {
		return nil, err
	}
	key := t.key(s.Dead.Object)
	if err := checkDigest(key, body, s.Dead.SHA256); err != nil {
		return nil, err
	}
	if err := dead.UnmarshalBinary(body); err != nil {
		return nil, &segments.CorruptError{Object: key, Batch: -1, Err: err}
	}
	if n := dead.GetCardinality(); n != uint64(s.Dead.Rows) {
		return nil, &segments.CorruptError{Object: key, Batch: -1, Err: fmt.Errorf("%d rows, want %d", n, s.Dead.Rows)}
	}
	return dead, nil
}

// Reindex makes the key index of a segment anew, from the segment alone.
func (t *Topic) Reindex(ctx context.Context, s *Segment) (*segments.Buffer, error) {
	return segments.Reindex(ctx, t.key(s.Object), object{t, s.Object}, s.Info, t.hasher)
}

// ReplaceIndex puts index in the place of the key index of s, unless that is
// whole. It must be what Reindex made of s.
func (t *Topic) ReplaceIndex(ctx context.Context, s *Segment, index *segments.Buffer) (whole bool, err error) {
	key := t.key(s.Index)
	whole, err = objstore.Same(ctx, t.store, key, index)
	if whole || err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return whole, err
	}
	if err := t.store.Delete(ctx, key); err != nil {
		return false, fmt.Errorf("topic %q: %w", t.Name(), err)
	}
	return false, t.Put(ctx, s.Index, index)
}

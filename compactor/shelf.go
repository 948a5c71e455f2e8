package compactor

import (
	"context"
	"fmt"
	"sync"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
)

// shelf is where a job puts its objects. It counts them up, so that no two of
// a job have a name in common, also when it plans anew, and remembers them
// until it is known whether they are needed.
type shelf struct {
	topic   *manifest.Topic
	job     manifest.JobID
	process string // that works on the job, where it is not the job's own
	next    int    // number of the next object

	mu      sync.Mutex
	pending []string
	wrote   Wrote
}

// Wrote is what a job has put in the store, also in tries that were in vain.
type Wrote struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// begin says for which job the next objects are, and which process puts them.
func (s *shelf) begin(job manifest.JobID, process string) { s.job, s.process = job, process }

// name makes the name of the next object, under which no other is put.
func (s *shelf) name() string {
	n := s.next
	s.next++
	return manifest.ObjectName(s.process, n)
}

// segmentKeys names a new segment and its key index.
func (s *shelf) segmentKeys() (data, index string) {
	name := s.name()
	return manifest.DataKeyOf(s.job, name), manifest.IndexKeyOf(s.job, name)
}

// deadKey names a new bitmap of dead rows.
func (s *shelf) deadKey() string { return manifest.DeadKeyOf(s.job, s.name()) }

// put stores an object. It is pending from before the request, since a put
// whose answer is lost may have taken effect.
func (s *shelf) put(ctx context.Context, key string, body objstore.Body) error {
	s.mu.Lock()
	s.pending = append(s.pending, key)
	s.wrote.Objects++
	s.wrote.Bytes += body.Size()
	s.mu.Unlock()
	if err := s.topic.Put(ctx, key, body); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// keep is called when a version names what was put, or others may be about to
// make one that does, so that it is not pending any more. It returns what was.
func (s *shelf) keep() []string {
	keys := s.pending
	s.pending = nil
	return keys
}

// discard deletes what is pending. It must only be called when it is certain
// that no version names it, nor ever will.
func (s *shelf) discard(ctx context.Context) {
	keys := s.pending
	s.pending = nil
	if len(keys) == 0 || ctx.Err() != nil {
		return
	}
	// An error wastes space and nothing else: no version names these objects,
	// and a collection takes what is left.
	_ = s.topic.Discard(ctx, keys)
}

package program

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// ids mints ULIDs: the time in milliseconds and 80 random bits, going up
// within a process even in one millisecond.
//
// Their time is always the real clock's, also where --now sets another for the
// work. A job's id says since when its objects have been written, by which a
// collection knows that they are too young to be nobody's; a replay of the
// past must not make them look old.
type ids struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

func newIDs() *ids { return &ids{entropy: ulid.Monotonic(rand.Reader, 0)} }

// mint makes an id of the present, or of least if that is later.
func (i *ids) mint(least time.Time) string {
	now := time.Now()
	if now.Before(least) {
		now = least
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return ulid.MustNew(ulid.Timestamp(now), i.entropy).String()
}

// TopicID mints an id for a new topic.
func (s *Session) TopicID() manifest.TopicID { return manifest.TopicID(s.ids.mint(time.Time{})) }

// CommitID mints an id for one attempt to change a topic.
func (s *Session) CommitID() manifest.CommitID { return manifest.CommitID(s.ids.mint(time.Time{})) }

// CommitIDs mints ids for n attempts.
func (s *Session) CommitIDs(n int) []manifest.CommitID {
	made := make([]manifest.CommitID, n)
	for i := range made {
		made[i] = s.CommitID()
	}
	return made
}

// JobID mints an id for work on m's topic. Jobs below MinJob were shut out by a
// collection. Where that collection's clock ran ahead of ours, ours would be
// shut out from the start, so the id begins just after it.
func (s *Session) JobID(m *manifest.Manifest) manifest.JobID {
	var least time.Time
	if m != nil && m.MinJob != "" {
		if shutOut, err := ulid.ParseStrict(string(m.MinJob)); err == nil {
			least = ulid.Time(shutOut.Time()).Add(time.Millisecond)
		}
	}
	return manifest.JobID(s.ids.mint(least))
}

// OldestJob is the least id that a job begun within age can have.
func (s *Session) OldestJob(age time.Duration) manifest.JobID {
	var least ulid.ULID
	if err := least.SetTime(ulid.Timestamp(time.Now().Add(-age))); err != nil {
		return "" // before 1970: no job is older
	}
	return manifest.JobID(least.String())
}

// secret makes a topic's digest secret.
func secret() (made [segments.SecretBytes]byte) {
	rand.Read(made[:]) // never fails
	return made
}

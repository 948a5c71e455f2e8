package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// weather is what the store does to calls: of a thousand some thirty fail.
func weather(seed uint64) fault.Hook {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 0))
	return func(fault.Op) fault.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch n := dice.IntN(10_000); {
		case n < 100:
			return fault.Before
		case n < 200:
			return fault.After
		case n < 250:
			return fault.Late
		case n < 300:
			return fault.Short
		case n < 320:
			return fault.Twice
		}
		return fault.None
	}
}

// soak is one topic, and what is known of it.
type soak struct {
	store objstore.Store

	sent, acked atomic.Int64 // messages that were given to the writer's runs, and that one said are in

	mu     sync.Mutex
	counts map[string]int
	wrongs []error
}

const topic = "soak"

// keys the messages have; prime to what else there is a rhythm of.
const keys = 997

// isTombstone tells which messages are.
func isTombstone(n int64) bool { return n%50 == 49 }

func newSoak(store objstore.Store) *soak { return &soak{store: store, counts: map[string]int{}} }

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

// wrong notes what must not be.
func (s *soak) wrong(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := fmt.Errorf(format, args...); len(s.wrongs) < 20 {
		s.wrongs = append(s.wrongs, err)
		fmt.Println("WRONG:", err)
	}
}

func (s *soak) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.wrongs...)
}

// report prints a line.
func (s *soak) report(ctx context.Context, sound objstore.Store, since time.Duration, heap uint64, faulty *fault.Store) {
	objects := 0
	for _, err := range sound.List(ctx, "", "") {
		if err != nil {
			break
		}
		objects++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("%8s  heap %6d KiB  %5d objects  %8d calls  %6d failed  %8d messages  %v\n",
		since.Round(time.Second), heap>>10, objects, faulty.Calls(), faulty.Struck(), s.acked.Load(), s.counts)
}

// actor does one thing again and again, each time as a process of its own
// would.
type actor struct {
	name string
	do   func(context.Context) error
	rest time.Duration
}

func (s *soak) actors() []actor {
	return []actor{
		{"write", s.write, 0},
		{"run", s.compact, time.Second},
		{"run", s.compact, 1300 * time.Millisecond},
		{"trim and gc", s.collect, 3 * time.Second},
		{"read", s.readRaw, 500 * time.Millisecond},
		{"read --compacted", s.readCompacted, 500 * time.Millisecond},
		{"verify", s.verify, 5 * time.Second},
	}
}

// loop lets an actor act until ctx ends. What comes of the weather, or of
// others, is counted.
func (s *soak) loop(ctx context.Context, a actor) {
	for ctx.Err() == nil {
		err := a.do(ctx)
		switch {
		case err == nil:
			s.count(a.name)
		case ctx.Err() != nil:
		case errors.Is(err, readerlib.ErrSnapshotExpired), errors.Is(err, manifest.ErrVersionNotFound):
			s.count(a.name + ": expired")
		case errors.Is(err, manifest.ErrConflict), errors.Is(err, manifest.ErrFenced):
			s.count(a.name + ": overtaken")
		case errors.Is(err, manifest.ErrUnknown), errors.Is(err, fault.ErrInjected):
			s.count(a.name + ": failed")
		default:
			s.wrong("%s: %v", a.name, err)
		}
		_ = rest(ctx, a.rest)
	}
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func id() string { return ulid.Make().String() }

// pause waits a little between the tries of a commit.
func pause(ctx context.Context, n int) error {
	if n > 20 {
		return errors.New("tried often enough")
	}
	return rest(ctx, time.Duration(n)*5*time.Millisecond)
}

func (s *soak) open(ctx context.Context) (*manifest.Topic, error) {
	return manifest.Open(ctx, s.store, topic, pause)
}

func (s *soak) create(ctx context.Context, sound objstore.Store) error {
	settings := manifest.DefaultSettings()
	for _, set := range []string{"segment_bytes=64KiB", "batch_bytes=16KiB", "retention=0s", "tombstone_retention=10s"} {
		var err error
		if settings, err = settings.With(set); err != nil {
			return err
		}
	}
	_, err := manifest.Create(ctx, sound, manifest.NewTopic{
		Name: topic, ID: manifest.TopicID(id()), Commit: manifest.CommitID(id()), Now: time.Now(), Settings: settings,
	}, pause)
	return err
}

func job() compactor.Job {
	j := compactor.Job{ID: manifest.JobID(id()), Now: time.Now(), Writer: "soak", Policy: compactor.DefaultPolicy()}
	for range 5 {
		j.Commits = append(j.Commits, manifest.CommitID(id()))
	}
	return j
}

// write ingests a hundred messages more than are in, and some that are.
func (s *soak) write(ctx context.Context) error {
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	acked := s.acked.Load()
	from, to := max(0, acked-10), acked+100
	var lines strings.Builder
	for n := from; n < to; n++ {
		value := fmt.Sprintf(`"%d %s"`, n, strings.Repeat("x", int(n%400)))
		if isTombstone(n) {
			value = "null"
		}
		fmt.Fprintf(&lines, `{"key":"%d","value":%s,"producer":"w","sequence":"%d"}`+"\n", n%keys, value, n)
	}
	s.sent.Store(to)
	_, err = ingest.Run(ctx, t, strings.NewReader(lines.String()),
		ingest.Settings{Now: time.Now(), Job: manifest.JobID(id()), Writer: "soak"},
		ingest.Components{NewCommit: func() manifest.CommitID { return manifest.CommitID(id()) }, Pause: pause})
	if err == nil {
		s.acked.Store(to)
	}
	return err
}

func (s *soak) compact(ctx context.Context) error {
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	r, err := compactor.Run(ctx, t, nil, job())
	if err == nil && r.State == compactor.StateQuarantined {
		err = fmt.Errorf("%w: %v", compactor.ErrQuarantined, r.Quarantined)
	}
	return err
}

// collect trims, and deletes what is older than half a minute. Jobs that are
// older than two are shut out.
func (s *soak) collect(ctx context.Context) error {
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	if _, err := compactor.Trim(ctx, t, job()); err != nil {
		return err
	}
	var least ulid.ULID
	if err := least.SetTime(ulid.Timestamp(time.Now().Add(-2 * time.Minute))); err != nil {
		return err
	}
	c, err := t.PlanCollection(ctx, manifest.Keep{Since: time.Now().Add(-30 * time.Second), Versions: 3, MinJob: manifest.JobID(least.String())})
	if err != nil {
		return err
	}
	if err := c.Commit(ctx, manifest.Change{Commit: manifest.CommitID(id()), Job: manifest.JobID(id()), Now: time.Now()}); err != nil {
		return err
	}
	return c.Delete(ctx, func(manifest.Garbage) {})
}

// readRaw reads all that is retained: nothing is missing between the first
// message and the last, which is no older than what was acknowledged before.
func (s *soak) readRaw(ctx context.Context) error {
	return s.read(ctx, readerlib.Raw, func(before, n int64) error {
		if before >= 0 && n != before+1 {
			return fmt.Errorf("message %d comes after %d", n, before)
		}
		return nil
	})
}

// readCompacted reads the compacted view: of each key the last message, or a
// later one, unless it was a tombstone.
func (s *soak) readCompacted(ctx context.Context) error {
	acked := s.acked.Load()
	newest := make(map[int64]int64)
	if err := s.read(ctx, readerlib.Compacted, func(before, n int64) error {
		newest[n%keys] = n
		if n <= before {
			return fmt.Errorf("message %d comes after %d", n, before)
		}
		return nil
	}); err != nil {
		return err
	}
	for n := max(0, acked-keys); n < acked; n++ {
		if got, ok := newest[n%keys]; ok && got < n || !ok && !isTombstone(n) {
			s.wrong("key %d shows message %d (%v), and %d was acknowledged", n%keys, got, ok, n)
		}
	}
	return nil
}

// read reads a view and holds each message to what is known of it.
func (s *soak) read(ctx context.Context, view readerlib.View, check func(before, n int64) error) error {
	acked := s.acked.Load()
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	r, err := readerlib.Open(ctx, t, readerlib.Options{View: view})
	if err != nil {
		return err
	}
	last := int64(-1)
	for m, err := range r.Messages(ctx) {
		if err != nil {
			return err
		}
		n := m.Sequence.V
		if err := check(last, n); err != nil {
			s.wrong("%v: %v", view, err)
		}
		if string(m.Key) != fmt.Sprint(n%keys) || isTombstone(n) != (m.Kind == segments.KindTombstone) ||
			!isTombstone(n) && !strings.HasPrefix(string(m.Value), fmt.Sprint(n, " ")) {
			s.wrong("%v: message %d is %s=%.20s", view, n, m.Key, m.Value)
		}
		last = n
	}
	if last >= s.sent.Load() || last < acked-1 && view == readerlib.Raw {
		s.wrong("%v: the last message is %d: %d are acknowledged", view, last, acked)
	}
	return nil
}

func (s *soak) verify(ctx context.Context) error {
	t, err := s.open(ctx)
	if err != nil {
		return err
	}
	m, err := t.Latest(ctx)
	if err != nil {
		return err
	}
	proof, err := compactor.Verify(ctx, t, m)
	if err != nil || len(proof.Findings) == 0 {
		return err
	}
	// What was overtaken meanwhile may be collected.
	if latest, err := t.Latest(ctx); err != nil || latest.ExpiredBefore > m.Version {
		return errors.Join(manifest.ErrVersionNotFound, err)
	}
	return fmt.Errorf("version %d: %v", m.Version, proof.Findings)
}

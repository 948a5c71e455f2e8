package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// topic is a topic with made-up messages, the same each time.
type topic struct {
	*manifest.Topic
	store  objstore.Store
	now    time.Time
	values []byte // all values are cut out of these random bytes
}

// stretch is messages to append: rows from, from+1 and so on, with the key that
// keyOf says and a random value of valueBytes.
type stretch struct {
	from, rows  int
	keyOf       func(row int) int
	valueBytes  int
	segmentRows int // of each segment; 0 is as many as fill it
}

// evenly spreads rows over keys at random.
func evenly(keys int) func(int) int {
	return func(row int) int { return draw(row, 1, keys) }
}

// draw is a number below n that row has drawn from a sequence (SplitMix64).
func draw(row int, sequence uint64, n int) int {
	z := uint64(row)*0x9e3779b97f4a7c15 + sequence<<56
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// newTopic makes an empty topic in store, with settings as in name=value.
func newTopic(ctx context.Context, store objstore.Store, assignments ...string) (*topic, error) {
	settings := manifest.DefaultSettings()
	for _, a := range assignments {
		var err error
		if settings, err = settings.With(a); err != nil {
			return nil, err
		}
	}
	t := &topic{store: store, now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), values: make([]byte, 8<<20)}
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(t.values) // it never fails
	var secret [segments.SecretBytes]byte
	_, _ = random.Read(secret[:])
	var err error
	t.Topic, err = manifest.Create(ctx, store, manifest.NewTopic{
		Name: "bench", ID: manifest.TopicID(ulid.Make().String()), Commit: commitID(), Now: t.now,
		Secret: secret, Settings: settings,
	}, fewTries)
	return t, err
}

// through is the same topic as seen through another store, which leads to t's.
func (t *topic) through(ctx context.Context, store objstore.Store) (*topic, error) {
	opened, err := manifest.Open(ctx, store, t.Name(), fewTries)
	return &topic{Topic: opened, store: store, now: t.now, values: t.values}, err
}

func commitID() manifest.CommitID { return manifest.CommitID(ulid.Make().String()) }
func jobID() manifest.JobID       { return manifest.JobID(ulid.Make().String()) }

func fewTries(ctx context.Context, n int) error {
	if n > 3 {
		return errors.New("gave up")
	}
	return ctx.Err()
}

// fill appends messages.
func (t *topic) fill(ctx context.Context, s stretch) error {
	m, err := t.Latest(ctx)
	if err != nil {
		return err
	}
	each := s.segmentRows
	if each == 0 {
		sample := t.message(s, s.from)
		each = int(max(1, m.Settings.SegmentBytes/sample.Bytes()))
	}
	job := jobID()
	list := make([]manifest.Segment, (s.rows+each-1)/each)
	after := m.Last
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n := range list {
		part := s
		part.from, part.rows = s.from+n*each, min(each, s.rows-n*each)
		r := segments.Range{After: after, Through: segments.Position{Ledger: 0, Entry: int64(part.from + part.rows - 1), Batch: -1}}
		after = r.Through
		g.Go(func() (err error) {
			list[n], err = t.put(gctx, m, job, n, r, part)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	_, err = t.Commit(ctx, manifest.Change{Commit: commitID(), Job: job, Now: t.now, Edit: manifest.Append{
		After: m.Last, Segments: list, MaxRead: after,
	}})
	return err
}

// put writes one segment.
func (t *topic) put(ctx context.Context, m *manifest.Manifest, job manifest.JobID, n int, r segments.Range, s stretch) (manifest.Segment, error) {
	w := segments.NewWriter(segments.WriterSettings{
		Topic: string(m.Topic), Writer: "bench", BatchBytes: m.Settings.BatchBytes, Compression: m.Settings.Compression,
	}, t.Hasher())
	for row := s.from; row < s.from+s.rows; row++ {
		message := t.message(s, row)
		if err := w.Append(&message); err != nil {
			return manifest.Segment{}, err
		}
	}
	sealed, err := w.Seal(r)
	if err != nil {
		return manifest.Segment{}, err
	}
	made := manifest.Segment{Range: r, Object: manifest.DataKey(job, n), Index: manifest.IndexKey(job, n), Info: sealed.Info}
	if err := t.Put(ctx, made.Object, sealed.Data); err != nil {
		return manifest.Segment{}, err
	}
	return made, t.Put(ctx, made.Index, sealed.Index)
}

func keyText(key int) []byte { return fmt.Appendf(nil, "key-%09d", key) }

func (t *topic) message(s stretch, row int) segments.Message {
	off := draw(row, 2, len(t.values)-s.valueBytes)
	return segments.Message{
		Position:    segments.Position{Ledger: 0, Entry: int64(row), Batch: -1},
		BatchSize:   1,
		Key:         keyText(s.keyOf(row)),
		PublishTime: segments.MillisOf(t.now.Add(time.Duration(row) * time.Millisecond)),
		Value:       t.values[off : off+s.valueBytes : off+s.valueBytes],
	}
}

// compact runs a compaction.
func (t *topic) compact(ctx context.Context, policy compactor.Policy, observer compactor.Observer) (compactor.Result, error) {
	return compactor.Run(ctx, t.Topic, observer, compactor.Job{
		ID: jobID(), Commits: []manifest.CommitID{commitID()}, Now: t.now, Writer: "bench", Policy: policy,
	})
}

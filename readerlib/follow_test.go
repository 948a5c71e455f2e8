package readerlib_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

var errEnough = errors.New("enough")

// collectGarbage deletes all versions but the newest, and what they alone named.
func (w *world) collectGarbage(t tb) {
	t.Helper()
	job := manifest.JobID(w.id())
	c, err := w.topic.PlanCollection(w.ctx, manifest.Keep{Since: clock(1 << 20), Versions: 1, MinJob: job})
	if err == nil {
		err = c.Commit(w.ctx, manifest.Change{Commit: manifest.CommitID(w.id()), Job: job, Now: clock(len(w.models))})
	}
	if err == nil {
		err = c.Delete(w.ctx, func(manifest.Garbage) {})
	}
	if err != nil {
		t.Fatalf("collect: %v", err)
	}
	if w.head, err = w.topic.Latest(w.ctx); err != nil {
		t.Fatalf("latest: %v", err)
	}
	for len(w.models) <= int(w.head.Version) {
		w.models = append(w.models, w.now())
	}
}

// TestAFollowerMissesAndRepeatsNothing follows the raw view while messages are
// ingested, compacted, trimmed where they were read, and versions collected,
// also between two messages of a read. It ends with every message, once.
func TestAFollowerMissesAndRepeatsNothing(t *testing.T) {
	for seed := uint64(1); seed <= 4; seed++ {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := newWorld(t, nil)
		w.cut = func() bool { return rng.IntN(3) == 0 }
		w.batchBytes = 300
		var want, got []string
		ledger := 0
		grow := func() {
			ledger++
			var rows []segments.Message
			for e := range 1 + rng.IntN(6) {
				m := msg(fmt.Sprintf("%d:%d", ledger, e), fmt.Sprintf("k%d", rng.IntN(4)), fmt.Sprint(len(want)))
				want = append(want, m.Position.String())
				rows = append(rows, m)
			}
			w.ingest(t, rows...)
		}
		grow()
		r := open(t, w, readerlib.Options{})
		disturb := func() {
			if rng.IntN(2) == 0 {
				w.compact(t, w.head.Last, always)
			}
			if ends := w.trimmable(); rng.IntN(3) == 0 && len(ends) > 0 && !ends[0].After(r.Place()) {
				w.trim(t, ends[0])
			}
			if rng.IntN(2) == 0 {
				w.collectGarbage(t)
			}
		}
		turns := 0
		for m, err := range r.Follow(w.ctx, func(context.Context) error {
			if turns++; turns > 25 {
				return errEnough
			}
			if rng.IntN(3) > 0 {
				grow()
			}
			disturb()
			return nil
		}) {
			if errors.Is(err, errEnough) {
				break
			}
			if err != nil {
				t.Fatalf("seed %d: after %d messages: %v", seed, len(got), err)
			}
			got = append(got, m.Position.String())
			if rng.IntN(5) == 0 {
				disturb()
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("seed %d: got  %s\nwant %s", seed, got, want)
		}
	}
}

func TestAFollowerIsToldWhatWasTrimmedBeforeIt(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "a", "2"))
	r := open(t, w, readerlib.Options{})
	var got []string
	turn := 0
	var last error
	for m, err := range r.Follow(w.ctx, func(context.Context) error {
		turn++
		switch turn {
		case 1: // what was read may go
			w.ingest(t, msg("2:0", "a", "3"))
			w.compact(t, w.head.Last, never)
			w.trim(t, pos("1:1"))
		case 2: // what was not must be told of
			w.ingest(t, msg("3:0", "a", "4"))
			w.ingest(t, msg("4:0", "a", "5"))
			w.compact(t, w.head.Last, never)
			w.trim(t, pos("3:0"))
		}
		return nil
	}) {
		if last = err; err != nil {
			break
		}
		got = append(got, m.Position.String())
	}
	if fmt.Sprint(got) != "[1:0 1:1 2:0]" || !errors.Is(last, readerlib.ErrTrimmed) {
		t.Errorf("got %v, then %v; want ErrTrimmed", got, last)
	}
	// It may go on all the same.
	for m, err := range r.Follow(w.ctx, func(context.Context) error { return errEnough }) {
		if err == nil {
			got = append(got, m.Position.String())
		}
	}
	if fmt.Sprint(got) != "[1:0 1:1 2:0 4:0]" {
		t.Errorf("got %v in all", got)
	}
}

// A follower of the compacted view goes through a compaction under it, and its
// place keeps its meaning.
func TestAFollowerOfTheCompactedViewGoesOnBehindACompaction(t *testing.T) {
	w := newWorld(t, nil)
	w.ingest(t, msg("1:0", "a", "1"), msg("1:1", "b", "1"))
	var got []string
	turn := 0
	for m, err := range open(t, w, readerlib.Options{View: readerlib.Compacted}).Follow(w.ctx, func(context.Context) error {
		if turn++; turn == 2 {
			return errEnough
		}
		w.ingest(t, msg("2:0", "a", "2"), msg("2:1", "b", "2"), msg("2:2", "a", "3"))
		w.compact(t, w.head.Last, never)
		w.collectGarbage(t)
		return nil
	}) {
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%s=%s", m.Position, m.Value))
	}
	if fmt.Sprint(got) != "[1:0=1 1:1=1 2:1=2 2:2=3]" {
		t.Errorf("got %v", got)
	}
}

package program

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/file"
	"github.com/ledgerfold/ledgerfold/objstore/limit"
	"github.com/ledgerfold/ledgerfold/objstore/open"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

// Store opens the store that --store names. This is the only place where a
// store is opened, so every command has the same limits and retries.
func (s *Session) Store(ctx context.Context) (objstore.Store, error) {
	return OpenStore(ctx, s.Flags.String("store"), os.Getenv)
}

// requestsAtOnce bounds the requests that are under way. It keeps a store
// busy from one machine, and connections and memory few.
const requestsAtOnce = 16

// OpenStore opens the store at an address. Each request takes its place among
// those under way, and is tried again until its outcome is known; while it
// pauses it holds no place.
//
// A folder is trusted: a file system that does not keep its promises loses more
// than topics. A bucket is asked before its first topic is begun.
func OpenStore(ctx context.Context, address string, env func(string) string) (objstore.Store, error) {
	store, isFolder, err := openStore(ctx, address, env)
	if err != nil || isFolder {
		return store, err
	}
	return guard(store, address, env), nil
}

func openStore(ctx context.Context, address string, env func(string) string) (_ objstore.Store, isFolder bool, err error) {
	store, err := open.Open(ctx, address, env)
	if err != nil {
		return nil, false, Usagef("%w", err) // nothing was asked of it yet, so it is how it is named
	}
	_, isFolder = store.(*file.Store)
	return marked{retry.New(limit.New(store, requestsAtOnce), retry.Default(), retry.Sleep)}, isFolder, nil
}

// Topic opens the topic called name.
func (s *Session) Topic(ctx context.Context, name string) (*manifest.Topic, error) {
	store, err := s.Store(ctx)
	if err != nil {
		return nil, err
	}
	return s.TopicIn(ctx, store, name)
}

// TopicIn opens the topic called name in an open store.
func (s *Session) TopicIn(ctx context.Context, store objstore.Store, name string) (*manifest.Topic, error) {
	return manifest.Open(ctx, store, name, Pause)
}

// CreateTopic makes a topic in an open store.
func (s *Session) CreateTopic(ctx context.Context, store objstore.Store, name string, settings manifest.Settings) (*manifest.Topic, error) {
	return manifest.Create(ctx, store, manifest.NewTopic{
		Name:     name,
		ID:       s.TopicID(),
		Commit:   s.CommitID(),
		Now:      s.Now(),
		Secret:   secret(),
		Settings: settings,
	}, Pause)
}

// The pauses between tries of a commit: from 20 ms, doubling up to a second,
// 30 tries in all. That is about 25 seconds, which outlasts a busy moment of a
// store and of a topic that many write to; what lasts longer is for the
// scheduler.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = time.Second
	mostTries  = 30
)

var errGaveUp = errors.New("gave up")

// Pause is the manifest.Pause of real time: it waits before try n. Half of the wait is random, so that those who met
// once do not meet again.
func Pause(ctx context.Context, n int) error {
	if n >= mostTries {
		return fmt.Errorf("%w after %d tries", errGaveUp, n)
	}
	wait := mostPause
	if n < 7 { // 20 ms << 6 is above a second
		wait = min(wait, firstPause<<(n-1))
	}
	timer := time.NewTimer(wait/2 + rand.N(wait/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// mostConflicts is how often an edit is made anew after another one was first.
const mostConflicts = 5

// Retry calls edit again while it is overtaken by others.
func (s *Session) Retry(ctx context.Context, edit func() error) error {
	for n := 1; ; n++ {
		err := edit()
		if n == mostConflicts || !errors.Is(err, manifest.ErrConflict) {
			return err
		}
		s.Log.Info("overtaken, trying again", "try", n, "err", err)
		if pauseErr := Pause(ctx, n); pauseErr != nil {
			return err
		}
	}
}

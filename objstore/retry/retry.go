// Package retry wraps an objstore.Store so that calls whose outcome is unknown
// are made again until it is known. It is the one place that does: the stores
// themselves send each request once.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Settings say how often and how patiently. Default returns the usual ones.
type Settings struct {
	Tries int // of each call, the first one included

	// Min and Max bound the pauses between tries, which double and are
	// jittered, so that workers that were turned away do not come back at once.
	Min, Max time.Duration
}

// Default tries for some ten seconds. That outlasts a server that restarts and
// a store that asks to slow down, and lets an outage be noticed.
func Default() Settings {
	return Settings{Tries: 10, Min: 50 * time.Millisecond, Max: 2 * time.Second}
}

// Validate reports every setting that is out of range.
func (s Settings) Validate() error {
	var errs []error
	if s.Tries < 1 {
		errs = append(errs, fmt.Errorf("setting Tries is %d, want at least 1", s.Tries))
	}
	if s.Min < 0 {
		errs = append(errs, fmt.Errorf("setting Min is %v, want no less than 0", s.Min))
	}
	if s.Max < s.Min {
		errs = append(errs, fmt.Errorf("setting Max is %v, want no less than Min, %v", s.Max, s.Min))
	}
	return errors.Join(errs...)
}

// Wait returns nil after d, or an error when ctx ends before.
type Wait func(ctx context.Context, d time.Duration) error

// Sleep is the Wait of real time.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Store is an objstore.Store that tries again.
type Store struct {
	next     objstore.Store
	settings Settings
	wait     Wait
}

var _ objstore.Store = (*Store)(nil)

// New wraps next. Valid settings are the caller's duty.
func New(next objstore.Store, settings Settings, wait Wait) *Store {
	return &Store{next: next, settings: settings, wait: wait}
}

// known reports whether err settles what a call did. All that the contract
// names is settled, and trying again would change nothing.
func known(err error) bool {
	for _, outcome := range []error{
		objstore.ErrNotFound, objstore.ErrExists, objstore.ErrRange,
		objstore.ErrTooLarge, objstore.ErrDenied, objstore.ErrInvalid,
	} {
		if errors.Is(err, outcome) {
			return true
		}
	}
	return err == nil
}

// until makes call until its outcome is known, ctx ends, or the tries are used
// up. Its error is that of the last try.
func (s *Store) until(ctx context.Context, call func() error) error {
	for t := s.tries(); ; {
		err, again := t.failed(ctx, call())
		if !again {
			return err
		}
	}
}

// tries are those of one call.
type tries struct {
	settings Settings
	wait     Wait
	backoff  *backoff.ExponentialBackOff
	made     int
}

func (s *Store) tries() *tries {
	t := &tries{settings: s.settings, wait: s.wait, backoff: &backoff.ExponentialBackOff{
		InitialInterval:     s.settings.Min,
		MaxInterval:         s.settings.Max,
		Multiplier:          2,
		RandomizationFactor: 0.5,
	}}
	t.backoff.Reset()
	return t
}

// failed says what to do after a try that returned err: make it again, the
// pause being over, or return the error that it returns.
func (t *tries) failed(ctx context.Context, err error) (_ error, again bool) {
	t.made++
	if known(err) {
		return err, false
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("%w: %w", ctxErr, err), false
	}
	if t.made >= t.settings.Tries {
		return fmt.Errorf("%w (the last of %d tries)", err, t.made), false
	}
	pause := min(max(t.backoff.NextBackOff(), t.settings.Min), t.settings.Max)
	if waitErr := t.wait(ctx, pause); waitErr != nil {
		return fmt.Errorf("%w: %w", waitErr, err), false
	}
	return nil, true
}

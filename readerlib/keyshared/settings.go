package keyshared

import (
	"errors"
	"fmt"
	"time"
)

// Settings say how a group works. The zero value is good.
type Settings struct {
	Strategy Strategy

	// AllowOutOfOrder lets messages of a key be handled out of order and by two
	// workers at a time: nothing waits for what is unfinished elsewhere.
	AllowOutOfOrder bool

	// LookAhead and LookAheadBytes bound the messages that were read and are
	// not finished; 20,000 and 64 MiB when 0. One message is always let in.
	// When they are reached because of one worker that is stuck, all others
	// wait too.
	LookAhead      int
	LookAheadBytes int64

	PerWorker   int // unanswered messages that one worker may have; 1,000 when 0
	MaxAttempts int // after so many failures a message is dead; 5 when 0

	// A message that failed waits for BackoffFirst, and then each time twice as
	// long, up to BackoffMost; a second and a minute when 0. The later messages
	// of its slot wait with it.
	BackoffFirst, BackoffMost time.Duration

	// Batch is how many messages a worker of a Group takes at a time; 1 when 0.
	// More are faster where handlers take no time, but their answers count only
	// when the worker comes back.
	Batch int

	// SaveEvery is how often a Group saves its frontier; a second when 0.
	SaveEvery time.Duration
}

// Validate reports every setting that is wrong.
func (s Settings) Validate() error {
	var errs []error
	if s.Strategy < AutoSplit || s.Strategy > Declared {
		errs = append(errs, fmt.Errorf("strategy is %d, want one of those there are", s.Strategy))
	}
	if s.LookAhead < 0 || s.LookAheadBytes < 0 || s.PerWorker < 0 {
		errs = append(errs, fmt.Errorf("look-ahead is %d messages and %d bytes, %d a worker; want no negative bound", s.LookAhead, s.LookAheadBytes, s.PerWorker))
	}
	if s.Batch < 0 || s.SaveEvery < 0 {
		errs = append(errs, fmt.Errorf("batches of %d, saved every %s; want neither negative", s.Batch, s.SaveEvery))
	}
	if s.MaxAttempts < 0 {
		errs = append(errs, fmt.Errorf("attempts are %d, want at least 1", s.MaxAttempts))
	}
	if s.BackoffFirst < 0 || s.BackoffMost < 0 || s.BackoffMost > 0 && s.BackoffFirst > s.BackoffMost {
		errs = append(errs, fmt.Errorf("backoff goes from %s to %s, want it to go up", s.BackoffFirst, s.BackoffMost))
	}
	return errors.Join(errs...)
}

func (s Settings) withDefaults() Settings {
	orElse(&s.LookAhead, 20_000)
	orElse(&s.LookAheadBytes, 64<<20)
	orElse(&s.PerWorker, 1000)
	orElse(&s.MaxAttempts, 5)
	orElse(&s.BackoffFirst, time.Second)
	orElse(&s.BackoffMost, max(s.BackoffFirst, time.Minute))
	orElse(&s.Batch, 1)
	orElse(&s.SaveEvery, time.Second)
	return s
}

func orElse[T comparable](v *T, otherwise T) {
	if *v == *new(T) {
		*v = otherwise
	}
}

// backoff is how long a message waits after so many failures.
func (s Settings) backoff(failures int) time.Duration {
	wait := s.BackoffFirst
	for range failures - 1 {
		if wait >= s.BackoffMost/2 {
			return s.BackoffMost
		}
		wait *= 2
	}
	return min(wait, s.BackoffMost)
}

// Command soak lets a writer, compactors, a collector, readers and a verifier
// work on one topic of a real S3 server for a long time, on a store whose calls
// fail now and then, and looks whether anything is lost, wrong, or growing.
//
//	go run ./bench/soak [--duration 20m] [--every 1m] [--seed 1]
//
// It prints a line at each interval, and ends with exit code 1 and the reason
// if a reader was given a wrong answer, the topic does not verify, or memory
// has grown.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/open"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

func main() {
	duration := flag.Duration("duration", 20*time.Minute, "how long to go on")
	every := flag.Duration("every", time.Minute, "between two lines")
	seed := flag.Uint64("seed", 1, "decides which calls fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *duration, *every, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration, every time.Duration, seed uint64) (err error) {
	server, err := s3server.Start(ctx, s3server.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	sound, err := open.Open(ctx, server.URL(), server.Getenv)
	if err != nil {
		return err
	}
	faulty := fault.New(sound, weather(seed))
	s := newSoak(retry.New(faulty, retry.Default(), retry.Sleep))
	if err := s.create(ctx, sound); err != nil {
		return err
	}

	work, end := context.WithTimeoutCause(ctx, duration, errOver)
	defer end()
	var wg sync.WaitGroup
	for _, a := range s.actors() {
		wg.Go(func() { s.loop(work, a) })
	}
	wg.Go(func() { // what is late lands
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-work.Done():
				return
			case <-tick.C:
				_ = faulty.Land(context.WithoutCancel(work)) // others may have been faster
			}
		}
	})
	var heaps []uint64
	begin := time.Now()
	for work.Err() == nil {
		select {
		case <-work.Done():
		case <-time.After(every):
			heaps = append(heaps, heap())
			s.report(ctx, sound, time.Since(begin), heaps[len(heaps)-1], faulty)
		}
	}
	wg.Wait()
	if err := faulty.Land(ctx); err != nil && !errors.Is(err, objstore.ErrExists) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The weather is fine again.
	s.store = sound
	for _, a := range s.actors() {
		if err := a.do(ctx); err != nil {
			s.wrong("in the end: %s: %v", a.name, err)
		}
	}
	s.report(ctx, sound, time.Since(begin), heap(), faulty)
	return errors.Join(s.err(), flat(heaps))
}

var errOver = errors.New("the time is over")

// heap is what is in use when all garbage is gone.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// flat compares the last third of the heaps with the first.
func flat(heaps []uint64) error {
	n := len(heaps) / 3
	if n == 0 {
		return nil
	}
	early, late := slices.Max(heaps[:n]), slices.Min(heaps[len(heaps)-n:])
	fmt.Printf("heap: at most %d KiB in the first third, at least %d KiB in the last\n", early>>10, late>>10)
	if late > early+early/4+4<<20 {
		return fmt.Errorf("memory has grown from %d to %d bytes", early, late)
	}
	return nil
}

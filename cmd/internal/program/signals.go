package program

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// signalError is why a context ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return e.signal.String() }

// code is what shells expect of a program that a signal ended.
func (e signalError) code() Code { return Code(128 + int(e.signal)) }

// watchSignals returns a context that ends with the first SIGINT or SIGTERM,
// so that work stops in good order; the second one ends the program where it
// stands, which loses nothing either: what is not committed was never there.
//
// SIGPIPE is taken away from the runtime, which would end the program at the
// first write to a closed pipe; with it the write fails, and we end quietly.
func watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)

	done := make(chan struct{})
	go func() {
		defer close(done)
		for first := true; ; first = false {
			s, more := <-signals
			if !more {
				return
			}
			err := signalError{s.(syscall.Signal)}
			if !first {
				os.Exit(int(err.code()))
			}
			cancel(err)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(signals)
		<-done
		cancel(nil)
	}
}

// interrupted is the code of the signal that ended ctx, if one did.
func interrupted(ctx context.Context) (Code, bool) {
	var err signalError
	if errors.As(context.Cause(ctx), &err) {
		return err.code(), true
	}
	return Done, false
}

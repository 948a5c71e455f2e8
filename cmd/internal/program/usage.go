package program

import (
	"errors"
	"fmt"
)

// ErrUsage says that what was typed, or set in a variable, cannot be done as
// it stands. Nothing was done.
var ErrUsage = errors.New("usage")

// UsageError is an ErrUsage that says what is wrong.
type UsageError struct {
	text string
	hint string
	err  error // what it wraps, if anything
}

// Usagef makes a UsageError.
func Usagef(format string, args ...any) *UsageError {
	err := fmt.Errorf(format, args...)
	return &UsageError{text: err.Error(), err: errors.Unwrap(err)}
}

// WithHint adds what to type instead.
func (e *UsageError) WithHint(format string, args ...any) *UsageError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

func (e *UsageError) Error() string { return e.text }

// Is makes every UsageError an ErrUsage.
func (e *UsageError) Is(target error) bool { return target == ErrUsage }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.err }

package ingest

import (
	"errors"
	"fmt"
)

var (
	// ErrBadInput says that the input is wrong, and will be wrong again.
	ErrBadInput = errors.New("bad input")

	// ErrFormat says that there is no such format.
	ErrFormat = errors.New("unknown format")
)

// PlaceError is ErrBadInput with a place that is no line: "offset 17".
type PlaceError struct {
	Place string
	Err   error
}

func (e *PlaceError) Error() string { return e.Place + ": " + e.Err.Error() }

// Unwrap gives what is wrong there.
func (e *PlaceError) Unwrap() error { return e.Err }

// Is makes every PlaceError an ErrBadInput.
func (e *PlaceError) Is(target error) bool { return target == ErrBadInput }

// LineError is ErrBadInput with the line, counted from 1.
type LineError struct {
	Line int64
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// Is makes every LineError an ErrBadInput.
func (e *LineError) Is(target error) bool { return target == ErrBadInput }

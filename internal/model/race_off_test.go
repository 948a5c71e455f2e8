//go:build !race

package model

// few is how many histories run with the other tests.
const few = 200

//go:build race

package model

// few is how many histories run with the other tests, where each takes ten
// times as long.
const few = 30

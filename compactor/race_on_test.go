//go:build race

package compactor

// stride is how far a test that fails every call goes from one to the next.
// Under the race detector, where everything takes about ten times as long, it
// takes every third.
const stride = 3

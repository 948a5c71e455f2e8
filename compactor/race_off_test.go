//go:build !race

package compactor

// stride is how far a test that fails every call goes from one to the next.
const stride = 1

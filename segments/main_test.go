package segments

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if anything is still running at the end: a File needs no
// closing, and its decompressors run nothing of their own.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

package compactor

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine behind: whoever starts one waits
// for it, also when a merge or a run ends early.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

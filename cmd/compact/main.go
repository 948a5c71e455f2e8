// Compact keeps topics: it makes them, adds messages, folds them by key, and
// tells how they are. Type "compact help".
package main

import (
	"os"

	"github.com/ledgerfold/ledgerfold/cmd/internal/compact"
)

func main() { os.Exit(compact.Program().Main()) }

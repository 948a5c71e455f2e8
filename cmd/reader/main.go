// Reader reads topics: whole, by position, by key, and as they were. Type
// "reader help".
package main

import (
	"os"

	"github.com/ledgerfold/ledgerfold/cmd/internal/reader"
)

func main() { os.Exit(reader.Program().Main()) }

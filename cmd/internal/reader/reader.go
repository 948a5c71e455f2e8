// Package reader is the command line reader. Each command is a file: what it
// takes, what it does by the rooms below, and what it prints.
package reader

import (
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
)

// Program is the command line.
func Program() *program.Program {
	return &program.Program{
		Name:  "reader",
		Usage: "read topics in object storage: whole, by position, by key, and as they were",
		Commands: []program.Command{
			read(),
			lastMessageID(),
			hasMessage(),
			get(),
			fetch(),
			changes(),
			consume(),
			deadLetters(),
			topic.ListCommand(),
			versions(),
			stats(),
		},
	}
}

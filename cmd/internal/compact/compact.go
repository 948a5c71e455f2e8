// Package compact is the command line compact. Each command is a file: what it
// takes, what it does by the rooms below, and what it prints.
package compact

import (
	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
)

// Program is the command line.
func Program() *program.Program {
	return &program.Program{
		Name:  "compact",
		Usage: "keep topics in object storage, and fold them by key",
		Commands: []program.Command{
			create(),
			topics(),
			ingestCommand(),
			plan(),
			run(),
			task(),
			commit(),
			status(),
			trim(),
			set(),
			tag(),
			gc(),
			verify(),
			quarantine(),
			deleteTopic(),
			doctorCommand(),
			demo(),
		},
	}
}

// boolFlag and the like save a line per flag.
func boolFlag(name, usage string) cli.Flag   { return &cli.BoolFlag{Name: name, Usage: usage} }
func stringFlag(name, usage string) cli.Flag { return &cli.StringFlag{Name: name, Usage: usage} }

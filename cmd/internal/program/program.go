// Package program is what the command lines compact and reader have in common:
// how a command line is read, how errors become exit codes and words, and what
// a command is given to do its work. A command says what it takes and does.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
)

// Program is a command line of several commands.
type Program struct {
	Name     string
	Usage    string
	Commands []Command
}

// Command is one thing that a program does.
type Command struct {
	Name   string
	Usage  string // one line
	Args   string // as shown: "TOPIC [FILE|-]"
	Least  int    // number of arguments
	Most   int    // -1: any
	Detail string // more lines of help: what it prints, an example
	Flags  []cli.Flag

	// Formats are the values of --output besides table and json, which every
	// command has. (ndjson is another word for json: a stream is a line for
	// each thing, and an answer is one line.)
	Formats []string

	// Text says that the command tells a story, which is text for programs too
	// unless they ask for json.
	Text bool

	// NoStore says that the command does without --store.
	NoStore bool

	// Run does it. The arguments were counted, and the store is named.
	Run func(ctx context.Context, s *Session) error
}

// Streams are what a program reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer // data, and nothing else
	Err io.Writer // logs, progress and errors
}

// Main runs the program as a process and returns its exit code.
func (p *Program) Main() int {
	ctx, stop := watchSignals(context.Background())
	defer stop()
	return int(p.Run(ctx, os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}))
}

// Run does what words say and returns how it ended.
func (p *Program) Run(ctx context.Context, words []string, streams Streams) Code {
	stderr := NewRedactor(streams.Err, os.Environ())
	out := output.NewWriter(streams.Out)

	err := p.run(ctx, words, streams, stderr, out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	code := CodeOf(err)
	switch signalled, yes := interrupted(ctx); {
	case errors.Is(err, output.ErrClosed):
		return Done
	case err == nil:
		return Done
	case yes:
		err, code = fmt.Errorf("stopped by a signal; what was committed before stays: %w", err), signalled
	}
	p.explain(stderr, err)
	return code
}

// explain says what failed and, where it is not plain, what to do now. What
// comes from errors is escaped, and lines after the first are indented: no
// text in the data can make up a line of ours.
func (p *Program) explain(w io.Writer, err error) {
	errs := []error{err}
	if failures := (*Failures)(nil); errors.As(err, &failures) {
		errs = failures.errs
	}
	for _, err := range errs {
		first := p.Name + ": "
		for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
			fmt.Fprintln(w, first+output.Escape(line))
			first = "  "
		}
		if hint := hintOf(err); hint != "" {
			fmt.Fprintln(w, "  "+output.Escape(hint))
		}
	}
}

func (p *Program) run(ctx context.Context, words []string, streams Streams, stderr io.Writer, out *output.Writer) error {
	app := p.app(streams, stderr, out)
	if len(words) == 0 {
		app.Writer = stderr
		_ = app.RunContext(ctx, []string{p.Name, "help"})
		return Usagef("a command is missing")
	}
	if len(words) == 1 && words[0] == "--version" {
		words = []string{"version"}
	}
	l, err := arrange(p.Name, words, commonFlags(), app.Commands)
	if err != nil {
		return err
	}
	return app.RunContext(ctx, l.words())
}

// app is the program as urfave/cli knows it.
func (p *Program) app(streams Streams, stderr io.Writer, out *output.Writer) *cli.App {
	app := &cli.App{
		Name:                      p.Name,
		HelpName:                  p.Name,
		Usage:                     p.Usage,
		UsageText:                 p.Name + " COMMAND [flags and arguments, in any order]",
		HideVersion:               true,
		Writer:                    out,
		ErrWriter:                 stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // Run decides
		OnUsageError:              onUsageError,
		CustomAppHelpTemplate:     programHelp,
		DisableSliceFlagSeparator: false,
	}
	for _, c := range append(p.Commands, versionCommand(p.Name)) {
		app.Commands = append(app.Commands, p.cliCommand(c, streams, stderr, out))
	}
	return app
}

func onUsageError(_ *cli.Context, err error, _ bool) error { return Usagef("%w", err) }

// cliCommand is c as urfave/cli knows it.
func (p *Program) cliCommand(c Command, streams Streams, stderr io.Writer, out *output.Writer) *cli.Command {
	var flags []cli.Flag
	for _, f := range append(c.Flags, commonFlags()...) {
		flags = append(flags, withVariable(f))
	}
	return &cli.Command{
		Name:               c.Name,
		Usage:              c.Usage,
		ArgsUsage:          c.Args,
		Description:        c.Detail,
		Flags:              flags,
		HideHelpCommand:    true, // "help" is a fine name for a topic
		OnUsageError:       onUsageError,
		CustomHelpTemplate: commandHelp,
		Action: func(cc *cli.Context) error {
			if err := c.countArgs(cc.Args().Slice()); err != nil {
				return err.WithHint("`%s help %s` explains it", p.Name, c.Name)
			}
			s, err := newSession(cc, &c, streams, stderr, out)
			if err != nil {
				return err
			}
			defer s.close()
			return c.Run(cc.Context, s)
		},
	}
}

// countArgs checks that the arguments can be those of c.
func (c *Command) countArgs(args []string) *UsageError {
	switch {
	case len(args) < c.Least:
		return Usagef("%s takes %s; something is missing", c.Name, c.Args)
	case c.Most >= 0 && len(args) > c.Most && c.Most == 0:
		return Usagef("%s takes no argument, got %q", c.Name, args[0])
	case c.Most >= 0 && len(args) > c.Most:
		return Usagef("%s takes %s; %q is too much", c.Name, c.Args, args[c.Most])
	case strings.HasPrefix(c.Args, "TOPIC") && len(args) > 0 && args[0] == "":
		return Usagef("the name of the topic is empty")
	}
	return nil
}

const programHelp = `{{.Name}} - {{.Usage}}

Usage: {{.UsageText}}

Commands:
{{range .VisibleCommands}}  {{printf "%-16s" .Name}} {{.Usage}}
{{end}}
"{{.Name}} help COMMAND" tells more. The store is given with --store URL or in
LEDGERFOLD_STORE; every flag has such a variable.

Exit codes: 0 done, or nothing to do; 1 other failure; 2 wrong usage or settings;
3 not found; 4 run it again (store unreachable, outcome unknown); 5 conflict;
6 corrupt data; 130 and 143 ended by a signal.
`

const commandHelp = `{{.HelpName}} - {{.Usage}}

Usage: {{.HelpName}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}} [flags]
{{if .Description}}
{{.Description}}
{{end}}
Flags:
{{range .VisibleFlags}}  {{.}}
{{end}}`

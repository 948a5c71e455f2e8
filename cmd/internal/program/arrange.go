package program

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// line is a command line, taken apart.
type line struct {
	program string
	command *cli.Command
	help    bool     // help was asked for, and nothing else matters
	flags   []string // --name, or --name=value; each in one word
	args    []string
}

// words is the one order in which urfave/cli reads all of a command line. It
// stops looking for flags at the first argument, and then takes late flags for
// arguments in silence: a "compact run orders --dry-run" would run.
func (l *line) words() []string {
	if l.command == nil {
		return []string{l.program, "help"}
	}
	if l.help {
		return []string{l.program, "help", l.command.Name}
	}
	words := append([]string{l.program, l.command.Name}, l.flags...)
	return append(append(words, "--"), l.args...)
}

// arrange takes the words after the program's name apart, by the flags that
// the command has. Flags may stand anywhere, also before the command if every
// command has them (common); "--" ends them. A flag with a value takes the next
// word whatever it looks like, so "--after -1:-1" works. A word that begins
// like a number is no flag, and "-" is an argument.
//
// Flags that the command does not have are refused here, before anything is
// done.
func arrange(program string, words []string, common []cli.Flag, commands []*cli.Command) (*line, error) {
	l := &line{program: program}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "--":
			l.args = append(l.args, words...)
			words = nil
		case l.command == nil && (word == "--help" || word == "-h"):
			l.help = true
		case looksLikeFlag(word):
			rest, err := l.takeFlag(word, words, common)
			if err != nil {
				return nil, err
			}
			words = rest
		case l.command == nil && !l.help && word == "help":
			l.help = true
		case l.command == nil:
			if l.command = find(commands, word); l.command == nil {
				return nil, l.unknownCommand(commands, word)
			}
		default:
			l.args = append(l.args, word)
		}
	}
	if l.command == nil && !l.help {
		return nil, Usagef("a command is missing").WithHint("`%s help` lists the commands", l.program)
	}
	return l, nil
}

// takeFlag adds the flag that word is, with its value from what follows if
// word has none, and returns the words after it.
func (l *line) takeFlag(word string, following []string, common []cli.Flag) ([]string, error) {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	flags := common
	if l.command != nil {
		flags = l.command.Flags
		if name == "help" || name == "h" {
			l.help = true
			return following, nil
		}
	}
	flag := findFlag(flags, name)
	if flag == nil {
		return nil, l.unknownFlag(word, name, flags)
	}
	name = flag.Names()[0]
	switch {
	case hasValue:
		l.flags = append(l.flags, "--"+name+"="+value)
	case !takesValue(flag):
		l.flags = append(l.flags, "--"+name)
	case len(following) == 0:
		return nil, Usagef("--%s needs a value", name)
	default:
		l.flags = append(l.flags, "--"+name+"="+following[0])
		following = following[1:]
	}
	return following, nil
}

// looksLikeFlag reports whether word is a flag by its looks. -1:-1 and -5 are
// positions, numbers or keys: no flag begins with a digit.
func looksLikeFlag(word string) bool {
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

// takesValue reports whether a flag is followed by a value. A flag that does
// not say is taken for a switch.
func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func (l *line) unknownCommand(commands []*cli.Command, word string) error {
	err := Usagef("unknown command %q", word)
	if near := nearest(word, commandNames(commands)); near != "" {
		return err.WithHint("did you mean `%s %s`?", l.program, near)
	}
	return err.WithHint("`%s help` lists the commands", l.program)
}

func (l *line) unknownFlag(word, name string, flags []cli.Flag) error {
	err := Usagef("unknown flag %s", strings.SplitN(word, "=", 2)[0])
	if near := nearest(name, flagNames(flags)); near != "" {
		return err.WithHint("did you mean --%s? Nothing was done", near)
	}
	if l.command == nil {
		return err.WithHint("%s", "flags of a command stand behind its name. Nothing was done")
	}
	return err.WithHint("`%s help %s` lists its flags. Nothing was done", l.program, l.command.Name)
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		if len(f.Names()[0]) > 1 {
			names = append(names, f.Names()[0])
		}
	}
	return names
}

// nearest is the name that word was probably meant to be, or "".
func nearest(word string, names []string) string {
	best, least := "", 3 // more than two letters off is a guess
	for _, name := range names {
		if d := distance(word, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

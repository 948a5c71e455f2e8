package program

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func testCommands() []*cli.Command {
	flags := append([]cli.Flag{
		&cli.StringFlag{Name: "after"},
		&cli.Int64Flag{Name: "limit"},
		&cli.BoolFlag{Name: "compacted"},
		&cli.StringSliceFlag{Name: "set"},
	}, commonFlags()...)
	return []*cli.Command{{Name: "read", Flags: flags}, {Name: "run", Flags: flags}}
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	for line, want := range map[string]string{
		"read orders":                                  "read -- orders",
		"read --limit 1 orders -o json":                "read --limit=1 --output=json -- orders",
		"read orders --limit=1 -o=json":                "read --limit=1 --output=json -- orders",
		"--store s read orders":                        "read --store=s -- orders",
		"-q read orders":                               "read --quiet -- orders",
		"read orders --compacted a b":                  "read --compacted -- orders a b",
		"read orders --compacted=false":                "read --compacted=false -- orders",
		"read orders --after -1:-1":                    "read --after=-1:-1 -- orders",
		"read orders --after --compacted":              "read --after=--compacted -- orders",
		"read orders --after --":                       "read --after=-- -- orders",
		"read orders --set a=b --set c=d":              "read --set=a=b --set=c=d -- orders",
		"read orders -1:-1 -5 -":                       "read -- orders -1:-1 -5 -",
		"read -- --limit orders --":                    "read -- --limit orders --",
		"read help h":                                  "read -- help h",
		"read orders --help":                           "help read",
		"help read":                                    "help read",
		"--help":                                       "help",
		"-h run":                                       "help run",
		"help":                                         "help",
		"read -limit 1 orders":                         "read --limit=1 -- orders", // as the Go flag package has it
		"read persistent://public/default/x -o ndjson": "read --output=ndjson -- persistent://public/default/x",
	} {
		l, err := arrange("p", strings.Fields(line), commonFlags(), testCommands())
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := strings.Join(l.words(), " "); got != "p "+want {
			t.Errorf("%s:\ngot  %s\nwant p %s", line, got, want)
		}
	}
}

func TestWhatACommandDoesNotHaveIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "a command is missing",
		"--store":                  "--store needs a value",
		"--limit 1 read":           "unknown flag --limit",
		"frobnicate x":             `unknown command "frobnicate"`,
		"raed orders":              `unknown command "raed"`,
		"read orders --dry-run":    "unknown flag --dry-run",
		"read --dry-run=true x":    "unknown flag --dry-run",
		"read -x orders":           "unknown flag -x",
		"read orders --limit":      "--limit needs a value",
		"read orders --compact":    "unknown flag --compact",
		"read ---limit 1":          "unknown flag ---limit",
		"read orders --=x":         "unknown flag --",
		"help frobnicate":          `unknown command "frobnicate"`,
		"read orders --dry-run -h": "unknown flag --dry-run",
	} {
		_, err := arrange("p", strings.Fields(line), commonFlags(), testCommands())
		if !errors.Is(err, ErrUsage) || err.Error() != want {
			t.Errorf("%s: got %v, want the usage error %q", line, err, want)
		}
	}
}

func TestTheHintNamesWhatWasProbablyMeant(t *testing.T) {
	for line, want := range map[string]string{
		"read orders --limt 3":  "did you mean --limit?",
		"read orders --compact": "did you mean --compacted?",
		"raed orders":           "did you mean `p read`?",
		"read orders --dry-run": "`p help read` lists its flags",
		"xyzzy":                 "`p help` lists the commands",
	} {
		_, err := arrange("p", strings.Fields(line), commonFlags(), testCommands())
		if got := hintOf(err); !strings.HasPrefix(got, want) {
			t.Errorf("%s: the hint is %q, want %q...", line, got, want)
		}
	}
}

// Whatever is typed: arranging does not fail in another way than by a usage
// error, loses no word and makes none up, and what comes out is in order
// already, so that arranging it again changes nothing.
func FuzzArrangingLosesNothing(f *testing.F) {
	for _, line := range []string{"read a --limit 1 b", "read --compacted=x a", "-q read -- -- a", "run -1:-1 -", "help", "--store= run x", "read --after -- x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		words := strings.Split(typed, " ")
		l, err := arrange("p", words, commonFlags(), testCommands())
		if err != nil {
			if !errors.Is(err, ErrUsage) {
				t.Errorf("got %v, want a usage error", err)
			}
			return
		}
		if l.help {
			return
		}
		again, err := arrange("p", l.words()[1:], commonFlags(), testCommands())
		if err != nil {
			t.Fatalf("%q, arranged to %q: %v", typed, l.words(), err)
		}
		if !slices.Equal(again.words(), l.words()) {
			t.Errorf("%q became %q, and that %q", typed, l.words(), again.words())
		}
		var values string
		for _, flag := range l.flags {
			_, value, _ := strings.Cut(flag, "=")
			values += value
		}
		for _, word := range words {
			isArg := slices.Contains(l.args, word)
			isFlag := strings.HasPrefix(word, "-")
			if word != l.command.Name && !isArg && !isFlag && !strings.Contains(values, word) {
				t.Errorf("%q: %q is lost in %q", typed, word, l.words())
			}
		}
	})
}

package program

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
)

// commonFlags are the flags that every command has.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "store", Usage: "where the topics are: a folder, file:///folder, s3://bucket/prefix, minio://ALIAS/bucket/prefix"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "table or json (default: table on a terminal, json elsewhere)"},
		&cli.StringFlag{Name: "now", Usage: "take this RFC 3339 time for the present (default: the clock)"},
		&cli.StringFlag{Name: "log-level", Usage: "debug, info, warn or error (default: info on a terminal, warn elsewhere)"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress on the terminal, and no log but errors"},
		&cli.StringFlag{Name: "cpuprofile", Usage: "write a CPU profile to this file", Hidden: true},
	}
}

// variable is the name of the environment variable that sets a flag.
func variable(flag string) string {
	return "LEDGERFOLD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// withVariable makes the flag take its value from its variable where the
// command line does not give one. It is done in one place for all flags, so
// none can be forgotten. A variable that is set to nothing is not set.
func withVariable(flag cli.Flag) cli.Flag {
	name := variable(flag.Names()[0])
	if text, set := os.LookupEnv(name); set && text == "" {
		return flag
	}
	switch f := flag.(type) {
	case *cli.StringFlag:
		f.EnvVars = []string{name}
	case *cli.BoolFlag:
		f.EnvVars = []string{name}
	case *cli.Int64Flag:
		f.EnvVars = []string{name}
	case *cli.StringSliceFlag:
		f.EnvVars = []string{name}
	default:
		panic(fmt.Sprintf("flag %s of type %T has no variable", flag.Names()[0], flag))
	}
	return flag
}

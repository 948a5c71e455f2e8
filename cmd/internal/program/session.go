package program

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
)

// Session is what a command is given: its arguments and flags, the streams,
// the clock, the log, and the way to the store. It lives as long as the
// command runs.
type Session struct {
	Program string
	Args    []string
	Flags   *cli.Context
	In      io.Reader
	Out     *output.Writer
	Err     io.Writer // without secrets
	Log     *slog.Logger
	Format  string // of the output: table, json, or one that the command has

	// Progress says whether bars may be drawn on Err.
	Progress bool

	fixedNow time.Time // of --now, or zero
	ids      *ids
	console  *console
	closers  []func()
}

// Now is the present: --now, if it is given, else the clock. It is the time
// that retention, lag and versions go by.
func (s *Session) Now() time.Time {
	if !s.fixedNow.IsZero() {
		return s.fixedNow
	}
	return time.Now().UTC()
}

// JSON reports whether the answer is to be JSON.
func (s *Session) JSON() bool { return s.Format == formatJSON }

// The formats that every command has.
const (
	formatTable = "table"
	formatJSON  = "json"
)

// newSession checks all that is common to the commands.
func newSession(cc *cli.Context, c *Command, streams Streams, stderr io.Writer, out *output.Writer) (*Session, error) {
	s := &Session{
		Program: cc.App.Name,
		Args:    cc.Args().Slice(),
		Flags:   cc,
		In:      streams.In,
		Out:     out,
		Err:     stderr,
		console: &console{w: stderr},
		ids:     newIDs(),
	}
	var err error
	if s.Format, err = format(cc.String("output"), c.Formats, c.Text || output.IsTerminal(streams.Out)); err != nil {
		return nil, err
	}
	if text := cc.String("now"); text != "" {
		if s.fixedNow, err = ParseTime(text); err != nil {
			return nil, Usagef("--now: %w", err)
		}
	}
	quiet, terminal := cc.Bool("quiet"), output.IsTerminal(streams.Err)
	s.Progress = terminal && !quiet
	level, err := logLevel(cc.String("log-level"), quiet, terminal)
	if err != nil {
		return nil, err
	}
	s.Log = slog.New(slog.NewTextHandler(s.console, &slog.HandlerOptions{Level: level}))
	if !c.NoStore && cc.String("store") == "" {
		return nil, Usagef("no store is given").WithHint("say where the topics are: --store ./folder, or export LEDGERFOLD_STORE=s3://bucket/prefix")
	}
	return s, s.profile(cc.String("cpuprofile"))
}

func (s *Session) close() {
	for _, f := range slices.Backward(s.closers) {
		f()
	}
}

// format decides how the answer is printed.
func format(text string, more []string, terminal bool) (string, error) {
	switch {
	case text == "" && terminal:
		return formatTable, nil
	case text == "", text == "ndjson":
		return formatJSON, nil
	case text == formatTable, text == formatJSON, slices.Contains(more, text):
		return text, nil
	case text == "csv", text == "arrow", text == "parquet":
		return "", Usagef("output %s is not built yet, or not for this command; use json or table", text)
	}
	return "", Usagef("unknown output %q; use %s", text, strings.Join(append([]string{"json", "table"}, more...), ", "))
}

func logLevel(text string, quiet, terminal bool) (slog.Level, error) {
	switch {
	case text != "":
		var level slog.Level
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return 0, Usagef("unknown log level %q; use debug, info, warn or error", text)
		}
		return level, nil
	case quiet:
		return slog.LevelError, nil
	case terminal:
		return slog.LevelInfo, nil
	}
	return slog.LevelWarn, nil
}

// timePattern is the shape of RFC 3339. Package time takes more than that: an
// hour of one digit, and a comma before the fraction.
var timePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// ParseTime reads a time of RFC 3339, which has a zone, and nothing looser.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !timePattern.MatchString(text) {
		return time.Time{}, fmt.Errorf("%q is not a time (want RFC 3339 with a zone, as in 2026-01-02T15:04:05Z)", text)
	}
	return t.UTC(), nil
}

// profile writes a CPU profile until the command ends.
func (s *Session) profile(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	s.closers = append(s.closers, func() {
		pprof.StopCPUProfile()
		f.Close()
	})
	return nil
}

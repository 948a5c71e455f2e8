package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/manifest"
)

// echo is a program whose one command tells what it was given.
func echo(run func(context.Context, *Session) error) *Program {
	return &Program{Name: "p", Usage: "test", Commands: []Command{{
		Name:  "echo",
		Usage: "tell",
		Args:  "TOPIC [MORE]",
		Least: 1, Most: 2,
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "limit", Value: 9},
			&cli.BoolFlag{Name: "compacted"},
			&cli.StringSliceFlag{Name: "set"},
			&cli.StringFlag{Name: "key-prefix"},
		},
		Run: run,
	}}}
}

func tell(_ context.Context, s *Session) error {
	_, err := fmt.Fprint(s.Out, s.Args, s.Flags.Int64("limit"), s.Flags.Bool("compacted"), s.Flags.StringSlice("set"), s.Flags.String("key-prefix"), s.Format)
	return err
}

// try runs words and returns the code and both streams.
func try(t *testing.T, ctx context.Context, p *Program, words ...string) (Code, string, string) {
	t.Helper()
	var out, errs strings.Builder
	code := p.Run(ctx, words, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

func TestACommandGetsWhatWasTyped(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	for line, want := range map[string]string{
		"echo a":                           "[a]9 false [] json",
		"echo a --limit 3 b --compacted":   "[a b]3 true []json",
		"echo --set x=1 a --set y=2,z=3":   "[a]9 false [x=1 y=2 z=3]json",
		"echo help":                        "[help]9 false []json",
		"echo h -o table":                  "[h]9 false []table",
		"echo limit store":                 "[limit store]9 false []json",
		"echo -- --limit -1":               "[--limit -1]9 false []json",
		"echo a --key-prefix=":             "[a]9 false []json",
		"echo a --key-prefix -x -o ndjson": "[a]9 false []-xjson",
	} {
		code, out, errs := try(t, t.Context(), echo(tell), strings.Fields(line)...)
		if squeeze(out) != squeeze(want) || code != Done || errs != "" {
			t.Errorf("%s: exit %d\ngot  %q\nwant %q\n%s", line, code, out, want, errs)
		}
	}
}

func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }

func TestEveryFlagHasItsVariable(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	t.Setenv("LEDGERFOLD_LIMIT", "3")
	t.Setenv("LEDGERFOLD_COMPACTED", "true")
	t.Setenv("LEDGERFOLD_SET", "x=1,y=2")
	t.Setenv("LEDGERFOLD_KEY_PREFIX", "k")
	t.Setenv("LEDGERFOLD_OUTPUT", "table")
	if _, out, _ := try(t, t.Context(), echo(tell), "echo", "a"); out != "[a] 3 true [x=1 y=2]ktable" {
		t.Errorf("got %q", out)
	}
	if _, out, _ := try(t, t.Context(), echo(tell), "echo", "a", "--limit=4", "--compacted=false", "--set", "z=3", "-o", "json", "--key-prefix", "l"); out != "[a] 4 false [z=3]ljson" {
		t.Errorf("the command line does not win: got %q", out)
	}
	for name, value := range map[string]string{"LIMIT": "many", "COMPACTED": "perhaps", "NOW": "now", "LOG_LEVEL": "loud", "OUTPUT": "yaml", "STORE": ""} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("LEDGERFOLD_"+name, value)
			code, out, errs := try(t, t.Context(), echo(tell), "echo", "a")
			if code != Usage || out != "" || errs == "" {
				t.Errorf("%q: exit %d, %q, %q", value, code, out, errs)
			}
		})
	}
}

func TestUsageErrorsDoNothing(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	p := echo(func(context.Context, *Session) error { t.Error("the command ran"); return nil })
	for _, line := range []string{
		"", "nosuch", "echo", "echo a b c", "echo a --nosuch", "echo --limit", "echo a --limit many", "echo a --compacted=perhaps",
		"echo a --now tomorrow", "echo a --now 2026-03-01T00:00:00", "echo a --now 2026-02-30T00:00:00Z", "echo a --now 2026-03-01T1:00:00Z",
		"echo a -o yaml", "echo a -o csv", "echo a --log-level loud", "help nosuch", "version x",
	} {
		code, out, errs := try(t, t.Context(), p, strings.Fields(line)...)
		if code != Usage || out != "" || !strings.Contains(errs, "p: ") {
			t.Errorf("%q: exit %d, out %q, err %q", line, code, out, errs)
		}
	}
	if code, _, errs := try(t, t.Context(), p, "echo", ""); code != Usage {
		t.Errorf("an empty topic: exit %d, %s", code, errs)
	}
}

func TestHelpIsAnAnswer(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "")
	for line, want := range map[string]string{
		"help":              "Exit codes:",
		"--help":            "Exit codes:",
		"help echo":         "--key-prefix",
		"echo --help":       "--key-prefix",
		"echo a b c -h":     "--key-prefix",
		"version -o json":   `"program":"p"`,
		"--version":         `"program":"p"`,
		"version -o table":  "program",
		"help version":      "--output",
		"echo --help --set": "needs a value",
	} {
		_, out, errs := try(t, t.Context(), echo(tell), strings.Fields(line)...)
		if !strings.Contains(out+errs, want) {
			t.Errorf("%s: want %q in\n%s%s", line, want, out, errs)
		}
	}
}

func TestAClosedOutputIsNoFailure(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs strings.Builder
	p := echo(func(_ context.Context, s *Session) error {
		for {
			if _, err := io.WriteString(s.Out, strings.Repeat("x", 100)); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
	})
	if code := p.Run(t.Context(), []string{"echo", "a"}, Streams{Out: w, Err: &errs}); code != Done || errs.String() != "" {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

func TestASignalDecidesTheCodeOfWhatItStopped(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	for _, test := range []struct {
		signal syscall.Signal
		err    error
		want   Code
	}{
		{syscall.SIGINT, context.Canceled, Interrupt},
		{syscall.SIGTERM, manifest.ErrUnknown, Terminated},
		{syscall.SIGTERM, nil, Done}, // it was done before the signal was looked at
		{syscall.SIGINT, output.ErrClosed, Done},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := echo(func(context.Context, *Session) error { cancel(signalError{test.signal}); return test.err })
		if code, _, errs := try(t, ctx, p, "echo", "a"); code != test.want {
			t.Errorf("%v, %v: exit %d, want %d\n%s", test.signal, test.err, code, test.want, errs)
		}
	}
}

func TestEveryFailureIsTold(t *testing.T) {
	t.Setenv("LEDGERFOLD_STORE", "s")
	p := echo(func(context.Context, *Session) error {
		var f Failures
		f.Add(fmt.Errorf("run a: %w", manifest.ErrTopicNotFound))
		f.Add(fmt.Errorf("run b: %w", errors.New("odd")))
		return f.Err()
	})
	code, _, errs := try(t, t.Context(), p, "echo", "a")
	if code != Failed || !strings.Contains(errs, "p: run a: topic not found\n  `compact topics`") || !strings.Contains(errs, "p: run b: odd\n") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// A job's id is never one that a collection has shut out, even one whose clock
// ran ahead.
func TestJobsBeginAfterThoseThatWereShutOut(t *testing.T) {
	s := &Session{ids: newIDs()}
	const ahead = manifest.JobID("7ZZZZZZZZZZZZZZZZZZZZZZZZY")
	first := s.JobID(nil)
	for _, m := range []*manifest.Manifest{nil, {}, {MinJob: first}, {MinJob: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {MinJob: "6ZZZZZZZZZZZZZZZZZZZZZZZZZ"}} {
		id := s.JobID(m)
		if m != nil && id <= m.MinJob || id == first || len(id) != len(ahead) {
			t.Errorf("got %s, after %s", id, m.MinJob)
		}
	}
	if a, b := s.CommitID(), s.CommitID(); a >= b {
		t.Errorf("ids do not go up: %s, %s", a, b)
	}
}

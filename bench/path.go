package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
)

// path sends messages through the whole path as a user would: ingest, compact
// and read as processes of their own, on a folder. What it is about is memory:
// ratio is the highest peak of them against the limit of 512 MiB.
var path = benchmark{
	name:  "path",
	about: "peak memory and time of ingest, run and read: 400-byte values, one key to ten rows",
	rows:  5_000_000,
	run:   runPath, byHand: true,
}

const pathLimit = 512 << 20

func runPath(ctx context.Context, rows int) (report, error) {
	dir, err := os.MkdirTemp("", "ledgerfold-bench-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", dir, "./cmd/compact", "./cmd/reader").CombinedOutput(); err != nil {
		return report{}, fmt.Errorf("build: %w\n%s", err, out)
	}
	store := filepath.Join(dir, "store")
	run := func(stdin io.Reader, name string, args ...string) (usage, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(dir, name), args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LEDGERFOLD_STORE=" + store}
		cmd.Stdin = stdin
		return finish(cmd)
	}

	r := newReport("step", "peak memory", "wall", "processor")
	r.detail["rows"], r.detail["keys"], r.detail["value_bytes"] = rows, rows/10, 400
	for _, step := range []struct {
		name  string
		input bool
		words []string
	}{
		{"create", false, []string{"compact", "create", "big"}},
		{"ingest", true, []string{"compact", "ingest", "big", "-"}},
		{"run", false, []string{"compact", "run", "big"}},
		{"read", false, []string{"reader", "read", "big", "--compacted", "-o", "ndjson"}},
	} {
		var stdin io.Reader
		if step.input {
			// A generator of its own would share the peak; a pipe does not.
			from, to := io.Pipe()
			go func() { to.CloseWithError(generate(to, rows, rows/10, 400)) }()
			stdin = from
		}
		u, err := run(stdin, step.words[0], step.words[1:]...)
		if err != nil {
			return r, err
		}
		r.table.AppendRow(table.Row{step.name, humanize.IBytes(uint64(u.peak)), u.wall.Round(time.Millisecond), u.busy.Round(time.Millisecond)})
		r.detail[step.name] = map[string]any{"peak_bytes": u.peak, "wall_seconds": u.wall.Seconds(), "processor_seconds": u.busy.Seconds()}
		r.ratio = max(r.ratio, float64(u.peak)/pathLimit)
	}
	return r, nil
}

// generate writes message lines with values that do not compress much, in a
// random order of keys that is the same each time.
func generate(w io.Writer, rows, keys, valueBytes int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, valueBytes*3/4)
	value := make([]byte, base64.StdEncoding.EncodedLen(len(raw)))
	b := bufio.NewWriterSize(w, 1<<20)
	for range rows {
		for i := range raw {
			raw[i] = byte(rng.Uint32())
		}
		base64.StdEncoding.Encode(value, raw)
		if _, err := fmt.Fprintf(b, `{"key":"key-%09d","value":"%s"}`+"\n", rng.IntN(keys), value); err != nil {
			return err
		}
	}
	return b.Flush()
}

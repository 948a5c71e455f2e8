// Command bench measures Ledgerfold. Each benchmark prints a table and, as its
// last line, one JSON object {"name", "ratio", "detail"}. Figures of a shared
// machine mean little by themselves, so what can be compared is compared in
// one run, in turns, and what can be counted is counted.
//
//	go run ./bench list
//	go run ./bench NAME [--rows N] [--cpuprofile FILE]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"

	"github.com/jedib0t/go-pretty/v6/table"
)

// benchmark is one thing to measure.
type benchmark struct {
	name  string
	about string
	rows  int // unless --rows says otherwise
	run   func(ctx context.Context, rows int) (report, error)

	// byHand says that it starts programs of its own, which takes longer than a
	// test may.
	byHand bool
}

// report is what a benchmark found.
type report struct {
	table  table.Writer
	ratio  float64 // what the benchmark is about: this against that
	detail map[string]any
}

// newReport starts a report whose table has these columns.
func newReport(columns ...any) report {
	r := report{table: table.NewWriter(), detail: map[string]any{}}
	r.table.AppendHeader(columns)
	return r
}

func benchmarks() []benchmark {
	return []benchmark{path, copyRatio, mapRatio, incremental, memory, requests, smallJob, readRatio, get}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] == "list" {
		for _, b := range benchmarks() {
			fmt.Fprintf(out, "%-13s %s (%d rows)\n", b.name, b.about, b.rows)
		}
		return nil
	}
	for _, b := range benchmarks() {
		if b.name == args[0] {
			return b.measure(ctx, out, args[1:])
		}
	}
	return fmt.Errorf("no benchmark %q; go run ./bench list", args[0])
}

func (b benchmark) measure(ctx context.Context, out io.Writer, args []string) (err error) {
	flags := flag.NewFlagSet(b.name, flag.ContinueOnError)
	rows := flags.Int("rows", b.rows, "rows to measure with")
	profile := flags.String("cpuprofile", "", "write a processor profile of this process to a file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	r, err := b.run(ctx, *rows)
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	r.table.SetOutputMirror(out)
	r.table.Render()
	return json.NewEncoder(out).Encode(map[string]any{"name": b.name, "ratio": r.ratio, "detail": r.detail})
}

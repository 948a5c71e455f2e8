// Command bench measures Ledgerfold. Each benchmark prints a table and, as its
// last line, one JSON object {"name", "ratio", "detail"}. Figures of a shared
// machine mean little by themselves, so what can be compared is compared in
// one run, and what can be counted is counted.
//
//	go run ./bench list
//	go run ./bench NAME [--rows N]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/jedib0t/go-pretty/v6/table"
)

// benchmark is one thing to measure.
type benchmark struct {
	name  string
	about string
	rows  int // unless --rows says otherwise
	run   func(ctx context.Context, rows int) (report, error)
}

// report is what a benchmark found.
type report struct {
	table  table.Writer
	ratio  float64 // what the benchmark is about: this against that
	detail map[string]any
}

var benchmarks = []benchmark{path}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] == "list" {
		for _, b := range benchmarks {
			fmt.Printf("%-12s %s (%d rows)\n", b.name, b.about, b.rows)
		}
		return nil
	}
	for _, b := range benchmarks {
		if b.name != args[0] {
			continue
		}
		flags := flag.NewFlagSet(b.name, flag.ContinueOnError)
		rows := flags.Int("rows", b.rows, "rows to measure with")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		r, err := b.run(ctx, *rows)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		r.table.SetOutputMirror(os.Stdout)
		r.table.Render()
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"name": b.name, "ratio": r.ratio, "detail": r.detail})
	}
	return fmt.Errorf("no benchmark %q; go run ./bench list", args[0])
}

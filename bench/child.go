package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// childCommand is the argument that makes the program do one part of a
// benchmark in a process of its own, whose memory can be told from the rest.
const childCommand = "child"

// children are those parts, by name. What one returns goes to its parent as
// JSON.
func children() map[string]func(ctx context.Context, args []string) (any, error) {
	return map[string]func(context.Context, []string) (any, error){}
}

func runChild(ctx context.Context, out io.Writer, args []string) error {
	act := children()[args[0]]
	if act == nil {
		return fmt.Errorf("no part %q", args[0])
	}
	answer, err := act(ctx, args[1:])
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer)
}

// usage is what a process used.
type usage struct {
	peak int64 // bytes of memory
	wall time.Duration
	busy time.Duration
}

// finish runs cmd and says what it used.
func finish(cmd *exec.Cmd) (usage, error) {
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage{u.Maxrss << 10, time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

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

package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/file"
)

// Some tests need several processes on one folder. They start this test binary
// again, with the role that it is to play and the folder in variables.
const (
	roleVariable = "LEDGERFOLD_TEST_ROLE"
	dirVariable  = "LEDGERFOLD_TEST_DIR"
)

func TestMain(m *testing.M) {
	var play func(*file.Store) error
	switch os.Getenv(roleVariable) {
	case "":
		goleak.VerifyTestMain(m)
		return
	case "racer":
		play = race
	case "stuck":
		play = getStuck
	}
	s, err := file.Open(os.Getenv(dirVariable))
	if err == nil {
		err = play(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func player(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const racers, rounds = 3, 100

func roundKey(i int) string { return fmt.Sprintf("m/%04d", i) }

// body is what a process puts, so that it can be told whose an object is.
func body(pid int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d ", pid), 1000) }

// race waits until all racers are there, puts at each of the keys, and prints
// the rounds that it won.
func race(s *file.Store) error {
	ctx, pid := context.Background(), os.Getpid()
	if err := s.Put(ctx, fmt.Sprint("ready/", pid), bytes.NewReader(nil)); err != nil {
		return err
	}
	for ready := 0; ready < racers; {
		ready = 0
		for _, err := range s.List(ctx, "ready/", "") {
			if err != nil {
				return err
			}
			ready++
		}
	}
	for i := range rounds {
		err := s.Put(ctx, roundKey(i), bytes.NewReader(body(pid)))
		if err == nil {
			fmt.Println(i, pid)
		} else if !errors.Is(err, objstore.ErrExists) {
			return err
		}
	}
	return nil
}

// Processes that know nothing of each other put at the same keys. Each key has
// one winner, and holds the winner's bytes, whole.
func TestRacingProcessesHaveOneWinner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	outputs := make([][]byte, racers)
	var g errgroup.Group
	for i := range outputs {
		cmd := player(t, "racer", dir)
		g.Go(func() (err error) {
			outputs[i], err = cmd.Output()
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	winners := map[int]int{}
	for line := range bytes.Lines(bytes.Join(outputs, nil)) {
		var round, pid int
		if _, err := fmt.Sscan(string(line), &round, &pid); err != nil {
			t.Fatal(err)
		}
		if other, taken := winners[round]; taken {
			t.Errorf("round %d was won by %d and by %d", round, other, pid)
		}
		winners[round] = pid
	}
	s := open(t, dir)
	for i := range rounds {
		pid, won := winners[i]
		if !won {
			t.Errorf("round %d has no winner", i)
		} else if got, err := s.Get(t.Context(), roundKey(i), 1<<20); err != nil || !bytes.Equal(got, body(pid)) {
			t.Errorf("round %d holds %d bytes, %v; want those of its winner", i, len(got), err)
		}
	}
}

// getStuck puts a body that never ends, and says when half of it was written.
func getStuck(s *file.Store) error {
	return s.Put(context.Background(), "m/1", endless{})
}

type endless struct{}

func (endless) Size() int64 { return 8 << 20 }

func (endless) ReadAt(p []byte, off int64) (int, error) {
	if off > 4<<20 {
		fmt.Println("half")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the process is killed
	}
	return len(p), nil
}

// A process is killed in the middle of a Put. Its object is not there, and not
// in part either, and its key is free.
func TestAKilledPutLeavesNoObject(t *testing.T) {
	dir := t.TempDir()
	cmd := player(t, "stuck", dir)
	if _, err := cmd.StdinPipe(); err != nil { // stays open as long as we live
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, len("half\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed

	if aside, err := os.ReadDir(filepath.Join(dir, "tmp~")); err != nil || len(aside) != 1 {
		t.Errorf("aside are %v, %v; want what the process was writing", aside, err)
	}
	s := open(t, dir)
	if got := list(t, s); got != nil {
		t.Errorf("List = %q, want nothing", got)
	}
	if _, err := s.Get(t.Context(), "m/1", 16<<20); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	put(t, s, "m/1", "after")
}

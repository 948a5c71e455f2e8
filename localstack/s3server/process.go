package s3server

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a child that is waited for.
type process struct {
	cmd    *exec.Cmd
	output *tail
	ended  chan struct{} // closed when it has been waited for
	wait   error         // set before ended is closed
}

// startProcess starts cmd so that it dies with us, even if we are killed.
//
// The system ties that to the thread that starts the child. One goroutine keeps
// the thread to itself from the start to the child's end, so that the thread
// does not end before and take the child along.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, output: new(tail), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	dieWithParent(cmd)

	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.wait = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop asks the process to end, then makes it, and waits until it has. There is
// little to be patient for: what the server stored is thrown away, and it would
// wait for the connections that clients keep open.
func (p *process) stop() error {
	const patience = 300 * time.Millisecond
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
	}
	if err := p.cmd.Process.Kill(); err != nil {
		select {
		case <-p.ended:
		default:
			return fmt.Errorf("end process %d: %w", p.cmd.Process.Pid, err)
		}
	}
	<-p.ended
	return nil
}

// err says how the process ended, and what it said last. It may be called after
// ended is closed.
func (p *process) err() error {
	if p.wait == nil {
		return fmt.Errorf("exit status 0, %q", p.output)
	}
	return fmt.Errorf("%w, %q", p.wait, p.output)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	const size = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - size; over > 0 {
		t.text = t.text[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}

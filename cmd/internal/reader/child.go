package reader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/readerlib/keyshared"
)

// child is the worker process of consume --exec: it gets message lines on its
// standard input, one at a time, and answers each, in one of two ways.
//
//	by lines    it prints ok, retry or reject, with a reason after it if it
//	            likes, and is given the next line
//	by exit     it ends. 0 is ok, 65 (EX_DATAERR) is reject, and all else retry.
//	            The next line goes to a new process
//
// Nobody has to say which: a process that has answered nothing after a second
// is told that there is no more (its input ends). One that answers by lines
// will answer all the same, and one that answers by exit ends. What it did is
// what is expected of the next one, so that only the first line waits.
type child struct {
	command string
	timeout time.Duration // for an answer; 0: none
	other   io.Writer     // for what it prints beside answers; safe for concurrent use

	byLines, byExit bool // what it was seen to do

	running *process
}

// process is one run of the command.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string   // its answers
	exited chan struct{} // closed when it is gone, and err is set
	err    error
	used   bool // its input has ended
}

// grace is how long the first line waits for an answer by a line.
const grace = time.Second

// exitReject is the exit code that means reject.
const exitReject = 65

func (c *child) start() error {
	cmd := exec.Command("sh", "-c", c.command)
	cmd.Stderr = c.other
	cmd.WaitDelay = grace // for grandchildren that keep its output open
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, outTo := io.Pipe()
	cmd.Stdout = outTo
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %q: %w", c.command, err)
	}
	p := &process{cmd: cmd, in: in, lines: make(chan string), exited: make(chan struct{})}
	read := make(chan struct{})
	go func() {
		defer close(read)
		answers := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := answers.ReadString('\n')
			if isAnswer(line) {
				p.lines <- line
			} else if line != "" {
				// Nobody is told if it can't be written: it is no answer.
				_, _ = io.WriteString(c.other, line)
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		p.err = cmd.Wait()
		outTo.Close()
		<-read // its last words come before its end
		close(p.exited)
	}()
	c.running = p
	return nil
}

// isAnswer reports whether a line is an answer.
func isAnswer(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return word == "ok" || word == "retry" || word == "reject"
}

// parseAnswer reads a line that is an answer.
func parseAnswer(line string) keyshared.Answer {
	word, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "ok":
		return keyshared.Answer{Verdict: keyshared.Handled}
	case "reject":
		return keyshared.Answer{Verdict: keyshared.Refused, Detail: strings.TrimSpace(reason)}
	}
	return keyshared.Answer{Verdict: keyshared.Failed, Detail: strings.TrimSpace(reason)}
}

// handle gives the process a line and waits for its answer.
func (c *child) handle(ctx context.Context, line []byte) keyshared.Answer {
	if err := c.ready(); err != nil {
		return keyshared.Answer{Verdict: keyshared.Failed, Detail: err.Error()}
	}
	p, only := c.running, c.byExit
	written := make(chan struct{})
	go func() {
		defer close(written)
		// Where it can't be written the process is about to end, which is an
		// answer, or has closed its input, which is its own business.
		_, _ = p.in.Write(append(line, '\n'))
		if only {
			p.in.Close()
		}
	}()
	defer func() { <-written }()
	p.used = only
	undecided := written // until the line is with the process
	if c.byExit || c.byLines {
		undecided = nil
	}

	var late, patience <-chan time.Time
	if c.timeout > 0 {
		timer := time.NewTimer(c.timeout)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case answer := <-p.lines:
			c.byLines, c.byExit = true, false
			return parseAnswer(answer)
		case <-p.exited:
			c.running = nil
			return c.ended(p)
		case <-undecided:
			undecided = nil
			timer := time.NewTimer(grace)
			defer timer.Stop()
			patience = timer.C
		case <-patience:
			p.used = true
			p.in.Close()
		case <-late:
			c.kill()
			return keyshared.Answer{Verdict: keyshared.Failed, Detail: fmt.Sprintf("no answer within %s", c.timeout)}
		case <-ctx.Done():
			c.kill()
			return keyshared.Answer{Verdict: keyshared.Untried}
		}
	}
}

// ready makes sure that there is a process which takes a line.
func (c *child) ready() error {
	if c.running != nil {
		select {
		case <-c.running.exited:
			c.running = nil
		default:
			if c.running.used {
				c.close()
			}
		}
	}
	if c.running == nil {
		return c.start()
	}
	return nil
}

// ended is what it means that a process ended without an answer. One that
// answers by lines may have gone before it has read the line, so that it went
// in peace says nothing about it.
func (c *child) ended(p *process) keyshared.Answer {
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(p.err, &exit) {
		code = exit.ExitCode() // -1 where a signal ended it
	} else if p.err != nil && !errors.Is(p.err, exec.ErrWaitDelay) {
		return keyshared.Answer{Verdict: keyshared.Failed, Detail: p.err.Error()}
	}
	if c.byLines {
		return keyshared.Answer{Verdict: keyshared.Failed, Detail: fmt.Sprintf("ended without an answer (exit status %d)", code)}
	}
	c.byExit = true
	switch code {
	case 0:
		return keyshared.Answer{Verdict: keyshared.Handled}
	case exitReject:
		return keyshared.Answer{Verdict: keyshared.Refused, Detail: p.err.Error()}
	}
	return keyshared.Answer{Verdict: keyshared.Failed, Detail: p.err.Error()}
}

// close ends the input of the process and waits until it has ended.
func (c *child) close() {
	if p := c.running; p != nil {
		p.in.Close()
		c.drain(p)
		c.running = nil
	}
}

// kill ends the process.
func (c *child) kill() {
	if p := c.running; p != nil {
		_ = p.cmd.Process.Kill() // it may be gone already
		c.drain(p)
		c.running = nil
	}
}

// drain waits for the end of a process, whatever it still says.
func (c *child) drain(p *process) {
	for {
		select {
		case <-p.lines:
		case <-p.exited:
			p.in.Close()
			return
		}
	}
}

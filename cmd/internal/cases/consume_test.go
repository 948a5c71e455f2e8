package cases

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

var (
	kills    = flag.Int("consume.kills", 4, "how often reader consume is killed")
	killSeed = flag.Uint64("consume.seed", 1, "what the kills are drawn from")
)

// programs runs the programs on one store.
type programs struct {
	t   *testing.T
	env []string
}

func newPrograms(t *testing.T) *programs {
	return &programs{t, append(os.Environ(), "LEDGERFOLD_STORE="+t.TempDir())}
}

func (p *programs) command(words ...string) *exec.Cmd {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = p.env
	return cmd
}

func (p *programs) run(stdin string, words ...string) string {
	p.t.Helper()
	cmd := p.command(words...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%q: %v\n%s", words, err, errs.String())
	}
	return string(out)
}

// life is one run of reader consume, whose workers tell of each message before
// they answer.
type life struct {
	t       *testing.T
	cmd     *exec.Cmd
	told    *bufio.Scanner
	handled []string // ids, in order
	last    map[string]int
}

func (p *programs) consume(words ...string) *life {
	p.t.Helper()
	worker := `while read -r line; do echo "told $line"; case "$line" in *bad*) echo "reject it is bad";; *) echo ok;; esac; done`
	l := &life{t: p.t, last: map[string]int{}}
	l.cmd = p.command(append([]string{"reader", "consume", "orders", "--group", "g", "--workers", "3", "--exec", worker}, words...)...)
	stderr, err := l.cmd.StderrPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	l.told = bufio.NewScanner(stderr)
	return l
}

// hear notes what the workers tell, up to n messages, and holds it against the
// order of keys. It reports false when there is no more.
func (l *life) hear(n int) bool {
	for ; n != 0 && l.told.Scan(); n-- {
		text, ok := strings.CutPrefix(l.told.Text(), "told ")
		if !ok {
			l.t.Errorf("it says %q", l.told.Text())
			continue
		}
		var m struct{ ID, Key string }
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			l.t.Fatalf("%q: %v", text, err)
		}
		var entry int
		if _, err := fmt.Sscanf(m.ID, "0:%d", &entry); err != nil {
			l.t.Fatal(err)
		}
		if last, ok := l.last[m.Key]; ok && last >= entry {
			l.t.Errorf("%s of %s comes after 0:%d", m.ID, m.Key, last)
		}
		l.last[m.Key] = entry
		l.handled = append(l.handled, m.ID)
	}
	return n == 0
}

// TestAKilledConsumerLosesNothing kills consumers where they stand, again and
// again. In the end each message was handled, in the order of its key within
// each life, each dead letter is there, and the group is through.
func TestAKilledConsumerLosesNothing(t *testing.T) {
	const messages = 300
	rng := rand.New(rand.NewPCG(*killSeed, 0))
	p := newPrograms(t)
	var lines strings.Builder
	for i := range messages {
		value := "good"
		if i%10 == 7 {
			value = "bad"
		}
		fmt.Fprintf(&lines, `{"key":"k%d","value":%q}`+"\n", i%29, value)
	}
	p.run("", "compact", "create", "orders")
	p.run(lines.String(), "compact", "ingest", "orders")

	handled := map[string]int{}
	count := func(l *life) {
		for _, id := range l.handled {
			handled[id]++
		}
	}
	killed := 0
	for killed < *kills {
		l := p.consume("--save-interval", "5ms", "--look-ahead", fmt.Sprint(5+rng.IntN(50)))
		if !l.hear(1 + rng.IntN(1+messages/max(4, *kills))) {
			_ = l.cmd.Wait()
			count(l)
			break // everything is finished
		}
		if err := l.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed++
		l.hear(-1)
		_ = l.cmd.Wait()
		count(l)
	}
	l := p.consume()
	l.hear(-1)
	if err := l.cmd.Wait(); err != nil {
		t.Fatalf("-consume.seed=%d: the last one: %v", *killSeed, err)
	}
	count(l)
	twice := 0
	for i := range messages {
		switch n := handled[fmt.Sprintf("0:%d", i)]; {
		case n == 0:
			t.Errorf("-consume.seed=%d: 0:%d was never handled", *killSeed, i)
		case n > 1:
			twice++
		}
	}
	letters := map[string]bool{}
	for line := range strings.Lines(p.run("", "reader", "dlq", "list", "orders")) {
		var l struct{ Position, Reason, Payload string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Reason != "rejected" || l.Payload != "present" || letters[l.Position] {
			t.Errorf("letter %s: %v", line, err)
		}
		letters[l.Position] = true
	}
	if len(letters) != messages/10 {
		t.Errorf("-consume.seed=%d: %d messages have letters, want %d", *killSeed, len(letters), messages/10)
	}
	if out := p.run("", "reader", "consume", "orders", "--group", "g", "--exec", "false"); !strings.Contains(out, `"finished":0,`) || !strings.Contains(out, `"unfinished":0,"through":"0:299"`) {
		t.Errorf("the group is not through: %s", out)
	}
	t.Logf("killed %d times; %d of %d messages were handled more than once", killed, twice, messages)
}

// A signal ends a consumer in good order: what was answered is saved.
func TestASignalLeavesAConsumerWhereItIs(t *testing.T) {
	p := newPrograms(t)
	p.run("", "compact", "create", "orders")
	p.run(strings.Repeat(`{"key":"k","value":"v"}`+"\n", 20), "compact", "ingest", "orders")
	l := p.consume("--follow", "--save-interval", "1h")
	l.hear(20)
	if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for l.told.Scan() {
		if !strings.Contains(l.told.Text(), "signal") && !strings.HasPrefix(l.told.Text(), "  ") {
			t.Errorf("it says %q", l.told.Text())
		}
	}
	_ = l.cmd.Wait()
	if got := l.cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("exit %d, want 143", got)
	}
	l = p.consume()
	l.hear(-1)
	_ = l.cmd.Wait()
	if len(l.handled) > 1 { // the last one may not have been answered
		t.Errorf("handled again: %v", l.handled)
	}
}

// Of two consumers of one group the later one goes on, and the earlier one
// stops with a conflict.
func TestTheLaterOfTwoConsumersWins(t *testing.T) {
	p := newPrograms(t)
	p.run("", "compact", "create", "orders")
	p.run(strings.Repeat(`{"key":"k","value":"v"}`+"\n", 20), "compact", "ingest", "orders")
	first := p.consume("--follow", "--save-interval", "1ms")
	first.hear(20)
	second := p.consume()
	second.hear(-1)
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("the second: %v", err)
	}
	// The first one learns of it when it has something to save.
	p.run(`{"key":"k","value":"v"}`+"\n", "compact", "ingest", "orders")
	var said strings.Builder
	for first.told.Scan() {
		said.WriteString(first.told.Text() + "\n")
	}
	_ = first.cmd.Wait()
	if got := first.cmd.ProcessState.ExitCode(); got != 5 || !strings.Contains(said.String(), "taken over") {
		t.Errorf("the first: exit %d, want 5\n%s", got, said.String())
	}
}

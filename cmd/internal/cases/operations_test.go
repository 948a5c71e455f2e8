package cases

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/cmd/internal/compact"
	"github.com/ledgerfold/ledgerfold/cmd/internal/reader"
)

// module is its root, from here.
const module = "../../.."

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(module, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rows are the cells of the table below a heading, without its head.
func rows(t *testing.T, page, heading string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("there is no %q", heading)
	}
	var rows [][]string
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "#") {
			break
		}
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("there is no table below %q", heading)
	}
	return rows[2:]
}

var quoted = regexp.MustCompile("`([^`]+)`")

// eachSource calls look with every Go file of the module, tests or not.
func eachSource(t *testing.T, look func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != module:
			return fs.SkipDir
		case strings.HasSuffix(path, ".go"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			look(path, string(b))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What the page of operations says is shown is what the program says.
func TestTheMessagesOfTheOperationsPageAreThoseOfTheProgram(t *testing.T) {
	missing := map[string]bool{
		"no space left on device": false, // is the system's
	}
	for _, row := range rows(t, page(t, "operations.md"), "## By message") {
		message := quoted.FindStringSubmatch(row[0])
		if message == nil {
			t.Fatalf("no message in %q", row)
		}
		if _, known := missing[message[1]]; !known {
			missing[message[1]] = true
		}
	}
	eachSource(t, func(path, text string) {
		for message := range missing {
			if !strings.HasSuffix(path, "_test.go") && strings.Contains(text, message) {
				missing[message] = false
			}
		}
	})
	for message, is := range missing {
		if is {
			t.Errorf("nothing says %q", message)
		}
	}
}

// What the page shows to copy can be read by what it is for.
func TestTheExamplesOfTheOperationsPageCanBeRead(t *testing.T) {
	n := map[string]int{}
	for _, m := range regexp.MustCompile("(?ms)^ *```(json|sh)\n(.*?)^ *```").FindAllStringSubmatch(page(t, "operations.md"), -1) {
		n[m[1]]++
		if m[1] == "json" {
			if !json.Valid([]byte(m[2])) {
				t.Errorf("not JSON:\n%s", m[2])
			}
			continue
		}
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(m[2])
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("sh -n: %v\n%s\n%s", err, out, m[2])
		}
	}
	if n["json"] < 3 || n["sh"] < 4 {
		t.Errorf("found %v", n)
	}
}

// right is what a request asks a service for.
func right(r *http.Request) string {
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") != "":
		return "list"
	case r.Method == http.MethodGet:
		return "get"
	case r.Method == http.MethodPut:
		return "put"
	}
	return "delete"
}

// TestTheRightsOfTheOperationsPageAreEnough runs the commands of the table of
// permissions on a service that grants them just what the table says, and sees
// that each asks for all of it.
func TestTheRightsOfTheOperationsPageAreEnough(t *testing.T) {
	all := []string{"list", "get", "put", "delete"}
	granted, used := all, map[string]bool{}
	s := startService(t, func(w http.ResponseWriter, r *http.Request) bool {
		used[right(r)] = true
		if slices.Contains(granted, right(r)) {
			return false
		}
		refuse(w, http.StatusForbidden, "AccessDenied", right(r)+" is not granted")
		return true
	})
	grant := func(rights ...string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		granted, used = rights, map[string]bool{}
	}
	env := append(credentials(s), "LEDGERFOLD_STORE=s3://bucket/prefix", "LEDGERFOLD_NOW=2026-03-01T00:00:00Z")
	lines := `{"key":"k","value":"v"}` + "\n" + `{"key":"k","value":"w"}` + "\n"
	must := func(words ...string) {
		t.Helper()
		if r := try(t, env, lines, words...); r.code != 0 {
			t.Fatalf("%q: exit %d\n%s", words, r.code, r.err)
		}
	}
	n := 0
	commands := map[string]bool{}
	for _, row := range rows(t, page(t, "operations.md"), "## Permissions") {
		var rights []string
		for i, name := range all {
			if row[i+1] == "yes" {
				rights = append(rights, name)
			}
		}
		var names []string
		for _, m := range quoted.FindAllStringSubmatch(row[0], -1) {
			if m[1] != "reader ..." {
				names = append(names, m[1])
				continue
			}
			for _, c := range reader.Program().Commands {
				if c.Name != "consume" && c.Name != "dlq" { // which have a row of their own
					names = append(names, "reader "+c.Name)
				}
			}
		}
		for _, name := range names {
			commands[name] = true
			if name == "compact doctor" {
				continue // this service cannot take what it puts; it uses all there is
			}
			n++
			topic := fmt.Sprint("topic", n)
			var plan []string
			grant(all...)
			if name == "compact create" {
				s.mu.Lock()
				clear(s.objects) // the store is examined, and what is put for it may stay
				s.mu.Unlock()
			} else {
				must("compact", "create", topic)
				must("compact", "ingest", topic)
				must("compact", "ingest", topic)
				must("compact", "run", topic)
				must("compact", "set", topic, "retention=0s")
				must("compact", "trim", topic, "--now", "2026-04-01T00:00:00Z")
				switch name {
				case "compact run", "compact plan --save":
					must("compact", "ingest", topic)
				case "compact task", "compact commit":
					must("compact", "ingest", topic)
					var p struct{ Plan string }
					r := try(t, env, "", "compact", "plan", topic, "--save", "-o", "json")
					if err := json.Unmarshal([]byte(r.out), &p); err != nil || p.Plan == "" {
						t.Fatalf("plan: %s%s %v", r.out, r.err, err)
					}
					plan = []string{p.Plan}
					if name == "compact task" {
						plan = append(plan, "0")
						break
					}
					must("compact", "task", p.Plan, "0")
					must("compact", "task", p.Plan, "1")
				case "reader dlq":
					must("reader", "consume", topic, "--group", "g", "--exec", "exit 65")
				}
			}
			words := strings.Fields(name)
			words = append(words, arguments[name]...)
			for i, word := range words {
				if word == "orders" {
					words[i] = topic
				}
			}
			switch {
			case plan != nil:
				words = append(words, plan...)
			case words[1] == "topics" || len(words) > 2 && arguments[name] != nil:
			case words[1] == "get":
				words = append(words, topic, "k")
			case words[1] == "gc":
				words = append(words, topic, "--keep-age", "0s", "--now", "2026-05-01T00:00:00Z")
			case words[1] == "trim":
				must("compact", "create", topic+"t")
				must("compact", "ingest", topic+"t")
				must("compact", "ingest", topic+"t")
				must("compact", "run", topic+"t")
				must("compact", "set", topic+"t", "retention=0s")
				words = append(words, topic+"t", "--now", "2026-04-01T00:00:00Z")
			default:
				words = append(words, topic)
			}
			grant(rights...)
			r := try(t, env, lines, words...)
			if r.code != 0 {
				t.Errorf("%q with %q: exit %d\n%s", words, rights, r.code, r.err)
			}
			for _, name := range rights {
				if !used[name] && words[1] != "topics" {
					t.Errorf("%q does not ask for %s", words, name)
				}
			}
		}
	}
	for _, name := range []string{"reader consume", "reader dlq"} {
		if !commands[name] {
			t.Errorf("the table does not have %s", name)
		}
	}
	for _, c := range compact.Program().Commands {
		if name := "compact " + c.Name; !commands[name] && c.Name != "demo" {
			t.Errorf("the table does not have %s", name)
		}
	}
}

// Whatever a page promises is held by tests, and they are there.
func TestTheTestsThatPagesNameAreThere(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	eachSource(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range declared.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = true
			}
		}
	})
	pages, err := filepath.Glob(filepath.Join(module, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, path := range pages {
		for _, m := range quoted.FindAllStringSubmatch(page(t, filepath.Base(path)), -1) {
			name := m[1]
			switch isTest := regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w+$`).MatchString(name); {
			case isTest && !tests[name]:
				t.Errorf("%s names %s, which is not there", filepath.Base(path), name)
			case isTest:
				named++
			case regexp.MustCompile(`^(cli|kafka|more|pulsar)/[a-z0-9-]+$`).MatchString(name):
				if _, err := os.Stat(filepath.Join("testdata", name+".txtar")); err != nil {
					t.Errorf("%s names the case %s, which is not there", filepath.Base(path), name)
				}
				named++
			}
		}
	}
	if named < 50 {
		t.Errorf("pages name %d tests", named)
	}
}

// Each promise has a test.
func TestEveryPromiseNamesATest(t *testing.T) {
	text := page(t, "guarantees.md")
	for _, heading := range regexp.MustCompile(`(?m)^## Promised: .*$`).FindAllString(text, -1) {
		for _, row := range rows(t, text, heading) {
			if len(row) != 2 || !regexp.MustCompile("`(Test|Fuzz|cli/|kafka/|more/|pulsar/)").MatchString(row[1]) {
				t.Errorf("%s: no test holds %q", heading, row)
			}
		}
	}
}

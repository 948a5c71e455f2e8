package compact

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
)

func runDemo(t *testing.T, words ...string) (program.Code, string, string) {
	t.Helper()
	var out, errs strings.Builder
	code := Program().Run(t.Context(), append([]string{"demo"}, words...), program.Streams{Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

func TestTheDemoProvesTheSample(t *testing.T) {
	store := filepath.Join(t.TempDir(), "it's a store")
	code, out, errs := runDemo(t, "--sample", "--store", store)
	if code != program.Done || !strings.Contains(out, "the same 522 files") || !strings.Contains(out, `LEDGERFOLD_STORE='`) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := runDemo(t, "--sample", "--store", store); code != program.Conflict {
		t.Errorf("the topic is there, but: exit %d\n%s%s", code, out, errs)
	}
	code, out, errs = runDemo(t, "--sample", "--store", store, "--topic", "again", "-o", "json")
	var answer demoAnswer
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != program.Done {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, errs)
	}
	if !answer.Right || answer.Keys != 522 || answer.Messages != 7768 || answer.CompactedBytes >= answer.OriginalBytes {
		t.Errorf("got %+v", answer)
	}
}

// Without a store the demo makes a folder, and names it.
func TestTheDemoTakesTheHistoryItIsRunIn(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	cmd := exec.Command("sh", "-c", `git init -q . && for i in 1 2 3 4; do echo $i > a; echo $i > b$i; rm -f b2; git add -A .
		git -c user.name=n -c user.email=e@example.com -c commit.gpgsign=false commit -qm $i; done`)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Chdir(dir)
	code, out, errs := runDemo(t)
	if code != program.Done || !strings.Contains(out, "4 commits, 7 changes") || !strings.Contains(out, "the same 4 files") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if !strings.Contains(out, "store    "+os.TempDir()) {
		t.Errorf("it does not name its folder:\n%s", out)
	}
}

func TestWordsForAShellAreQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"/tmp/x-1_2.3": "/tmp/x-1_2.3",
		"":             "''",
		"a b":          "'a b'",
		"it's":         `'it'\''s'`,
		"$x":           "'$x'",
		"s3://b?e=1&x": "'s3://b?e=1&x'",
	} {
		if got := shellQuote(word); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", word, got, want)
		}
	}
}

package history

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// fold applies a log's lines in order, the plain way.
func fold(t *testing.T, l *Log) map[string]File {
	t.Helper()
	type message struct {
		Key       string
		KeyBase64 []byte `json:"key_base64"`
		Value     *string
	}
	files := make(map[string]File)
	changes := 0
	for _, line := range l.Lines {
		var entry struct {
			message
			Batch []message
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if entry.Batch == nil {
			entry.Batch = []message{entry.message}
		}
		for _, m := range entry.Batch {
			changes++
			path := m.Key + string(m.KeyBase64)
			if m.Value == nil {
				delete(files, path)
				continue
			}
			f, err := ParseFile([]byte(*m.Value))
			if err != nil {
				t.Fatal(err)
			}
			files[path] = f
		}
	}
	if changes != l.Changes {
		t.Errorf("the log says that it has %d changes, and has %d", l.Changes, changes)
	}
	return files
}

func TestTheSampleFoldsToItsTree(t *testing.T) {
	l, err := Sample()
	if err != nil {
		t.Fatal(err)
	}
	if l.Changes != 7768 || l.Commits != 1383 || len(l.Want) != 522 {
		t.Errorf("got %d changes in %d commits, and %d files", l.Changes, l.Commits, len(l.Want))
	}
	if differences := l.Compare(fold(t, l)); differences != nil {
		t.Error(differences)
	}
}

// A history with everything in it: files changed, deleted, brought back, made
// executable, turned into links, strangely named, and a merge.
func TestAGitHistoryFoldsToItsTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	script := `
set -e
git init -q -b main .
git config user.name n; git config user.email e@example.com; git config commit.gpgsign false
git config diff.renames copies; git config log.showRoot false; git config diff.relative true
git config format.pretty 'format:%H nonsense'
echo 1 > a; mkdir d; echo 1 > d/b; echo x > 'sp ace "quoted"'; printf 'new\nline' > "$(printf 'nl\nname')"
git add .; git commit -qm one
printf '\377' > "$(printf 'byte\377')" && git add . && git commit -qm bytes
git mv a c; git commit -qm renamed
git rm -q d/b; git commit -qm deleted
git checkout -qb side HEAD~1; echo side > s; echo both > c; git add .; git commit -qm side
git checkout -q main; echo main > m; git add .; git commit -qm main
git merge -q --no-edit side
chmod +x m; git add .; git commit -qm executable
rm s; ln -s m s; git add .; git commit -qm link
mkdir d; echo again > d/b; git add .; git commit -qm back
git commit -q --allow-empty -m nothing
`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := Git(t.Context(), filepath.Join(dir, "d"))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Want) == 0 || len(l.Lines) < 7 {
		t.Errorf("got %d files and %d lines", len(l.Want), len(l.Lines))
	}
	if differences := l.Compare(fold(t, l)); differences != nil {
		t.Error(differences)
	}

	// The end of it, after the tree before.
	w := writer{log: &Log{Want: l.Want}}
	g := git{t.Context(), dir}
	if err := w.base(g, "HEAD~3"); err != nil {
		t.Fatal(err)
	}
	if err := w.commits(g, 3); err != nil {
		t.Fatal(err)
	}
	if differences := w.log.Compare(fold(t, w.log)); differences != nil {
		t.Error(differences)
	}
}

func TestOutsideOfARepositoryThereIsNoHistory(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	if _, err := Git(t.Context(), t.TempDir()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("got %v, want ErrNoRepository", err)
	}
}

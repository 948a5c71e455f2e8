// Package cases proves the contract of the command lines: each file below
// testdata is one behaviour, told in a sentence and shown by a script (see its
// README).
package cases

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ledgerfold/ledgerfold/cmd/internal/compact"
	"github.com/ledgerfold/ledgerfold/cmd/internal/reader"
)

// brisk is for the race detector, which holds each process back for a second
// when it ends, in case others of its threads still race. The scripts run
// thousands of processes.
const brisk = "atexit_sleep_ms=0"

// TestMain makes this binary be the two programs too: the scripts run copies
// of it under their names, as processes of their own.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", brisk)
	testscript.Main(m, map[string]func(){
		"compact": func() { os.Exit(compact.Program().Main()) },
		"reader":  func() { os.Exit(reader.Program().Main()) },
	})
}

// caseFiles lists the scripts below root, as folder/name without the ending.
func caseFiles(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, _ fs.DirEntry, err error) error {
		if name, isCase := strings.CutSuffix(path, ".txtar"); isCase {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestCases(t *testing.T) {
	names := caseFiles(t, "testdata")
	if len(names) < 100 {
		t.Errorf("found %d cases, want them all", len(names))
	}
	for name := range skipped {
		if !slices.Contains(names, name) {
			t.Errorf("the skip list names %s, which is not there", name)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if reason, skip := skipped[name]; skip {
				t.Skip(reason)
			}
			t.Parallel()
			testscript.Run(t, testscript.Params{
				Files:               []string{filepath.Join("testdata", name+".txtar")},
				RequireExplicitExec: true,
				Setup: func(env *testscript.Env) error {
					env.Vars = append(env.Vars, "LEDGERFOLD_STORE="+filepath.Join(env.WorkDir, "store"), "GORACE="+brisk)
					return nil
				},
			})
		})
	}
}

// The cases came from a folder that may lie beside the checkout, where people
// go on adding to them. What is there has to be here.
func TestTheCasesAreUpToDate(t *testing.T) {
	const origin = "../../../../shared/cases" // beside the module's root
	if _, err := os.Stat(origin); err != nil {
		t.Skipf("there is nothing to compare with: %v", err)
	}
	for _, name := range caseFiles(t, origin) {
		want, err := os.ReadFile(filepath.Join(origin, name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		switch got, err := os.ReadFile(filepath.Join("testdata", name+".txtar")); {
		case err != nil:
			t.Errorf("%s is missing here", name)
		case string(got) != string(want):
			t.Errorf("%s is another one here", name)
		}
	}
}

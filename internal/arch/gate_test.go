package arch_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheCodeIsInOrder makes the tests the whole gate: formatting, vet and
// staticcheck pass on every package.
func TestTheCodeIsInOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: gofmt, vet and staticcheck are not run")
	}
	for _, words := range [][]string{
		{"gofmt", "-l", "."},
		{"go", "vet", "./..."},
		{"go", "tool", "staticcheck", "./..."},
		{"go", "mod", "verify"},
	} {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			if err != nil || words[0] == "gofmt" && len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

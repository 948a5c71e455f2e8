// Package arch holds the shape of the project: which room may know which.
package arch_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/ledgerfold/ledgerfold/"

// floors lists the rooms from the ground up. A package may import packages of
// lower floors, and of its own room; so rooms of one floor never know each
// other.
var floors = [][]string{
	{"segments", "objstore"},             // bytes
	{"manifest", "txnfilter"},            // meaning
	{"ingest", "compactor", "readerlib"}, // work
	{"localstack"},                       // a server to try it on
	{"cmd", "bench", "internal/endtoend", "internal/model", "internal/sim"}, // wiring
	{"internal/arch"}, // what looks at all of it
}

// wiring is the first floor on which a program may have a log, a clock of its
// own, and chance.
const wiring = 3

// onlyIn names the rooms that may import what the rest of the project should
// not depend on.
var onlyIn = map[string][]string{
	"github.com/apache/arrow":          {"segments", "readerlib"},
	"github.com/apache/arrow-go":       {"segments", "readerlib", "bench"},
	"github.com/aws/":                  {"objstore/s3"},
	"github.com/minio/minio-go":        {"objstore/minio", "localstack"},
	"github.com/urfave/cli":            {"cmd"},
	"github.com/prometheus":            {"cmd", "bench", "localstack"},
	"log/slog":                         {"cmd", "bench", "localstack"},
	"log":                              {},
	"math/rand":                        {"cmd", "bench", "localstack"},
	"crypto/rand":                      {"cmd", "bench", "localstack"},
	"github.com/oklog/ulid":            {"cmd", "bench", "localstack"},
	"github.com/vbauerster/mpb":        {"cmd"},
	"github.com/jedib0t/go-pretty":     {"cmd", "bench"},
	"github.com/RoaringBitmap/roaring": {"segments", "manifest", "compactor", "readerlib"},
}

// pkg is what go list tells of a package, without its tests.
type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsOnlyGoDown(t *testing.T) {
	for _, p := range packages(t) {
		from, room := floor(t, p.ImportPath)
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			if to, other := floor(t, imp); to >= from && other != room {
				t.Errorf("%s (floor %d) imports %s (floor %d)", p.ImportPath, from, imp, to)
			}
		}
	}
}

func TestHeavyImportsStayInTheirRoom(t *testing.T) {
	for _, p := range packages(t) {
		here := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for prefix, rooms := range onlyIn {
				standard := !strings.Contains(prefix, ".")
				if standard && imp != prefix || !within(imp, prefix) {
					continue
				}
				allowed := false
				for _, room := range rooms {
					allowed = allowed || within(here, room)
				}
				if !allowed {
					t.Errorf("%s imports %s, which only %q may", here, imp, rooms)
				}
			}
		}
	}
}

// TestClocksComeFromAbove: below the wiring, the time is an argument. So a run
// can be replayed, and a test needs no patience.
func TestClocksComeFromAbove(t *testing.T) {
	for _, p := range packages(t) {
		if n, _ := floor(t, p.ImportPath); n >= wiring {
			continue
		}
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok || x.Name != "time" {
					return true
				}
				switch sel.Sel.Name {
				case "Now", "Since", "Until", "Sleep", "After", "Tick", "NewTicker":
					t.Errorf("%s uses time.%s", set.Position(n.Pos()), sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// within reports whether path is prefix or lies below it.
func within(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func floor(t *testing.T, path string) (n int, room string) {
	path = strings.TrimPrefix(path, module)
	for i, rooms := range floors {
		for _, r := range rooms {
			if within(path, r) && len(r) > len(room) {
				n, room = i, r
			}
		}
	}
	if room == "" {
		t.Errorf("%s is in no room", path)
	}
	return n, room
}

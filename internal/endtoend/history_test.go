package endtoend

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// history is the change log of testdata, whole and in lines.
func history(t *testing.T) []string {
	t.Helper()
	packed, err := os.ReadFile("testdata/file-history.ndjson.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(all), "\n"), "\n")
}

// tree is the right answer: path to mode and blob.
func tree(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/file-history.expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		files[fields[0]] = fields[1] + " " + fields[2]
	}
	return files
}

// file reads a message line of the history: its path, and mode and blob, which
// are empty for a file that was deleted.
func file(t *testing.T, line string) (path, content string) {
	t.Helper()
	var m struct {
		Key   string
		Value *string
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if m.Value == nil {
		return m.Key, ""
	}
	var v struct{ Mode, Blob string }
	if err := json.Unmarshal([]byte(*m.Value), &v); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return m.Key, v.Mode + " " + v.Blob
}

// TestARealHistoryFoldsToItsTree ingests the history in three runs, with a
// compaction after each, and compares what is left with the tree.
func TestARealHistoryFoldsToItsTree(t *testing.T) {
	for _, kind := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			lines, want := history(t), tree(t)
			w.run(nil, "compact", "create", "files", "--set", "tombstone_retention=0s")
			for third := 1; third <= 3; third++ {
				upTo := strings.Join(lines[:len(lines)*third/3], "")
				w.run(strings.NewReader(upTo), "compact", "ingest", "files", "--source", "history")
				w.run(nil, "compact", "run", "files")
			}
			read := func() string {
				return w.run(nil, "reader", "read", "files", "--compacted", "-o", "ndjson")
			}
			folded := read()
			got := make(map[string]string)
			for line := range strings.Lines(folded) {
				path, content := file(t, line)
				if _, twice := got[path]; twice {
					t.Errorf("%s is there twice", path)
				}
				got[path] = content
			}
			if len(got) != 522 || len(want) != 522 {
				t.Errorf("%d files, want %d, which should be 522", len(got), len(want))
			}
			for path, content := range want {
				if got[path] != content {
					t.Errorf("%s is %q, want %q", path, got[path], content)
				}
			}
			n := 0
			for path, content := range want {
				if n++; n > 50 {
					break
				}
				line := w.run(nil, "reader", "get", "files", path, "-o", "ndjson")
				if _, got := file(t, line); got != content {
					t.Errorf("get %s is %q, want %q", path, got, content)
				}
			}

			status := w.run(nil, "compact", "status", "files", "-o", "json")
			out := w.run(strings.NewReader(strings.Join(lines, "")), "compact", "ingest", "files", "--source", "history", "-o", "json")
			if !strings.Contains(out, `"already_ingested"`) || !strings.Contains(out, fmt.Sprintf(`"duplicates":%d`, 7768)) {
				t.Errorf("ingested again: %s", out)
			}
			w.run(nil, "compact", "run", "files")
			if again := w.run(nil, "compact", "status", "files", "-o", "json"); again != status {
				t.Errorf("status was %s, is %s", status, again)
			}
			if again := read(); again != folded {
				t.Error("the view has changed")
			}
		})
	}
}

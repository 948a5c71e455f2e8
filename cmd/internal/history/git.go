package history

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrNoRepository says that there is no git history to take.
var ErrNoRepository = errors.New("no git history here")

const (
	// mostCommits bounds how much of a long history is taken: its end. The tree
	// before it comes as one more commit, so it folds to the same.
	mostCommits = 5000

	// mostInBatch keeps a line, and the entry that it makes, small.
	mostInBatch = 1000
)

// Git is the log of the repository that dir lies in, along first parents: each
// commit, merges too, is what it changed in the branch.
func Git(ctx context.Context, dir string) (*Log, error) {
	g := git{ctx, dir}
	top, err := g.output("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	count, err := g.output("rev-list", "--count", "--first-parent", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	commits, err := strconv.Atoi(strings.TrimSpace(count))
	if err != nil {
		return nil, fmt.Errorf("count commits: %w", err)
	}
	w := writer{log: &Log{Origin: "the git history of " + filepath.Base(strings.TrimSpace(top))}}
	if commits > mostCommits {
		if err := w.base(g, fmt.Sprintf("HEAD~%d", mostCommits)); err != nil {
			return nil, err
		}
	}
	if err := w.commits(g, mostCommits); err != nil {
		return nil, err
	}
	w.log.Want, err = g.tree("HEAD")
	return w.log, err
}

// git runs git in a folder.
type git struct {
	ctx context.Context
	dir string
}

// output runs git and returns what it prints.
func (g git) output(args ...string) (string, error) {
	var b strings.Builder
	err := g.read(func(r io.Reader) error {
		_, err := io.Copy(&b, r)
		return err
	}, args...)
	return b.String(), err
}

// read runs git and lets f read what it prints, as it comes.
func (g git) read(f func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	// The settings of whoever runs us must not change what git prints.
	settled := []string{"-C", g.dir, "-c", "log.showSignature=false", "-c", "log.showRoot=true", "-c", "diff.ignoreSubmodules=none"}
	cmd := exec.CommandContext(ctx, "git", append(settled, args...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := f(out); err != nil {
		cancel()
		_ = cmd.Wait() // it was stopped; what counts is err
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(complaint.Bytes()))
	}
	return nil
}

// tree is the files of a commit.
func (g git) tree(commit string) (map[string]File, error) {
	listed, err := g.output("ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	files := make(map[string]File)
	for entry := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		about, path, ok := strings.Cut(entry, "\t") // mode type blob TAB path
		fields := strings.Fields(about)
		if entry == "" {
			continue
		}
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("git ls-tree: line %q", entry)
		}
		files[path] = File{Mode: fields[0], Blob: fields[2]}
	}
	return files, nil
}

// writer makes message lines of commits.
type writer struct {
	log      *Log
	time     segments.Millis
	sequence int64
	batch    [][]byte
}

// base adds the whole tree of a commit, as if it had been made at once.
func (w *writer) base(g git, commit string) error {
	files, err := g.tree(commit)
	if err != nil {
		return err
	}
	at, err := g.output("log", "-1", "--format=%ct", commit)
	if err != nil {
		return err
	}
	if err := w.begin(at); err != nil {
		return err
	}
	for path, file := range files {
		w.change(path, &file)
	}
	w.end()
	return nil
}

// commits adds the last commits of HEAD.
//
// With -z, git prints a commit as \x02 and its time, and each file as two
// words: ":100644 100644 <blob> <blob> M", and its path. A path may hold
// anything but NUL, so what a word is follows from the one before.
func (w *writer) commits(g git, most int) error {
	return g.read(func(r io.Reader) error {
		words := bufio.NewReader(r)
		for {
			word, err := words.ReadString(0)
			if err == io.EOF && word == "" {
				w.end()
				return nil
			}
			if err != nil {
				return err
			}
			word = strings.Trim(word, "\n\x00")
			switch {
			case word == "":
			case word[0] == '\x02':
				w.end()
				if err := w.begin(word[1:]); err != nil {
					return err
				}
			default:
				path, err := words.ReadString(0)
				if err != nil {
					return err
				}
				fields := strings.Fields(word)
				if len(fields) != 5 || fields[0][0] != ':' {
					return fmt.Errorf("git log: word %q", word)
				}
				var file *File
				if fields[4] != "D" {
					file = &File{Mode: fields[1], Blob: fields[3]}
				}
				w.change(strings.TrimSuffix(path, "\x00"), file)
			}
		}
	}, "log", "--first-parent", "-m", "--reverse", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-color", "--no-notes",
		"--no-relative", "--no-ext-diff", "--format=tformat:%x02%ct", "-n", strconv.Itoa(most), "HEAD", "--")
}

// begin begins a commit that was made at a time in seconds.
func (w *writer) begin(seconds string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	if err != nil {
		return fmt.Errorf("git log: time %q", seconds)
	}
	w.time = segments.Millis(n * 1000)
	w.log.Commits++
	return nil
}

// change adds what a commit made of a file; nil deletes it.
func (w *writer) change(path string, file *File) {
	m := segments.Message{
		Key:         []byte(path),
		PublishTime: w.time,
		Producer:    segments.Some("git"),
		Sequence:    segments.Some(w.sequence),
	}
	if file != nil {
		m.Value = fmt.Appendf(nil, `{"mode":%q,"blob":%q}`, file.Mode, file.Blob)
	}
	w.sequence++
	w.log.Changes++
	w.batch = append(w.batch, ndjson.Append(nil, &m,
		[]ndjson.Field{ndjson.Key, ndjson.Value, ndjson.PublishTime, ndjson.Producer, ndjson.Sequence}))
	if len(w.batch) == mostInBatch {
		w.end()
	}
}

// end makes a line of the commit's changes so far.
func (w *writer) end() {
	if len(w.batch) == 0 {
		return
	}
	line := append([]byte(`{"batch":[`), bytes.Join(w.batch, []byte(","))...)
	w.log.Lines = append(w.log.Lines, append(line, "]}\n"...))
	w.batch = w.batch[:0]
}

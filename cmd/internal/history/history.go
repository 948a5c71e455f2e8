// Package history makes change logs of files, for trying things on: real ones,
// with keys that are written often, written once, and deleted, and with an
// independent right answer of what they fold to.
//
// The key is the path of a file, the value says its mode and content (the name
// of its blob), and a null value says that it was deleted. Each commit is a
// batch. Folded by key, the log is the tree of its last commit.
package history

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Log is the change log of a tree of files.
type Log struct {
	Origin  string   // what it is the history of
	Lines   [][]byte // message lines, oldest first, each a commit or a part of one
	Commits int
	Changes int             // messages
	Want    map[string]File // path to file: the tree of the last commit
}

// File is the state of a file.
type File struct {
	Mode string `json:"mode"`
	Blob string `json:"blob"`
}

// ParseFile reads the value of a message.
func ParseFile(value []byte) (File, error) {
	var f File
	err := json.Unmarshal(value, &f)
	return f, err
}

// Bytes is the size of the log as message lines.
func (l *Log) Bytes() int64 {
	var n int64
	for _, line := range l.Lines {
		n += int64(len(line))
	}
	return n
}

// Compare tells how what is left of a log differs from the right answer, in at
// most a few lines; none when it is right.
func (l *Log) Compare(got map[string]File) []string {
	const most = 10
	var differences []string
	for path, want := range l.Want {
		switch file, ok := got[path]; {
		case !ok:
			differences = append(differences, fmt.Sprintf("%s is missing", path))
		case file != want:
			differences = append(differences, fmt.Sprintf("%s is %s %s, want %s %s", path, file.Mode, file.Blob, want.Mode, want.Blob))
		}
	}
	for path := range got {
		if _, ok := l.Want[path]; !ok {
			differences = append(differences, fmt.Sprintf("%s should be gone", path))
		}
	}
	slices.Sort(differences)
	if len(differences) > most {
		return append(differences[:most], fmt.Sprintf("and %d more", len(differences)-most))
	}
	return differences
}

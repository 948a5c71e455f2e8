package history

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed sample/history.ndjson.gz
var sampleLines []byte

//go:embed sample/tree.tsv
var sampleTree string

// Sample is the log that comes with the program; see sample/README.md.
func Sample() (*Log, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(sampleLines))
	if err != nil {
		return nil, fmt.Errorf("unpack the sample: %w", err)
	}
	all, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpack the sample: %w", err)
	}
	l := &Log{Origin: "the sample (files of slatedb/slatedb)", Want: map[string]File{}}
	for line := range bytes.Lines(all) {
		l.Lines = append(l.Lines, line)
		l.Commits++
		l.Changes += bytes.Count(line, []byte(`"value":`))
	}
	for line := range strings.Lines(sampleTree) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("unpack the sample: line %q of the tree", line)
		}
		l.Want[fields[0]] = File{Mode: fields[1], Blob: fields[2]}
	}
	return l, nil
}

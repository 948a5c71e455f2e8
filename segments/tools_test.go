package segments

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "embed"
)

// readSegmentPy prints the rows of a segment as lines of JSON, as one of
// pyarrow and Polars sees them.
//
//go:embed testdata/read_segment.py
var readSegmentPy []byte

// toolRow is a row as it is printed. Bytes are in base64.
type toolRow struct {
	Ledger      int64          `json:"ledger"`
	Entry       int64          `json:"entry"`
	BatchIndex  int32          `json:"batch_index"`
	BatchSize   int32          `json:"batch_size"`
	Kind        uint8          `json:"kind"`
	Key         []byte         `json:"key"`
	TxnMost     *uint64        `json:"txn_most"`
	TxnLeast    *uint64        `json:"txn_least"`
	PublishTime int64          `json:"publish_time"`
	EventTime   *int64         `json:"event_time"`
	Producer    *string        `json:"producer"`
	Sequence    *int64         `json:"sequence"`
	Epoch       *int32         `json:"epoch"`
	OrderingKey []byte         `json:"ordering_key"`
	Value       []byte         `json:"value"`
	Properties  []toolProperty `json:"properties"`
}

type toolProperty struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// message is r as we would have read it.
func (r *toolRow) message() Message {
	m := Message{
		Position:    Position{r.Ledger, r.Entry, r.BatchIndex},
		BatchSize:   r.BatchSize,
		Kind:        Kind(r.Kind),
		Key:         r.Key,
		PublishTime: Millis(r.PublishTime),
		OrderingKey: r.OrderingKey,
		Value:       r.Value,
	}
	if r.TxnMost != nil && r.TxnLeast != nil {
		m.Txn = Some(TxnID{*r.TxnMost, *r.TxnLeast})
	}
	if r.EventTime != nil {
		m.EventTime = Some(Millis(*r.EventTime))
	}
	if r.Producer != nil {
		m.Producer = Some(*r.Producer)
	}
	if r.Sequence != nil {
		m.Sequence = Some(*r.Sequence)
	}
	if r.Epoch != nil {
		m.Epoch = Some(*r.Epoch)
	}
	if r.Properties != nil {
		m.Properties = []Property{}
		for _, p := range r.Properties {
			m.Properties = append(m.Properties, Property(p))
		}
	}
	return m
}

// pyTools is a folder with pyarrow and polars in it, which is filled once and
// kept in the user's cache. Where that cannot be done the test is skipped.
func pyTools(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: other tools are not asked with -short")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no python3 to run pyarrow and Polars with")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("SKIPPED: no folder to keep pyarrow and Polars in: %v", err)
	}
	folder := filepath.Join(cache, "ledgerfold", "pytools")
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Skipf("SKIPPED: no folder to keep pyarrow and Polars in: %v", err)
	}
	// They appear under their name all at once, also if two tests run.
	fresh, err := os.MkdirTemp(filepath.Dir(folder), "pytools-")
	if err != nil {
		t.Skipf("SKIPPED: no folder to keep pyarrow and Polars in: %v", err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", fresh, "pyarrow", "polars")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: pip brings no pyarrow and Polars: %v\n%s", err, out)
	}
	if err := os.Rename(fresh, folder); err != nil && !isFolder(folder) {
		t.Skipf("SKIPPED: pyarrow and Polars cannot be kept: %v", err)
	}
	return folder
}

// writeTablesPy writes tables as pyarrow and Polars write them.
//
//go:embed testdata/write_tables.py
var writeTablesPy []byte

// TestTablesOfOtherToolsAreRead reads what pyarrow and Polars write, in every
// layout and compression that they have, and compares every row.
func TestTablesOfOtherToolsAreRead(t *testing.T) {
	tools := pyTools(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "write_tables.py")
	if err := os.WriteFile(script, writeTablesPy, 0o644); err != nil {
		t.Fatal(err)
	}
	python := exec.CommandContext(t.Context(), "python3", script, dir)
	python.Env = append(os.Environ(), "PYTHONPATH="+tools)
	if out, err := python.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := make([]Message, 5000)
	for i := range want {
		m := &want[i]
		*m = blank
		m.PublishTime = Millis(1000 * (1700000000 + i))
		if i%7 != 3 {
			m.Key = fmt.Appendf(nil, "key %d", i%50)
		}
		switch {
		case i%11 == 5:
		case i%5 == 0:
			m.Value = []byte{}
		default:
			m.Value = fmt.Appendf(nil, "\xff value %d of some length", i)
		}
		m.Sequence, m.Producer = Some(int64(i)), Some(fmt.Sprintf("p%d", i%3))
		if i%2 == 0 {
			m.Properties = []Property{{"k", fmt.Appendf(nil, "v%d", i)}, {"k", nil}}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.arrow"))
	if err != nil || len(files) != 33 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readArrow(bytes.NewReader(data))
		if strings.HasSuffix(name, "polars-categorical-file.arrow") {
			if err == nil || !strings.Contains(err.Error(), "column key: corrupt: its dictionary was not there before it") {
				t.Errorf("a dictionary behind what refers to it: got %d rows, %v", len(got), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
			continue
		}
		sameRows(t, filepath.Base(name), got, want)
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// TestOtherToolsReadSegments lets pyarrow and Polars print segments of every
// compression, and compares every row, null and empty told apart.
func TestOtherToolsReadSegments(t *testing.T) {
	tools := pyTools(t)
	rows := goldenRows()
	rows = rows[:len(rows)-1] // Python has no year 292277026
	for _, m := range someRows(12, 500) {
		m.Position.Ledger += 10
		rows = append(rows, m)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "read_segment.py")
	if err := os.WriteFile(script, readSegmentPy, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range compressions() {
		s := store(t, WriterSettings{Topic: "topic-1", BatchBytes: 10000, Compression: c}, rows)
		file := filepath.Join(dir, string(c)+".arrow")
		if err := os.WriteFile(file, s.data.bytes, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"pyarrow", "polars"} {
			t.Run(tool+"/"+string(c), func(t *testing.T) {
				python := exec.CommandContext(t.Context(), "python3", script, tool, file)
				python.Env = append(os.Environ(), "PYTHONPATH="+tools)
				var stderr bytes.Buffer
				python.Stderr = &stderr
				out, err := python.Output()
				if err != nil {
					t.Fatalf("%v\n%s", err, stderr.String())
				}
				var got []Message
				lines := bufio.NewScanner(bytes.NewReader(out))
				lines.Buffer(nil, math.MaxInt32)
				for lines.Scan() {
					var r toolRow
					if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
						t.Fatalf("%s: %v", lines.Text(), err)
					}
					got = append(got, r.message())
				}
				sameRows(t, tool, got, rows)
				t.Log(stderr.String())
			})
		}
	}
}

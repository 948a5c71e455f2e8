package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestEachBenchmarkEndsWithItsJSON runs each with next to no rows: its last
// line is what programs read.
func TestEachBenchmarkEndsWithItsJSON(t *testing.T) {
	turns = 1
	for _, b := range benchmarks() {
		if b.byHand {
			continue // it builds programs, or starts them
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := run(t.Context(), &out, []string{b.name, "--rows", "640"}); err != nil {
				t.Fatal(err)
			}
			lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
			if len(lines) < 4 {
				t.Errorf("got no table:\n%s", out.Bytes())
			}
			var got struct {
				Name   string
				Ratio  float64
				Detail map[string]any
			}
			if err := json.Unmarshal(lines[len(lines)-1], &got); err != nil {
				t.Fatalf("%v\n%s", err, out.Bytes())
			}
			if got.Name != b.name || got.Ratio <= 0 || len(got.Detail) == 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
)

// An input is added to a topic, and once more when it has grown. The ids and
// the clock are the caller's: a program would mint ULIDs and ask the time.
func Example() {
	ctx, clock := context.Background(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	minted := 0
	mint := func() string { minted++; return fmt.Sprintf("%026d", minted) }
	pause := func(context.Context, int) error { return nil }

	topic, err := manifest.Create(ctx, new(mem.Store), manifest.NewTopic{
		Name: "orders", ID: manifest.TopicID(mint()), Commit: manifest.CommitID(mint()), Now: clock, Settings: manifest.DefaultSettings(),
	}, pause)
	if err != nil {
		fmt.Println(err)
		return
	}
	run := func(input string) {
		result, err := ingest.Run(ctx, topic, strings.NewReader(input),
			ingest.Settings{Source: "app.log", Now: clock, Job: manifest.JobID(mint()), Writer: "example"},
			ingest.Components{NewCommit: func() manifest.CommitID { return manifest.CommitID(mint()) }, Pause: pause})
		fmt.Println(result.State, result.First, result.Last, result.Messages, result.Duplicates, err)
	}
	file := `{"key":"k1","value":"v1"}
{"batch":[{"key":"k2","value":"v2"},{"key":"k1","value":null}]}
`
	run(file)
	run(file + `{"key":"k3","value":"v3"}`)
	run(file + `{"key":"k3","value":"v3"}`)
	run(file + `{"key":"k3","value":"v3"}` + "\n" + `{"key":"k4","valu":"v4"}`)
	// Output:
	// ingested 0:0 0:1 3 0 <nil>
	// ingested 1:0 1:0 1 3 <nil>
	// already_ingested -1:-1 -1:-1 0 4 <nil>
	// already_ingested -1:-1 -1:-1 0 4 line 4: neither "value" nor "value_base64"
}

package reader

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/ingest/ndjson"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

func fetch() program.Command {
	return program.Command{
		Name:  "fetch",
		Usage: "print the messages at the positions of a range, and tell which have none",
		Args:  "TOPIC FIRST LAST",
		Least: 3, Most: 3,
		Flags: append(topic.VersionFlags(), fieldsFlag()),
		Detail: `Takes the originals where they are retained, superseded messages too, and what compaction
left before them. "absent" are entries that have no message and never will;
"not_attempted_from" is the first position that is not settled yet. Entries that could
not be read are in "failed", the reason is told on standard error, and the exit code
says whether trying again may help.`,
		Run: func(ctx context.Context, s *program.Session) error {
			first, err := position("FIRST", s.Args[1])
			if err != nil {
				return err
			}
			last, err := position("LAST", s.Args[2])
			if err != nil {
				return err
			}
			if first.After(upTo(last)) {
				return program.Usagef("FIRST %s lies after LAST %s", first, last)
			}
			o, err := options(s)
			if err != nil {
				return err
			}
			printer, err := newMessagePrinter(s, o)
			if err != nil {
				return err
			}
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			result, err := r.Fetch(ctx, first, last)
			if err != nil {
				return r.settle(ctx, err)
			}
			if err := printFetched(printer, &result); err != nil {
				return err
			}
			var failures program.Failures
			for _, f := range result.Failed {
				failures.Add(fmt.Errorf("fetch %s: %w", f.Entries, r.settle(ctx, f.Err)))
			}
			return failures.Err()
		},
	}
}

// fetched is the answer, as JSON.
type fetched struct {
	Messages         []json.RawMessage                `json:"messages"`
	Absent           []string                         `json:"absent"`
	Failed           []string                         `json:"failed"`
	NotAttemptedFrom segments.Null[segments.Position] `json:"not_attempted_from"`
}

func printFetched(p *messagePrinter, result *readerlib.FetchResult) error {
	answer := fetched{
		Messages:         []json.RawMessage{}, // [], not null
		Absent:           []string{},
		Failed:           []string{},
		NotAttemptedFrom: result.NotAttemptedFrom,
	}
	for _, e := range result.Absent {
		answer.Absent = append(answer.Absent, e.String())
	}
	for _, f := range result.Failed {
		answer.Failed = append(answer.Failed, f.Entries.String())
	}
	for i := range result.Messages {
		m := &result.Messages[i]
		if p.table == nil {
			answer.Messages = append(answer.Messages, ndjson.Append(nil, m, p.fields))
		} else if err := p.print(m); err != nil {
			return err
		}
	}
	if p.table == nil {
		return p.out.JSON(answer)
	}
	if err := p.close(); err != nil {
		return err
	}
	l := output.NewList(p.out)
	l.Add("messages", len(result.Messages))
	l.Add("absent", strings.Join(answer.Absent, " "))
	l.Add("failed", strings.Join(answer.Failed, " "))
	if answer.NotAttemptedFrom.Valid {
		l.Add("not settled from", answer.NotAttemptedFrom.V)
	}
	return l.Close()
}

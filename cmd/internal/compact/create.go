package compact

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
)

func create() program.Command {
	return program.Command{
		Name:  "create",
		Usage: "make a topic",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "set", Usage: "a setting, as name=value; may be given again"},
		},
		Detail: settingsHelp,
		Run: func(ctx context.Context, s *program.Session) error {
			settings, err := withSettings(manifest.DefaultSettings(), s.Flags.StringSlice("set"))
			if err != nil {
				return err
			}
			store, err := s.Store(ctx)
			if err != nil {
				return err
			}
			t, err := s.CreateTopic(ctx, store, s.Args[0], settings)
			if err != nil {
				return err
			}
			return printState(s, t.Name(), "created", 0)
		},
	}
}

// settingsHelp tells of all settings.
const settingsHelp = `Settings:
  tombstone_retention=24h    how long a delete stays visible after it was compacted
  keyless=keep|drop          what becomes of messages without a key
  empty_is_tombstone=false   take an empty value for a delete (as Pulsar does)
  order=position|event_time  which message of a key is the last
  min_lag=0s                 do not compact what is younger
  max_dead_share=0.5         rewrite a segment when more of it is dead
  segment_bytes=64MiB        size of a segment
  batch_bytes=1MiB           size of a record batch in it
  compression=lz4|zstd|none  of a segment's columns
  retention=forever          how long to keep originals that are compacted
  producer_expiry=168h       how long to remember a silent producer
Durations are Go's, or days (7d), or forever.`

// withSettings is base with assignments as in name=value; every bad one is
// told.
func withSettings(base manifest.Settings, assignments []string) (manifest.Settings, error) {
	var errs []error
	for _, assignment := range assignments {
		next, err := base.With(assignment)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		base = next
	}
	return base, errors.Join(errs...)
}

// printState tells what became of a topic.
func printState(s *program.Session, topic, state string, v manifest.Version) error {
	if s.JSON() {
		return s.Out.JSON(struct {
			Topic   string           `json:"topic"`
			State   string           `json:"state"`
			Version manifest.Version `json:"version,string"`
		}{topic, state, v})
	}
	l := output.NewList(s.Out)
	l.Add("topic", topic)
	l.Add("state", state)
	l.Add("version", v)
	return l.Close()
}

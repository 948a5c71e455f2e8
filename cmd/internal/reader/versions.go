package reader

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// version is what is told of a version.
type version struct {
	Version         manifest.Version  `json:"version,string"`
	Time            string            `json:"time"`
	Kind            string            `json:"kind"` // of the change that made it
	Horizon         segments.Position `json:"horizon"`
	LastPosition    segments.Position `json:"last_position"`
	MaxReadPosition segments.Position `json:"max_read_position"`
	Tags            []string          `json:"tags,omitempty"`
	*manifest.Report
}

func versions() program.Command {
	return program.Command{
		Name:  "versions",
		Usage: "list the versions of a topic that can still be read, the oldest first",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			tagged, err := t.Tags(ctx)
			if err != nil {
				return err
			}
			table := output.NewTable(s.Out,
				output.Column{Name: "version", Right: true}, output.Column{Name: "time"}, output.Column{Name: "kind"},
				output.Column{Name: "horizon", Right: true}, output.Column{Name: "last position", Right: true}, output.Column{Name: "tags"})
			for m, err := range t.Versions(ctx) {
				if err != nil {
					return err
				}
				v := versionOf(m, tagged)
				if s.JSON() {
					err = s.Out.JSON(v)
				} else {
					err = table.Row(v.Version, v.Time, v.Kind, v.Horizon, v.LastPosition, strings.Join(v.Tags, " "))
				}
				if err != nil {
					return err
				}
			}
			return table.Close()
		},
	}
}

func versionOf(m *manifest.Manifest, tagged map[string]manifest.Version) version {
	v := version{
		Version:         m.Version,
		Time:            m.Time.UTC().Format(time.RFC3339Nano),
		Kind:            m.Kind,
		Horizon:         m.Horizon,
		LastPosition:    m.Last,
		MaxReadPosition: m.MaxRead,
		Report:          m.Report,
	}
	for _, tag := range slices.Sorted(maps.Keys(tagged)) {
		if tagged[tag] == m.Version {
			v.Tags = append(v.Tags, tag)
		}
	}
	return v
}

package reader

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/cmd/internal/topic"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// topicStats are numbers about a version, all from its manifest: no segment is
// read for them.
type topicStats struct {
	Topic     string           `json:"topic"`
	Version   manifest.Version `json:"version,string"`
	Originals tierStats        `json:"originals"`
	Compacted tierStats        `json:"compacted"`
	Producers int              `json:"producers"` // names and epochs that are remembered
}

// tierStats are numbers about the segments of one tier. Rows of ledgers that
// were trimmed count as long as a segment holds them.
type tierStats struct {
	Segments   int    `json:"segments"`
	Rows       int64  `json:"rows"`
	LiveRows   int64  `json:"live_rows"`
	Messages   int64  `json:"messages"`
	Tombstones int64  `json:"tombstones"`
	Markers    int64  `json:"markers"`
	Keyless    int64  `json:"keyless"`
	Bytes      int64  `json:"bytes"`
	IndexBytes int64  `json:"index_bytes"`
	DeadBytes  int64  `json:"dead_rows_bytes"` // of the bitmaps
	First      string `json:"first_publish_time,omitempty"`
	Last       string `json:"last_publish_time,omitempty"`
}

func stats() program.Command {
	return program.Command{
		Name:  "stats",
		Usage: "count what a topic holds",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Flags: topic.VersionFlags(),
		Run: func(ctx context.Context, s *program.Session) error {
			o, err := options(s)
			if err != nil {
				return err
			}
			o.Start = readerlib.Earliest()
			r, err := open(ctx, s, o)
			if err != nil {
				return err
			}
			m := r.Snapshot()
			st := topicStats{m.Name, m.Version, tierOf(m.Originals), tierOf(m.Compacted), len(m.Producers)}
			if s.JSON() {
				return s.Out.JSON(st)
			}
			return st.list(s.Out)
		},
	}
}

func tierOf(tier []manifest.Segment) tierStats {
	var st tierStats
	var first, last segments.Millis
	for i := range tier {
		seg := &tier[i]
		if seg.Object == "" {
			continue
		}
		c := seg.Info.Counts
		st.Segments++
		st.Rows += c.Rows()
		st.LiveRows += seg.LiveRows()
		st.Messages += c.Messages
		st.Tombstones += c.Tombstones
		st.Markers += c.Commits + c.Aborts
		st.Keyless += c.Keyless
		st.Bytes += seg.Info.Bytes
		st.IndexBytes += seg.Info.Index.Bytes
		if seg.Dead != nil {
			st.DeadBytes += seg.Dead.Bytes
		}
		if st.Segments == 1 {
			first, last = seg.Info.MinPublish, seg.Info.MaxPublish
		}
		first, last = min(first, seg.Info.MinPublish), max(last, seg.Info.MaxPublish)
	}
	if st.Segments > 0 {
		st.First, st.Last = first.String(), last.String()
	}
	return st
}

func (st *topicStats) list(out *output.Writer) error {
	l := output.NewList(out)
	l.Add("topic", st.Topic)
	l.Add("version", fmt.Sprint(st.Version))
	for _, tier := range []struct {
		name string
		tierStats
	}{{"originals", st.Originals}, {"compacted", st.Compacted}} {
		l.Add(tier.name, fmt.Sprintf("%d segments, %s, key indexes %s", tier.Segments,
			humanize.IBytes(uint64(tier.Bytes)), humanize.IBytes(uint64(tier.IndexBytes))))
		l.Add("  rows", fmt.Sprintf("%s, %s of them live", humanize.Comma(tier.Rows), humanize.Comma(tier.LiveRows)))
		l.Add("  messages", fmt.Sprintf("%s, %s of them without key", humanize.Comma(tier.Messages), humanize.Comma(tier.Keyless)))
		l.Add("  tombstones", humanize.Comma(tier.Tombstones))
		l.Add("  markers", humanize.Comma(tier.Markers))
		if tier.First != "" {
			l.Add("  published", tier.First+" to "+tier.Last)
		}
	}
	l.Add("producers", st.Producers)
	return l.Close()
}

package compact

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/ledgerfold/ledgerfold/cmd/internal/output"
	"github.com/ledgerfold/ledgerfold/cmd/internal/program"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// topicStatus is how a topic is at one version. All of it comes from the
// manifest; the clock plays no part, so the same version has the same status.
type topicStatus struct {
	Topic            string            `json:"topic"`
	Version          manifest.Version  `json:"version,string"`
	Time             string            `json:"time"`
	Horizon          segments.Position `json:"horizon"`
	LastPosition     segments.Position `json:"last_position"`
	MaxReadPosition  segments.Position `json:"max_read_position"`
	FirstRetained    segments.Position `json:"first_retained"`
	OpenTransactions []segments.TxnID  `json:"open_transactions"`
	Originals        originalsStatus   `json:"originals"`
	Compacted        compactedStatus   `json:"compacted"`
	Settings         manifest.Settings `json:"settings"`

	Quarantined []manifest.Quarantined `json:"quarantined"` // what holds the horizon
}

type originalsStatus struct {
	Segments int   `json:"segments"`
	Rows     int64 `json:"rows"`
	Bytes    int64 `json:"bytes"`
}

type compactedStatus struct {
	Segments int   `json:"segments"`
	Rows     int64 `json:"rows"`
	LiveRows int64 `json:"live_rows"`
	Bytes    int64 `json:"bytes"`
}

func statusOf(m *manifest.Manifest) (*topicStatus, error) {
	transactions, err := txnfilter.Decode(m.Transactions)
	if err != nil {
		return nil, fmt.Errorf("topic %q, version %d: %w", m.Name, m.Version, err)
	}
	st := &topicStatus{
		Topic:            m.Name,
		Version:          m.Version,
		Time:             m.Time.UTC().Format(time.RFC3339Nano),
		Horizon:          m.Horizon,
		LastPosition:     m.Last,
		MaxReadPosition:  m.MaxRead,
		FirstRetained:    m.FirstRetained(),
		OpenTransactions: append([]segments.TxnID{}, transactions.Open()...), // [], not null
		Settings:         m.Settings,
		Quarantined:      append([]manifest.Quarantined{}, m.Quarantined...), // [], not null
	}
	for i := range m.Originals {
		if s := &m.Originals[i]; s.Object != "" {
			st.Originals.Segments++
			st.Originals.Rows += s.Info.Counts.Rows()
			st.Originals.Bytes += s.Info.Bytes
		}
	}
	for i := range m.Compacted {
		if s := &m.Compacted[i]; s.Object != "" {
			st.Compacted.Segments++
			st.Compacted.Rows += s.Info.Counts.Rows()
			st.Compacted.LiveRows += s.LiveRows()
			st.Compacted.Bytes += s.Info.Bytes
		}
	}
	return st, nil
}

func status() program.Command {
	return program.Command{
		Name:  "status",
		Usage: "tell how a topic is",
		Args:  "TOPIC",
		Least: 1, Most: 1,
		Run: func(ctx context.Context, s *program.Session) error {
			t, err := s.Topic(ctx, s.Args[0])
			if err != nil {
				return err
			}
			m, err := t.Latest(ctx)
			if err != nil {
				return err
			}
			st, err := statusOf(m)
			if err != nil {
				return err
			}
			if s.JSON() {
				return s.Out.JSON(st)
			}
			return st.list(s.Out)
		},
	}
}

func (st *topicStatus) list(out *output.Writer) error {
	l := output.NewList(out)
	l.Add("topic", st.Topic)
	l.Add("version", fmt.Sprintf("%d, of %s", st.Version, st.Time))
	l.Add("horizon", st.Horizon)
	l.Add("last position", st.LastPosition)
	l.Add("max read position", st.MaxReadPosition)
	l.Add("first retained", st.FirstRetained)
	open := "none"
	if len(st.OpenTransactions) > 0 {
		open = fmt.Sprint(st.OpenTransactions)
	}
	l.Add("open transactions", open)
	addQuarantined(l, st.Quarantined)
	l.Add("originals", fmt.Sprintf("%d segments, %s rows, %s",
		st.Originals.Segments, humanize.Comma(st.Originals.Rows), humanize.IBytes(uint64(st.Originals.Bytes))))
	l.Add("compacted", fmt.Sprintf("%d segments, %s rows, %s of them live, %s",
		st.Compacted.Segments, humanize.Comma(st.Compacted.Rows), humanize.Comma(st.Compacted.LiveRows), humanize.IBytes(uint64(st.Compacted.Bytes))))
	for _, name := range manifest.SettingNames() {
		l.Add("  "+name, st.Settings.Text(name))
	}
	return l.Close()
}

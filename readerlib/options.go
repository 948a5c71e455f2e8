package readerlib

import (
	"context"
	"fmt"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Options say what a reader reads. The zero value reads every retained
// original message of the newest version, from the first on.
type Options struct {
	View      View
	Isolation Isolation
	Version   Version
	Start     Start

	// HeadersOnly leaves Value and Properties of messages unread: they are nil,
	// and their bytes are not fetched. It is about Messages and Next; Get and
	// Fetch return whole messages.
	HeadersOnly bool
}

func (o Options) columns() segments.Columns {
	if o.HeadersOnly {
		return segments.Headers
	}
	return segments.All
}

// View tells which list of messages a reader reads.
type View int

// The views.
const (
	// Raw is every retained original message. It never consults compacted data.
	Raw View = iota
	// Compacted is what compaction left through the horizon, and every message
	// after it.
	Compacted
)

// Isolation tells what a reader sees of transactions. Aborted messages are
// never shown.
type Isolation int

// The isolations.
const (
	// ReadCommitted ends before the first message of the first open
	// transaction, as Pulsar and Kafka do.
	ReadCommitted Isolation = iota
	// ReadUncommitted shows open transactions too, and what lies behind them.
	ReadUncommitted
)

// Version tells which version of a topic is read. The zero value is the newest.
type Version struct {
	by     versionBy
	number manifest.Version
	time   time.Time
	tag    string
}

type versionBy int

const (
	byNewest versionBy = iota
	byNumber
	byTime
	byTag
)

// Newest is the newest version there is when the reader is opened. Only a
// reader of the newest version can Refresh.
func Newest() Version { return Version{} }

// Numbered is version n.
func Numbered(n manifest.Version) Version { return Version{by: byNumber, number: n} }

// AsOf is the version that was the newest at time t.
func AsOf(t time.Time) Version { return Version{by: byTime, time: t} }

// Tagged is the version that a tag names when the reader is opened.
func Tagged(tag string) Version { return Version{by: byTag, tag: tag} }

// load reads the manifest of the version.
func (v Version) load(ctx context.Context, t *manifest.Topic) (*manifest.Manifest, error) {
	switch v.by {
	case byNumber:
		return t.At(ctx, v.number)
	case byTime:
		return t.AsOf(ctx, v.time)
	case byTag:
		n, err := t.Tagged(ctx, v.tag)
		if err != nil {
			return nil, err
		}
		return t.At(ctx, n)
	}
	m, err := t.Latest(ctx)
	if err == nil && m.Deleted {
		err = fmt.Errorf("%q: %w", m.Name, manifest.ErrTopicNotFound)
	}
	return m, err
}

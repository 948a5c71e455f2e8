package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// Settings say what a run does. Job, Now and Writer must be set.
type Settings struct {
	Format string // of the input; NDJSON when empty
	Source string // name under which the lines of the input are counted; empty: they are not

	Partition segments.Null[int32] // of Kcat and Rpk: the one to take, where there are several
	Key       string               // of Debezium: where the row has its key, as in "id" or "region,id"

	Now    time.Time      // when the run is, for all it adds
	Job    manifest.JobID // folder of the objects that it writes; its own
	Writer string         // who writes, kept in segments: "ledgerfold 1.2.3"

	LineBytesMax     int64 // longest line, or batch of a Kafka log as it comes; 256 MiB when 0, at most 2 GiB
	InflatedBytesMax int64 // of a batch that is compressed inside the format; 512 MiB when 0
	TriesMax         int   // of one commit, when others are faster; 100 when 0
}

const (
	defaultLineBytesMax     = 256 << 20
	defaultInflatedBytesMax = 512 << 20
	defaultTriesMax         = 100
	sourceBytesMax          = 512
)

// Validate reports every setting that is wrong. A format that there is not is
// ErrFormat.
func (s Settings) Validate() error {
	var errs []error
	if s.Format != "" {
		errs = append(errs, checkFormat(s.Format))
	}
	if len(s.Source) > sourceBytesMax || !utf8.ValidString(s.Source) || strings.Contains(s.Source, "\x00") {
		errs = append(errs, fmt.Errorf("source is %q, want at most %d bytes of UTF-8 without NUL", s.Source[:min(len(s.Source), 64)], sourceBytesMax))
	}
	if p := s.Partition; p.Valid && (p.V < 0 || s.Format != Kcat && s.Format != Rpk) {
		errs = append(errs, fmt.Errorf("partition is %d in format %s, want one that is not negative, of %s or %s", p.V, s.Format, Kcat, Rpk))
	}
	if s.Key != "" {
		_, err := parseKeyPaths(s.Key)
		if s.Format != Debezium {
			err = fmt.Errorf("a key is named in format %s, want %s", s.Format, Debezium)
		}
		errs = append(errs, err)
	}
	if s.Now.IsZero() {
		errs = append(errs, errors.New("there is no time of the run"))
	}
	if s.Job == "" {
		errs = append(errs, errors.New("there is no job id"))
	}
	if s.LineBytesMax < 0 || s.LineBytesMax > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("longest line is %d bytes, want at most %d", s.LineBytesMax, math.MaxInt32))
	}
	if s.InflatedBytesMax < 0 || s.InflatedBytesMax > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("largest inflated batch is %d bytes, want at most %d", s.InflatedBytesMax, math.MaxInt32))
	}
	if s.TriesMax < 0 {
		errs = append(errs, fmt.Errorf("tries of a commit are %d, want 1 or more", s.TriesMax))
	}
	return errors.Join(errs...)
}

func (s Settings) withDefaults() Settings {
	if s.Format == "" {
		s.Format = NDJSON
	}
	if s.LineBytesMax == 0 {
		s.LineBytesMax = defaultLineBytesMax
	}
	if s.InflatedBytesMax == 0 {
		s.InflatedBytesMax = defaultInflatedBytesMax
	}
	if s.TriesMax == 0 {
		s.TriesMax = defaultTriesMax
	}
	return s
}

// Components are what a run works with.
type Components struct {
	NewCommit func() manifest.CommitID // makes an id for each commit
	Pause     manifest.Pause           // waits before a commit is tried again
	Observer  Observer                 // nil: nobody listens
}

// State is what a run came to.
type State string

// The states.
const (
	Ingested        State = "ingested"
	AlreadyIngested State = "already_ingested" // the input had nothing new
)

// Result is what a run has added. If the run failed it is what was added
// before.
type Result struct {
	State      State
	First      segments.Position // entries; None where nothing was added
	Last       segments.Position
	Messages   int64
	Duplicates int64            // messages that were in already
	Gaps       int64            // messages before which sequences of their producer are missing
	Version    manifest.Version // with the last of it; the newest where nothing was added
	Lines      int64            // of the input that are in, from the first; of offsets, the one after the last
}

// Run adds the records of in to the topic, one segment after the other. It
// sees a compressed input (gzip, zstd) by its first bytes. Its errors, beside
// those of the store and of reading in, are:
//
//   - ErrBadInput, a LineError or a PlaceError: what was not committed by then is not
//     added. An input of less than a segment is added whole or not at all.
//   - manifest.ErrConflict: others were faster too often.
//   - manifest.ErrUnknown: the last segment may be in or not.
//   - manifest.ErrTopicNotFound, ErrFenced: as Commit says.
//
// The same input can be run again after all of them, with the exception that
// package ingest describes.
func Run(ctx context.Context, t *manifest.Topic, in io.Reader, s Settings, c Components) (Result, error) {
	if err := s.Validate(); err != nil {
		return Result{}, fmt.Errorf("settings of ingest: %w", err)
	}
	s = s.withDefaults()
	if c.Observer == nil {
		c.Observer = deaf{}
	}
	base, err := t.Latest(ctx)
	if err != nil {
		return Result{}, err
	}
	from := &source{r: in}
	r := &run{topic: t, settings: s, components: c, topicSettings: base.Settings, from: from, unit: formats[s.Format].unit}
	r.result = Result{State: AlreadyIngested, First: segments.None, Last: segments.None, Version: base.Version}
	if err := r.rebase(base); err != nil {
		return r.result, err
	}
	err = r.read(ctx)
	r.progress()
	return r.result, r.failure(err)
}

// run is one run under way.
type run struct {
	topic         *manifest.Topic
	settings      Settings
	components    Components
	topicSettings manifest.Settings // as the run found them
	from          *source
	unit          unit

	// What was added since the last commit, all of which is redone from
	// pending when another ingest was faster.
	base    *manifest.Manifest
	tail    *tail
	segment *segments.Writer
	sum     added
	pending pending

	line    int64 // of the last record that was looked at
	given   idsGiven
	objects int // segments that were put so far
	records int64
	result  Result
}

// idsGiven tells whether the records of an input have ids: all, or none.
type idsGiven int

const (
	idsUnknown idsGiven = iota
	idsAll
	idsNone
)

// reportEvery is after how many records a run tells how far it is, and looks
// whether it is to end.
const reportEvery = 4096

// read takes the records one by one, to the last.
func (r *run) read(ctx context.Context) error {
	in, closeInput, err := plain(r.from)
	if err != nil {
		if errors.Is(err, errUnpack) {
			return &LineError{1, err}
		}
		return fmt.Errorf("read input: %w", err)
	}
	defer closeInput()
	format := formats[r.settings.Format].open(in, &r.settings)
	var rec record
	for {
		if err := format.next(&rec); err == io.EOF {
			return r.commit(ctx)
		} else if err != nil {
			return err
		}
		if r.records++; r.records%reportEvery == 0 {
			r.progress()
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := r.take(ctx, &rec); err != nil {
			return err
		}
	}
}

// take adds one record. A segment that is full is committed only when a record
// comes that would begin another entry: so the last commit of a run is never
// an empty one, and no entry is split.
func (r *run) take(ctx context.Context, rec *record) error {
	if err := r.checkID(rec); err != nil {
		return err
	}
	if r.segment.Bytes() >= r.topicSettings.SegmentBytes && rec.line > r.line &&
		!r.tail.wholly(rec) && r.tail.opensEntry(rec) {
		if err := r.commit(ctx); err != nil {
			return err
		}
	}
	sum, err := r.tail.add(rec, r.segment)
	if err != nil {
		return r.unit.bad(rec.line, err)
	}
	r.line = rec.line
	if sum.rows == 0 {
		// What is in stays in, whatever is added before it: there is no need
		// to look at it again. So an input of nothing but duplicates, however
		// long, takes no memory.
		r.result.Duplicates += sum.duplicates
		return nil
	}
	r.sum.add(sum)
	r.pending.add(rec)
	return nil
}

func (r *run) checkID(rec *record) error {
	given := idsNone
	if rec.id.Valid {
		given = idsAll
	}
	if r.given == idsUnknown {
		r.given = given
	}
	switch {
	case given == r.given:
		return nil
	case given == idsAll:
		return r.unit.bad(rec.line, errors.New("it has an id, and lines before it have none"))
	}
	return r.unit.bad(rec.line, errors.New("it has no id, and lines before it have one"))
}

func (r *run) progress() {
	r.components.Observer.Progressed(Progress{
		Bytes:      r.from.bytes,
		Lines:      r.line,
		Messages:   r.result.Messages + r.sum.messages,
		Duplicates: r.result.Duplicates + r.sum.duplicates,
	})
}

// failure is err with what is in all the same.
func (r *run) failure(err error) error {
	if err == nil || r.result.State != Ingested {
		return err
	}
	return fmt.Errorf("%w (%s are in, %d messages of them added)", err, r.unit.span(1, r.result.Lines), r.result.Messages)
}

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/ledgerfold/ledgerfold/segments"
)

// ErrSetting says that a setting has an unknown name or a bad value.
var ErrSetting = errors.New("bad setting")

// Forever is the duration that never passes.
const Forever Duration = math.MaxInt64

// Duration is a length of time that may be Forever.
type Duration time.Duration

// Passed reports whether d has passed at now since t.
func (d Duration) Passed(t, now time.Time) bool {
	return d != Forever && !now.Before(t.Add(time.Duration(d)))
}

func (d Duration) String() string {
	switch {
	case d == Forever:
		return "forever"
	case d != 0 && time.Duration(d)%time.Hour == 0:
		return strconv.FormatInt(int64(time.Duration(d)/time.Hour), 10) + "h"
	}
	return time.Duration(d).String()
}

// ParseDuration reads Go's durations, whole days as in 7d, and "forever". A
// negative one is an error, and so is a number without its unit.
func ParseDuration(text string) (Duration, error) {
	if text == "forever" {
		return Forever, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/(24*time.Hour))-1 {
			return 0, fmt.Errorf("%q is not a duration (want 90m, 24h, 7d or forever)", text)
		}
		return Duration(n) * Duration(24*time.Hour), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || text == "0" {
		return 0, fmt.Errorf("%q is not a duration (want 90m, 24h, 7d or forever)", text)
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", text)
	}
	return Duration(d), nil
}

// Settings are a topic's own. A change takes effect with the next run.
type Settings struct {
	TombstoneRetention Duration // how long the compacted view shows a tombstone; 24h
	DropKeyless        bool     // keyless=drop: compaction drops messages without key
	EmptyIsTombstone   bool     // ingest takes an empty value as a tombstone
	EventTimeOrder     bool     // order=event_time: the highest event time wins, not the last position
	MinLag             Duration // entries younger than this are not compacted; 0s
	MaxDeadShare       float64  // share of dead rows from which a segment is worth rewriting; 0.5
	SegmentBytes       int64    // size at which a segment is sealed; 64MiB
	BatchBytes         int64    // size at which a record batch is closed; 1MiB
	Compression        segments.Compression
	Retention          Duration // how long originals at or below the horizon are kept; forever
	ProducerExpiry     Duration // how long a silent producer is remembered; 168h
}

// DefaultSettings are those of a topic that was created without any.
func DefaultSettings() Settings {
	return Settings{
		TombstoneRetention: Duration(24 * time.Hour),
		MaxDeadShare:       0.5,
		SegmentBytes:       64 << 20,
		BatchBytes:         1 << 20,
		Compression:        segments.CompressionLZ4,
		Retention:          Forever,
		ProducerExpiry:     Duration(168 * time.Hour),
	}
}

// setting ties the name of a setting to its field.
type setting struct {
	name string
	get  func(*Settings) string
	set  func(*Settings, string) error
}

// settings lists all settings in the order in which they are shown.
var settings = []setting{
	duration("tombstone_retention", true, func(s *Settings) *Duration { return &s.TombstoneRetention }),
	choice("keyless", "keep", "drop", func(s *Settings) *bool { return &s.DropKeyless }),
	choice("empty_is_tombstone", "false", "true", func(s *Settings) *bool { return &s.EmptyIsTombstone }),
	choice("order", "position", "event_time", func(s *Settings) *bool { return &s.EventTimeOrder }),
	duration("min_lag", false, func(s *Settings) *Duration { return &s.MinLag }),
	{
		"max_dead_share",
		func(s *Settings) string { return strconv.FormatFloat(s.MaxDeadShare, 'g', -1, 64) },
		func(s *Settings, text string) error {
			share, err := strconv.ParseFloat(text, 64)
			if err != nil || !(share >= 0 && share <= 1) {
				return fmt.Errorf("%q is not a share (want 0 to 1)", text)
			}
			s.MaxDeadShare = share
			return nil
		},
	},
	size("segment_bytes", 1<<30, func(s *Settings) *int64 { return &s.SegmentBytes }),
	size("batch_bytes", 64<<20, func(s *Settings) *int64 { return &s.BatchBytes }),
	{
		"compression",
		func(s *Settings) string { return string(s.Compression) },
		func(s *Settings, text string) error {
			switch c := segments.Compression(text); c {
			case segments.CompressionNone, segments.CompressionLZ4, segments.CompressionZstd:
				s.Compression = c
				return nil
			}
			return fmt.Errorf("%q is not a compression (want lz4, zstd or none)", text)
		},
	},
	duration("retention", true, func(s *Settings) *Duration { return &s.Retention }),
	duration("producer_expiry", true, func(s *Settings) *Duration { return &s.ProducerExpiry }),
}

func duration(name string, mayBeForever bool, field func(*Settings) *Duration) setting {
	return setting{name,
		func(s *Settings) string { return field(s).String() },
		func(s *Settings, text string) error {
			d, err := ParseDuration(text)
			if err != nil {
				return err
			}
			if d == Forever && !mayBeForever {
				return errors.New("it cannot be forever")
			}
			*field(s) = d
			return nil
		},
	}
}

func choice(name, no, yes string, field func(*Settings) *bool) setting {
	return setting{name,
		func(s *Settings) string {
			if *field(s) {
				return yes
			}
			return no
		},
		func(s *Settings, text string) error {
			if text != no && text != yes {
				return fmt.Errorf("%q is neither %s nor %s", text, no, yes)
			}
			*field(s) = text == yes
			return nil
		},
	}
}

// leastBytes is the smallest size that a segment or a batch can be set to.
const leastBytes = 1 << 10

func size(name string, most int64, field func(*Settings) *int64) setting {
	return setting{name,
		func(s *Settings) string { return sizeText(*field(s)) },
		func(s *Settings, text string) error {
			n, err := humanize.ParseBytes(text)
			if err != nil {
				return fmt.Errorf("%q is not a size (want 512KiB, 64MiB or bytes)", text)
			}
			if n < leastBytes || n > uint64(most) {
				return fmt.Errorf("%q is outside %s to %s", text, humanize.IBytes(leastBytes), humanize.IBytes(uint64(most)))
			}
			*field(s) = int64(n)
			return nil
		},
	}
}

// sizeText is n in the largest unit that says it exactly.
func sizeText(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// With is s with one more setting, given as name=value. Its errors are
// ErrSetting.
func (s Settings) With(assignment string) (Settings, error) {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return s, fmt.Errorf("%w: %q is not name=value", ErrSetting, assignment)
	}
	for _, setting := range settings {
		if setting.name != name {
			continue
		}
		if err := setting.set(&s, value); err != nil {
			return s, fmt.Errorf("%w: %s: %w", ErrSetting, name, err)
		}
		return s, nil
	}
	return s, fmt.Errorf("%w: %q is no setting (want one of %s)", ErrSetting, name, strings.Join(SettingNames(), ", "))
}

// SettingNames lists the names of all settings.
func SettingNames() []string {
	names := make([]string, len(settings))
	for i, setting := range settings {
		names[i] = setting.name
	}
	return names
}

// Text is the value of the setting called name, as With takes it.
func (s Settings) Text(name string) string {
	for _, setting := range settings {
		if setting.name == name {
			return setting.get(&s)
		}
	}
	return ""
}

// MarshalJSON gives an object of the settings' texts.
func (s Settings) MarshalJSON() ([]byte, error) {
	texts := make(map[string]string, len(settings))
	for _, setting := range settings {
		texts[setting.name] = setting.get(&s)
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads such an object; what it does not name is the default.
func (s *Settings) UnmarshalJSON(b []byte) error {
	var texts map[string]string
	if err := json.Unmarshal(b, &texts); err != nil {
		return err
	}
	*s = DefaultSettings()
	for name, text := range texts {
		var err error
		if *s, err = s.With(name + "=" + text); err != nil {
			return err
		}
	}
	return nil
}

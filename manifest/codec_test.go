package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// many is a manifest with n originals and n producers.
func many(n int) *Manifest {
	m := &Manifest{Topic: "T", Name: "orders", Commit: "C", Settings: DefaultSettings(),
		Last: segments.None, MaxRead: segments.None, Horizon: segments.None, RetainedAfter: segments.None}
	for i := range n {
		through := at(int64(i), 0)
		m.Originals = append(m.Originals, stretch(fmt.Sprintf("J%06d/0", i), m.Last, through))
		m.Producers = append(m.Producers, Producer{Name: fmt.Sprintf("p%06d", i), Sequence: int64(i)})
		m.Last, m.MaxRead = through, through
	}
	return m
}

// TestAManifestComesBackWhole goes through sizes on both sides of where lists
// are cut into parts.
func TestAManifestComesBackWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := many(rapid.IntRange(0, 3*inlineItems).Draw(t, "segments"))
		e, err := encode(m, nil, func(n int) string { return fmt.Sprint("p/J/", n) })
		if err != nil {
			t.Fatal(err)
		}
		stored := make(map[string][]byte)
		for _, p := range e.parts {
			stored[p.ref.Object] = p.body
		}
		got, refs, err := decode(e.body, func(ref partRef) ([]byte, error) { return stored[ref.Object], nil })
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%+v", got.Originals), fmt.Sprintf("%+v", m.Originals); a != b {
			t.Errorf("originals came back as\n%s, were\n%s", a, b)
		}
		if !slices.Equal(got.Producers, m.Producers) || !slices.Equal(refs, e.refs) {
			t.Errorf("producers or parts came back changed")
		}
	})
}

// TestACommitWritesOnlyThePartsItTouched: a list keeps its parts when items
// come at its end, go at its front, or change in its midst.
func TestACommitWritesOnlyThePartsItTouched(t *testing.T) {
	name := func(n int) string { return fmt.Sprint("p/J/", n) }
	m := many(20 * cutEvery)
	first, err := encode(m, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.parts) < 20 || len(first.body) > 400_000 {
		t.Fatalf("%d parts and %d bytes of manifest", len(first.parts), len(first.body))
	}
	for _, c := range []struct {
		name string
		edit func(*Manifest)
		most int // new parts
	}{
		{"at the end", func(m *Manifest) {
			m.Originals = append(m.Originals, stretch("Z/0", m.Last, at(m.Last.Ledger+1, 0)))
		}, 1},
		{"at the front", func(m *Manifest) { m.Originals = m.Originals[300:] }, 1},
		{"in the midst", func(m *Manifest) { m.Producers[3000].Sequence++ }, 1},
	} {
		next := *m
		next.Originals, next.Producers = slices.Clone(m.Originals), slices.Clone(m.Producers)
		c.edit(&next)
		e, err := encode(&next, first.refs, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.parts) > c.most {
			t.Errorf("%s: %d new parts of %d, want at most %d", c.name, len(e.parts), len(e.refs), c.most)
		}
	}
}

func TestALongTopicIsReadBackThroughItsParts(t *testing.T) {
	s := new(mem.Store)
	topic := newTopic(t, s)
	m, _ := topic.Latest(t.Context())
	var e Append
	e.After = m.Last
	for _, s := range many(1000).Originals {
		e.Segments = append(e.Segments, s)
		e.MaxRead = s.Range.Through
	}
	m = mustCommit(t, topic, "1", e)
	m = mustCommit(t, topic, "2", appendTo(m, "J2", at(2000, 0)))
	other, err := Open(t.Context(), s, "orders", noPause)
	if err != nil {
		t.Fatal(err)
	}
	got, err := other.Latest(t.Context())
	if err != nil || len(got.Originals) != 1001 || got.Last != m.Last {
		t.Fatalf("read back %d originals, %v", len(got.Originals), err)
	}
	for entry, err := range s.List(t.Context(), topic.key("p/"), "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(entry.Key, "C2") {
			t.Errorf("the second commit wrote the part %s again", entry.Key)
		}
	}
}

func TestWhatANewerProgramWroteIsRefused(t *testing.T) {
	e, err := encode(many(1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new string }{
		{`"format":1`, `"format":2`},
		{`"reader_required":[]`, `"reader_required":["sealed-values"]`},
	} {
		body := strings.Replace(string(e.body), c.old, c.new, 1)
		if _, _, err := decode([]byte(body), nil); !errors.Is(err, ErrUnsupported) {
			t.Errorf("decode with %s = %v, want ErrUnsupported", c.new, err)
		}
	}

	s := new(mem.Store)
	topic := newTopic(t, s)
	topic.writerRequired = []string{"sealed-values"}
	if _, err := topic.Latest(t.Context()); err != nil {
		t.Errorf("a topic that must not be written cannot be read: %v", err)
	}
	if _, err := topic.Commit(t.Context(), change("1", Set{})); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Commit = %v, want ErrUnsupported", err)
	}
}

// TestAManifestNamesNothingOutsideItsTopic: keys in manifests are data, and
// data may lie.
func TestAManifestNamesNothingOutsideItsTopic(t *testing.T) {
	for _, key := range []string{"", "/d/J/1", "../T2/d/J/1", "d/../../T2/1", "d/J", "x/J/1", "d/J/1/2", "s3://b/d/1", "d//1", "http://h/x"} {
		m := many(1)
		m.Originals[0].Object = key
		e, err := encode(m, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := decode(e.body, nil); !errors.Is(err, segments.ErrCorrupt) {
			t.Errorf("decode with object %q = %v, want ErrCorrupt", key, err)
		}
	}
}

// FuzzDecode: any bytes are a manifest or an error, whoever has sealed them.
func FuzzDecode(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		e, err := encode(many(n), nil, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if forged := sealed(body); forged != nil {
			body = forged
		}
		m, _, err := decode(body, func(ref partRef) ([]byte, error) { return []byte("[]"), nil })
		if err != nil {
			return
		}
		if _, err := encode(m, nil, func(n int) string { return fmt.Sprint("p/J/", n) }); err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
	})
}

func TestSettingsComeBackAsTheyWereSet(t *testing.T) {
	for _, assignment := range []string{
		"tombstone_retention=0s", "tombstone_retention=forever", "tombstone_retention=7d", "keyless=drop", "empty_is_tombstone=true",
		"order=event_time", "min_lag=90m", "max_dead_share=0.25", "segment_bytes=100000", "batch_bytes=16KiB", "compression=zstd",
		"retention=1h", "producer_expiry=1h30m",
	} {
		set, err := DefaultSettings().With(assignment)
		if err != nil {
			t.Errorf("%s: %v", assignment, err)
			continue
		}
		if set == DefaultSettings() {
			t.Errorf("%s changes nothing", assignment)
		}
		b, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		var back Settings
		if err := json.Unmarshal(b, &back); err != nil || back != set {
			t.Errorf("%s came back from %s as %+v, %v", assignment, b, back, err)
		}
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	for _, assignment := range []string{
		"min_lag=24", "min_lag=-1h", "min_lag=", "min_lag", "min_lag=forever", "retention=7", "retention=0", "retention=999999999d", "segment_bytes=lots",
		"segment_bytes=-1", "segment_bytes=0", "segment_bytes=10GiB", "batch_bytes=1QB", "compression=gzip", "keyless=maybe", "order=key", "max_dead_share=2",
		"max_dead_share=-0.1", "max_dead_share=NaN", "nosuch=1", "=1", "",
	} {
		if got, err := DefaultSettings().With(assignment); !errors.Is(err, ErrSetting) || got != DefaultSettings() {
			t.Errorf("With(%q) = %+v, %v, want ErrSetting", assignment, got, err)
		}
	}
}

// A program from before adoption would take an object for one segment, with one
// set of dead rows.
func TestAManifestWithAnAdoptedSegmentAsksForItsReaders(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		m := many(1)
		m.Compacted = []Segment{m.Originals[0]}
		m.Compacted[0].Adopted, m.Horizon, m.MaxRead = adopted, m.Last, m.Last
		body := encoding(t, m)
		if got := strings.Contains(body, `"reader_required":["adoption"]`); got != adopted {
			t.Errorf("adopted %v: %s", adopted, body)
		}
		if _, _, err := decode([]byte(body), nil); err != nil {
			t.Errorf("adopted %v: %v", adopted, err)
		}
	}
}

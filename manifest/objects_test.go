package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// realSegment puts a segment of three rows, two of them dead.
func realSegment(t *testing.T, topic *Topic) Segment {
	t.Helper()
	w := segments.NewWriter(segments.WriterSettings{Topic: "T1", BatchBytes: 1 << 20, Compression: segments.CompressionNone}, topic.Hasher())
	for i := range int64(3) {
		if err := w.Append(&segments.Message{Position: at(0, i), BatchSize: 1, Key: []byte("k"), Value: []byte("v")}); err != nil {
			t.Fatal(err)
		}
	}
	r := segments.Range{After: segments.None, Through: at(0, 2)}
	sealed, err := w.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := roaring.BitmapOf(0, 1).ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(dead)
	s := Segment{Range: r, Object: DataKey("J", 0), Index: IndexKey("J", 0), Info: sealed.Info,
		Dead: &DeadRows{Object: DeadKey("J", 0), Bytes: int64(len(dead)), SHA256: hex.EncodeToString(sum[:]), Rows: 2}}
	for key, body := range map[string]objstore.Body{s.Object: sealed.Data, s.Index: sealed.Index, s.Dead.Object: bytes.NewReader(dead)} {
		if err := topic.Put(t.Context(), key, body); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestASegmentIsReadThroughItsTopic(t *testing.T) {
	topic := newTopic(t, new(mem.Store))
	s := realSegment(t, topic)
	file, err := topic.OpenSegment(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	dead, err := topic.DeadRows(t.Context(), &s)
	if err != nil || dead.GetCardinality() != 2 || s.LiveRows() != 1 {
		t.Errorf("dead rows %v, %v, %d live ones", dead, err, s.LiveRows())
	}
	s.Dead = nil
	if dead, err := topic.DeadRows(t.Context(), &s); err != nil || !dead.IsEmpty() || s.LiveRows() != 3 {
		t.Errorf("dead rows %v, %v, %d live ones", dead, err, s.LiveRows())
	}
	if err := topic.Put(t.Context(), s.Object, bytes.NewReader(nil)); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("a second put = %v, want ErrExists", err)
	}
	if err := topic.Discard(t.Context(), []string{s.Object, s.Index}); err != nil {
		t.Fatal(err)
	}
	if _, err := topic.OpenSegment(t.Context(), &s); !errors.Is(err, ErrMissing) {
		t.Errorf("a discarded segment: %v, want ErrMissing", err)
	}
}

// TestWhatIsNotWhatTheManifestSays is found before it is used.
func TestWhatIsNotWhatTheManifestSays(t *testing.T) {
	for name, change := range map[string]func(s *Segment){
		"dead rows with another digest": func(s *Segment) { s.Dead.SHA256 = "00" },
		"more dead rows":                func(s *Segment) { s.Dead.Rows = 3 },
		"fewer bytes of dead rows":      func(s *Segment) { s.Dead.Bytes-- },
		"another digest of the index":   func(s *Segment) { s.Info.Index.HeadSHA256 = "00" },
		"a longer index":                func(s *Segment) { s.Info.Index.HeadBytes, s.Info.Index.Bytes = 1<<19, 1<<20 },
	} {
		topic := newTopic(t, new(mem.Store))
		s := realSegment(t, topic)
		change(&s)
		_, err := topic.OpenSegment(t.Context(), &s)
		if err == nil {
			_, err = topic.DeadRows(t.Context(), &s)
		}
		if !errors.Is(err, segments.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	topic := newTopic(t, new(mem.Store))
	s := realSegment(t, topic)
	if err := topic.Discard(t.Context(), []string{s.Dead.Object}); err != nil {
		t.Fatal(err)
	}
	if _, err := topic.DeadRows(t.Context(), &s); !errors.Is(err, ErrMissing) {
		t.Errorf("dead rows that are gone: %v, want ErrMissing", err)
	}
}

func TestDurationsPassAtTheirEnd(t *testing.T) {
	d := Duration(time.Hour)
	if d.Passed(epoch, epoch.Add(time.Hour-1)) || !d.Passed(epoch, epoch.Add(time.Hour)) || Forever.Passed(epoch, epoch.AddDate(1000, 0, 0)) {
		t.Error("an hour does not pass after an hour, or forever passes")
	}
	if got := DefaultSettings().Text("tombstone_retention"); got != "24h" {
		t.Errorf("the default tombstone_retention prints as %q", got)
	}
}

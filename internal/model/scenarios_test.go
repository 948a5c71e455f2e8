package model

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// shop is a topic of the product in a test that is told in words.
type shop struct {
	*testing.T
	*product
}

func newShop(t *testing.T, settings ...string) *shop {
	t.Helper()
	s := manifest.DefaultSettings()
	for _, assignment := range settings {
		var err error
		if s, err = s.With(assignment); err != nil {
			t.Fatal(err)
		}
	}
	p, err := newProduct(s)
	if err != nil {
		t.Fatal(err)
	}
	return &shop{t, p}
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// add ingests lines.
func (s *shop) add(lines ...string) ingest.Result {
	s.Helper()
	result, _, err := s.ingest(strings.Join(lines, "\n"), "")
	s.must(err)
	return result
}

// run compacts, and wants this state.
func (s *shop) run(want string) {
	s.Helper()
	result, err := s.compact()
	s.must(err)
	if string(result.State) != want {
		s.Fatalf("the run came to %s, want %s", result.State, want)
	}
}

func (s *shop) after(d time.Duration) { s.now = began.Add(d) }

// reader opens a reader of the compacted view.
func (s *shop) reader(start readerlib.Start) *readerlib.Reader {
	s.Helper()
	r, err := readerlib.Open(s.Context(), s.topic, readerlib.Options{View: readerlib.Compacted, Start: start})
	s.must(err)
	return r
}

func brief(m segments.Message) string {
	text := m.Position.String() + " " + string(m.Key)
	if m.Value == nil {
		return text + " deleted"
	}
	return text + "=" + string(m.Value)
}

// wantNext wants r to have these messages next, and to say so before each, and
// then to have no more.
func (s *shop) wantNext(r *readerlib.Reader, want ...string) {
	s.Helper()
	for _, next := range want {
		has, err := r.HasMessageAvailable(s.Context())
		s.must(err)
		m, err := r.Next(s.Context())
		if !has || err != nil || brief(m) != next {
			s.Fatalf("a message is available: %v, and next is %s, %v, want %s", has, brief(m), err, next)
		}
	}
	s.wantEnd(r)
}

func (s *shop) wantEnd(r *readerlib.Reader) {
	s.Helper()
	has, err := r.HasMessageAvailable(s.Context())
	s.must(err)
	m, err := r.Next(s.Context())
	if has || !errors.Is(err, io.EOF) {
		s.Fatalf("after %s a message is available: %v, and next is %s, %v, want none", r.Place(), has, brief(m), err)
	}
}

func (s *shop) wantLast(r *readerlib.Reader, want string) segments.Position {
	s.Helper()
	last, err := r.LastMessageID(s.Context())
	s.must(err)
	if last.String() != want {
		s.Fatalf("the last message id is %s, want %s", last, want)
	}
	return last
}

// wantView wants the compacted view to show exactly this.
func (s *shop) wantView(want ...string) {
	s.Helper()
	s.wantNext(s.reader(readerlib.Earliest()), want...)
}

func (s *shop) refresh(r *readerlib.Reader) {
	s.Helper()
	_, err := r.Refresh(s.Context())
	s.must(err)
}

// version is the number of the newest version.
func (s *shop) version() manifest.Version {
	s.Helper()
	m, err := s.topic.Latest(s.Context())
	s.must(err)
	return m.Version
}

func (s *shop) wantChanges(from manifest.Version, want ...string) {
	s.Helper()
	var got []string
	for c, err := range readerlib.Changes(s.Context(), s.topic, from, s.version()) {
		s.must(err)
		text := brief(c.Message)
		if c.Deleted {
			text = string(c.Message.Key) + " is gone"
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("changes from version %d are %q, want %q", from, got, want)
	}
}

// at is a line with a position; an empty value deletes.
func at(id, key, value string) string {
	text := "null"
	if value != "" {
		text = fmt.Sprintf("%q", value)
	}
	size := ""
	if strings.Count(id, ":") == 2 {
		size = `"batch_size":3,`
	}
	return fmt.Sprintf(`{"id":"%s",%s"key":%q,"value":%s}`, id, size, key, text)
}

// Pulsar #18808, the first race: a reader has learned the last id, which is a
// tombstone's. A run takes the tombstone away. In Pulsar the reader goes on
// believing that there is something to read, and waits for it for ever.
func TestATombstoneAtTheTailIsCompactedAwayAfterItsIDWasLearned(t *testing.T) {
	s := newShop(t, "tombstone_retention=0s")
	s.add(at("3:0", "k1", "v1"), at("3:1", "k2", "v2"), at("3:2", "k2", ""))
	r, other := s.reader(readerlib.Earliest()), s.reader(readerlib.Earliest())
	cached := s.wantLast(r, "3:2")
	if m, err := r.Next(s.Context()); err != nil || brief(m) != "3:0 k1=v1" {
		t.Fatal(brief(m), err)
	}
	s.run("compacted")

	// On its own snapshot nothing has changed, and what it was told holds.
	s.wantLast(r, "3:2")
	s.wantNext(r, "3:1 k2=v2", "3:2 k2 deleted")

	// On the new one all is computed anew.
	s.must(other.Seek(s.Context(), readerlib.After(segments.At(3, 0))))
	s.refresh(other)
	s.wantLast(other, "3:0")
	s.wantEnd(other)
	for _, place := range []segments.Position{segments.At(3, 0), segments.At(3, 1), cached} {
		s.wantEnd(s.reader(readerlib.After(place)))
	}
	s.wantEnd(s.reader(readerlib.At(cached)))
	s.wantView("3:0 k1=v1")

	// It goes on from the old id when something comes.
	s.add(at("3:3", "k3", "v3"))
	s.wantNext(s.reader(readerlib.After(cached)), "3:3 k3=v3")
}

// Pulsar #18808, the second race: the id that was learned is the last of a
// batch, and a run takes the tail of the batch away. In Pulsar the index of the
// batch's end stays the last id.
func TestTheTailOfABatchIsCompactedAwayAfterItsIDWasLearned(t *testing.T) {
	s := newShop(t, "tombstone_retention=0s")
	s.add(at("3:0:0", "k1", "v1"), at("3:0:1", "k2", "v2"), at("3:0:2", "k2", ""))
	r := s.reader(readerlib.Earliest())
	cached := s.wantLast(r, "3:0:2")
	if m, err := r.Next(s.Context()); err != nil || brief(m) != "3:0:0 k1=v1" {
		t.Fatal(brief(m), err)
	}
	s.run("compacted")
	s.refresh(r)
	s.wantLast(r, "3:0:0")
	s.wantEnd(r)
	for index := range cached.Batch + 1 {
		place := segments.Position{Ledger: 3, Batch: index}
		s.wantEnd(s.reader(readerlib.After(place)))
	}
	s.wantEnd(s.reader(readerlib.At(cached)))
	s.wantNext(s.reader(readerlib.After(segments.At(3, 0))), "3:0:0 k1=v1")
}

// Pulsar #18808, the third race: the last id is asked for only after the run,
// by a reader that was opened before it, and reading goes on until that id is
// reached. So it has to be the id of a message that can be reached.
func TestTheLastIDIsAskedForAfterTheCompaction(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		last  string
		views []string
	}{
		{"a tombstone at the tail", []string{at("3:0", "k1", "v1"), at("3:1", "k2", "v2"), at("3:2", "k2", "")}, "3:0", []string{"3:0 k1=v1"}},
		{"a tombstone at the tail of a batch", []string{at("3:0:0", "k1", "v1"), at("3:0:1", "k2", "v2"), at("3:0:2", "k2", "")}, "3:0:0", []string{"3:0:0 k1=v1"}},
		{"a batch of tombstones", []string{at("3:0", "k1", "v1"), at("3:1:0", "k2", ""), at("3:1:1", "k3", "")}, "3:0", []string{"3:0 k1=v1"}},
		{"nothing left", []string{at("3:0", "k1", "v1"), at("3:1", "k1", "")}, "-1:-1", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, "tombstone_retention=0s")
			s.add(c.lines...)
			r := s.reader(readerlib.Earliest())
			s.run("compacted")
			s.refresh(r)
			last := s.wantLast(r, c.last)
			for n := 0; r.Place().Before(last); n++ {
				if m, err := r.Next(s.Context()); err != nil || brief(m) != c.views[n] {
					t.Fatal(brief(m), err)
				}
			}
			s.wantEnd(r)
			s.wantView(c.views...)
		})
	}
}

// KAFKA-5490: the row of a producer's last sequence was kept for the sake of
// that sequence, outlived the tombstone that had deleted its value, and was
// shown again. Here the sequence is remembered without the row.
func TestAValueIsNotShownAgainForTheSakeOfItsProducer(t *testing.T) {
	s := newShop(t)
	sent := []string{
		`{"key":"A","value":"1","producer":"p1","sequence":"0"}`,
		`{"key":"A","value":null,"producer":"p2","sequence":"0"}`,
	}
	s.add(sent...)
	s.run("compacted")
	s.wantView("0:1 A deleted")
	s.after(24 * time.Hour)
	s.add(`{"key":"B","value":"1","producer":"p3","sequence":"0"}`)
	s.run("compacted")
	s.wantView("1:0 B=1")

	// Both producers are known as they were, and so their input adds nothing.
	if r := s.add(sent...); r.State != ingest.AlreadyIngested || r.Duplicates != 2 {
		t.Fatalf("the input again: %+v", r)
	}
	s.add(`{"key":"C","value":"1","producer":"p1","sequence":"1"}`)
	s.run("compacted")
	s.wantView("1:0 B=1", "2:0 C=1")
}

// A relative of it: the value lies in an older segment, the tombstone in one
// that is folded now and expires in the same run. They go together; there is no
// version that shows the value and not the tombstone.
func TestATombstoneThatExpiresAtOnceTakesItsValueAlong(t *testing.T) {
	s := newShop(t)
	s.add(at("1:0", "a", "1"), at("1:1", "b", "1"))
	s.run("compacted")
	before := s.version()
	s.must(s.set("tombstone_retention=0s"))
	s.add(at("2:0", "a", ""))
	s.wantView("1:0 a=1", "1:1 b=1", "2:0 a deleted")
	s.run("compacted")
	s.wantView("1:1 b=1")
	s.wantChanges(before, "a is gone")
	s.after(100 * time.Hour)
	s.run("already_compacted")
	s.wantView("1:1 b=1")
}

// A relative of it: by event time a late old event must not bring back what a
// newer tombstone has deleted, as long as the tombstone is retained.
func TestAnOlderEventDoesNotBringADeletedKeyBack(t *testing.T) {
	event := func(id, value, second string) string {
		return strings.Replace(at(id, "a", value), "{", fmt.Sprintf(`{"event_time":"2026-02-01T00:00:%sZ",`, second), 1)
	}
	s := newShop(t, "order=event_time")
	s.add(event("1:0", "1", "01"), event("1:1", "", "09"))
	s.run("compacted")
	s.add(event("2:0", "2", "05"))
	s.wantView("1:1 a deleted", "2:0 a=2") // nothing is folded yet
	if _, found, err := s.reader(readerlib.Earliest()).Get(s.Context(), []byte("a")); err != nil || found {
		t.Fatalf("get: %v, %v", found, err)
	}
	s.run("compacted")
	s.wantView("1:1 a deleted")
	s.after(24 * time.Hour)
	s.run("compacted")
	s.wantView()
}

// Kafka schedules no pass for expired tombstones alone, so on an idle topic
// they stay for ever. Here the next run drops them, though there is nothing
// new.
func TestAnIdleTopicStillGetsItsExpiredTombstonesDropped(t *testing.T) {
	s := newShop(t)
	s.add(at("1:0", "a", "1"), at("1:1", "a", ""), at("1:2", "b", ""))
	s.after(10 * time.Hour) // the first run counts, not when they came
	s.run("compacted")
	s.after(34*time.Hour - time.Millisecond)
	s.run("already_compacted")
	s.wantView("1:1 a deleted", "1:2 b deleted")
	s.after(34 * time.Hour)
	s.wantView("1:1 a deleted", "1:2 b deleted") // between runs the clock changes nothing
	before := s.version()
	result, err := s.compact()
	s.must(err)
	if result.State != "compacted" || result.Rows.In != 0 || result.Older.Expired != 2 {
		t.Fatalf("the run came to %+v", result)
	}
	s.wantView()
	s.wantChanges(before) // no key had a value
	s.run("already_compacted")
}

// A slow reader has seen a value. Within the retention it meets the delete,
// whatever was compacted; after it, it learns of it from the changes.
func TestASlowReaderMeetsTheDeleteWithinTheRetention(t *testing.T) {
	s := newShop(t)
	s.add(at("1:0", "a", "1"))
	s.run("compacted")
	slow, slower := s.reader(readerlib.Earliest()), s.reader(readerlib.Earliest())
	s.wantNext(slow, "1:0 a=1")
	s.wantNext(slower, "1:0 a=1")
	saw := s.version()
	s.add(at("1:1", "a", ""), at("1:2", "b", "1"))
	s.after(time.Hour)
	s.run("compacted")
	s.after(24*time.Hour + 59*time.Minute)
	s.add(at("1:3", "c", "1"))
	s.run("compacted")
	s.refresh(slow)
	s.wantNext(slow, "1:1 a deleted", "1:2 b=1", "1:3 c=1")

	s.after(25 * time.Hour)
	s.run("compacted")
	s.refresh(slower)
	s.wantNext(slower, "1:2 b=1", "1:3 c=1")
	s.wantChanges(saw, "1:2 b=1", "1:3 c=1", "a is gone")
}

// A key that is written again loses its tombstone at once, and not its value
// when that tombstone would have expired.
func TestAKeyThatIsWrittenAgainOutlivesItsTombstone(t *testing.T) {
	s := newShop(t)
	s.add(at("1:0", "a", "1"), at("1:1", "a", ""))
	s.run("compacted")
	s.add(at("1:2", "a", "2"))
	s.run("compacted")
	s.wantView("1:2 a=2")
	s.after(24 * time.Hour)
	s.run("already_compacted")
	s.wantView("1:2 a=2")
}

// The retention is the one that is set when a run comes, for old tombstones
// too, and what was dropped does not come back when it is set anew.
func TestTheRetentionThatIsSetAtTheRunCounts(t *testing.T) {
	s := newShop(t)
	s.add(at("1:0", "a", ""), at("1:1", "b", "1"))
	s.run("compacted")
	s.after(2 * time.Hour)
	s.run("already_compacted")
	s.must(s.set("tombstone_retention=2h"))
	s.wantView("1:0 a deleted", "1:1 b=1")
	s.run("compacted")
	s.wantView("1:1 b=1")
	s.must(s.set("tombstone_retention=forever"))
	s.run("already_compacted")
	s.wantView("1:1 b=1")
}

// A pin holds on to a version whether or not a collection has expired it since:
// it can be opened, and a trim leaves what it needs for its raw view. It used
// to be left out, as one that is no longer kept, where a tagged one was not.
func TestATrimLeavesWhatAPinnedVersionNeedsThoughItHasExpired(t *testing.T) {
	s := newShop(t, "retention=0s")
	s.add(at("1:0", "a", "1"))
	pinned := s.version()
	s.must(s.topic.Pin(t.Context(), pinned, "reader"))
	s.add(at("2:0", "a", "2"))
	s.run("compacted")
	if expired, err := s.collect(manifest.Keep{Since: s.now}, true); err != nil || expired <= pinned {
		t.Fatalf("versions before %d are expired, %v", expired, err)
	}
	if result, err := s.trim(); err != nil || result.State != "nothing_to_do" {
		t.Fatalf("the trim came to %+v, %v", result, err)
	}
	r, err := readerlib.Open(t.Context(), s.topic, readerlib.Options{Version: readerlib.Numbered(pinned)})
	s.must(err)
	s.wantNext(r, "1:0 a=1")

	s.must(s.topic.Unpin(t.Context(), pinned, "reader"))
	if result, err := s.trim(); err != nil || result.State != "trimmed" || result.FirstRetained != segments.At(2, 0) {
		t.Fatalf("the trim came to %+v, %v", result, err)
	}
	if _, err := readerlib.Open(t.Context(), s.topic, readerlib.Options{Version: readerlib.Numbered(pinned)}); !errors.Is(err, manifest.ErrVersionNotFound) {
		t.Fatalf("open a version that is expired: %v", err)
	}
}

// A version that is tagged after its ledgers were trimmed has its files, and
// needs nothing of the ledgers that came later. It used to hold back all trims.
func TestATrimIsNotHeldBackByWhatIsTrimmedAlready(t *testing.T) {
	s := newShop(t, "retention=0s")
	s.add(at("1:0", "a", "1"))
	first := s.version()
	s.add(at("2:0", "b", "1"))
	s.run("compacted")
	if result, err := s.trim(); err != nil || result.Through != segments.At(1, 0) {
		t.Fatalf("the trim came to %+v, %v", result, err)
	}
	s.must(s.topic.Tag(t.Context(), "first", first, false))
	s.add(at("3:0", "c", "1"))
	s.run("compacted")
	if result, err := s.trim(); err != nil || result.Through != segments.At(2, 0) {
		t.Fatalf("the trim came to %+v, %v", result, err)
	}
	r, err := readerlib.Open(t.Context(), s.topic, readerlib.Options{Version: readerlib.Tagged("first")})
	s.must(err)
	s.wantNext(r, "1:0 a=1")
}

// A run takes over the file of an original as it is. The original is trimmed,
// its aborted transaction is forgotten, and what no version names is collected:
// the compacted view goes on showing what it showed, and nobody else shows a
// row of the file.
func TestAnAdoptedFileIsReadAfterItsOriginalIsTrimmed(t *testing.T) {
	s := newShop(t, "segment_bytes=2KiB", "batch_bytes=1KiB", "retention=0s")
	long := strings.Repeat("x", 600)
	s.add(at("1:0", "a", "1"), at("1:1", "b", long),
		`{"id":"1:2","key":"a","value":"2","txn":"1,1"}`, `{"id":"1:3","key":"c","value":"1","txn":"1,2"}`,
		`{"id":"1:4","txn":"1,1","marker":"abort"}`, `{"id":"1:5","txn":"1,2","marker":"commit"}`,
		at("1:6", "d", "1"), at("1:7", "e", "1"), at("1:8", "d", "2"))
	s.add(at("2:0", "f", "1"))
	result, err := s.compact()
	s.must(err)
	if result.Adopted.Segments != 1 || result.Adopted.Rows != 5 {
		t.Fatalf("adopted %+v", result.Adopted)
	}
	view := []string{"1:0 a=1", "1:1 b=" + long, "1:3 c=1", "1:7 e=1", "1:8 d=2", "2:0 f=1"}
	s.wantView(view...)

	before := s.version()
	wantAborted := func(want bool) {
		m, err := s.topic.Latest(s.Context())
		s.must(err)
		if got := strings.Contains(string(m.Transactions), `"aborted":[{`); got != want {
			t.Fatalf("transactions are %s", m.Transactions)
		}
	}
	wantAborted(true)
	_, err = s.trim()
	s.must(err)
	s.add(at("2:1", "g", "1")) // an ingest forgets what is trimmed
	wantAborted(false)
	s.wantChanges(before, "2:1 g=1")
	_, err = s.collect(manifest.Keep{Since: s.now.Add(time.Hour), MinJob: s.jobID()}, true)
	s.must(err)
	s.wantView(append(view, "2:1 g=1")...)

	raw, err := readerlib.Open(s.Context(), s.topic, readerlib.Options{})
	s.must(err)
	s.wantNext(raw, "2:0 f=1", "2:1 g=1")
	for key, want := range map[string]string{"a": "1", "b": long, "c": "1", "d": "2", "e": "1", "f": "1", "g": "1"} {
		got, ok, err := raw.Get(s.Context(), []byte(key))
		s.must(err)
		if !ok || string(got.Value) != want {
			t.Errorf("%s is %q, %v", key, got.Value, ok)
		}
	}
	found, err := raw.Fetch(s.Context(), segments.At(1, 0), segments.At(2, 0))
	s.must(err)
	var got []string
	for _, m := range found.Messages {
		got = append(got, brief(m))
	}
	if absent := fmt.Sprint(found.Absent); !slices.Equal(got, view) || absent != "[1:2 1:4..1:6]" || len(found.Failed) > 0 {
		t.Errorf("fetched %q, absent %s, failed %v", got, absent, found.Failed)
	}
}

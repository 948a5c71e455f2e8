package compactor

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// long is a value of which one row is more than half a segment of 1 KiB.
var long = strings.Repeat("x", 600)

func TestWhatIsAdopted(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings string
		lines    []string // of one original
		adopted  bool
		dead     int64
	}{
		{"all of it lives", "", []string{"1:0 a=" + long, "1:1 b=1"}, true, 0},
		{"it is small", "", []string{"1:0 a=1", "1:1 b=1"}, false, 0},
		{"a little of it died", "", []string{"1:0 a=1", "1:1 b=" + long, "1:2 a=2"}, true, 1},
		{"half of it died", "", []string{"1:0 a=1", "1:1 a=" + long + long}, false, 0},
		{"most of it died, and may", "max_dead_share=1", []string{"1:0 a=1", "1:1 a=2", "1:2 a=" + long + long + long + long}, true, 2},
		{"some of it died, and nothing may", "max_dead_share=0", []string{"1:0 a=1", "1:1 b=" + long, "1:2 a=2"}, false, 0},
		{"nothing died, and nothing may", "max_dead_share=0", []string{"1:0 a=1", "1:1 b=" + long}, true, 0},
		{"markers and aborted rows", "", []string{
			"1:0 a=" + long + " txn=1,1", "1:1 b=1 txn=1,2", "1:2 commit txn=1,1", "1:3 abort txn=1,2", "1:4 c=1", "1:5 d=1", "1:6 e", "1:7 f=1",
		}, true, 3},
		{"rows without key that are dropped", "keyless=drop", []string{"1:0 =1", "1:1 a=" + long}, false, 0},
		{"rows without key that are dropped, among others", "keyless=drop", []string{"1:0 =1", "1:1 a=" + long, "1:2 b"}, true, 1},
		{"a tombstone that expires at once", "tombstone_retention=0s", []string{"1:0 b", "1:1 a=" + long, "1:2 c=1"}, true, 1},
		{"nothing is left of it", "tombstone_retention=0s", []string{"1:0 a=" + long, "1:1 a"}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := testWorld(t, append(strings.Fields(c.settings), "segment_bytes=1KiB", "batch_bytes=1KiB")...)
			w.add(strings.Join(c.lines, "\n"))
			r := w.run()
			m := w.latest()
			s := m.Compacted[0]
			if s.Adopted != c.adopted || s.Adopted != (s.Object == m.Originals[0].Object) {
				t.Fatalf("adopted: %v, object %s, want %v", s.Adopted, s.Object, c.adopted)
			}
			want := Adopted{}
			if c.adopted {
				want = Adopted{Segments: 1, Rows: r.Rows.Kept, Bytes: m.Originals[0].Info.Bytes}
			}
			if r.Adopted != want {
				t.Errorf("the run has adopted %+v, want %+v", r.Adopted, want)
			}
			if dead := s.Info.Counts.Rows() - s.LiveRows(); dead != c.dead {
				t.Errorf("%d rows are dead, want %d", dead, c.dead)
			}
			if n := len(w.live()); int64(n) != r.Rows.Kept {
				t.Errorf("%d rows are live, want %d", n, r.Rows.Kept)
			}
			w.wantProved()
		})
	}
}

// Survivors crowd at the end of a log, so the newest originals are adopted, and
// what is left of those before them is written into segments that tile with
// them.
func TestAdoptedAndWrittenSegmentsTile(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB")
	w.add("1:0 a=1"+long+"\n1:1 b=1\n1:2 c=1", "1:3 a=2\n1:4 b=2"+long, "1:5 a=3"+long+"\n1:6 d=1", "2:0 e=1"+long+"\n2:2 f=1", "2:3 f=2")
	w.run()
	var got []string
	for _, s := range w.latest().Compacted {
		got = append(got, fmt.Sprint(s.Range, " ", s.Adopted, " ", s.LiveRows()))
	}
	want := []string{"(-1:-1, 1:4] false 2", "(1:4, 1:6] true 2", "(1:6, 2:2] false 1", "(2:2, 2:3] false 1"}
	if got[0] != want[0] || got[1] != want[1] {
		t.Errorf("segments\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	w.wantLive("1:2 c=1", "1:4 b=2"+long, "1:5 a=3"+long, "1:6 d=1", "2:0 e=1"+long, "2:3 f=2")
	w.wantProved()
}

// An original of which the run folds only a part, at either end, is copied: of
// its other rows the run knows nothing.
func TestAnOriginalThatStraddlesTheHorizonIsCopied(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB")
	w.add("1:0 a=" + long + "\n1:1 b=1 txn=1,1\n1:2 c=" + long)
	if r := w.run(); r.Adopted.Segments != 0 || r.Horizon != segments.At(1, 0) {
		t.Fatalf("adopted %+v through %s", r.Adopted, r.Horizon)
	}
	w.add("1:3 commit txn=1,1\n1:4 d=" + long + "\n1:5 e=1")
	r := w.run()
	m := w.latest()
	if last := m.Compacted[len(m.Compacted)-1]; r.Adopted.Segments != 1 || !last.Adopted || last.Range.After != segments.At(1, 2) {
		t.Fatalf("adopted %+v, last %+v", r.Adopted, last)
	}
	w.wantLive("1:0 a="+long, "1:1 b=1 txn=1,1", "1:2 c="+long, "1:4 d="+long, "1:5 e=1")
	w.wantProved()
}

// What is adopted is neither read nor written.
func TestThePayloadOfAnAdoptedFileIsNotMoved(t *testing.T) {
	w := testWorld(t, "segment_bytes=64KiB", "batch_bytes=4KiB", "compression=none")
	var texts []string
	for n := range 4 {
		var text strings.Builder
		for i := range 150 {
			fmt.Fprintf(&text, "%d:%d k%d-%d=%s\n", n+1, i, n, i%140, long)
		}
		texts = append(texts, text.String())
	}
	w.add(texts...)
	counted := w.counted()
	r, err := Run(t.Context(), w.through(counted, never), nil, w.job(1))
	w.must(err)
	if r.Adopted.Segments != 4 || r.Rows.Superseded != 40 || r.Wrote.Objects != 4 || r.Wrote.Bytes > 400 {
		t.Errorf("adopted %+v, wrote %+v, rows %+v", r.Adopted, r.Wrote, r.Rows)
	}
	var index int64
	for _, s := range w.latest().Originals {
		index += s.Info.Index.Bytes
	}
	if c := counted.Snapshot(); c.BytesRead > index+64<<10 || c.BytesRead > r.Adopted.Bytes/4 {
		t.Errorf("%d bytes were read, of files with %d and indexes with %d", c.BytesRead, r.Adopted.Bytes, index)
	}
	if e := r.Estimate; r.Wrote.Bytes > e.WriteBytes || r.Wrote.Objects > e.Puts {
		t.Errorf("wrote %+v, the estimate was %+v", r.Wrote, e)
	}
	w.wantProved()
}

// holds reports whether the store has an object of the topic.
func (w *world) holds(key string) bool {
	w.Helper()
	for entry, err := range w.store.List(context.Background(), string(w.topic.ID())+"/"+key, "") {
		w.must(err)
		if strings.HasSuffix(entry.Key, key) {
			return true
		}
	}
	return false
}

// TestAnAdoptedFileOutlivesItsOriginal: it is trimmed, its aborted transaction
// is forgotten, and what no version names is collected. The file stays, and
// shows what it showed, until it is rewritten.
func TestAnAdoptedFileOutlivesItsOriginal(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB", "retention=0s")
	w.add("1:0 a=1 txn=1,1\n1:1 b=" + long + "\n1:2 c=1 txn=1,2\n1:3 d=1\n1:4 e\n1:5 f=1\n1:6 g=1\n1:7 abort txn=1,1\n1:8 commit txn=1,2")
	w.add("2:0 z=1")
	w.run()
	file := w.latest().Compacted[0]
	if !file.Adopted {
		t.Fatal("the original is not adopted")
	}
	want := w.live()
	if _, err := Trim(t.Context(), w.topic, w.job(1)); err != nil {
		t.Fatal(err)
	}
	w.txns.Forget(w.latest().RetainedAfter)
	w.add("2:1 y=1")
	w.collect()

	m := w.latest()
	if len(m.Originals) != 2 || !w.holds(file.Object) || !w.holds(file.Index) || !w.holds(file.Dead.Object) {
		t.Fatalf("%d originals are left, and of the adopted file: %v, %v, %v", len(m.Originals), w.holds(file.Object), w.holds(file.Index), w.holds(file.Dead.Object))
	}
	w.wantLive(want...)
	w.wantProved()

	// Less of it is live, so it is rewritten, with the transactions forgotten.
	w.add("2:2 b=2\n2:3 d=2\n2:4 f=2")
	r := w.run()
	if r.Older != (older{Superseded: 3}) {
		t.Errorf("older rows %+v", r.Older)
	}
	w.collect()
	if w.holds(file.Object) || w.holds(file.Index) || w.holds(file.Dead.Object) {
		t.Error("the adopted file is still there")
	}
	w.wantLive("1:2 c=1 txn=1,2", "1:4 e", "1:6 g=1", "2:0 z=1", "2:1 y=1", "2:2 b=2", "2:3 d=2", "2:4 f=2")
	w.wantProved()
}

// A file that a rewritten segment had adopted is still an original's.
func TestAnOriginalOutlivesItsAdoption(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB")
	w.add("1:0 a=" + long + "\n1:1 b=1")
	w.run()
	file := w.latest().Compacted[0].Object
	w.add("1:2 a=2")
	w.run()
	w.collect()
	m := w.latest()
	if m.Compacted[0].Adopted || m.Originals[0].Object != file || !w.holds(file) {
		t.Errorf("adopted: %v, original %s, is there: %v", m.Compacted[0].Adopted, m.Originals[0].Object, w.holds(file))
	}
	w.wantProved()
}

// Each run that adopts counts the retention of tombstones from its own time.
func TestTombstonesOfAnAdoptedFileExpireOnTime(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB", "tombstone_retention=1h", "max_dead_share=1")
	w.add("1:0 a=" + long + "\n1:1 b")
	w.run()
	w.pass(hour / 2)
	w.add("1:2 c=" + long + "\n1:3 d")
	w.run()
	w.pass(hour / 2)
	w.wantRun(StateCompacted, "1:3", rowsIn{}, older{Expired: 1})
	w.wantLive("1:0 a="+long, "1:2 c="+long, "1:3 d")
	w.pass(hour / 2)
	w.wantRun(StateCompacted, "1:3", rowsIn{}, older{Expired: 1})
	w.wantLive("1:0 a="+long, "1:2 c="+long)
	if m := w.latest(); !m.Compacted[0].Adopted || !m.Compacted[1].Adopted {
		t.Error("they are not adopted")
	}
	w.wantProved()
}

// TestVerifyFindsAWrongBitmapOfAnAdoptedFile puts dead rows in the place of
// those of an adopted file that have the right number and digest, but are of
// the wrong rows.
func TestVerifyFindsAWrongBitmapOfAnAdoptedFile(t *testing.T) {
	text := "1:0 a=1\n1:1 b=" + long + "\n1:2 c=1 txn=1,1\n1:3 a=2\n1:4 d=1\n1:5 e=1\n1:6 f=1\n1:7 abort txn=1,1"
	for _, c := range []struct {
		name string
		dead []uint32 // right are rows 0, 2, 7
		want string
	}{
		{"a marker", []uint32{0, 2, 4}, "row 7 is a marker or aborted, and is shown"},
		{"an aborted row", []uint32{0, 7, 4}, "row 2 is a marker or aborted, and is shown"},
		{"a superseded row", []uint32{2, 7, 4}, "the key of row 3 is shown 2 times"},
		{"a row that is to be shown is not", []uint32{0, 2, 7, 5}, "was never deleted, and is not shown"},
		{"too many", []uint32{0, 2, 7, 99}, "row 99 is dead, of 8 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB")
			w.add(text)
			w.run()
			s := w.latest().Compacted[0]
			if !s.Adopted || s.Dead.Rows != 3 {
				t.Fatalf("adopted: %v, dead %+v", s.Adopted, s.Dead)
			}
			w.wantProved()
			job := w.jobID()
			now, body, err := (&shelf{topic: w.topic, job: job}).dead(roaring.BitmapOf(c.dead...))
			w.must(err)
			w.must(w.topic.Put(t.Context(), now.Object, body))
			h := w.latest().Horizon
			w.commit(manifest.Compact{From: h, To: h, Dead: []manifest.DeadUpdate{{Object: s.Object, Was: s.Dead, Now: now}}}, job)
			proof, err := Verify(t.Context(), w.topic, w.latest())
			w.must(err)
			if !slices.ContainsFunc(proof.Findings, func(f Finding) bool { return strings.Contains(f.Wrong, c.want) }) {
				t.Errorf("findings %+v, want %q", proof.Findings, c.want)
			}
		})
	}
}

// The bytes of an adopted file are read once, where it is an original.
func TestVerifyReadsAnAdoptedFileOnce(t *testing.T) {
	w := testWorld(t, "segment_bytes=1KiB", "batch_bytes=1KiB", "retention=0s")
	w.add("1:0 a="+long+"\n1:1 b=1", "2:0 c=1")
	w.run()
	for _, segments := range []int64{3, 3} {
		proof, err := Verify(t.Context(), w.topic, w.latest())
		w.must(err)
		if proof.Segments != segments || len(proof.Findings) != 0 {
			t.Errorf("%d segments were read, want %d; findings %+v", proof.Segments, segments, proof.Findings)
		}
		_, err = Trim(t.Context(), w.topic, w.job(1))
		w.must(err)
	}

	// A flipped bit in it is found where only the compacted tier has it.
	m := w.latest()
	key := string(m.Topic) + "/" + m.Compacted[0].Object
	body, err := w.store.Get(t.Context(), key, 1<<20)
	w.must(err)
	at := bytes.Index(body, []byte(long))
	if at < 0 {
		at = len(body) / 2
	}
	body[at] ^= 1
	w.must(w.store.Delete(t.Context(), key))
	w.must(w.store.Put(t.Context(), key, bytes.NewReader(body)))
	proof, err := Verify(t.Context(), w.topic, m)
	w.must(err)
	if len(proof.Findings) == 0 || proof.Findings[0].Object != m.Compacted[0].Object {
		t.Errorf("findings %+v", proof.Findings)
	}
}

package compactor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// pos reads a position.
func pos(t *testing.T, text string) segments.Position {
	t.Helper()
	p, err := segments.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// original is a segment of so many bytes from after one entry through another,
// named by where it ends.
func original(t *testing.T, after, through string, bytes int64) manifest.Segment {
	t.Helper()
	return manifest.Segment{
		Range:  segments.Range{After: pos(t, after), Through: pos(t, through)},
		Object: "d/" + through, Index: "x/" + through,
		Info: segments.Info{
			Bytes:  bytes,
			Counts: segments.Counts{Messages: 10},
			Index:  segments.IndexInfo{Bytes: 300, HeadBytes: 100},
		},
	}
}

// TestPlans gives a plan what it is made from, and looks at what it says.
func TestPlans(t *testing.T) {
	tombstones := func(s manifest.Segment, n int64, at time.Time) manifest.Segment {
		s.LiveTombstones, s.CompactedAt = n, at
		return s
	}
	type planned struct {
		to     string
		inputs string
		expire string
		ranges int
		writes int
	}
	originals := []manifest.Segment{
		original(t, "-1:-1", "0:9", 400),
		original(t, "0:9", "1:4", 400),
		original(t, "1:4", "1:9", 400),
		original(t, "1:9", "2:9", 3000),
		original(t, "2:9", "3:9", 400),
	}
	compacted := []manifest.Segment{
		tombstones(original(t, "-1:-1", "0:5", 400), 1, start.Add(-day)),
		tombstones(original(t, "0:5", "0:9", 400), 1, start.Add(-day+1)),
	}
	for _, c := range []struct {
		name      string
		horizon   string
		compacted []manifest.Segment
		cut       string
		policy    Policy
		want      planned
	}{
		{
			name: "all of it", horizon: "-1:-1", cut: "3:9",
			want: planned{
				to: "3:9", inputs: "d/0:9 d/1:4 d/1:9 d/2:9 d/3:9", ranges: 1,
				writes: 1,
			},
		},
		{
			name: "from and to the middle of segments", horizon: "0:9", compacted: compacted[:0:0], cut: "1:6",
			want: planned{
				to: "1:6", inputs: "d/1:4 d/1:9", ranges: 1,
				writes: 1,
			},
		},
		{
			name: "nothing new, one tombstone to expire", horizon: "0:9", compacted: compacted, cut: "0:9",
			want: planned{to: "0:9", expire: "d/0:5"},
		},
		{
			name: "a cut below the horizon", horizon: "1:4", cut: "0:9",
			want: planned{to: "1:4"},
		},
		{
			name: "many ranges", horizon: "0:9", compacted: compacted, cut: "3:9", policy: Policy{RangeBytes: 500, PieceBytes: 1 << 20, ShareBytes: 1000},
			want: planned{
				to: "3:9", inputs: "d/1:4 d/1:9 d/2:9 d/3:9", expire: "d/0:5", ranges: 4,
				writes: 4,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &manifest.Manifest{
				Settings: manifest.DefaultSettings(), Originals: originals, Compacted: c.compacted,
				Horizon: pos(t, c.horizon), Last: pos(t, "3:9"), MaxRead: pos(t, "3:9"), RetainedAfter: segments.None,
			}
			m.Settings.SegmentBytes = 1000
			policy := DefaultPolicy()
			if c.policy.RangeBytes > 0 {
				policy = c.policy
			}
			p := PlanRun(m, Cut{Through: pos(t, c.cut), Stop: StopMinLag}, start, policy)
			got := planned{to: p.To.String(), inputs: strings.Join(p.Inputs, " "), expire: strings.Join(p.Expire, " ")}
			got.ranges, got.writes = p.of(TaskResolve), p.of(TaskWrite)
			if got != c.want {
				t.Errorf("plan\n%+v, want\n%+v", got, c.want)
			}
			if empty := got.to == c.horizon && got.expire == ""; p.IsEmpty() != empty {
				t.Errorf("IsEmpty is %v", p.IsEmpty())
			}
			if p.Estimate.Requests() == 0 || !p.IsEmpty() && len(p.Inputs) > 0 && p.Estimate.WriteBytes < 400 {
				t.Errorf("estimate %+v", p.Estimate)
			}
			back := roundTrip(t, p)
			if !reflect.DeepEqual(back, p) {
				t.Errorf("through JSON the plan is\n%+v, want\n%+v", back, p)
			}
		})
	}
}

func roundTrip(t *testing.T, p Plan) (back Plan) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestRangesOfDigestsTileThemAll(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 256, 1000, maxTasks} {
		next := segments.Digest{}
		for i := range n {
			r := nthRange(i, n)
			if r.From != next || r.Through.Compare(r.From) < 0 {
				t.Fatalf("range %d of %d is %s to %s, want from %s", i, n, r.From, r.Through, next)
			}
			next = r.Through
			for b := len(next) - 1; b >= 0; b-- {
				if next[b]++; next[b] != 0 {
					break
				}
			}
		}
		if next != (segments.Digest{}) {
			t.Errorf("%d ranges end before %s", n, next)
		}
	}
}

// TestASurveyReadsOnlyWhatItMust counts what planning reads.
func TestASurveyReadsOnlyWhatItMust(t *testing.T) {
	w := testWorld(t, "min_lag=1h")
	w.add("1:0 a=1 at=0\n 1:1 b=1 at=1", "1:2 c=1 at=2", "1:3 d=1 at=3\n 1:4 e=1 at=9\n 1:5 f=1 at=3", "1:6 g=1 at=9")
	for _, c := range []struct {
		name  string
		now   time.Duration
		want  Cut
		reads int
	}{
		{"all old enough", hour + 9*time.Second, Cut{pos(t, "1:6"), StopEnd}, 0},
		{"one segment is not", hour + 3*time.Second, Cut{pos(t, "1:3"), StopMinLag}, 2},
		{"nothing is", hour - time.Second, Cut{segments.None, StopMinLag}, 2},
		{"the second segment is not", hour + time.Second, Cut{pos(t, "1:1"), StopMinLag}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := w.latest()
			counted := w.counted()
			got, err := Survey(t.Context(), w.through(counted, never), m, start.Add(c.now))
			if err != nil || got != c.want {
				t.Errorf("cut %+v, %v, want %+v", got, err, c.want)
			}
			if reads := int(counted.Snapshot().Reads); reads != c.reads {
				t.Errorf("%d reads, want %d", reads, c.reads)
			}
		})
	}
}

func TestTheLowestReasonToStopCounts(t *testing.T) {
	w := testWorld(t, "min_lag=1h")
	w.add("1:0 a=1 at=0\n 1:1 b=1 at=100\n 1:2 c=1 at=0 txn=1,1\n 1:3 d=1 at=200")
	for _, c := range []struct {
		now  time.Duration
		want Cut
	}{
		{hour, Cut{pos(t, "1:0"), StopMinLag}},
		{hour + 100*time.Second, Cut{pos(t, "1:1"), StopOpenTransaction}},
		{hour + 200*time.Second, Cut{pos(t, "1:1"), StopOpenTransaction}},
	} {
		if got, err := Survey(t.Context(), w.topic, w.latest(), start.Add(c.now)); err != nil || got != c.want {
			t.Errorf("at %s: cut %+v, %v, want %+v", c.now, got, err, c.want)
		}
	}
}

// TestTrims gives PlanTrim topics whose ledgers have parts in several segments.
func TestTrims(t *testing.T) {
	ledger := func(ledger, first, last int64, age time.Duration) segments.Ledger {
		return segments.Ledger{Ledger: ledger, First: first, Last: last, MaxPublish: segments.MillisOf(start.Add(-age))}
	}
	segment := func(ledgers ...segments.Ledger) manifest.Segment {
		return manifest.Segment{Info: segments.Info{Ledgers: ledgers}}
	}
	for _, c := range []struct {
		name      string
		retention string
		horizon   string
		trimmed   string
		originals []manifest.Segment
		want      string // "" is nothing
	}{
		{
			name: "old ones below the horizon", retention: "1h", horizon: "3:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 9, day), ledger(2, 0, 9, day)), segment(ledger(3, 0, 5, day))},
			want:      "2:9",
		},
		{
			name: "forever", retention: "forever", horizon: "3:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 9, day)), segment(ledger(3, 0, 5, day))},
		},
		{
			name: "the end of a ledger is above the horizon", retention: "0s", horizon: "2:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 9, day), ledger(2, 0, 4, day)), segment(ledger(2, 5, 6, day)), segment(ledger(3, 0, 5, day))},
			want:      "1:9",
		},
		{
			name: "exactly as old as the retention", retention: "1h", horizon: "3:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 9, hour)), segment(ledger(3, 0, 5, 0))},
			want:      "1:9",
		},
		{
			name: "a part of it is too young", retention: "1h", horizon: "3:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 4, day)), segment(ledger(1, 5, 9, hour-time.Millisecond)), segment(ledger(3, 0, 5, day))},
		},
		{
			name: "a young one stops what comes after it", retention: "1h", horizon: "3:5",
			originals: []manifest.Segment{segment(ledger(1, 0, 4, day), ledger(2, 0, 4, 0)), segment(ledger(3, 0, 5, day), ledger(4, 0, 0, day))},
			want:      "1:4",
		},
		{
			name: "the last one stays", retention: "0s", horizon: "1:9",
			originals: []manifest.Segment{segment(ledger(1, 0, 9, day))},
		},
		{
			name: "a segment that begins with what was trimmed", retention: "0s", horizon: "3:5", trimmed: "1:9",
			originals: []manifest.Segment{segment(ledger(1, 5, 9, 0), ledger(2, 0, 9, day)), segment(ledger(3, 0, 5, 0))},
			want:      "2:9",
		},
		{
			name: "all is trimmed but the last", retention: "0s", horizon: "2:9", trimmed: "1:9",
			originals: []manifest.Segment{segment(ledger(1, 5, 9, 0), ledger(2, 0, 9, day))},
		},
		{name: "an empty topic", retention: "0s", horizon: "-1:-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings, err := manifest.DefaultSettings().With("retention=" + c.retention)
			if err != nil {
				t.Fatal(err)
			}
			m := &manifest.Manifest{
				Settings: settings, Originals: c.originals,
				Horizon: pos(t, c.horizon), RetainedAfter: segments.None, Last: segments.None,
			}
			if c.trimmed != "" {
				m.RetainedAfter = pos(t, c.trimmed)
			}
			if n := len(c.originals); n > 0 {
				ledgers := c.originals[n-1].Info.Ledgers
				l := ledgers[len(ledgers)-1]
				m.Last = segments.At(l.Ledger, l.Last)
			}
			through, any := PlanTrim(m, segments.None, start)
			got := ""
			if any {
				got = through.String()
			}
			if got != c.want {
				t.Errorf("trim through %q, want %q", got, c.want)
			}
		})
	}
}

func TestATrimDropsWholeLedgersOnce(t *testing.T) {
	w := testWorld(t, "retention=1h")
	w.add("1:0 a=1\n 1:1 b=1", "1:2 c=1\n 2:0 a=2", "3:0 d=1")
	if r, err := Trim(t.Context(), w.topic, w.job(1)); err != nil || r.State != StateNothingToTrim {
		t.Errorf("before the run: %+v, %v", r, err)
	}
	w.run()
	w.pass(day)
	r, err := Trim(t.Context(), w.topic, w.job(1))
	if err != nil || r.State != StateTrimmed || r.FirstRetained.String() != "3:0" || r.Through.String() != "2:0" {
		t.Errorf("%+v, %v, want trimmed through 2:0", r, err)
	}
	if r, err = Trim(t.Context(), w.topic, w.job(1)); err != nil || r.State != StateNothingToTrim || r.Version != w.latest().Version {
		t.Errorf("again: %+v, %v", r, err)
	}
	w.wantLive("1:1 b=1", "1:2 c=1", "2:0 a=2", "3:0 d=1")
	w.add("4:0 a=3")
	w.wantRun(StateCompacted, "4:0", rowsIn{In: 1, Kept: 1}, older{Superseded: 1})
}

func TestAJobThatIsNotOneIsRefused(t *testing.T) {
	w := testWorld(t)
	_, err := Run(t.Context(), w.topic, nil, Job{})
	for _, want := range []string{"no id", "no commit id", "no time", "range bytes", "piece bytes", "parallel"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
}

// TestAnEstimateHolds compares what a plan promises with what the run takes.
func TestAnEstimateHolds(t *testing.T) {
	w := busyWorld(t)
	counted := w.counted()
	topic := w.through(counted, never)
	before := counted.Snapshot()
	r, err := Run(t.Context(), topic, nil, w.job(1))
	if err != nil {
		t.Fatal(err)
	}
	used := counted.Snapshot().Sub(before)
	gets := used.Gets + used.Reads + used.Lists
	if e := r.Estimate; e.ReadBytes < used.BytesRead || e.WriteBytes < used.BytesPut || e.Puts < used.Puts || e.Gets > 2*gets || gets > 2*e.Gets {
		t.Errorf("estimate %+v, used %+v", e, used)
	}
	if r.Wrote.Objects >= used.Puts || r.Wrote.Bytes >= used.BytesPut || r.Wrote.Objects == 0 {
		t.Errorf("wrote %+v, used %+v", r.Wrote, used)
	}
}

package compactor

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// Proof is what Verify has seen to hold, and what it has not.
type Proof struct {
	Topic    string           `json:"topic"`
	Version  manifest.Version `json:"version,string"`
	Segments int64            `json:"segments"` // read whole
	Rows     int64            `json:"rows"`     // of them
	Bytes    int64            `json:"bytes"`
	Keys     int64            `json:"keys"`     // that the compacted view shows
	Versions int64            `json:"versions"` // whose row accounts add up

	// Dead rows that a row still stored explains: a newer one of their key, or
	// a tombstone. Of the others the reason was a tombstone that has expired
	// and whose original is trimmed, so nothing is left to prove it by.
	DeadExplained   int64 `json:"dead_explained"`
	DeadUnexplained int64 `json:"dead_unexplained"`

	Findings []Finding `json:"findings"` // what is wrong; empty if all is well
}

// Finding is something that is not as it must be.
type Finding struct {
	Object string `json:"object"` // key of the object, or the version
	Wrong  string `json:"wrong"`
}

// Verify proves version m of a topic from its bytes. It changes nothing. What
// it checks:
//
//	every segment      its digest, every batch, the manifest's counts, times and
//	                   ledgers of it; that its rows lie in what it covers
//	its key index      that it has exactly the rows with keys, under the digests
//	                   of their keys
//	its dead rows      their digest and number, and the count of live tombstones
//	the compacted tier that each key is shown once at most; that a key which the
//	                   originals never deleted is shown; why dead rows are dead
//	row accounts       that each kept version's account adds up, and leads from
//	                   the live rows of the version before it to its own
//
// What is wrong is a Finding, and the rest is still looked at. An error is
// about the store, or about ctx. It reads everything once, and headers twice;
// in memory are the key index of one segment, and a page of each.
func Verify(ctx context.Context, t *manifest.Topic, m *manifest.Manifest) (Proof, error) {
	v := verifier{topic: t, manifest: m, read: make(map[string]segments.Info), proof: Proof{Topic: m.Name, Version: m.Version, Findings: []Finding{}}}
	err := v.verify(ctx)
	if err != nil {
		return v.proof, fmt.Errorf("verify %q: %w", m.Name, err)
	}
	return v.proof, nil
}

type verifier struct {
	topic    *manifest.Topic
	manifest *manifest.Manifest
	read     map[string]segments.Info // objects that were read whole, and as what
	proof    Proof
}

func (v *verifier) verify(ctx context.Context) error {
	whole := true
	for _, list := range [][]manifest.Segment{v.manifest.Originals, v.manifest.Compacted} {
		for i := range list {
			if list[i].Object == "" {
				continue
			}
			ok, err := v.finding(list[i].Object, v.segment(ctx, &list[i]))
			if err != nil {
				return err
			}
			whole = whole && ok
		}
	}
	// Only what can be read can be compared with each other.
	if whole {
		if err := v.keys(ctx); err != nil {
			return err
		}
	}
	return v.accounts(ctx)
}

// finding notes what is wrong with an object, and passes on what is wrong with
// the store. It reports whether nothing is wrong.
func (v *verifier) finding(object string, err error) (bool, error) {
	if err == nil {
		return true, nil
	}
	if isDamage(err) {
		v.proof.Findings = append(v.proof.Findings, Finding{object, err.Error()})
		return false, nil
	}
	return false, err
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", manifest.ErrInvariant, fmt.Sprintf(format, args...))
}

// segment verifies one segment by itself. An adopted one is read where it is an
// original, if it still is one.
func (v *verifier) segment(ctx context.Context, s *manifest.Segment) error {
	if was, read := v.read[s.Object]; read && reflect.DeepEqual(was, s.Info) {
		file, err := v.topic.OpenSegment(ctx, s)
		if err != nil {
			return err
		}
		return inspectDead(ctx, v.topic, s, file)
	}
	v.read[s.Object] = s.Info
	if err := inspect(ctx, v.topic, s); err != nil {
		return err
	}
	v.proof.Segments++
	v.proof.Rows += s.Info.Counts.Rows()
	v.proof.Bytes += s.Info.Bytes
	return nil
}

// inspect reads all of a segment, its key index and its dead rows. What is
// wrong with them isDamage; other errors are about the store.
func inspect(ctx context.Context, t *manifest.Topic, s *manifest.Segment) error {
	file, err := t.OpenSegment(ctx, s)
	if err != nil {
		return err
	}
	if err := file.Verify(ctx); err != nil {
		return err
	}
	for _, b := range file.Blocks() {
		if !s.Range.Contains(b.First) || !s.Range.Contains(b.Last) {
			return wrong("rows %s to %s lie outside %s", b.First, b.Last, s.Range)
		}
	}
	if err := inspectIndex(ctx, t.Hasher(), file); err != nil {
		return err
	}
	return inspectDead(ctx, t, s, file)
}

// inspectDead reads the dead rows of a segment, and compares their number and
// that of live tombstones.
func inspectDead(ctx context.Context, t *manifest.Topic, s *manifest.Segment, file *segments.File) error {
	dead, err := t.DeadRows(ctx, s)
	if err != nil {
		return err
	}
	if !dead.IsEmpty() && int64(dead.Maximum()) >= s.Info.Counts.Rows() {
		return wrong("row %d is dead, of %d rows", dead.Maximum(), s.Info.Counts.Rows())
	}
	if s.CompactedAt.IsZero() {
		return nil
	}
	tombstones, err := file.Tombstones(ctx)
	if err != nil {
		return err
	}
	if n := int64(roaring.AndNot(tombstones, dead).GetCardinality()); n != s.LiveTombstones {
		return wrong("%d live tombstones, want %d", n, s.LiveTombstones)
	}
	return nil
}

// inspectIndex compares a key index with the keys of the segment.
func inspectIndex(ctx context.Context, hasher segments.Hasher, file *segments.File) error {
	var want []segments.IndexEntry
	for rows, err := range file.Scan(ctx, allBlocks(file), segments.Headers) {
		if err != nil {
			return err
		}
		for i := range rows.Len() {
			if key := rows.Key(i); key != nil {
				want = append(want, segments.IndexEntry{Digest: hasher.Digest(key), Row: rows.First() + uint32(i)})
			}
		}
	}
	slices.SortFunc(want, func(a, b segments.IndexEntry) int {
		if c := a.Digest.Compare(b.Digest); c != 0 {
			return c
		}
		return int(int64(a.Row) - int64(b.Row))
	})
	n := 0
	for got, err := range file.Entries(ctx, segments.AllDigests()) {
		if err != nil {
			return err
		}
		if n == len(want) || got != want[n] {
			return wrong("entry %d of the key index is digest %s of row %d, and no such key is there", n, got.Digest, got.Row)
		}
		n++
	}
	if n != len(want) {
		return wrong("the key index has %d entries, want %d", n, len(want))
	}
	return nil
}

func allBlocks(file *segments.File) []int {
	all := make([]int, len(file.Blocks()))
	for i := range all {
		all[i] = i
	}
	return all
}

// keys compares the segments with each other, key by key, in one merge of all
// key indexes.
func (v *verifier) keys(ctx context.Context) error {
	txns, err := txnfilter.Decode(v.manifest.Transactions)
	if err != nil {
		return fmt.Errorf("read the transactions of version %d: %w", v.manifest.Version, err)
	}
	c := &census{verifier: v, whole: v.manifest.RetainedAfter.IsNone()}
	for i := range v.manifest.Compacted {
		s := &v.manifest.Compacted[i]
		if s.Object == "" {
			continue
		}
		// Every row takes part, the dead ones too: they are to be explained. But
		// not those of an adopted file that were never to be shown, as far as
		// their transactions are remembered.
		folded := &source{segment: s}
		if err := openOriginal(ctx, v.topic, folded, s.Range, v.manifest.Settings, &txns, new(teller)); err != nil {
			return err
		}
		dead, err := v.topic.DeadRows(ctx, s)
		if err != nil {
			return err
		}
		c.sources, c.dead = append(c.sources, folded), append(c.dead, dead)
		if shown := roaring.AndNot(folded.out, dead); !shown.IsEmpty() {
			c.note(candidate{len(c.sources) - 1, shown.Minimum()}, "row %d is a marker or aborted, and is shown", shown.Minimum())
		}
	}
	c.folded = len(c.sources)
	through := segments.Range{After: segments.None, Through: v.manifest.Horizon}
	for _, s := range overlapping(v.manifest.Originals, through) {
		original := &source{segment: s}
		if err := openOriginal(ctx, v.topic, original, through, v.manifest.Settings, &txns, new(teller)); err != nil {
			return err
		}
		c.sources = append(c.sources, original)
	}
	return merge(ctx, c.sources, segments.AllDigests(), c)
}

// census is the contest that nobody wins: it looks at all rows of a key.
type census struct {
	*verifier
	sources []*source
	folded  int               // so many are compacted segments, then come originals
	dead    []*roaring.Bitmap // of the compacted ones
	whole   bool              // no original was ever trimmed

	rows [][]candidate // of each key, by the number of its seat
}

func (c *census) enter(s *seat, row candidate) {
	for len(c.rows) <= s.n {
		c.rows = append(c.rows, nil)
	}
	c.rows[s.n] = append(c.rows[s.n], row)
}

func (c *census) decide(s *seat) {
	var (
		live, died []candidate // in compacted segments
		deleted    bool        // a tombstone is stored
		values     []candidate // among the originals
	)
	for _, row := range c.rows[s.n] {
		tombstone := c.sources[row.place].tombstones.Contains(row.row)
		deleted = deleted || tombstone
		switch {
		case row.place >= c.folded:
			if !tombstone {
				values = append(values, row)
			}
		case c.dead[row.place].Contains(row.row):
			died = append(died, row)
		default:
			live = append(live, row)
		}
	}
	c.rows[s.n] = c.rows[s.n][:0]
	switch {
	case len(live) > 1:
		c.note(live[1], "the key of row %d is shown %d times, first by row %d of %s",
			live[1].row, len(live), live[0].row, c.sources[live[0].place].segment.Object)
	case len(live) == 0 && c.whole && len(values) > 0 && !deleted:
		c.note(values[0], "the key of row %d was never deleted, and is not shown", values[0].row)
	}
	if len(live) == 1 {
		c.proof.Keys++
	}
	if len(live) > 0 || deleted {
		c.proof.DeadExplained += int64(len(died))
	} else {
		c.proof.DeadUnexplained += int64(len(died))
	}
}

func (c *census) note(row candidate, format string, args ...any) {
	object := c.sources[row.place].segment.Object
	c.proof.Findings = append(c.proof.Findings, Finding{object, wrong(format, args...).Error()})
}

// accounts follows the live rows of the compacted tier from version to
// version.
func (v *verifier) accounts(ctx context.Context) error {
	var before *manifest.Manifest
	for m, err := range v.topic.Versions(ctx) {
		if err != nil {
			return err
		}
		name := fmt.Sprintf("version %d", m.Version)
		if m.Report != nil {
			if _, err := v.finding(name, check(m.Report.Rows)); err != nil {
				return err
			}
		}
		// Below the versions that are kept for their own sake, what lies at a name
		// need not be the version (see manifest.Collection).
		if before != nil && before.Version+1 == m.Version && before.Commit == m.Parent {
			want := liveRows(before)
			if m.Report != nil {
				older := m.Report.Older
				want += m.Report.Rows.Kept - older.Superseded - older.Deleted - older.Expired
			}
			if got := liveRows(m); got != want {
				v.proof.Findings = append(v.proof.Findings, Finding{name, fmt.Sprintf("%d live rows, but by its account %d", got, want)})
			}
		}
		v.proof.Versions++
		before = m
	}
	return nil
}

func liveRows(m *manifest.Manifest) int64 {
	var n int64
	for i := range m.Compacted {
		n += m.Compacted[i].LiveRows()
	}
	return n
}

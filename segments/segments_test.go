package segments

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

// sameRows fails unless got is want, null and empty told apart.
func sameRows(t rapid.TB, what string, got, want []Message) {
	if len(got) != len(want) {
		t.Fatalf("%s: got %d rows, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: row %d:\n got %+v\nwant %+v", what, i, got[i], want[i])
		}
	}
}

// headersOf is rows without what a scan of headers leaves out.
func headersOf(rows []Message) []Message {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Value, rows[i].Properties = nil, nil
	}
	return rows
}

// indexOf is the key index that rows should have.
func indexOf(rows []Message) []IndexEntry {
	var entries []IndexEntry
	for i, m := range rows {
		if m.Key != nil {
			entries = append(entries, IndexEntry{testHasher().Digest(m.Key), uint32(i)})
		}
	}
	slices.SortFunc(entries, func(a, b IndexEntry) int {
		return cmp.Or(a.Digest.Compare(b.Digest), cmp.Compare(a.Row, b.Row))
	})
	return entries
}

// TestRowsComeBackAsTheyWere writes rows of every shape and reads them in
// every way there is.
func TestRowsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t)
		settings := WriterSettings{
			Topic:       "t",
			Writer:      "w",
			BatchBytes:  rapid.SampledFrom([]int64{0, 1, 300, 1000, 1 << 30}).Draw(t, "batch bytes"),
			Compression: rapid.SampledFrom(compressions()).Draw(t, "compression"),
		}
		choice := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "choice"), 0))
		readsBack(t, store(t, settings, rows), rows, choice)
	})
}

// TestManyRowsComeBackAsTheyWere does the same with more rows, of which many
// share a key, so that an index has several pages and keys that span them.
func TestManyRowsComeBackAsTheyWere(t *testing.T) {
	for seed, c := range compressions() {
		t.Logf("%s: seed %d", c, seed)
		rows := someRows(uint64(seed), 10000)
		choice := rand.New(rand.NewPCG(uint64(seed), 2))
		readsBack(t, store(t, WriterSettings{BatchBytes: 100000, Compression: c}, rows), rows, choice)
	}
}

// TestAFileIsReadByManyAtOnce reads one File in four goroutines, each in every
// way there is.
func TestAFileIsReadByManyAtOnce(t *testing.T) {
	for _, c := range compressions() {
		rows := someRows(21, 300)
		f := store(t, WriterSettings{BatchBytes: 3000, Compression: c}, rows).open(t)
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				for _, cols := range []Columns{All, Headers} {
					for _, err := range f.Scan(t.Context(), blockNumbers(f), cols) {
						if err != nil {
							return err
						}
					}
				}
				return f.Verify(t.Context())
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// validate lets Arrow look at all it can of b.
func validate(t rapid.TB, b *Rows) {
	t.Helper()
	record := b.RecordBatch()
	if int(record.NumRows()) != b.Len() {
		t.Fatalf("record batch has %d rows, want %d", record.NumRows(), b.Len())
	}
	for i, column := range record.Columns() {
		if v, ok := column.(interface{ ValidateFull() error }); ok {
			if err := v.ValidateFull(); err != nil {
				t.Fatalf("column %s: %v", record.ColumnName(i), err)
			}
		}
	}
	if got := record.Column(5).(*array.Binary); got.IsNull(0) != (b.Key(0) == nil) || string(got.Value(0)) != string(b.Key(0)) {
		t.Fatalf("record batch has key %q, want %q", got.Value(0), b.Key(0))
	}
}

// readsBack reads s in every way there is, and compares with rows.
func readsBack(t rapid.TB, s *stored, rows []Message, rnd *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	f := s.open(t)

	whole, err := collect(f.Scan(ctx, blockNumbers(f), All))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "scan of all", messages(whole), rows)
	for _, b := range whole {
		validate(t, b)
	}
	headers, err := collect(f.Scan(ctx, blockNumbers(f), Headers))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "scan of headers", messages(headers), headersOf(rows))
	for _, b := range headers {
		validate(t, b)
	}

	var blocks []int
	var want []Message
	wanted := roaring.New()
	var picked []Message
	for i, b := range f.Blocks() {
		if rnd.IntN(2) == 0 {
			blocks = append(blocks, i)
			want = append(want, rows[b.FirstRow:b.FirstRow+b.Rows]...)
		}
	}
	for i := range rows {
		if rnd.IntN(9) == 0 {
			wanted.Add(uint32(i))
			picked = append(picked, rows[i])
		}
	}
	some, err := collect(f.Scan(ctx, blocks, All))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "scan of some blocks", messages(some), want)
	gathered, err := collect(f.Gather(ctx, wanted))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "gather", gathered, picked)

	index := indexOf(rows)
	entries, err := collect(f.Entries(ctx, AllDigests()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(entries, index) {
		t.Fatalf("index has %d entries, want %d", len(entries), len(index))
	}
	byDigest := map[Digest][]uint32{}
	for _, e := range index {
		byDigest[e.Digest] = append(byDigest[e.Digest], e.Row)
	}
	for _, d := range slices.SortedFunc(maps.Keys(byDigest), Digest.Compare) {
		if rnd.IntN(max(1, len(byDigest)/100)) != 0 {
			continue
		}
		if got, err := f.Lookup(ctx, d); err != nil || !slices.Equal(got, byDigest[d]) {
			t.Fatalf("lookup of %s: got %v, %v, want %v", d, got, err, byDigest[d])
		}
	}
	if got, err := f.Lookup(ctx, testHasher().Digest([]byte("nobody's key"))); err != nil || len(got) != 0 {
		t.Fatalf("lookup of a missing key: got %v, %v", got, err)
	}
	tombstones, err := f.Tombstones(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range rows {
		if tombstones.Contains(uint32(i)) != (m.Kind == KindTombstone) {
			t.Fatalf("row %d, of kind %d, is a tombstone: %v", i, m.Kind, tombstones.Contains(uint32(i)))
		}
	}

	if err := f.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	foreign, err := collect(DecodeFile("object-1", s.data.bytes, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	sameRows(t, "decode of the file", messages(foreign), rows)
	if first := foreign[len(foreign)-1].First(); first != f.Blocks()[len(f.Blocks())-1].FirstRow {
		t.Fatalf("the last batch begins at row %d, want %d", first, f.Blocks()[len(f.Blocks())-1].FirstRow)
	}
}

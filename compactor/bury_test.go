package compactor

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// The same rows give the same bytes, whatever order they came in and whatever
// else was in the set before.
func TestABitmapIsItsRows(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		n := 1 + rng.Uint32N(200_000)
		sparse := 1 + rng.Uint32N(30)
		rows := roaring.New()
		for row := range n {
			if rng.Uint32N(sparse) == 0 || row/5000%3 == 0 {
				rows.Add(row)
			}
		}
		want, err := bitmapBytes(rows.Clone())
		if err != nil {
			t.Fatal(err)
		}
		shuffled := rows.ToArray()
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		added := roaring.New()
		halves := [2]*roaring.Bitmap{roaring.New(), roaring.New()}
		for i, row := range shuffled {
			added.Add(row)
			halves[i%2].Add(row)
		}
		joined := roaring.Or(halves[0], halves[1])
		cut := roaring.New()
		cut.AddRange(0, uint64(n)*2)
		cut.RunOptimize()
		cut.And(rows)
		without := roaring.New()
		without.AddRange(0, uint64(n))
		without.AndNot(roaring.AndNot(without.Clone(), rows))
		for name, set := range map[string]*roaring.Bitmap{"added": added, "joined": joined, "cut": cut, "without": without} {
			got, err := bitmapBytes(set)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("seed %d: %s: %d bytes, want %d others", seed, name, len(got), len(want))
			}
		}
	}
}

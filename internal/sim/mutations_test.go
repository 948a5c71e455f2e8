package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/readerlib"
)

var mutations = flag.Int("mutations", 0, "changed objects in TestNoChangedObjectIsBelieved; 400 when 0")

// pinnedStart is the store of the sweep, with a pin.
func pinnedStart() (*mem.Store, error) {
	s, err := sweepStart()
	if err != nil {
		return nil, err
	}
	h := &hand{ctx: context.Background(), store: s, ids: 1000}
	t, err := h.open()
	if err != nil {
		return nil, err
	}
	return s, t.Pin(h.ctx, 2, "R1")
}

// partedStart is a store with a topic that has so many producers that its
// manifest has a part.
func partedStart() (*mem.Store, error) {
	s := new(mem.Store)
	h := &hand{ctx: context.Background(), store: s}
	if err := h.create(topicName); err != nil {
		return nil, err
	}
	t, err := h.open()
	if err != nil {
		return nil, err
	}
	var lines strings.Builder
	for n := range 1100 {
		fmt.Fprintf(&lines, `{"value":"v","producer":"q%d","sequence":"1000"}`+"\n", n)
	}
	n := manifest.DefaultSettings()
	m, err := t.Latest(h.ctx)
	if err != nil {
		return nil, err
	}
	if _, err := t.Commit(h.ctx, h.change(manifest.Set{Was: m.Settings, Now: n})); err != nil { // one segment
		return nil, err
	}
	_, err = h.ingest(t, lines.String())
	return s, err
}

// questions are what is asked of a store in which an object of a folder has
// changed: what is made of such objects.
var questions = map[string][]string{
	"topics": {"topics", "read"},
	"format": {"get"},
	"m":      {"versions", "read"},
	"p":      {"versions"},
	"d":      {"read", "read --compacted", "fetch"},
	"x":      {"read", "read --compacted", "get", "last-message-id, has-message"},
	"b":      {"read --compacted", "get", "changes"},
	"tag":    {"versions", "held"},
	"pin":    {"held"},
}

// mutate changes some bytes, or how many there are.
func mutate(d dice, body []byte) []byte {
	body = bytes.Clone(body)
	at := func(n int) int { return d.IntN(max(n, 1)) }
	switch d.IntN(6) {
	case 0: // some bits
		for range 1 + d.IntN(4) {
			if len(body) > 0 {
				body[at(len(body))] ^= 1 << d.IntN(8)
			}
		}
	case 1: // a digit, which leaves JSON what it is
		for i, from := 0, at(len(body)); i < len(body); i++ {
			if j := (from + i) % len(body); body[j] >= '0' && body[j] <= '9' {
				body[j] = '0' + byte(d.IntN(10))
				break
			}
		}
	case 2: // cut off
		body = body[:at(len(body))]
	case 3: // a stretch of it twice, or another thing in its place
		i, j := at(len(body)), at(len(body))
		body = append(body[:min(i, j):min(i, j)], body[max(i, j)/2:]...)
	case 4: // zeros
		clear(body[at(len(body)):])
	default: // more behind
		body = append(body, bytes.Repeat([]byte{byte(d.IntN(256))}, 1+d.IntN(100))...)
	}
	return body
}

// mutationBytes is what a question may allocate, whatever an object says.
const mutationBytes = 64 << 20

// TestNoChangedObjectIsBelieved changes objects of a topic at random, of every
// kind that is read, and asks what they are there for. The answer is the right
// one, or a documented error; nothing panics, and no length that lies makes
// anybody allocate. What may come of segments whose checksums are right all the
// same, package segments tests. For all of it:
//
//	go test ./internal/sim -run TestNoChangedObjectIsBelieved -timeout 0 -v -mutations 100000
func TestNoChangedObjectIsBelieved(t *testing.T) {
	if *mutations == 0 {
		*mutations = few(400)
	}
	ask := map[string]func(*hand) (string, error){"held": onTopic(func(h *hand, t *manifest.Topic) (string, error) {
		held, err := t.Held(h.ctx)
		return fmt.Sprint(held), err
	})}
	for _, what := range deeds {
		ask[what.name] = what.do
	}
	stores := map[string]*mem.Store{}
	want := map[string]string{} // by folder and question
	objects := map[string][]string{}
	for folder, names := range questions {
		begin := pinnedStart
		if folder == "p" {
			begin = partedStart
		}
		store, err := begin()
		if err != nil {
			t.Fatal(err)
		}
		stores[folder] = store
		for _, name := range names {
			if want[folder+name], err = ask[name](&hand{ctx: t.Context(), store: store, ids: 2000}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for e, err := range store.List(t.Context(), "", "") {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(e.Key, folder+"/") || strings.Split(e.Key+"/", "/")[1] == folder && !strings.HasPrefix(e.Key, "topics/") {
				objects[folder] = append(objects[folder], e.Key)
			}
		}
		if len(objects[folder]) == 0 {
			t.Fatalf("there is nothing in %s", folder)
		}
	}
	d := newDice(*firstSeed, 1<<60)
	folders := slices.Sorted(maps.Keys(questions))
	right, refused := map[string]int{}, map[string]int{}
	var most uint64
	for i := range *mutations {
		folder := folders[i%len(folders)]
		store, key := stores[folder], pick(d, objects[folder]...)
		body, err := store.Get(t.Context(), key, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		changed := mutate(d, body)
		set := func(body []byte) {
			if err := store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), key, bytes.NewReader(body)); err != nil {
				t.Fatal(err)
			}
		}
		set(changed)
		for _, name := range questions[folder] {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer, err := ask[name](&hand{ctx: t.Context(), store: store, ids: 2000})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > mutationBytes {
				t.Errorf("seed %d, mutation %d of %s: %s allocates %d bytes", *firstSeed, i, key, name, n)
			} else {
				most = max(most, n)
			}
			switch {
			case err != nil && isOne(err, append(known, readerlib.ErrBadRange)):
				refused[folder]++
			case err != nil:
				t.Errorf("seed %d, mutation %d of %s: %s: %v, which is no error that it may have", *firstSeed, i, key, name, err)
			case answer != want[folder+name]:
				t.Errorf("seed %d, mutation %d of %s: %s is\n%.300s\nwant\n%.300s\nits bytes are\n%.300q", *firstSeed, i, key, name, answer, want[folder+name], changed)
			default:
				right[folder]++
			}
		}
		set(body)
		if t.Failed() {
			return
		}
	}
	for _, folder := range folders {
		t.Logf("%-7s %6d right answers, %6d errors", folder, right[folder], refused[folder])
	}
	t.Logf("seed %d: %d mutations; at most %d KiB allocated by an answer", *firstSeed, *mutations, most>>10)
	if refused["m"] == 0 {
		t.Error("no changed manifest was refused")
	}
}

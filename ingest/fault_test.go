package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
)

// TestEachLineIsInOnceWhateverTheStoreDoes fails each store call of a run of
// several segments in turn, in each way there is. The run must tell the truth
// about what is in; then late requests land, and the same input is run again
// on a store that works. Each line must be in exactly once.
func TestEachLineIsInOnceWhateverTheStoreDoes(t *testing.T) {
	sequenced := func(i int) string { return fmt.Sprintf(`{"value":"%d","producer":"p","sequence":"%d"}`, i, i) }
	plain := func(i int) string { return fmt.Sprintf(`{"value":"%d"}`, i) }
	placed := func(i int) string { return fmt.Sprintf(`{"id":"0:%d","value":"%d"}`, i, i) }
	for name, c := range map[string]struct {
		line   func(int) string
		source string
	}{
		"producer and sequence": {sequenced, ""},
		"named source":          {plain, "app"},
		"positions":             {placed, ""},
		"nothing":               {plain, ""},
	} {
		var lines, all []string
		for i := range 7 {
			lines = append(lines, c.line(i))
			all = append(all, fmt.Sprint(i))
		}
		lines = wide(3, lines...)
		for _, f := range []fault.Fault{fault.Before, fault.After, fault.Late, fault.Short, fault.Missing, fault.Denied} {
			for n := int64(0); ; n++ {
				w := newWorld(t, smallest)
				// The topic is opened before the faults begin.
				store := &turning{Store: w.store}
				topic := w.through(store)
				faulty := fault.New(w.store, fault.At(n, f))
				store.Store = faulty
				what := fmt.Sprintf("%s, fault %d at call %d", name, f, n)

				s := w.settings()
				s.Source = c.source
				r, err := ingest.Run(t.Context(), topic, strings.NewReader(text(lines)), s, w.components())
				if faulty.Struck() == 0 {
					if n < 10 || err != nil {
						t.Fatalf("%s: no fault, and %v", what, err)
					}
					break
				}
				got := w.values()
				if err == nil && !slices.Equal(got, all) {
					t.Errorf("%s: done, but in are %v", what, got)
				}
				if int(r.Messages) > len(got) || !slices.Equal(got, all[:len(got)]) {
					t.Errorf("%s: %+v, but in are %v", what, r, got)
				}
				if !errors.Is(err, manifest.ErrUnknown) && int(r.Messages) != len(got) {
					t.Errorf("%s: %v, %+v, but in are %v", what, err, r, got)
				}
				if err := faulty.Land(t.Context()); err != nil && !errors.Is(err, objstore.ErrExists) {
					t.Fatal(err)
				}

				_, againErr := w.ingestAs(c.source, lines...)
				switch got := w.values(); {
				case name == "positions" && len(got) > 0 && errors.Is(againErr, ingest.ErrBadInput):
					// What is in is refused by its position; the rest goes on.
					if len(got) < len(lines) {
						w.must(w.ingest(lines[len(got):]...))
					}
					equal(t, what, w.values(), all)
				case name == "nothing":
					// Nothing recognises the lines, so they are in once more.
					if n := len(got) - len(all); n < 0 || n > len(all) || !slices.Equal(got, append(slices.Clone(all[:n]), all...)) {
						t.Errorf("%s: in are %v", what, got)
					}
				case againErr != nil:
					t.Errorf("%s: the next run says %v", what, againErr)
				default:
					equal(t, what, got, all)
				}
			}
		}
	}
}

// values is the values of the log.
func (w *world) values() []string {
	w.t.Helper()
	all := []string{}
	for _, m := range w.rows() {
		all = append(all, string(m.Value))
	}
	return all
}

// turning is a store that can be exchanged for another.
type turning struct{ objstore.Store }

// TestWhatIsUnknownIsSaid loses the answer of a commit and of all that asks
// for it. The objects must stay, and the error must say what to do.
func TestWhatIsUnknownIsSaid(t *testing.T) {
	for _, source := range []string{"", "app"} {
		w := newWorld(t, smallest)
		versions := 0
		topic := w.through(&blackout{w.store, &versions})
		s := w.settings()
		s.Source = source
		lines := wide(2, `{"value":"1"}`, `{"value":"2"}`, `{"value":"3"}`, `{"value":"4"}`, `{"value":"5"}`)
		r, err := ingest.Run(t.Context(), topic, strings.NewReader(text(lines)), s, w.components())
		want := "lines 3 to 4 may be in or not; "
		if !errors.Is(err, manifest.ErrUnknown) || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "(lines 1 to 2 are in, 2 messages of them added)") {
			t.Errorf("got %v, want %s", err, want)
		}
		if strings.Contains(err.Error(), "settles it") != (source != "") {
			t.Errorf("source %q: got %v", source, err)
		}
		wantResult(t, r, "ingested 0:0..0:1, 2 messages, 0 duplicates, version 1")
		if len(w.objects()) != 4 {
			t.Errorf("objects are %v", w.objects())
		}
		equal(t, "log", w.values(), []string{"1", "2", "3", "4"})
	}
}

// blackout writes the second version and then answers nothing about versions.
type blackout struct {
	objstore.Store
	versions *int
}

func (b *blackout) Put(ctx context.Context, key string, body objstore.Body) error {
	err := b.Store.Put(ctx, key, body)
	if strings.Contains(key, "/m/") {
		if *b.versions++; *b.versions >= 2 {
			return fault.ErrInjected
		}
	}
	return err
}

func (b *blackout) Get(ctx context.Context, key string, max int64) ([]byte, error) {
	if strings.Contains(key, "/m/") && *b.versions >= 2 {
		return nil, fault.ErrInjected
	}
	return b.Store.Get(ctx, key, max)
}

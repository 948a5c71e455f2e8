package sim

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// cleanUp is the classic mistake: an outcome that is unknown is taken for a
// failure.
func (a *actor) cleanUp(t *manifest.Topic, job manifest.JobID, err error) {
	if !a.w.rules.cleanUp || !errors.Is(err, manifest.ErrUnknown) {
		return
	}
	s := a.store()
	for _, folder := range []string{"d", "x", "b"} {
		prefix := string(t.ID()) + "/" + folder + "/" + string(job) + "/"
		for e, err := range s.List(a.ctx, prefix, "") {
			if err != nil || s.Delete(a.ctx, e.Key) != nil {
				return
			}
		}
	}
}

// collectByAge deletes the objects that no version names and that are old, by
// a clock that is chance.
func (a *actor) collectByAge() {
	t, _, err := a.open()
	if err != nil {
		return
	}
	s := a.store()
	var found []string
	for _, folder := range []string{"d", "x", "b"} {
		for e, err := range s.List(a.ctx, string(t.ID())+"/"+folder+"/", "") {
			if err != nil {
				return
			}
			found = append(found, e.Key)
		}
	}
	named := map[string]bool{}
	for m, err := range t.Versions(a.ctx) {
		if err != nil {
			return
		}
		for _, list := range [][]manifest.Segment{m.Originals, m.Compacted} {
			for _, seg := range list {
				named[seg.Object], named[seg.Index] = true, true
				if seg.Dead != nil {
					named[seg.Dead.Object] = true
				}
			}
		}
	}
	for _, key := range found {
		_, name, _ := strings.Cut(key, "/")
		if !named[name] && a.dice.oneIn(3) && s.Delete(context.WithoutCancel(a.ctx), key) != nil {
			return
		}
	}
}

// TestRulesLeftOutAreFound leaves a rule of the protocol out, one after the
// other, and looks how many worlds it takes to find that out.
func TestRulesLeftOutAreFound(t *testing.T) {
	if raceDetector {
		t.Skip("it is found without the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, c := range []struct {
		name  string
		rules rules
	}{
		{"no floor check", rules{hideFloors: true}},
		{"collection by age", rules{age: true}},
		{"no second look after a pin", rules{blindPins: true}},
		{"clean-up after an unknown outcome", rules{cleanUp: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 3000; seed++ {
				if w := simulate(t, seed, c.rules, nil); w.broken != "" {
					t.Logf("found with seed %d: %s", seed, w.broken)
					return
				}
			}
			t.Error("3000 worlds do without this rule")
		})
	}
}

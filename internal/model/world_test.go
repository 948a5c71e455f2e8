package model

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// world is a history under way, in the product and in the model.
type world struct {
	*product
	nature   nature
	t        *topic     // the model's newest version
	versions []*version // the model's, by number
	values   int
	inputs   []input // that were sent, to be sent again

	expired manifest.Version // those before it are not kept, unless they are tagged or pinned
	tags    map[string]manifest.Version
	pins    map[manifest.Version]string
	gone    map[manifest.Version]bool // their objects may have been deleted

	readers []*reader
	fold    func(*topic, time.Time) (string, map[string]int64) // how the model compacts, maybe with a fault
	asked   asked
	reached map[string]int // what has happened, and how often
	story   []string       // what was done so far
}

// version is one of the topic, with its lists as they are asked for.
type version struct {
	number manifest.Version
	time   time.Time
	*topic
	lists map[view][]segments.Message
}

type input struct {
	lines  []line
	source string
}

// mismatch is a difference between the product and the model.
type mismatch string

func fail(format string, args ...any) { panic(mismatch(fmt.Sprintf(format, args...))) }

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func newWorld(settings []string, n nature) *world {
	s := manifest.DefaultSettings()
	for _, assignment := range settings {
		var err error
		s, err = s.With(assignment)
		must(err)
	}
	p, err := newProduct(s)
	must(err)
	w := &world{
		product: p, nature: n, fold: (*topic).compact,
		t:    &topic{settings: s, sources: map[string]int{}, horizon: segments.None, trimmed: segments.None},
		tags: map[string]manifest.Version{}, pins: map[manifest.Version]string{}, gone: map[manifest.Version]bool{},
		reached: map[string]int{},
	}
	w.commit(w.t)
	return w
}

// commit makes t the next version of the model. Its time is the clock, but
// never goes back.
func (w *world) commit(t *topic) {
	v := &version{number: manifest.Version(len(w.versions)), time: w.now, topic: t.clone(), lists: map[view][]segments.Message{}}
	if v.number > 0 && w.newest().time.After(v.time) {
		v.time = w.newest().time
	}
	w.t = t
	w.versions = append(w.versions, v)
}

func (w *world) newest() *version { return w.versions[len(w.versions)-1] }

// held lists the versions that are tagged or pinned.
func (w *world) held() []manifest.Version {
	return slices.AppendSeq(slices.Collect(maps.Values(w.tags)), maps.Keys(w.pins))
}

// kept tells whether a version can still be opened.
func (w *world) kept(v manifest.Version) bool {
	return v >= w.expired || slices.Contains(w.held(), v)
}

// reach counts what a history has come to, so that it can be seen that random
// ones come to everything.
func (w *world) reach(what string) { w.reached[what]++ }

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

// take takes one step.
func (w *world) take(s *step) {
	d := newDice(s.seed)
	w.reach(s.kind)
	switch s.kind {
	case "ingest":
		in := input{lines: drawLines(d, w.nature, w.t, w.now, &w.values)}
		if d.oneIn(w.nature.sources) {
			in.source = pick(d, "s", "t")
		}
		w.takeIngest(s, in)
	case "again":
		w.takeIngest(s, w.drawAgain(d))
	case "settle":
		w.takeIngest(s, input{lines: drawEnds(d, w.t)})
	case "run":
		w.policy = drawPolicy(d)
		w.takeRun()
	case "trim":
		w.takeTrim()
	case "set":
		w.takeSet(drawSetting(d))
	case "clock":
		by := drawClock(d)
		w.now = w.now.Add(by)
		w.tell("the clock goes by %s to %s", by, w.now.Format(time.RFC3339Nano))
	case "collect":
		w.takeCollect(drawKeep(d, w.now), d.oneIn(2), !d.oneIn(5))
	case "hold":
		w.takeHold(d)
	}
}

package compactor

import "testing"

// A tier that is half dead takes twice what it shows, and what will be
// reclaimed of it is known before it is.
func TestFootprints(t *testing.T) {
	w := testWorld(t, "max_dead_share=1")
	if f := FootprintOf(w.latest()); f != (Footprint{Amplification: 1}) {
		t.Errorf("of nothing: %+v", f)
	}
	w.add("1:0 a=1\n 1:1 b=1")
	w.run()
	w.add("1:2 a=2")
	w.run()
	m := w.latest()
	f := FootprintOf(m)
	first, second := m.Compacted[0].Info.Bytes, m.Compacted[1].Info.Bytes
	if f.Segments != 2 || f.Bytes != first+second || f.LiveBytes != first/2+second || f.Amplification <= 1.2 {
		t.Errorf("half dead: %+v, of segments of %d and %d bytes", f, first, second)
	}

	w.add("1:3 c=1")
	w.set("max_dead_share=0.5")
	m = w.latest()
	cut, err := Survey(t.Context(), w.topic, m, w.now)
	w.must(err)
	p := PlanRun(m, cut, w.now, w.policy)
	dirty := m.Originals[2].Info.Bytes
	after := FootprintAfter(m, &p)
	if after.Segments != 3 || after.Bytes != first/2+second+dirty || after.Amplification != 1 || len(p.Reclaim) != 1 {
		t.Errorf("after: %+v, reclaim %v", after, p.Reclaim)
	}
	w.run()
	if f := FootprintOf(w.latest()); f.Segments != 3 || f.Amplification != 1 {
		t.Errorf("it is %+v", f)
	}
}

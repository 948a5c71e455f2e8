package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// truth is what was written, seen from above: no actor knows as much. It looks
// at each write and each delete that takes effect, in the order in which they
// do, and says at once what must not be.
type truth struct {
	topics map[manifest.TopicID]*topic
	named  *topic // that has the name now, or nil
	names  int    // length of the name's chain
}

// topic is the true history of one topic.
type topic struct {
	id     manifest.TopicID
	chain  []*version
	at     map[manifest.CommitID]manifest.Version
	no     map[manifest.CommitID]bool // commits that were reported as never to be
	stale  map[manifest.Version]bool  // names that were freed, and taken again by who slept
	held   map[string]manifest.Version
	rows   []segments.Message
	places map[string]int // of operations among rows
	last   map[*client]int
	ends   map[segments.TxnID]segments.Kind
	tags   *tags
}

// version is a version of the chain: the first object that ever had its name.
type version struct {
	*manifest.Manifest
	names map[string]bool // of the objects that it names
}

// wireManifest is what of a manifest's bytes is looked at here. It is decoded
// once more, for what the product makes of it is what is under test.
type wireManifest struct {
	manifest.Manifest
	OriginalList wireList `json:"originals"`
	CompactList  wireList `json:"compacted"`
}

type wireList struct {
	Parts []json.RawMessage
	Items []manifest.Segment
}

func decode(b []byte) (*version, error) {
	var m wireManifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	if m.OriginalList.Parts != nil || m.CompactList.Parts != nil {
		return nil, fmt.Errorf("it has parts, which this world is too small for")
	}
	v := &version{&m.Manifest, map[string]bool{}}
	v.Originals, v.Compacted = m.OriginalList.Items, m.CompactList.Items
	for _, list := range [][]manifest.Segment{v.Originals, v.Compacted} {
		for _, s := range list {
			if s.Object != "" {
				v.names[s.Object], v.names[s.Index] = true, true
			}
			if s.Dead != nil {
				v.names[s.Dead.Object] = true
			}
		}
	}
	return v, nil
}

// cut takes the topic off a key.
func (tr *truth) cut(key string) (t *topic, folder, rest string) {
	id, rest, _ := strings.Cut(key, "/")
	folder, rest, _ = strings.Cut(rest, "/")
	return tr.topics[manifest.TopicID(id)], folder, rest
}

func number(text string) manifest.Version {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return manifest.Version(n)
}

// put sees an object that was created.
func (tr *truth) put(w *world, key string, body []byte) {
	if strings.HasPrefix(key, "topics/") {
		tr.name(w, key, body)
		return
	}
	t, folder, rest := tr.cut(key)
	switch {
	case folder == "format":
		id := manifest.TopicID(strings.TrimSuffix(key, "/format"))
		tr.topics[id] = &topic{
			id: id, at: map[manifest.CommitID]manifest.Version{}, no: map[manifest.CommitID]bool{},
			stale: map[manifest.Version]bool{}, held: map[string]manifest.Version{}, places: map[string]int{},
			last: map[*client]int{}, ends: map[segments.TxnID]segments.Kind{},
		}
	case folder == "m":
		v, err := decode(body)
		if err != nil {
			w.fail("%s: %v", key, err)
			return
		}
		t.claim(w, number(rest), v)
	}
}

// name sees a step of the name's chain.
func (tr *truth) name(w *world, key string, body []byte) {
	if n := int(number(key[strings.LastIndexByte(key, '/')+1:])); n != tr.names {
		w.fail("%s: the name has %d steps", key, tr.names)
	}
	tr.names++
	var b struct{ Topic manifest.TopicID }
	if err := json.Unmarshal(body, &b); err != nil {
		w.fail("%s: %v", key, err)
		return
	}
	switch t := tr.topics[b.Topic]; {
	case tr.names%2 == 1:
		if tr.named != nil {
			w.fail("%s: topic %s has the name", key, tr.named.id)
		}
		tr.named = t
	case t != tr.named || !t.deleted():
		w.fail("%s: the name is taken from topic %s", key, b.Topic)
	default:
		tr.named = nil
	}
}

// nameless reports whether a create may have the name.
func (tr *truth) nameless() bool { return tr.named == nil || tr.named.deleted() }

func (t *topic) latest() *version {
	if len(t.chain) == 0 {
		return nil
	}
	return t.chain[len(t.chain)-1]
}

func (t *topic) deleted() bool { return len(t.chain) > 0 && t.latest().Deleted }

// claim sees an object at a version's name. The first that ever has a name is
// the version.
func (t *topic) claim(w *world, n manifest.Version, v *version) {
	if t.deleted() || int(n) < len(t.chain) {
		w.count("stale names taken")
		t.stale[n] = true
		return
	}
	if int(n) > len(t.chain) || v.Version != n {
		w.fail("version %d of %s says that it is %d, and the chain has %d", n, t.id, v.Version, len(t.chain))
		return
	}
	var parent *version
	if n > 0 {
		parent = t.chain[n-1]
	}
	if err := v.follows(parent); err != nil {
		w.fail("version %d: %v", n, err)
	}
	if at, twice := t.at[v.Commit]; twice {
		w.fail("commit %s is version %d and version %d", v.Commit, at, n)
	}
	if t.no[v.Commit] {
		w.fail("version %d is commit %s, of which it was said that it never would be", n, v.Commit)
	}
	for name := range v.names {
		if parent != nil && parent.names[name] {
			continue
		}
		if job := strings.Split(name, "/")[1]; manifest.JobID(job) != v.Job {
			w.fail("version %d, by job %s, is the first to name %s", n, v.Job, name)
		}
		if !w.exists(t, name) {
			w.fail("version %d names %s, which is not there", n, name)
		}
	}
	t.chain = append(t.chain, v)
	t.at[v.Commit] = n
	w.count("commits: " + v.Kind)
	if parent != nil && v.Kind == "append" {
		for _, s := range v.Originals {
			if !parent.names[s.Object] {
				t.append(w, s)
			}
		}
	}
}

// follows checks what every version owes to itself, and to the one before it.
func (v *version) follows(parent *version) error {
	after := segments.None
	for i, s := range v.Compacted {
		if s.Range.After != after || s.Range.IsEmpty() {
			return fmt.Errorf("compacted segment %d covers %s, after %s", i, s.Range, after)
		}
		after = s.Range.Through
	}
	if after != v.Horizon {
		return fmt.Errorf("compacted segments reach %s, the horizon is %s", after, v.Horizon)
	}
	for i, s := range v.Originals {
		if i == 0 && s.Range.After.After(v.RetainedAfter) || i > 0 && s.Range.After != after || s.Range.IsEmpty() {
			return fmt.Errorf("original %d covers %s, after %s", i, s.Range, after)
		}
		after = s.Range.Through
	}
	if len(v.Originals) > 0 && after != v.Last || len(v.Originals) == 0 && !v.Last.IsNone() {
		return fmt.Errorf("originals reach %s, the last position is %s", after, v.Last)
	}
	if parent == nil {
		return nil
	}
	switch {
	case v.Parent != parent.Commit:
		return fmt.Errorf("it was made from %s, and the version before it is %s", v.Parent, parent.Commit)
	case v.Time.Before(parent.Time):
		return fmt.Errorf("its time is before that of the version before it")
	case v.Horizon.Before(parent.Horizon), v.Last.Before(parent.Last), v.MaxRead.Before(parent.MaxRead), v.RetainedAfter.Before(parent.RetainedAfter):
		return fmt.Errorf("a position goes back")
	case v.ExpiredBefore < parent.ExpiredBefore, v.MinJob < parent.MinJob:
		return fmt.Errorf("what was collected comes back")
	case v.ExpiredBefore > v.Version:
		return fmt.Errorf("it expires itself")
	case v.Job < parent.MinJob:
		return fmt.Errorf("job %s was shut out by %s", v.Job, parent.MinJob)
	}
	return nil
}

// append reads the rows of a new original, and holds them to what its client
// had to add.
func (t *topic) append(w *world, s manifest.Segment) {
	for _, m := range w.rowsOf(t, s) {
		if m.Kind.IsMarker() {
			// That of a transaction which ended before, and was forgotten with
			// its rows, may come again.
			if was, ok := t.ends[m.Txn.V]; ok && was != m.Kind {
				w.fail("transaction %s ends twice, in two ways", m.Txn.V)
			}
			t.ends[m.Txn.V] = m.Kind
			t.rows = append(t.rows, m)
			continue
		}
		id := string(m.OrderingKey)
		o := w.ops[id]
		if o == nil {
			w.fail("%s at %s is nobody's", id, m.Position)
			return
		}
		if at, twice := t.places[id]; twice {
			w.fail("%s is there twice, at %s and %s", id, t.rows[at].Position, m.Position)
		}
		if last, ok := t.last[o.client]; ok && o.number < last {
			w.fail("%s at %s comes after number %d of its client", id, m.Position, last)
		}
		if !bytes.Equal(m.Key, o.key) || !bytes.Equal(m.Value, o.value) || (m.Value == nil) != (o.value == nil) {
			w.fail("%s at %s is %q=%q, want %q=%q", id, m.Position, m.Key, m.Value, o.key, o.value)
		}
		t.last[o.client] = o.number
		t.places[id] = len(t.rows)
		t.rows = append(t.rows, m)
	}
}

// rowsOf reads an original, whatever else goes on.
func (w *world) rowsOf(t *topic, s manifest.Segment) []segments.Message {
	ctx := context.Background()
	file, err := segments.Open(ctx, s.Object, w.source(t, s.Object), w.source(t, s.Index), s.Info)
	if err != nil {
		w.fail("%s: %v", s.Object, err)
		return nil
	}
	blocks := make([]int, len(file.Blocks()))
	for i := range blocks {
		blocks[i] = i
	}
	var list []segments.Message
	for rows, err := range file.Scan(ctx, blocks, segments.All) {
		if err != nil {
			w.fail("%s: %v", s.Object, err)
			return nil
		}
		for i := range rows.Len() {
			list = append(list, rows.Message(i))
		}
	}
	return list
}

// object is an object of the store as a segments.Source.
type object struct {
	w   *world
	key string
}

func (w *world) source(t *topic, name string) object { return object{w, string(t.id) + "/" + name} }

func (o object) ReadAt(ctx context.Context, p []byte, off int64) error {
	return o.w.store.ReadAt(ctx, o.key, p, off)
}

func (w *world) exists(t *topic, name string) bool {
	return w.store.ReadAt(context.Background(), string(t.id)+"/"+name, nil, 0) == nil
}

// kept yields the versions that must be whole: those that have not expired,
// and those that somebody was told he holds.
func (t *topic) kept(yield func(*version) bool) {
	first := t.latest().ExpiredBefore
	for _, v := range t.chain[first:] {
		if !yield(v) {
			return
		}
	}
	for _, n := range t.held {
		if n < first && !yield(t.chain[n]) {
			return
		}
	}
}

// delete sees an object that is about to be deleted.
func (tr *truth) delete(w *world, key string) {
	t, folder, rest := tr.cut(key)
	if t == nil || len(t.chain) == 0 || t.deleted() {
		return
	}
	switch folder {
	case "d", "x", "b", "p":
		name := folder + "/" + rest
		for v := range t.kept {
			if v.names[name] {
				w.fail("%s is deleted, and version %d names it", name, v.Version)
				return
			}
		}
	case "m":
		n := number(rest)
		if t.stale[n] {
			delete(t.stale, n)
			return
		}
		for v := range t.kept {
			if v.Version == n {
				w.fail("version %d is deleted", n)
				return
			}
		}
		if int(n) < len(t.chain) && w.exists(t, "m/"+rest) && t.floor(w) <= n {
			w.fail("version %d is deleted, and the floor is %d", n, t.floor(w))
		}
	}
}

// floor is the highest floor of the topic.
func (t *topic) floor(w *world) manifest.Version {
	floor := manifest.Version(0)
	prefix := string(t.id) + "/floor/"
	for e := range w.store.List(context.Background(), prefix, "") {
		floor = number(strings.TrimPrefix(e.Key, prefix))
	}
	return floor
}

// committed holds the world to a reported success.
func (t *topic) committed(w *world, who string, c manifest.CommitID) {
	if _, ok := t.at[c]; !ok {
		w.fail("%s was told that commit %s succeeded, and it is not in the chain", who, c)
	}
}

// refused notes a reported failure: the commit is not in the chain, and never
// will be.
func (t *topic) refused(w *world, who string, c manifest.CommitID) {
	if t.deleted() {
		return // its own commit may have gone with all the others
	}
	if at, ok := t.at[c]; ok {
		w.fail("%s was told that commit %s failed, and it is version %d", who, c, at)
	}
	t.no[c] = true
}

// hold notes that somebody was told he holds a version.
func (t *topic) hold(w *world, who, id string, n manifest.Version) {
	if t.deleted() {
		return
	}
	if int(n) >= len(t.chain) {
		w.fail("%s holds version %d, of %d", who, n, len(t.chain))
		return
	}
	w.whole(t, t.chain[n], who+" holds it")
	t.held[id] = n
}

// whole checks that a version and all that it names are there.
func (w *world) whole(t *topic, v *version, why string) {
	if t.stale[v.Version] || !w.exists(t, fmt.Sprintf("m/%020d", v.Version)) {
		w.fail("version %d is gone: %s", v.Version, why)
	}
	for name := range v.names {
		if !w.exists(t, name) {
			w.fail("version %d has lost %s: %s", v.Version, name, why)
		}
	}
}

// wanted is a message that a reader must see, or may see.
type wanted struct {
	*segments.Message
	maybe bool
}

// list is what a reader of a version has to see.
func (t *topic) list(v *version, compacted bool) []wanted {
	through := func(p segments.Position) func(segments.Position) bool {
		return func(at segments.Position) bool { return !p.IsNone() && !at.After(p.EndOfEntry()) }
	}
	readable, folded, trimmed := through(v.MaxRead), through(v.Horizon), through(v.RetainedAfter)
	winner := map[string]int{}
	var list []wanted
	for i := range t.rows {
		m := &t.rows[i]
		if m.Kind.IsMarker() || !readable(m.Position) || m.Txn.Valid && t.ends[m.Txn.V] == segments.KindAbort {
			continue
		}
		w := wanted{Message: m}
		switch {
		case !compacted:
			if trimmed(m.Position) {
				continue
			}
		case !folded(m.Position):
		case m.Key == nil:
			if v.Settings.DropKeyless {
				continue
			}
		default:
			if was, ok := winner[string(m.Key)]; ok {
				list[was].Message = nil
			}
			winner[string(m.Key)] = len(list)
			// When exactly a tombstone goes is up to clocks.
			w.maybe = m.Kind == segments.KindTombstone && v.Settings.TombstoneRetention != manifest.Forever
		}
		list = append(list, w)
	}
	return slices.DeleteFunc(list, func(w wanted) bool { return w.Message == nil })
}

// compare compares what was read after a place with a list. whole says that the
// reader came to the end.
func compare(list []wanted, place segments.Position, got []segments.Message, whole bool) error {
	for i := range got {
		g := &got[i]
		for len(list) > 0 && (!list[0].Position.After(place) || list[0].maybe && list[0].Position.Before(g.Position)) {
			list = list[1:]
		}
		if len(list) == 0 {
			return fmt.Errorf("it has %s, want the end", show(g))
		}
		if w := list[0].Message; g.Position != w.Position || g.Kind != w.Kind || !bytes.Equal(g.Key, w.Key) || !bytes.Equal(g.Value, w.Value) || !bytes.Equal(g.OrderingKey, w.OrderingKey) {
			return fmt.Errorf("it has %s, want %s", show(g), show(w))
		}
		list = list[1:]
	}
	for _, w := range list {
		if whole && !w.maybe && w.Position.After(place) {
			return fmt.Errorf("it ends, want %s", show(w.Message))
		}
	}
	return nil
}

func show(m *segments.Message) string {
	return fmt.Sprintf("%s at %s (%q=%.20q)", m.OrderingKey, m.Position, m.Key, m.Value)
}

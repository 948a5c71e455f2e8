package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
	"github.com/ledgerfold/ledgerfold/segments"
)

// rules are rules of the protocol that a test breaks on purpose, from outside
// of the code that keeps them.
type rules struct {
	hideFloors bool // nobody sees the floor
	age        bool // somebody deletes what is old and is named by no version
	blindPins  bool // pins are written, and the latest version is not looked at
	cleanUp    bool // after an unknown outcome the outputs are deleted
}

// begin starts an actor that does a job, and maybe others after it.
func (w *world) begin(job string) {
	w.start(job, func(a *actor) {
		for {
			a.do(job)
			if a.dead || a.w.calm || a.dice.IntN(10) >= a.w.nature.more {
				return
			}
			job = pick(a.dice, a.w.nature.jobs...)
			a.kind = job
			a.w.log("%s goes on: %s", a.name, job)
		}
	})
}

// do does a job once.
func (a *actor) do(job string) {
	switch job {
	case "ingest":
		c := pick(a.dice, a.w.clients...)
		if c.kind == plain && c.runs > 0 {
			return
		}
		c.runs++
		n := 1 + a.dice.IntN(len(c.lines))
		if t := a.w.truth.named; t != nil && !a.dice.oneIn(4) {
			n = min(len(c.lines), c.acked[t.id]+1+a.dice.IntN(3)) // a little more than is in
		}
		a.ingest(c, n)
	case "run":
		a.compact()
	case "trim":
		a.trim()
	case "gc":
		if a.w.rules.age && a.dice.oneIn(2) {
			a.collectByAge()
			return
		}
		a.collect()
	case "read":
		a.read()
	case "tag":
		a.tag()
	case "set":
		a.set()
	case "verify":
		a.verify()
	case "delete":
		a.deleteTopic()
	case "create":
		a.create()
	default:
		panic(job)
	}
}

// store is the store as the commands make it: with retries, in some worlds.
func (a *actor) store() objstore.Store {
	if !a.w.nature.retries {
		return view{a}
	}
	settings := retry.Settings{Tries: 3, Min: time.Second, Max: time.Second}
	return retry.New(view{a}, settings, func(ctx context.Context, _ time.Duration) error {
		if err := a.pass(&call{verb: waiting, key: "retry"}); err != nil {
			return err
		}
		return ctx.Err()
	})
}

// open opens the topic, unless the actor did so before, and reads its latest
// version, as most commands do.
func (a *actor) open() (*manifest.Topic, *manifest.Manifest, error) {
	if a.topic == nil {
		t, err := manifest.Open(a.ctx, a.store(), topicName, a.pause)
		if err != nil {
			return nil, nil, err
		}
		a.topic = t
	}
	t := a.topic
	m, err := t.Latest(a.ctx)
	if errors.Is(err, manifest.ErrTopicNotFound) {
		a.topic = nil
	}
	if err == nil {
		a.sees(t, m)
	}
	return t, m, err
}

// sees holds a version that was read to the truth, and reports whether it is
// the one of its number. There is one way to read one that is not: whoever
// sleeps between the LIST that finds the latest version and its GET may find,
// at a name that was freed meanwhile, what another sleeper has left there.
// Commits are safe from that, for the floor is looked at after each.
func (a *actor) sees(t *manifest.Topic, m *manifest.Manifest) bool {
	truth := a.w.truth.topics[t.ID()]
	switch {
	case truth.deleted():
		return false
	case int(m.Version) < len(truth.chain) && truth.chain[m.Version].Commit == m.Commit:
		return true
	case m.Version < truth.latest().ExpiredBefore:
		a.w.count("a stale version is read")
	default:
		a.w.fail("%s reads a version %d that is none", a.name, m.Version)
	}
	return false
}

func (a *actor) truth(t *manifest.Topic) *topic { return a.w.truth.topics[t.ID()] }

func (a *actor) commit() manifest.CommitID { return manifest.CommitID(a.w.mint("C", a.clock())) }

// jobID mints a job's id by the actor's clock, but above what was shut out, as
// the commands do.
func (a *actor) jobID(m *manifest.Manifest) manifest.JobID {
	at := a.clock()
	if m != nil && m.MinJob != "" {
		ms, err := strconv.ParseInt(string(m.MinJob[1:14]), 10, 64)
		if err != nil {
			panic(err)
		}
		if least := time.UnixMilli(ms + 1); at.Before(least) {
			at = least
		}
	}
	return manifest.JobID(a.w.mint("J", at))
}

// done looks at what became of an actor. Its error must be one that it is
// documented to have, or one of others.
func (a *actor) done(err error, others ...error) {
	if a.dead {
		return
	}
	if err == nil {
		a.w.count(a.kind + ": done")
		a.w.log("%s is done", a.name)
		return
	}
	a.w.log("%s: %v", a.name, err)
	for _, known := range others {
		if errors.Is(err, known) {
			a.w.count(a.kind + ": " + known.Error())
			return
		}
	}
	for _, bad := range []error{segments.ErrCorrupt, manifest.ErrInvariant, manifest.ErrMissing, ingest.ErrBadInput} {
		if errors.Is(err, bad) {
			a.w.fail("%s: %v", a.name, err)
			return
		}
	}
	for _, known := range []error{
		manifest.ErrUnknown, manifest.ErrConflict, manifest.ErrFenced, manifest.ErrTopicNotFound,
		fault.ErrInjected, objstore.ErrDenied, objstore.ErrExists, context.Canceled,
	} {
		if errors.Is(err, known) {
			a.w.count(a.kind + ": " + known.Error())
			return
		}
	}
	a.w.fail("%s ends with an error that it cannot have: %v", a.name, err)
}

// overtaken is what else an actor may meet that works on a version which has
// been collected meanwhile.
func (a *actor) overtaken(t *manifest.Topic, m *manifest.Manifest) []error {
	if t == nil || m == nil || a.truth(t).deleted() || a.truth(t).latest().ExpiredBefore > m.Version {
		return []error{manifest.ErrMissing, manifest.ErrVersionNotFound}
	}
	return nil
}

// over reports whether err says that a commit is not in the chain and never
// will be.
func over(err error) bool {
	return !errors.Is(err, manifest.ErrUnknown) &&
		(errors.Is(err, manifest.ErrConflict) || errors.Is(err, manifest.ErrFenced) || errors.Is(err, manifest.ErrTopicNotFound))
}

// faulty reports whether err comes of what was done to a request.
func faulty(err error) bool {
	return errors.Is(err, fault.ErrInjected) || errors.Is(err, objstore.ErrDenied) || errors.Is(err, context.Canceled)
}

// ingest adds the first n lines of a client.
func (a *actor) ingest(c *client, n int) {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	e := &ear{actor: a, topic: a.truth(t)}
	job := a.jobID(m)
	_, err = ingest.Run(a.ctx, t, strings.NewReader(c.input(n)),
		ingest.Settings{Source: c.source(), Now: a.clock(), Job: job, Writer: "sim"},
		ingest.Components{NewCommit: e.commit, Pause: a.pause, Observer: e})
	if a.dead {
		return
	}
	switch {
	case err == nil:
		c.acknowledged(a.w, e.topic, n)
	case over(err) && e.last != "":
		e.topic.refused(a.w, a.name, e.last)
	}
	a.cleanUp(t, job, err)
	a.done(err, a.overtaken(t, m)...)
}

// ear hears what an ingest is told of its commits.
type ear struct {
	actor *actor
	topic *topic
	last  manifest.CommitID // that was not settled yet
}

func (e *ear) commit() manifest.CommitID {
	e.last = e.actor.commit()
	return e.last
}

// Progressed implements ingest.Observer; so do the others.
func (e *ear) Progressed(ingest.Progress) {}

func (e *ear) SegmentCommitted(ingest.SegmentCommitted) {
	if !e.actor.dead {
		e.topic.committed(e.actor.w, e.actor.name, e.last)
		e.last = ""
	}
}

func (e *ear) Overtaken(ingest.Overtaken) {
	if !e.actor.dead {
		e.actor.w.count("ingest: overtaken")
		e.topic.refused(e.actor.w, e.actor.name, e.last)
		e.last = ""
	}
}

// job is what a compaction or a trim is given.
func (a *actor) job(m *manifest.Manifest) compactor.Job {
	j := compactor.Job{ID: a.jobID(m), Now: a.clock(), Writer: "sim", Policy: compactor.DefaultPolicy()}
	j.Policy.Parallel = 1 + a.dice.IntN(3)
	j.Policy.ShareBytes = int64(pick(a.dice, 0, 1, 2000))
	for range 1 + a.dice.IntN(3) {
		j.Commits = append(j.Commits, a.commit())
	}
	return j
}

// compact runs a compaction.
func (a *actor) compact() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	job, truth := a.job(m), a.truth(t)
	o := &eye{actor: a, topic: truth, job: job}
	result, err := compactor.Run(a.ctx, t, o, job)
	if a.dead {
		return
	}
	switch {
	case err == nil && result.State == compactor.StateCompacted:
		truth.committed(a.w, a.name, job.Commits[result.Tries-1])
	case over(err) && o.tries > 0:
		truth.refused(a.w, a.name, job.Commits[o.tries-1])
	}
	a.cleanUp(t, job.ID, err)
	a.done(err, a.overtaken(t, m)...)
}

// eye sees what a compaction is told of its commits.
type eye struct {
	actor *actor
	topic *topic
	job   compactor.Job
	tries int
}

// Observe implements compactor.Observer.
func (o *eye) Observe(e compactor.Event) {
	switch e := e.(type) {
	case compactor.Planned:
		o.tries++
	case compactor.TookOver:
		o.actor.w.count("run: adopts an original")
	case compactor.Overtaken:
		if !o.actor.dead {
			o.actor.w.count("run: overtaken")
			o.topic.refused(o.actor.w, o.actor.name, o.job.Commits[e.Try-1])
		}
	}
}

// trim runs a trim.
func (a *actor) trim() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	job, truth := a.job(m), a.truth(t)
	result, err := compactor.Trim(a.ctx, t, job)
	if a.dead {
		return
	}
	if err == nil && result.State == compactor.StateTrimmed {
		in := 0
		for _, c := range job.Commits {
			if _, ok := truth.at[c]; ok {
				in++
			}
		}
		if in != 1 {
			a.w.fail("%s was told that it has trimmed, and %d of its commits are in the chain", a.name, in)
		}
	}
	a.done(err, a.overtaken(t, m)...)
}

// collect runs a garbage collection. What it shuts out is chance, which stands
// for all that clocks may do.
func (a *actor) collect() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	since := a.clock().Add(-a.w.nature.keepAge)
	keep := manifest.Keep{Since: since, Versions: 1 + a.dice.IntN(a.w.nature.keepMost)}
	switch a.dice.IntN(4) {
	case 0: // nobody is shut out
	case 1:
		keep.MinJob = manifest.JobID(fmt.Sprintf("J%013d", since.UnixMilli()))
	default:
		at := a.clock().Add(time.Duration(a.dice.IntN(400)-200) * a.w.nature.tick)
		keep.MinJob = manifest.JobID(fmt.Sprintf("J%013d", at.UnixMilli()))
	}
	// Another collection may take what this one is about to look at.
	other := []error{manifest.ErrMissing, manifest.ErrVersionNotFound, objstore.ErrNotFound}
	c, err := t.PlanCollection(a.ctx, keep)
	if err != nil {
		a.done(err, other...)
		return
	}
	change := manifest.Change{Commit: a.commit(), Job: a.jobID(m), Now: a.clock()}
	if err := c.Commit(a.ctx, change); err != nil {
		if over(err) && !a.dead {
			a.truth(t).refused(a.w, a.name, change.Commit)
		}
		a.done(err, other...)
		return
	}
	a.done(c.Delete(a.ctx, func(g manifest.Garbage) { a.w.count("collected: " + string(g.Reason)) }), other...)
}

// set changes a setting that no answer depends on.
func (a *actor) set() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	now := m.Settings
	now.MaxDeadShare = float64(a.dice.IntN(100)) / 100
	change := manifest.Change{Commit: a.commit(), Job: a.jobID(m), Now: a.clock(), Edit: manifest.Set{Was: m.Settings, Now: now}}
	_, err = t.Commit(a.ctx, change)
	if a.dead {
		return
	}
	switch {
	case err == nil:
		a.truth(t).committed(a.w, a.name, change.Commit)
	case over(err):
		a.truth(t).refused(a.w, a.name, change.Commit)
	}
	a.done(err, a.overtaken(t, m)...)
}

// tag names a version.
func (a *actor) tag() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	name := pick(a.dice, "a", "b")
	v := m.Version - min(m.Version, manifest.Version(a.dice.IntN(4)))
	move := !a.dice.oneIn(4)
	truth := a.truth(t)
	// Of a tag that somebody is changing, or has changed with an outcome that
	// is unknown, nothing is promised.
	tags := a.w.tagsOf(truth)
	was, known := tags.begin(name)
	err = t.Tag(a.ctx, name, v, move)
	if a.dead {
		return
	}
	switch {
	case err == nil:
		tags.end(a.w, name, v, true)
	case !faulty(err) && (errors.Is(err, manifest.ErrTagExists) || errors.Is(err, manifest.ErrVersionNotFound)):
		tags.end(a.w, name, was, known)
	default:
		tags.doubt(name)
	}
	a.done(err, append(a.overtaken(t, m), manifest.ErrTagExists, manifest.ErrVersionNotFound, objstore.ErrNotFound)...)
}

// verify proves a version that nobody collects meanwhile.
func (a *actor) verify() {
	t, m, err := a.open()
	if err != nil {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	proof, err := compactor.Verify(a.ctx, t, m)
	if a.dead {
		return
	}
	if len(proof.Findings) > 0 && len(a.overtaken(t, m)) == 0 {
		a.w.fail("%s: %v", a.name, proof.Findings)
	}
	a.done(err, a.overtaken(t, m)...)
}

// create makes the topic, if nobody has the name.
func (a *actor) create() {
	var secret [segments.SecretBytes]byte
	copy(secret[:], "no secret in a simulation")
	_, err := manifest.Create(a.ctx, a.store(), manifest.NewTopic{
		Name: topicName, ID: manifest.TopicID(a.w.mint("T", a.clock())), Commit: a.commit(), Now: a.clock(),
		Secret: secret, Settings: a.w.nature.settings,
	}, a.pause)
	a.done(err, manifest.ErrTopicExists, manifest.ErrVersionNotFound)
}

// deleteTopic ends the topic.
func (a *actor) deleteTopic() {
	t, m, err := a.open()
	if err != nil && (t == nil || !errors.Is(err, manifest.ErrTopicNotFound)) {
		a.done(err, a.overtaken(t, m)...)
		return
	}
	change := manifest.Change{Commit: a.commit(), Job: a.jobID(m), Now: a.clock(), Edit: manifest.Delete{}}
	err = t.Delete(a.ctx, change)
	if a.dead {
		return
	}
	if err == nil && !a.truth(t).deleted() {
		a.w.fail("%s was told that the topic is deleted, and it is there", a.name)
	}
	a.done(err, a.overtaken(t, m)...)
}

// tags is what is known of the tags of a topic.
type tags struct {
	topic *topic
	names map[string]*tagState
}

type tagState struct {
	busy    int
	doubted bool
	known   bool
	version manifest.Version
}

func (w *world) tagsOf(t *topic) *tags {
	if t.tags == nil {
		t.tags = &tags{t, map[string]*tagState{}}
	}
	return t.tags
}

// begin notes that somebody begins to change a tag. It returns what is known of
// it, if anything.
func (g *tags) begin(name string) (manifest.Version, bool) {
	s := g.names[name]
	if s == nil {
		s = &tagState{}
		g.names[name] = s
	}
	known := s.known && s.busy == 0 && !s.doubted
	if s.busy++; s.busy > 1 {
		s.doubted = true
	}
	delete(g.topic.held, "tag "+name)
	return s.version, known
}

// end notes that somebody has changed a tag, or has not, and knows it.
func (g *tags) end(w *world, name string, v manifest.Version, known bool) {
	s := g.names[name]
	s.busy--
	s.version, s.known = v, known
	if known && !s.doubted {
		g.topic.hold(w, "tag "+name, "tag "+name, v)
	}
}

// doubt notes that somebody does not know whether he has changed a tag. The
// same goes for whoever was killed: he stays busy.
func (g *tags) doubt(name string) {
	g.names[name].busy--
	g.names[name].doubted = true
}

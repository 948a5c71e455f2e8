package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/mem"
	"github.com/ledgerfold/ledgerfold/segments"
)

// began is when the clock of every history stands at first.
var began = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

var ctx = context.Background()

// product is a topic of the product, in a store in memory, with all that a
// command line would bring: a clock, and ids that go up.
type product struct {
	store  *mem.Store
	topic  *manifest.Topic
	now    time.Time
	minted int
	policy compactor.Policy
}

func newProduct(settings manifest.Settings) (*product, error) {
	p := &product{store: new(mem.Store), now: began, policy: compactor.DefaultPolicy()}
	var secret [segments.SecretBytes]byte
	copy(secret[:], "no secret in a test")
	topic, err := manifest.Create(ctx, p.store, manifest.NewTopic{
		Name: "orders", ID: "01TOPIC", Commit: p.commitID(), Now: p.now, Secret: secret, Settings: settings,
	}, never)
	p.topic = topic
	return p, err
}

// never is the Pause of a world in which nobody else is about.
func never(context.Context, int) error { return errors.New("nobody to wait for") }

func (p *product) mint(kind string) string {
	p.minted++
	return fmt.Sprintf("%s%09d", kind, p.minted)
}

func (p *product) commitID() manifest.CommitID { return manifest.CommitID(p.mint("C")) }
func (p *product) jobID() manifest.JobID       { return manifest.JobID(p.mint("J")) }

func (p *product) change(edit manifest.Edit) manifest.Change {
	return manifest.Change{Commit: p.commitID(), Job: p.jobID(), Now: p.now, Edit: edit}
}

func (p *product) job() compactor.Job {
	return compactor.Job{ID: p.jobID(), Commits: []manifest.CommitID{p.commitID()}, Now: p.now, Writer: "test", Policy: p.policy}
}

// cuts hears after which lines an ingest has cut its segments.
type cuts struct{ list []ingest.SegmentCommitted }

func (c *cuts) Progressed(ingest.Progress)                 {}
func (c *cuts) SegmentCommitted(s ingest.SegmentCommitted) { c.list = append(c.list, s) }
func (c *cuts) Overtaken(ingest.Overtaken)                 {}

func (p *product) ingest(text, source string) (ingest.Result, []ingest.SegmentCommitted, error) {
	heard := new(cuts)
	result, err := ingest.Run(ctx, p.topic, strings.NewReader(text),
		ingest.Settings{Source: source, Now: p.now, Job: p.jobID(), Writer: "test"},
		ingest.Components{NewCommit: p.commitID, Pause: never, Observer: heard})
	return result, heard.list, err
}

func (p *product) compact() (compactor.Result, error) {
	return compactor.Run(ctx, p.topic, nil, p.job())
}

func (p *product) trim() (compactor.TrimResult, error) {
	return compactor.Trim(ctx, p.topic, p.job())
}

// set sets one setting, as the command does: what is set already makes no
// version.
func (p *product) set(assignment string) error {
	m, err := p.topic.Latest(ctx)
	if err != nil {
		return err
	}
	now, err := m.Settings.With(assignment)
	if err != nil || now == m.Settings {
		return err
	}
	_, err = p.topic.Commit(ctx, p.change(manifest.Set{Was: m.Settings, Now: now}))
	return err
}

// collect runs a collection, the half that expires or all of it, and returns
// the first version that it keeps.
func (p *product) collect(keep manifest.Keep, whole bool) (manifest.Version, error) {
	c, err := p.topic.PlanCollection(ctx, keep)
	if err != nil {
		return 0, err
	}
	if err := c.Commit(ctx, p.change(nil)); err != nil || !whole {
		return c.ExpiredBefore(), err
	}
	return c.ExpiredBefore(), c.Delete(ctx, func(manifest.Garbage) {})
}

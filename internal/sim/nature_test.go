package sim

import (
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore/fault"
	"github.com/ledgerfold/ledgerfold/segments"
)

// began is when every world begins.
var began = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// topicName is the topic that all actors work on. It may be deleted, and be
// created again.
const topicName = "orders"

// nature is what a seed makes of a world: how much of everything there is in
// it. A world that has a little of everything has too little of most things.
type nature struct {
	steps int           // of unrest, before the world becomes calm
	tick  time.Duration // between two steps

	// Of a thousand requests so many fail; and so many turns find an actor
	// fallen asleep, killed, told to stop, or with a clock that has jumped.
	faults, sleeps, kills, stops, jumps int

	focus int // that many times as much goes wrong where it matters

	skewMost time.Duration // of a clock
	landings int           // one in so many steps, something late lands
	page     int           // entries of a listing
	patience int           // tries of a commit, at most
	retries  bool          // requests are tried again, as the commands do

	crowd    int // actors at a time, at most
	more     int // of ten actors, so many do one more thing
	pins     int // one in so many readers pins what it reads
	jobs     []string
	settings manifest.Settings
	keepAge  time.Duration // of collections, and how many versions they keep
	keepMost int
	keys     int // that messages have
	txns     bool
}

// jobs are what actors do, and how often each is done among all of them.
var jobs = []struct {
	name  string
	share int
}{{"ingest", 10}, {"run", 8}, {"trim", 4}, {"gc", 8}, {"read", 5}, {"set", 3}, {"verify", 1}}

func newNature(seed uint64) nature {
	d := newDice(seed, 1<<63)
	n := nature{
		steps:    pick(d, 100, 200, 400, 800),
		tick:     pick(d, time.Second, 10*time.Second, time.Minute),
		faults:   pick(d, 0, 5, 20, 50),
		sleeps:   pick(d, 0, 5, 15, 30),
		kills:    pick(d, 0, 2, 5, 10),
		stops:    pick(d, 0, 0, 3),
		jumps:    pick(d, 0, 3, 20),
		focus:    pick(d, 2, 5, 10, 20),
		skewMost: pick(d, 0, time.Minute, 2*time.Hour),
		landings: pick(d, 5, 20, 60),
		page:     pick(d, 2, 5, 1000, 1000),
		patience: pick(d, 2, 4, 8),
		retries:  d.oneIn(4),
		crowd:    pick(d, 2, 4, 6, 9),
		more:     pick(d, 0, 5, 8),
		keepMost: pick(d, 1, 1, 3),
		keepAge:  pick(d, 0, 0, 30*time.Second, 10*time.Minute),
		keys:     pick(d, 1, 3, 8),
		txns:     d.oneIn(3),
		settings: manifest.DefaultSettings(),
	}
	for _, job := range jobs {
		// Of each a little, none, or much.
		n.do(job.name, job.share*pick(d, 0, 1, 1, 1, 4))
	}
	n.do("ingest", 4) // or there is nothing to see
	// What is held is never trimmed: where there are many holds there is little
	// else.
	n.do("tag", pick(d, 0, 0, 0, 2, 5))
	n.pins = pick(d, 0, 0, 4, 1)
	if d.oneIn(4) {
		n.storm(d)
	}
	if d.oneIn(8) {
		n.do("delete", 1)
		n.do("create", 4)
	}
	n.settings.SegmentBytes = 1 << 10
	n.settings.BatchBytes = 1 << 10
	n.settings.Compression = pick(d, segments.CompressionNone, segments.CompressionLZ4)
	n.settings.TombstoneRetention = pick(d, manifest.Duration(0), manifest.Duration(time.Minute), manifest.Forever)
	n.settings.Retention = pick(d, manifest.Duration(0), manifest.Duration(time.Minute), manifest.Forever)
	n.settings.MinLag = pick(d, 0, 0, 0, manifest.Duration(30*time.Second))
	n.settings.DropKeyless = d.oneIn(4)
	n.settings.ProducerExpiry = manifest.Forever
	return n
}

// storm makes a nature in which versions come and go fast, and committers
// oversleep them.
func (n *nature) storm(d dice) {
	n.jobs = nil
	for _, job := range jobs {
		n.do(job.name, job.share)
	}
	n.do("set", 8)
	n.do("gc", 8)
	n.steps, n.crowd, n.more, n.page = 800, 8, 8, 1000
	n.focus, n.sleeps = 20, pick(d, 10, 20)
	n.keepAge, n.keepMost = 0, 1
	n.pins = pick(d, 0, 1)
}

// do gives a job so many shares.
func (n *nature) do(job string, shares int) {
	for range shares {
		n.jobs = append(n.jobs, job)
	}
}

// much is how much more is done to a call than to others. What decides the
// fate of a commit or of a hold is a small part of all that is asked.
func (n *nature) much(c *call) int {
	if c.verb != fault.Put {
		return 1
	}
	for _, folder := range []string{"/m/", "/pin/", "/tag/", "/floor/", "topics/"} {
		if strings.Contains(c.key, folder) {
			return n.focus
		}
	}
	return 2
}

// skew draws how wrong a clock is.
func (n *nature) skew(d dice) time.Duration {
	if n.skewMost == 0 || d.oneIn(2) {
		return 0
	}
	return time.Duration(d.Int64N(int64(2*n.skewMost))) - n.skewMost
}

// tries draws how patient an actor is.
func (n *nature) tries(d dice) int { return 1 + d.IntN(n.patience) }

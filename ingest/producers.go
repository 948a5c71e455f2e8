package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
)

// producers knows the last sequence of each producer, epoch by epoch. A
// sequence at or below it has been seen. Epochs only rise: once a producer has
// sent something in one, new sequences of older epochs come from an instance
// that was replaced. Old sequences of older epochs are still recognised, or an
// input in which an epoch rises could not be run twice.
type producers struct {
	known   map[string]*producer
	changed []*producer
	held    []*producer
}

// producer is what is known of one, in order of epochs; never empty.
type producer struct {
	epochs  []manifest.Producer
	changed bool
}

// expiryCutoff is the time such that a producer that added nothing since then
// is forgotten. What was added at now never is, however short the expiry.
func expiryCutoff(expiry manifest.Duration, now segments.Millis) segments.Millis {
	if expiry == manifest.Forever {
		return math.MinInt64
	}
	heard := segments.MillisOf(now.Time().Add(-time.Duration(expiry))) // then, or earlier, is too long ago
	return min(heard+1, now)
}

// load takes the producers of a manifest, except those that are forgotten.
//
// One that is not forgotten keeps all its epochs, however old. An append
// forgets by the age of single epochs, so those have to be named in each one:
// they are held.
func load(list []manifest.Producer, cutoff segments.Millis) producers {
	p := producers{known: make(map[string]*producer)}
	for len(list) > 0 {
		n, heard, aged := 0, false, false
		for n < len(list) && list[n].Name == list[0].Name {
			heard = heard || list[n].Added >= cutoff
			aged = aged || list[n].Added < cutoff
			n++
		}
		if heard {
			one := &producer{epochs: slices.Clone(list[:n])}
			p.known[list[0].Name] = one
			if aged {
				p.held = append(p.held, one)
			}
		}
		list = list[n:]
	}
	return p
}

// has reports whether m has been seen, by its producer and sequence.
func (p *producers) has(m *segments.Message) bool {
	if !m.Producer.Valid || !m.Sequence.Valid {
		return false
	}
	known := p.known[m.Producer.V]
	if known == nil {
		return false
	}
	i, found := known.epoch(m.Epoch.V)
	return found && m.Sequence.V <= known.epochs[i].Sequence
}

// fences is the error for a message that is new, but comes from a producer
// that was replaced.
func (p *producers) fences(m *segments.Message) error {
	if !m.Producer.Valid || !m.Sequence.Valid {
		return nil
	}
	known := p.known[m.Producer.V]
	if known == nil {
		return nil
	}
	if latest := known.epochs[len(known.epochs)-1].Epoch; m.Epoch.V < latest {
		return fmt.Errorf("producer %q is fenced: it sends in epoch %d, and epoch %d has begun", m.Producer.V, m.Epoch.V, latest)
	}
	return nil
}

// last is the last message of a producer in one epoch.
func (p *producers) last(name string, epoch int32) (manifest.Producer, bool) {
	known := p.known[name]
	if known == nil {
		return manifest.Producer{}, false
	}
	i, found := known.epoch(epoch)
	if !found {
		return manifest.Producer{}, false
	}
	return known.epochs[i], true
}

// latest is the last message of a producer in its latest epoch.
func (p *producers) latest(name string) (manifest.Producer, bool) {
	known := p.known[name]
	if known == nil {
		return manifest.Producer{}, false
	}
	return known.epochs[len(known.epochs)-1], true
}

// note remembers that m was added. It reports whether sequences are missing
// between the last one of its producer and epoch and this one: what a source
// has compacted away, or something that was lost before it came here.
func (p *producers) note(m *segments.Message, now segments.Millis) (gap bool) {
	if !m.Producer.Valid || !m.Sequence.Valid {
		return false
	}
	known := p.known[m.Producer.V]
	if known == nil {
		known = new(producer)
		p.known[m.Producer.V] = known
	}
	i, found := known.epoch(m.Epoch.V)
	if !found {
		known.epochs = slices.Insert(known.epochs, i, manifest.Producer{Name: m.Producer.V, Epoch: m.Epoch.V})
	}
	e := &known.epochs[i]
	gap = found && m.Sequence.V-1 > e.Sequence
	e.Sequence, e.Position, e.Added = m.Sequence.V, m.Position, now
	if !known.changed {
		known.changed = true
		p.changed = append(p.changed, known)
	}
	return gap
}

// edit lists what an append has to say of producers, in the order in which a
// manifest has them.
func (p *producers) edit() []manifest.Producer {
	said := slices.Clone(p.changed)
	for _, one := range p.held {
		if !one.changed {
			said = append(said, one)
		}
	}
	slices.SortFunc(said, func(a, b *producer) int { return cmp.Compare(a.epochs[0].Name, b.epochs[0].Name) })
	var list []manifest.Producer
	for _, one := range said {
		list = append(list, one.epochs...)
	}
	return list
}

// settle forgets what has changed: it is committed.
func (p *producers) settle() {
	for _, one := range p.changed {
		one.changed = false
	}
	clear(p.changed)
	p.changed = p.changed[:0]
}

func (one *producer) epoch(epoch int32) (int, bool) {
	// Mostly it is the last.
	if n := len(one.epochs); n > 0 && one.epochs[n-1].Epoch == epoch {
		return n - 1, true
	}
	return slices.BinarySearchFunc(one.epochs, epoch, func(p manifest.Producer, epoch int32) int {
		return cmp.Compare(p.Epoch, epoch)
	})
}

package sim

import (
	"fmt"
	"strings"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// client has an input that grows. It ingests what there is of it, from the
// first line, as often as it takes.
type client struct {
	name   string
	kind   clientKind
	number int
	lines  []line
	runs   int // that were begun

	acked map[manifest.TopicID]int // so many lines were reported as in
}

// clientKind tells what keeps a client's messages from coming twice.
type clientKind int

const (
	withSequences clientKind = iota // its messages have producer and sequence
	withSource                      // its lines are counted
	plain                           // nothing: it runs once, whatever becomes of it
)

// line is one line of an input, and the messages that it brings.
type line struct {
	text string
	ops  []*operation
}

// operation is one message. Its id goes with it as its ordering key, so that
// each row in the store can be told from all others.
type operation struct {
	client *client
	number int
	key    []byte // nil: keyless
	value  []byte // nil: a tombstone
}

func (o *operation) id() string { return fmt.Sprintf("%s.%d", o.client.name, o.number) }

// newClients draws who has what to add.
func newClients(d dice, n *nature) []*client {
	var list []*client
	for i := range 2 + d.IntN(3) {
		c := &client{
			name: fmt.Sprintf("c%d", i), number: i + 1, kind: pick(d, withSequences, withSequences, withSource, plain),
			acked: map[manifest.TopicID]int{},
		}
		if i == 0 {
			c.kind = withSequences
		}
		c.write(d, n, 2+d.IntN(14))
		list = append(list, c)
	}
	return list
}

// operations are those of all clients, by their ids.
func operations(clients []*client) map[string]*operation {
	all := map[string]*operation{}
	for _, c := range clients {
		for _, l := range c.lines {
			for _, o := range l.ops {
				all[o.id()] = o
			}
		}
	}
	return all
}

// write draws lines.
func (c *client) write(d dice, n *nature, count int) {
	made, txns := 0, 0
	txn, left := "", 0
	for range count {
		var l line
		var parts []string
		for range max(1, d.IntN(8)-4) {
			o := &operation{client: c, number: made}
			made++
			if !d.oneIn(10) {
				o.key = fmt.Appendf(nil, "k%d", d.IntN(n.keys))
			}
			if o.key == nil || !d.oneIn(4) {
				o.value = []byte(o.id() + strings.Repeat("-", pick(d, 0, 0, 0, 400)))
			}
			l.ops = append(l.ops, o)
			parts = append(parts, c.fields(o, txn))
		}
		if l.text = "{" + parts[0] + "}"; len(parts) > 1 {
			l.text = `{"batch":[{` + strings.Join(parts, "},{") + "}]}"
		}
		c.lines = append(c.lines, l)
		switch {
		case txn != "" && left > 0:
			left--
		case txn != "":
			c.lines = append(c.lines, line{text: fmt.Sprintf(`{"txn":%q,"marker":%q}`, txn, pick(d, "commit", "commit", "abort"))})
			txn = ""
		case n.txns && c.kind != plain && d.oneIn(3): // what runs once may leave one open
			txns++
			txn, left = fmt.Sprintf("%d,%d", c.number, txns), d.IntN(4)
		}
	}
	if txn != "" {
		c.lines = append(c.lines, line{text: fmt.Sprintf(`{"txn":%q,"marker":"commit"}`, txn)})
	}
}

func (c *client) fields(o *operation, txn string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"ordering_key":%q`, o.id())
	if o.key != nil {
		fmt.Fprintf(&b, `,"key":%q`, o.key)
	}
	if o.value == nil {
		b.WriteString(`,"value":null`)
	} else {
		fmt.Fprintf(&b, `,"value":%q`, o.value)
	}
	if c.kind == withSequences {
		fmt.Fprintf(&b, `,"producer":%q,"sequence":"%d"`, c.name, o.number)
	}
	if txn != "" {
		fmt.Fprintf(&b, `,"txn":%q`, txn)
	}
	return b.String()
}

// input is the first n lines.
func (c *client) input(n int) string {
	var b strings.Builder
	for _, l := range c.lines[:n] {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

func (c *client) source() string {
	if c.kind == withSource {
		return c.name
	}
	return ""
}

// acknowledged holds the world to a run that was reported as a success: the
// first n lines are in.
func (c *client) acknowledged(w *world, t *topic, n int) {
	for _, l := range c.lines[:n] {
		for _, o := range l.ops {
			if _, ok := t.places[o.id()]; !ok {
				w.fail("%s was acknowledged, and is not there", o.id())
				return
			}
		}
	}
	c.acked[t.id] = max(c.acked[t.id], n)
}

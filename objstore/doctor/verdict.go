package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// verdicts holds what examinations came to, an object for each:
//
//	doctor/verdict-1/<id of the examination>-pass
//	doctor/verdict-1/<id of the examination>-fail
//
// The last one counts, so a listing is enough to know. Its number is the
// format's, and of what a verdict vouches for: a program that has to know more
// of a store looks in another folder, and finds that it was not examined.
const (
	format   = 1
	verdicts = "doctor/verdict-1/"
)

// kept is the body of a verdict. Programs go by its key; people read this.
type kept struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Writer string    `json:"writer"`
	Report
}

// Keep keeps a report of the examination with this id in the store. now is when
// it was made, and writer which program made it.
func Keep(ctx context.Context, store objstore.Store, id string, now time.Time, writer string, report Report) error {
	body, err := json.Marshal(kept{format, id, now.UTC(), writer, report})
	if err != nil {
		return err
	}
	err = store.Put(ctx, verdicts+id+"-"+string(report.Verdict), bytes.NewReader(append(body, '\n')))
	if errors.Is(err, objstore.ErrExists) {
		return nil // only this examination has the name
	}
	if err != nil {
		return fmt.Errorf("keep the verdict on the store: %w", err)
	}
	return nil
}

// Last is the verdict that was kept last, with the id of its examination. It is
// empty if the store was never examined. It costs a LIST.
func Last(ctx context.Context, store objstore.Store) (v Verdict, id string, err error) {
	for e, err := range store.List(ctx, verdicts, "") {
		if err != nil {
			return "", "", fmt.Errorf("look up the verdict on the store: %w", err)
		}
		name, verdict, _ := strings.Cut(strings.TrimPrefix(e.Key, verdicts), "-")
		if verdict == string(Pass) || verdict == string(Fail) {
			v, id = Verdict(verdict), name
		}
	}
	return v, id, nil
}

// Admission is what Admit needs to examine a store.
type Admission struct {
	// Stores opens the store several times, each with connections of its own.
	Stores func(context.Context) ([]objstore.Store, error)

	ID     string // a ULID made for this
	Now    time.Time
	Writer string // the program
}

// Admit returns nil where topics may be made in a store, and ErrUnfit where
// they may not. It goes by the verdict that was kept last, at the cost of a
// LIST. Where there is none it examines the store by what a commit hangs on, in
// nine requests more, and keeps the verdict if it is good. So a store that was
// bad and was mended is let in the next time.
func Admit(ctx context.Context, store objstore.Store, a Admission) error {
	switch v, id, err := Last(ctx, store); {
	case err != nil:
		return err
	case v == Pass:
		return nil
	case v == Fail:
		return &unfitError{[]Check{{"kept-verdict", Fail,
			fmt.Sprintf("examination %s, kept in %s, found it unfit", id, verdicts+id+"-"+string(v)),
			"`compact doctor` tells why, and lets the store in once it passes"}}}
	}
	stores, err := a.Stores(ctx)
	if err != nil {
		return err
	}
	p := &patient{stores: stores, prefix: "doctor/" + a.ID}
	report, err := p.glance(ctx)
	if err != nil {
		return fmt.Errorf("examine the store: %w", err)
	}
	if err := report.Err(); err != nil {
		return err
	}
	return Keep(ctx, store, a.ID, a.Now, a.Writer, report)
}

// glance makes the experiments that a commit hangs on, all with one key: a
// race, a create too late, a GET, a LIST, and a DELETE, which may fail.
func (p *patient) glance(ctx context.Context) (Report, error) {
	var g glimpse
	r, err := p.try(ctx, experiment{name: "glance", run: func(ctx context.Context, p *patient) (_ result, err error) {
		g, err = p.glimpse(ctx)
		return result{}, err
	}})
	// What stays is an object of a few bytes. These credentials may have no
	// right to delete, and need none to make a topic.
	_ = p.discard(ctx)
	switch {
	case err != nil:
		return Report{}, err
	case r.verdict == Fail:
		return newReport([]Check{check("create-over-existing", r)}), nil
	}
	return newReport(g.judge()), nil
}

// glimpse is what the short form sees of one key.
type glimpse struct {
	key    string
	won    []bool // of the writers that raced for it, who was told to have won?
	late   bool   // and the one that came after them?
	stored int    // whose bytes are there in the end; the late one comes last
	listed []string
}

const glanceWriters = 4

func (p *patient) glimpse(ctx context.Context) (glimpse, error) {
	g := glimpse{key: p.key("a")}
	all := lines(g.key)
	var err error
	if g.won, err = p.rush(ctx, g.key, glanceWriters, all); err != nil {
		return g, err
	}
	if g.late, err = p.create(ctx, 0, g.key, all.body(glanceWriters)); err != nil {
		return g, err
	}
	if g.stored, err = p.holder(ctx, g.key, glanceWriters+1, all); err != nil {
		return g, err
	}
	entries, err := p.list(ctx, p.folder, "")
	g.listed = keysOf(entries)
	return g, err
}

// judge makes three checks of what was seen.
func (g glimpse) judge() []Check {
	replaced := g.stored == len(g.won)
	r := race{g.won, g.stored}
	if winner := slices.Index(g.won, true); replaced && winner >= 0 {
		r.stored = winner // the race's own object was not seen
	}
	raced, listed := pass("one of %d writers won", len(g.won)), pass("an object was listed after its put")
	if wrong := r.wrong(); wrong != "" {
		raced = fail("%s", wrong)
	}
	if wrong := differ(g.listed, []string{g.key}); wrong != "" {
		listed = fail("after a put: %s", wrong)
	}
	return []Check{
		check("create-over-existing", judgeCreateOver(g.late, !replaced)),
		check("racing-creates", raced),
		check("list-after-put", listed),
	}
}

// check is a result under the name of an experiment.
func check(name string, r result) Check {
	for _, e := range experiments {
		if e.name == name {
			return Check{name, r.verdict, r.seen, e.breaks}
		}
	}
	panic("no experiment " + name)
}

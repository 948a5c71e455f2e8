// Package doctor finds out by experiment whether a store keeps the promises of
// objstore.Store that topics rest on. A store can accept the headers of a
// conditional write and take no notice of them; it then works for months, and
// the first two jobs that meet lose a commit in silence. So stores are asked
// before they are trusted.
//
//	Examine    every experiment, some 2,400 requests and 50 MiB, for people who choose a store
//	Admit      the few that a commit hangs on, ten requests, before the first topic is made
//
// What was found is kept with the store (Keep, Last), so Admit asks once.
//
// Everything happens below doctor/<id>/, and is deleted afterwards.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Verdict is what became of a check, or of all of them.
type Verdict string

// The verdicts. A warning is for a person to read; it refuses no store.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
)

// Check is one promise, put to the test.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Seen    string  `json:"seen"`   // what the store did
	Breaks  string  `json:"breaks"` // what goes wrong for a user where the promise is not kept
}

// Report is what an examination found.
type Report struct {
	Verdict Verdict `json:"verdict"` // Pass, or Fail if a check failed
	Checks  []Check `json:"checks"`
}

func newReport(checks []Check) Report {
	r := Report{Pass, checks}
	if len(r.failed()) > 0 {
		r.Verdict = Fail
	}
	return r
}

func (r Report) failed() []Check {
	var failed []Check
	for _, c := range r.Checks {
		if c.Verdict == Fail {
			failed = append(failed, c)
		}
	}
	return failed
}

// Err is nil, or an ErrUnfit that tells of every check that failed.
func (r Report) Err() error {
	if failed := r.failed(); len(failed) > 0 {
		return &unfitError{failed}
	}
	return nil
}

// ErrUnfit says that a store does not keep what topics rest on. It is an
// objstore.ErrInvalid too: trying again does not help.
var ErrUnfit = errors.New("the store cannot hold topics")

type unfitError struct{ failed []Check }

// Error has a line for each check that failed.
func (e *unfitError) Error() string {
	var b strings.Builder
	b.WriteString(ErrUnfit.Error())
	for _, c := range e.failed {
		fmt.Fprintf(&b, "\n%s: %s; %s", c.Name, c.Seen, c.Breaks)
	}
	return b.String()
}

func (e *unfitError) Is(target error) bool {
	return target == ErrUnfit || target == objstore.ErrInvalid
}

// Settings of an examination. ID is needed, the others may be left out.
type Settings struct {
	// ID is a ULID that the caller made for this examination. Objects are put
	// below doctor/<ID>/, where there must be none.
	ID string

	// Now is the caller's clock when it calls. If it is zero, the store's
	// clock is not compared with it.
	Now time.Time

	// Checksums says, for the report, how bodies are protected on their way.
	Checksums string
}

// Observer hears of each check when it is done.
type Observer interface{ Checked(Check) }

// Names are the checks of Examine, in order.
func Names() []string {
	var names []string
	for _, e := range experiments {
		names = append(names, e.name)
	}
	return append(names, cleanUp)
}

// Examine makes every experiment on a store. All of stores lead to it, each
// with connections of its own, and try again by themselves (objstore/retry):
// racing writers take turns with them. The observer may be nil.
//
// An error means that the examination could not be made, as when the store
// cannot be reached or refuses the credentials. What the store does wrong is in
// the report.
func Examine(ctx context.Context, stores []objstore.Store, settings Settings, observer Observer) (Report, error) {
	return examine(ctx, stores, settings, experiments, observer)
}

func examine(ctx context.Context, stores []objstore.Store, settings Settings, list []experiment, observer Observer) (Report, error) {
	p := &patient{stores: stores, settings: settings, prefix: "doctor/" + settings.ID}
	if err := p.begin(ctx); err != nil {
		return Report{}, err
	}
	var checks []Check
	add := func(c Check) {
		checks = append(checks, c)
		if observer != nil {
			observer.Checked(c)
		}
	}
	for _, e := range list {
		r, err := p.try(ctx, e)
		if err != nil {
			p.discard(ctx)
			return Report{}, fmt.Errorf("examine the store, %s: %w", e.name, err)
		}
		add(Check{e.name, r.verdict, r.seen, e.breaks})
	}
	r := p.discard(ctx)
	add(Check{cleanUp, r.verdict, r.seen, "`compact gc`, `trim` and `delete` cannot free anything"})
	return newReport(checks), nil
}

const cleanUp = "clean-up"

// result is what an experiment came to.
type result struct {
	verdict Verdict
	seen    string
}

func pass(format string, args ...any) result { return result{Pass, fmt.Sprintf(format, args...)} }
func warn(format string, args ...any) result { return result{Warn, fmt.Sprintf(format, args...)} }
func fail(format string, args ...any) result { return result{Fail, fmt.Sprintf(format, args...)} }

// experiment is a check and how to make it. Its error is a call that had
// another outcome than the experiment knows what to make of.
type experiment struct {
	name   string
	breaks string
	run    func(ctx context.Context, p *patient) (result, error)
}

var experiments = []experiment{
	{"clock", "`compact gc --keep-age` counts from this machine's clock; jobs of a slow one are shut out early and have to run again", clock},
	{"create-over-existing", "a job would overwrite the commit of another, whose messages are lost", createOver},
	{"racing-creates", "of two jobs that commit at once both would be told that they succeeded, and the messages of one are lost", racingCreates},
	{"lost-answer", "a job whose connection breaks while it commits could not find out whether it committed", lostAnswer},
	{"empty-object", "an object without bytes would be lost, or be overwritten", emptyObject},
	{"large-object", "a segment above 16 MiB would be damaged, or be overwritten", largeObject},
	{"list-after-put", "a job would not see the commits before its own, and readers would miss new messages", listAfterPut},
	{"list-order", "the newest version of a topic would not be found", listOrder},
	{"list-pages", "a topic of more than a thousand objects would lose some of them from sight", listPages},
	{"range-reads", "readers would be given other bytes than those of the messages they ask for", rangeReads},
	{"delete-then-create", "what was deleted would come back, or its name stay taken", deleteThenCreate},
	{"delete-missing", "a collection that was stopped could not be finished", deleteMissing},
	{"checksums", "bytes that change on their way to the store would be found when they are read, not when they are written", checksums},
}

package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// A job that several processes work on, or that may have to be gone on with,
// keeps its plan and what its tasks came to:
//
//	<topic>/j/<job>/plan      what is to be done
//	<topic>/j/<job>/<name>    what a task came to
//	plans/<job>               the topic's name, so that the job's id is enough
//
// They are created once like all else, so whoever is second with a task finds
// what the first one has made. Nothing in a version depends on them; they go
// when the job has committed, or with a collection that shuts it out.

// maxWorkBytes bounds one of them. The rows that lost their keys in a task are
// compressed bitmaps, at most an eighth of a byte for each row.
const maxWorkBytes = 512 << 20

const planName = "plan"

func (t *Topic) workKey(job JobID, name string) string {
	return t.key(fmt.Sprintf("j/%s/%s", job, name))
}

func planKey(job JobID) string { return "plans/" + string(job) }

// wireWork is the body of a job's objects.
type wireWork struct {
	compatibility
	Work json.RawMessage `json:"work"`
}

func sealWork(v any) ([]byte, error) {
	work, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return seal(wireWork{compatibility{formatVersion, []string{}, []string{}}, work})
}

func unsealWork(body []byte, v any) error {
	var w wireWork
	if err := unseal(body, &w); err != nil {
		return err
	}
	return json.Unmarshal(w.Work, v)
}

// KeepPlan keeps the plan of a job. It reports false where the job has kept
// another one before: what tasks came to would be about either.
func (t *Topic) KeepPlan(ctx context.Context, job JobID, plan any) (bool, error) {
	name, err := sealWork(t.Name())
	if err != nil {
		return false, err
	}
	if mine, err := t.KeepWork(ctx, job, planName, plan); err != nil || !mine {
		return false, err
	}
	same := func(got []byte) bool { return bytes.Equal(got, name) }
	mine, err := claim(ctx, t.store, planKey(job), name, same, t.pause)
	if err != nil {
		return false, fmt.Errorf("topic %q: %w", t.Name(), err)
	}
	return mine, nil
}

// TopicOfPlan finds the name of the topic that a kept plan is for, by the id of
// its job. It is "" where no plan is kept (any more).
func TopicOfPlan(ctx context.Context, s objstore.Store, job JobID) (string, error) {
	body, err := s.Get(ctx, planKey(job), maxManifestBytes)
	if errors.Is(err, objstore.ErrNotFound) {
		return "", nil
	}
	var name string
	if err == nil {
		err = unsealWork(body, &name)
	}
	if err != nil {
		return "", fmt.Errorf("look up plan %s: %w", job, err)
	}
	return name, nil
}

// Plan reads the plan of a job into v, and reports whether there is one.
func (t *Topic) Plan(ctx context.Context, job JobID, v any) (bool, error) {
	return t.Work(ctx, job, planName, v)
}

// KeepWork keeps what a task of a job came to. It reports false where somebody
// else has done so before, whose work then counts.
func (t *Topic) KeepWork(ctx context.Context, job JobID, name string, v any) (mine bool, err error) {
	body, err := sealWork(v)
	if err != nil {
		return false, err
	}
	same := func(got []byte) bool { return bytes.Equal(got, body) }
	mine, err = claim(ctx, t.store, t.workKey(job, name), body, same, t.pause)
	if err != nil {
		return false, fmt.Errorf("topic %q: %w", t.Name(), err)
	}
	return mine, nil
}

// Work reads what a task of a job came to into v, and reports whether that is
// known.
func (t *Topic) Work(ctx context.Context, job JobID, name string, v any) (bool, error) {
	key := t.workKey(job, name)
	body, err := t.store.Get(ctx, key, maxWorkBytes)
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = unsealWork(body, v)
	}
	if err != nil {
		return false, fmt.Errorf("topic %q: %s: %w", t.Name(), key, err)
	}
	return true, nil
}

// Planned lists the jobs with a plan that is kept, newest first, in one LIST.
func (t *Topic) Planned(ctx context.Context) ([]JobID, error) {
	var jobs []JobID
	prefix := t.key("j/")
	for entry, err := range t.store.List(ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list plans of topic %q: %w", t.Name(), err)
		}
		if job, ok := strings.CutSuffix(strings.TrimPrefix(entry.Key, prefix), "/"+planName); ok {
			jobs = append(jobs, JobID(job))
		}
	}
	slices.Reverse(jobs)
	return jobs, nil
}

// DropWork removes all that is kept of a job, which is at its end.
func (t *Topic) DropWork(ctx context.Context, job JobID) error {
	for entry, err := range t.store.List(ctx, t.key(fmt.Sprintf("j/%s/", job)), "") {
		if err == nil {
			err = t.unlink(ctx, entry.Key)
		}
		if err != nil {
			return fmt.Errorf("topic %q: %w", t.Name(), err)
		}
	}
	return nil
}

// unlink removes an object of the topic, and what leads to it.
func (t *Topic) unlink(ctx context.Context, key string) error {
	rest, isWork := strings.CutPrefix(key, t.key("j/"))
	if job, isPlan := strings.CutSuffix(rest, "/"+planName); isWork && isPlan {
		if err := t.store.Delete(ctx, planKey(JobID(job))); err != nil {
			return err
		}
	}
	return t.store.Delete(ctx, key)
}

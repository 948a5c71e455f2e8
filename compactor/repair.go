package compactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
)

// Repaired is an object that was made anew.
type Repaired struct {
	Object string `json:"object"`
	Wrong  string `json:"wrong"` // what was wrong with it
}

// Repair makes anew what of version m is missing or damaged and can be made
// from what is left: the key indexes of segments that are whole. They become
// the very bytes that were lost, by their digest in the manifest, so nothing of
// the version changes. Segments and dead rows cannot be made anew; Verify names
// those that are wrong.
//
// A damaged index is deleted and put again, and is missing in between; a
// repair that is stopped there is finished by the next.
func Repair(ctx context.Context, t *manifest.Topic, m *manifest.Manifest) ([]Repaired, error) {
	done := []Repaired{}
	seen := make(map[string]bool)
	for _, list := range [][]manifest.Segment{m.Originals, m.Compacted} {
		for i := range list {
			s := &list[i]
			if s.Object == "" || seen[s.Index] {
				continue
			}
			seen[s.Index] = true
			wrong, err := repair(ctx, t, s)
			if err != nil {
				return done, fmt.Errorf("repair %q: %w", m.Name, err)
			}
			if wrong != nil {
				done = append(done, Repaired{s.Index, wrong.Error()})
			}
		}
	}
	return done, nil
}

// repair makes the key index of s anew if that is what is wrong with it, and
// returns what was.
func repair(ctx context.Context, t *manifest.Topic, s *manifest.Segment) (wrong, err error) {
	wrong = inspect(ctx, t, s)
	if wrong == nil || !isDamage(wrong) {
		return nil, wrong
	}
	index, err := t.Reindex(ctx, s)
	switch {
	case err != nil && isDamage(err):
		return nil, nil // it is the segment
	case err != nil:
		return nil, err
	}
	whole, err := t.ReplaceIndex(ctx, s, index)
	if err != nil {
		return nil, err
	}
	if whole {
		return nil, nil // it is the dead rows
	}
	if err := inspect(ctx, t, s); err != nil && !isDamage(err) {
		return nil, errors.Join(err, wrong)
	}
	return wrong, nil
}

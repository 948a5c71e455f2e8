package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// What holds on to a version lies beside the chain, not in it, so that readers
// make no versions. A tag is a chain of objects that are created once, and the
// last one counts, like a topic's name; a pin is one object:
//
//	tag/<escaped name>/<n, 20 digits>
//	pin/<version, 20 digits>/<id>
//
// Either is written first, and then the latest version is looked at: if it has
// expired the held one meanwhile, a collection may have missed the hold, and
// it is given up.

// wireTag is the body of a tag object.
type wireTag struct {
	Format  int     `json:"format"`
	Name    string  `json:"name"`
	Version Version `json:"version,string"`
}

// Tag names version v for good. A name that is taken is ErrTagExists, unless
// move is set, or it names v already. A version that is no longer kept is
// ErrVersionNotFound.
func (t *Topic) Tag(ctx context.Context, name string, v Version, move bool) error {
	if err := CheckName(name); err != nil {
		return fmt.Errorf("tag: %w", err)
	}
	if _, err := t.At(ctx, v); err != nil {
		return err
	}
	chain, err := t.readTags(ctx, t.tagFolder(name))
	if err != nil {
		return err
	}
	n := uint64(0)
	if len(chain) > 0 {
		last := chain[len(chain)-1]
		switch {
		case last.Version == v:
			return nil
		case !move:
			return fmt.Errorf("tag %q of topic %q names version %d: %w", name, t.Name(), last.Version, ErrTagExists)
		}
		n = last.n + 1
	}
	body, err := seal(wireTag{formatVersion, name, v})
	if err != nil {
		return err
	}
	key := t.tagFolder(name) + fmt.Sprintf("%020d", n)
	mine, err := claim(ctx, t.store, key, body, func(got []byte) bool { return bytes.Equal(got, body) }, t.pause)
	if err != nil {
		return err
	}
	if !mine {
		return fmt.Errorf("tag %q of topic %q: %w", name, t.Name(), ErrTagExists)
	}
	if err := t.confirmHold(ctx, v, key); err != nil {
		return err
	}
	for _, old := range chain {
		// Where this fails a version is kept for longer than it need be, until
		// the tag moves again.
		_ = t.store.Delete(ctx, old.key)
	}
	return nil
}

// Tagged is the version that a tag names, or ErrTagNotFound.
func (t *Topic) Tagged(ctx context.Context, name string) (Version, error) {
	chain, err := t.readTags(ctx, t.tagFolder(name))
	if err != nil {
		return 0, err
	}
	if len(chain) == 0 {
		return 0, fmt.Errorf("tag %q of topic %q: %w", name, t.Name(), ErrTagNotFound)
	}
	return chain[len(chain)-1].Version, nil
}

// Tags lists the tags and the versions that they name.
func (t *Topic) Tags(ctx context.Context) (map[string]Version, error) {
	chains, err := t.readTags(ctx, t.key("tag/"))
	if err != nil {
		return nil, err
	}
	tags := make(map[string]Version)
	for _, tag := range chains {
		tags[tag.Name] = tag.Version // the last of its chain counts
	}
	return tags, nil
}

// Held lists the versions that tags and pins hold on to, each once, in order.
// A tag that is being moved holds both: it names the older one again if the
// newer one is given up.
func (t *Topic) Held(ctx context.Context) ([]Version, error) {
	chains, err := t.readTags(ctx, t.key("tag/"))
	if err != nil {
		return nil, err
	}
	held, err := t.pinned(ctx)
	if err != nil {
		return nil, err
	}
	for _, tag := range chains {
		held = append(held, tag.Version)
	}
	slices.Sort(held)
	return slices.Compact(held), nil
}

func (t *Topic) tagFolder(name string) string { return t.key("tag/" + escapeName(name) + "/") }

// tagObject is an object of a tag's chain.
type tagObject struct {
	wireTag
	key string
	n   uint64
}

// readTags reads the chains of tags below a prefix, in order.
func (t *Topic) readTags(ctx context.Context, prefix string) ([]tagObject, error) {
	// An object can be given up, or be outlived by a newer one, between the
	// LIST and its GET. Few turns are enough, as with the latest version.
	for turn := 0; ; turn++ {
		list, err := t.listTags(ctx, prefix)
		if errors.Is(err, objstore.ErrNotFound) && turn < 3 {
			continue
		}
		return list, err
	}
}

func (t *Topic) listTags(ctx context.Context, prefix string) ([]tagObject, error) {
	var list []tagObject
	for entry, err := range t.store.List(ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list tags of topic %q: %w", t.Name(), err)
		}
		n, err := strconv.ParseUint(entry.Key[strings.LastIndexByte(entry.Key, '/')+1:], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list tags of topic %q: %s: %w", t.Name(), entry.Key, segments.ErrCorrupt)
		}
		list = append(list, tagObject{key: entry.Key, n: n})
	}
	for i := range list {
		var err error
		if list[i].wireTag, err = t.readTag(ctx, list[i].key); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *Topic) readTag(ctx context.Context, key string) (wireTag, error) {
	var tag wireTag
	body, err := t.store.Get(ctx, key, maxManifestBytes)
	if err != nil {
		return tag, fmt.Errorf("read tag of topic %q: %w", t.Name(), err)
	}
	if err := unseal(body, &tag); err != nil {
		return tag, fmt.Errorf("%s: %w", key, err)
	}
	// A tag that is taken for another, or for none, lets go of its version.
	if !strings.HasPrefix(key, t.tagFolder(tag.Name)) {
		return tag, fmt.Errorf("%s: %w: it is of tag %q", key, segments.ErrCorrupt, tag.Name)
	}
	return tag, nil
}

// Pin holds on to version v under id, which is the caller's own, until Unpin.
// A version that is no longer kept is ErrVersionNotFound.
func (t *Topic) Pin(ctx context.Context, v Version, id string) error {
	key := t.pinKey(v, id)
	if err := t.store.Put(ctx, key, bytes.NewReader(nil)); err != nil && !errors.Is(err, objstore.ErrExists) {
		return fmt.Errorf("pin version %d of topic %q: %w", v, t.Name(), err)
	}
	return t.confirmHold(ctx, v, key)
}

// Unpin lets go of what Pin held.
func (t *Topic) Unpin(ctx context.Context, v Version, id string) error {
	if err := t.store.Delete(ctx, t.pinKey(v, id)); err != nil {
		return fmt.Errorf("unpin version %d of topic %q: %w", v, t.Name(), err)
	}
	return nil
}

// pinned lists the versions that are pinned.
func (t *Topic) pinned(ctx context.Context) ([]Version, error) {
	var versions []Version
	prefix := t.key("pin/")
	for entry, err := range t.store.List(ctx, prefix, "") {
		if err != nil {
			return nil, fmt.Errorf("list pins of topic %q: %w", t.Name(), err)
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, prefix), "/")
		v, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("list pins of topic %q: %s: %w", t.Name(), entry.Key, segments.ErrCorrupt)
		}
		versions = append(versions, Version(v))
	}
	return versions, nil
}

func (t *Topic) pinKey(v Version, id string) string {
	return t.key(fmt.Sprintf("pin/%020d/%s", v, id))
}

// confirmHold gives the hold at key up if v has expired before it was there.
func (t *Topic) confirmHold(ctx context.Context, v Version, key string) error {
	latest, err := t.Latest(ctx)
	if err != nil {
		return err
	}
	if v < latest.ExpiredBefore {
		return errors.Join(t.errNoVersion(v), t.store.Delete(ctx, key))
	}
	return nil
}

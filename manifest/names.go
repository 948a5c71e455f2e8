package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// A name's history is a chain of its own, of objects that are created once:
//
//	topics/<escaped name>/<n, 20 digits>
//
// The even ones give the name to a topic and hold its id; the odd ones take it
// away. The last one counts. So of two that create a topic of one name exactly
// one wins, and a deleted name can be used again.

// maxName is the longest name of a topic, in bytes.
const maxName = 512

// CheckName returns an ErrTopicName unless name can be a topic's: 1 to 512
// bytes of UTF-8 without NUL.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrTopicName)
	case len(name) > maxName:
		return fmt.Errorf("%w: it has %d bytes, want at most %d", ErrTopicName, len(name), maxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: %q is not UTF-8", ErrTopicName, name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("%w: %q has a NUL byte", ErrTopicName, name)
	}
	return nil
}

// plainElement is how long an escaped name may be to stand for itself; file
// systems take 255 bytes.
const plainElement = 200

// escapeName makes one path element of a name. Letters, digits, _ and - stand
// for themselves, and so does a dot that is not the first byte; any other byte
// is = and two hexadecimal digits. Where that is too long, its beginning and a
// digest of the name take its place, joined by "==", which no escape has.
func escapeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	if b.Len() <= plainElement {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	return b.String()[:plainElement/2] + "==" + hex.EncodeToString(sum[:])
}

// unescapeName gives back a name, unless it was too long to stand for itself.
func unescapeName(element string) (name string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(element); i++ {
		c := element[i]
		if c == '=' {
			if i+2 >= len(element) {
				return "", false
			}
			n, err := strconv.ParseUint(element[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			c, i = byte(n), i+2
		}
		b.WriteByte(c)
	}
	return b.String(), escapeName(b.String()) == element
}

// wireName is the body of an even object of a name's chain.
type wireName struct {
	Format int     `json:"format"`
	Name   string  `json:"name"`
	Topic  TopicID `json:"topic"`
}

// nameSlot is a place in a name's chain.
type nameSlot struct {
	name string
	n    uint64
}

func (s nameSlot) key() string { return fmt.Sprintf("topics/%s/%020d", escapeName(s.name), s.n) }

func (s nameSlot) next() nameSlot { return nameSlot{s.name, s.n + 1} }

// live reports whether the slot gives the name to a topic.
func (s nameSlot) live() bool { return s.n%2 == 0 }

// lastSlot finds the end of a name's chain; ok is false if there is none.
func lastSlot(ctx context.Context, s objstore.Store, name string) (slot nameSlot, ok bool, err error) {
	slot.name = name
	prefix := "topics/" + escapeName(name) + "/"
	for entry, err := range s.List(ctx, prefix, "") {
		if err != nil {
			return slot, false, fmt.Errorf("look up topic %q: %w", name, err)
		}
		if slot.n, err = strconv.ParseUint(strings.TrimPrefix(entry.Key, prefix), 10, 64); err != nil {
			return slot, false, fmt.Errorf("look up topic %q: %s is no name object", name, entry.Key)
		}
		ok = true
	}
	return slot, ok, nil
}

// readSlot tells which topic a live slot gives its name to.
func readSlot(ctx context.Context, s objstore.Store, slot nameSlot) (TopicID, error) {
	body, err := s.Get(ctx, slot.key(), maxManifestBytes)
	if err != nil {
		return "", fmt.Errorf("look up topic %q: %w", slot.name, err)
	}
	var w wireName
	if err := unseal(body, &w); err != nil {
		return "", fmt.Errorf("%s: %w", slot.key(), err)
	}
	if w.Name != slot.name || objstore.CheckKey(string(w.Topic)) != nil || strings.Contains(string(w.Topic), "/") {
		return "", fmt.Errorf("%s: %w: it is about topic %q", slot.key(), segments.ErrCorrupt, w.Name)
	}
	return w.Topic, nil
}

// Names yields the names of all topics, in bytewise order. It costs a LIST for
// each thousand names ever used, and a GET for each that is longer than a path
// element.
func Names(ctx context.Context, s objstore.Store) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var last []string // key of the end of each name's chain
		folder := func(key string) string { return key[:strings.LastIndexByte(key, '/')] }
		for entry, err := range s.List(ctx, "topics/", "") {
			if err != nil {
				yield("", fmt.Errorf("list topics: %w", err))
				return
			}
			if n := len(last); n > 0 && folder(last[n-1]) == folder(entry.Key) {
				last[n-1] = entry.Key
			} else {
				last = append(last, entry.Key)
			}
		}
		var names []string
		for _, key := range last {
			n, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 10, 64)
			if err != nil || !(nameSlot{n: n}).live() {
				continue
			}
			name, ok := unescapeName(strings.TrimPrefix(folder(key), "topics/"))
			if !ok {
				var w wireName
				body, err := s.Get(ctx, key, maxManifestBytes)
				if err == nil {
					err = unseal(body, &w)
				}
				if err != nil {
					yield("", fmt.Errorf("list topics: %s: %w", key, err))
					return
				}
				name = w.Name
			}
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

// errNoTopic says that a name is nobody's.
func errNoTopic(name string) error { return fmt.Errorf("topic %q: %w", name, ErrTopicNotFound) }

// findTopic looks a name up. Its error is ErrTopicName or ErrTopicNotFound, or
// the store's.
func findTopic(ctx context.Context, s objstore.Store, name string) (nameSlot, TopicID, error) {
	if err := CheckName(name); err != nil {
		return nameSlot{}, "", err
	}
	slot, ok, err := lastSlot(ctx, s, name)
	if err != nil {
		return slot, "", err
	}
	if !ok || !slot.live() {
		return slot, "", errNoTopic(name)
	}
	id, err := readSlot(ctx, s, slot)
	if errors.Is(err, objstore.ErrNotFound) {
		return slot, "", errNoTopic(name)
	}
	return slot, id, err
}

package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// formatVersion is the version of everything that this package writes. What
// would make an older program answer wrongly raises it; what an older program
// must merely not write, or not read, is a feature name in the lists below.
const formatVersion = 1

// maxManifestBytes bounds a manifest, a part and a format object.
const maxManifestBytes = 8 << 20

// features are the feature names that this program knows, for readers and
// writers alike.
var features = []string{featureAdoption}

// featureAdoption is required of readers where a compacted segment has the
// objects of an original: who takes an object for one segment, with one set of
// dead rows, would show what is dead.
const featureAdoption = "adoption"

// compatibility heads every object of this package. A program that meets a
// name it does not know in ReaderRequired refuses to read; in WriterRequired,
// to write.
type compatibility struct {
	Format         int      `json:"format"`
	ReaderRequired []string `json:"reader_required"`
	WriterRequired []string `json:"writer_required"`
}

// checkReader refuses what this program cannot read.
func (c compatibility) checkReader() error {
	switch {
	case c.Format < 1:
		return fmt.Errorf("%w: it has no format version", segments.ErrCorrupt)
	case c.Format > formatVersion:
		return fmt.Errorf("format %d, this program knows %d: %w", c.Format, formatVersion, ErrUnsupported)
	}
	return checkFeatures(c.ReaderRequired)
}

// checkFeatures refuses names that this program does not know.
func checkFeatures(required []string) error {
	for _, name := range required {
		if !slices.Contains(features, name) {
			return fmt.Errorf("feature %q: %w", name, ErrUnsupported)
		}
	}
	return nil
}

// wireManifest is a manifest as JSON. The lists that grow with the topic are
// split: what does not change from version to version lies in parts.
type wireManifest struct {
	compatibility
	Manifest
	OriginalList wireList[Segment]  `json:"originals"`
	CompactList  wireList[Segment]  `json:"compacted"`
	ProducerList wireList[Producer] `json:"producers"`
}

// wireList is a list in a manifest: the items of its parts, then its own.
type wireList[T any] struct {
	Parts []partRef `json:"parts,omitempty"`
	Items []T       `json:"items"`
}

// partRef names a manifest part: an object that holds a stretch of a list as a
// JSON array.
type partRef struct {
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Items  int    `json:"items"`
}

// part is a part to be written before the manifest that names it.
type part struct {
	ref  partRef
	body []byte
}

// Lists are cut into parts where the hash of an item says so, not by count.
// So a list that loses its first items, or gains some in the midst, is cut in
// the same places as before, and all parts but the touched ones are the same
// bytes and are not written again.
const (
	inlineItems = 256  // a list of up to so many has no parts
	cutEvery    = 256  // one item in so many ends a part
	partItems   = 1024 // a part has at most so many items
)

// encoded is a manifest as bytes, with the parts that it names.
type encoded struct {
	body  []byte
	refs  []partRef // all of them
	parts []part    // those that are new, to be written before body

	known map[string]partRef // by SHA-256
	name  func(n int) string // key of the nth new part
}

// encode gives the bytes of m. It reuses the parts in known, which are those
// of m's parent.
func encode(m *Manifest, known []partRef, name func(n int) string) (*encoded, error) {
	e := &encoded{known: make(map[string]partRef, len(known)), name: name}
	for _, ref := range known {
		e.known[ref.SHA256] = ref
	}
	wire := wireManifest{
		compatibility: compatibility{formatVersion, []string{}, []string{}},
		Manifest:      *m,
	}
	if slices.ContainsFunc(m.Compacted, func(s Segment) bool { return s.Adopted }) {
		wire.ReaderRequired = append(wire.ReaderRequired, featureAdoption)
	}
	segmentID := func(s Segment) string { return s.Range.Through.String() + s.Object }
	var errs [3]error
	wire.OriginalList, errs[0] = split(e, m.Originals, segmentID)
	wire.CompactList, errs[1] = split(e, m.Compacted, segmentID)
	wire.ProducerList, errs[2] = split(e, m.Producers, func(p Producer) string { return p.Name })
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	var err error
	e.body, err = seal(wire)
	if err == nil && len(e.body) > maxManifestBytes {
		err = fmt.Errorf("manifest of %d bytes, want at most %d", len(e.body), maxManifestBytes)
	}
	return e, err
}

func split[T any](e *encoded, items []T, id func(T) string) (wireList[T], error) {
	list := wireList[T]{Items: items}
	if len(items) <= inlineItems {
		if items == nil {
			list.Items = []T{}
		}
		return list, nil
	}
	begin := 0
	for i, item := range items {
		if xxhash.Sum64String(id(item))%cutEvery != 0 && i+1-begin < partItems {
			continue
		}
		body, err := json.Marshal(items[begin : i+1])
		if err != nil {
			return list, err
		}
		sum := sha256.Sum256(body)
		ref, ok := e.known[hex.EncodeToString(sum[:])]
		if !ok {
			ref = partRef{e.name(len(e.parts)), int64(len(body)), hex.EncodeToString(sum[:]), i + 1 - begin}
			e.parts = append(e.parts, part{ref, body})
			e.known[ref.SHA256] = ref
		}
		list.Parts = append(list.Parts, ref)
		e.refs = append(e.refs, ref)
		begin = i + 1
	}
	list.Items = items[begin:]
	return list, nil
}

// decode reads a manifest, whose parts it gets by read, and checks it whole.
// It returns the parts too, for the encoding of the next version.
func decode(body []byte, read func(partRef) ([]byte, error)) (*Manifest, []partRef, error) {
	var wire wireManifest
	if err := unseal(body, &wire); err != nil {
		return nil, nil, err
	}
	m := &wire.Manifest
	var refs []partRef
	var err error
	if m.Originals, err = join(wire.OriginalList, read, &refs); err != nil {
		return nil, nil, fmt.Errorf("originals: %w", err)
	}
	if m.Compacted, err = join(wire.CompactList, read, &refs); err != nil {
		return nil, nil, fmt.Errorf("compacted: %w", err)
	}
	if m.Producers, err = join(wire.ProducerList, read, &refs); err != nil {
		return nil, nil, fmt.Errorf("producers: %w", err)
	}
	if err := m.check(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", segments.ErrCorrupt, err)
	}
	return m, refs, nil
}

func join[T any](list wireList[T], read func(partRef) ([]byte, error), refs *[]partRef) ([]T, error) {
	var items []T
	for _, ref := range list.Parts {
		if err := checkObject(ref.Object, "p/"); err != nil {
			return nil, fmt.Errorf("%w: %w", segments.ErrCorrupt, err)
		}
		body, err := read(ref)
		if err != nil {
			return nil, err
		}
		var some []T
		if err := json.Unmarshal(body, &some); err != nil {
			return nil, fmt.Errorf("part %s: %w: %w", ref.Object, segments.ErrCorrupt, err)
		}
		items = append(items, some...)
		*refs = append(*refs, ref)
	}
	return append(items, list.Items...), nil
}

// checkDigest compares bytes that were read with what a manifest says of them.
func checkDigest(object string, body []byte, want string) error {
	sum := sha256.Sum256(body)
	if got := hex.EncodeToString(sum[:]); got != want {
		return &segments.CorruptError{Object: object, Batch: -1, Err: fmt.Errorf("SHA-256 is %s, want %s", got, want)}
	}
	return nil
}

// checkObject confines a key from a manifest: it must lie below the topic's
// folder in the folder of its sort, whatever the manifest says.
func checkObject(key, folder string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	if !strings.HasPrefix(key, folder) || strings.Count(key, "/") != 2 {
		return fmt.Errorf("object %q does not lie in %s", key, folder)
	}
	return nil
}

// wireFormat is a topic's format object, written once when it is created.
type wireFormat struct {
	compatibility
	Topic    TopicID  `json:"topic"`
	Name     string   `json:"name"`
	Secret   []byte   `json:"digest_secret"`
	Settings Settings `json:"settings"` // when it was created
}

func decodeFormat(body []byte) (*wireFormat, error) {
	var f wireFormat
	if err := unseal(body, &f); err != nil {
		return nil, err
	}
	if len(f.Secret) != segments.SecretBytes {
		return nil, fmt.Errorf("%w: %w", segments.ErrCorrupt, errors.New("digest secret has the wrong length"))
	}
	return &f, nil
}

// commitOf tells whose manifest body is, without trusting the rest of it.
func commitOf(body []byte) CommitID {
	var m struct {
		Commit CommitID `json:"commit"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(body), &m); err != nil {
		return ""
	}
	return m.Commit
}

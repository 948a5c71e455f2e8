package segments

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"github.com/minio/highwayhash"
)

// SecretBytes is the length of a topic's digest secret.
const SecretBytes = highwayhash.Size

// Digest stands for a key in key indexes: HighwayHash-128 of the key's bytes
// under the topic's secret. Equal digests mean equal keys: by chance two keys
// meet with less than 2^-49 at a trillion keys, and without the secret nobody
// can make two meet.
type Digest [16]byte

// Compare orders digests bytewise.
func (d Digest) Compare(e Digest) int { return bytes.Compare(d[:], e[:]) }

// String prints the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText gives the hexadecimal form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the hexadecimal form.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest %q has not %d digits", text, hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Hasher makes the digests of one topic. It is safe for concurrent use.
type Hasher struct{ secret [SecretBytes]byte }

// NewHasher makes digests under secret, which is the topic's own and random.
func NewHasher(secret [SecretBytes]byte) Hasher { return Hasher{secret} }

// Digest is the digest of key.
func (h Hasher) Digest(key []byte) Digest { return highwayhash.Sum128(key, h.secret[:]) }

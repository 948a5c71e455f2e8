package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/segments"
)

// Every JSON object of this package but a part, whose digest stands in the
// manifest that names it, ends in a digest of its own: of the object without
// it. Nothing else vouches for these bytes, and a digit that has changed in a
// number is still a number.
//
//	{"format":1, ... ,"sha256":"<64 digits>"}
//
// A seal finds damage. Whoever can put objects can seal them.

const sealStart = `,"sha256":"`

// sealBytes is the length of a seal, up to the end of the object.
const sealBytes = len(sealStart) + 2*sha256.Size + len(`"}`)

// seal gives v as JSON, with its seal.
func seal(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return fmt.Appendf(body[:len(body)-1], `%s%x"}`, sealStart, sum), nil
}

// unseal reads what seal gave into v. What a newer program wrote is
// ErrUnsupported, however that one seals.
func unseal(body []byte, v any) error {
	var head compatibility
	if err := json.Unmarshal(body, &head); err != nil {
		return fmt.Errorf("%w: %w", segments.ErrCorrupt, err)
	}
	if err := head.checkReader(); err != nil {
		return err
	}
	if !isSealed(body) {
		return fmt.Errorf("%w: %w", segments.ErrCorrupt, errors.New("it is not as its seal says"))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", segments.ErrCorrupt, err)
	}
	return nil
}

// isSealed reports whether body is what its seal says.
func isSealed(body []byte) bool {
	n := len(body) - sealBytes
	if n < 1 {
		return false
	}
	sum := sha256.Sum256(append(bytes.Clone(body[:n]), '}'))
	return string(body[n:]) == fmt.Sprintf(`%s%x"}`, sealStart, sum)
}

// isWhole reports whether body can be what somebody put: it is sealed, or a
// newer program's, which may seal in another way.
func isWhole(body []byte) bool {
	return !errors.Is(unseal(body, new(struct{})), segments.ErrCorrupt)
}

package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/segments"
)

// claim puts body at key, which others may want too, and finds out who got it.
// It reports whether body is what the key holds now (mine), or somebody else's
// object is. Its error is ErrUnknown where that cannot be told, or the store's
// own where nothing can have been written.
//
// The answer to a conditional write can be lost, or be given to a second try
// of the same write: then "it exists" means that one's own write exists. So
// after anything but success the key is read back; and while the key is seen
// empty the write may still be on its way, so the same bytes are put at the
// same key again until it is seen taken. Whoever moved on to the next key
// instead could win twice.
func claim(ctx context.Context, s objstore.Store, key string, body []byte, mine func([]byte) bool, pause Pause) (bool, error) {
	written := false // a write may have taken effect
	for n := 1; ; n++ {
		err := s.Put(ctx, key, bytes.NewReader(body))
		if err == nil {
			return true, nil
		}
		refused := errors.Is(err, objstore.ErrDenied) || errors.Is(err, objstore.ErrInvalid)
		if refused && !written {
			return false, fmt.Errorf("put %s: %w", key, err)
		}
		written = written || !refused && !errors.Is(err, objstore.ErrExists)
		got, readErr := s.Get(ctx, key, maxManifestBytes)
		if readErr == nil && !isWhole(got) {
			// Who won cannot be told from damaged bytes, but maybe from the next.
			readErr = fmt.Errorf("%w: %w", segments.ErrCorrupt, errors.New("it is not as its seal says"))
		}
		if readErr == nil {
			return mine(got), nil
		}
		if pauseErr := pause(ctx, n); pauseErr != nil {
			return false, fmt.Errorf("put %s: %w (%w; read back: %w)", key, ErrUnknown, err, readErr)
		}
	}
}

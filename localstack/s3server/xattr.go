//go:build linux || darwin

package s3server

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// hasXattr reports whether files under dir may have user attributes, by trying.
func hasXattr(dir string) bool {
	probe := filepath.Join(dir, "xattr-probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return false
	}
	defer os.Remove(probe)
	return unix.Setxattr(probe, "user.ledgerfold", []byte("x"), 0) == nil
}

// Package open turns the URL of a store into the store.
package open

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// ErrURL says that a text names no store. Its message lists the forms that do,
// and repeats nothing of the text but the scheme: the rest may hold a secret.
var ErrURL = errors.New(`not the URL of a store; want one of
  /folder, ./folder or file:///folder
  s3://bucket/prefix?endpoint=https://host&region=name
  minio://alias/bucket/prefix, with MC_HOST_alias=https://key:secret@host`)

// schemePattern keeps C:\folder a path. The schemes that mean a store are known
// by their colon alone, so that "s3:bucket" does not make a folder.
var schemePattern = regexp.MustCompile(`(?i)^(?:([a-z][a-z0-9+.-]*)://|(file|s3|minio):)`)

// Open returns the store that rawURL names. env looks up an environment
// variable, as os.Getenv does.
//
// Spellings of one place name one store: slashes at the end do not count, and a
// folder is the same as a path, relative or not, and as a file URL.
func Open(ctx context.Context, rawURL string, env func(string) string) (objstore.Store, error) {
	if rawURL == "" {
		return nil, fmt.Errorf("open store: nothing given: %w", ErrURL)
	}
	m := schemePattern.FindStringSubmatch(rawURL)
	if m == nil {
		return openFolder(rawURL)
	}
	scheme := strings.ToLower(m[1] + m[2])
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, refuse(scheme, "malformed") // err would repeat the text
	}
	switch scheme {
	case "file":
		return openFile(u)
	case "s3":
		return openS3(ctx, u, env)
	case "minio":
		return openMinio(u, env)
	}
	return nil, refuse(scheme, "unknown scheme")
}

func refuse(scheme, reason string) error {
	return fmt.Errorf("open %s store: %s: %w", scheme, reason, ErrURL)
}

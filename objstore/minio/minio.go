// Package minio opens an objstore.Store in a bucket through minio-go, with the
// aliases that the mc command knows. Beside localstack it is the only package
// that imports minio-go.
package minio

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/bucket"
)

// Settings say where a store is. Alias and Bucket are needed.
type Settings struct {
	Alias  string // of the service, as in MC_HOST_alias
	Bucket string
	Prefix string // a key; what the store holds is under it
	Region string // us-east-1 if it is empty
}

// Open returns the store that settings describe. The service and its
// credentials are in the variable MC_HOST_alias, spelled as mc spells them:
// https://key:secret@host, or https://key:secret:token@host, or https://host
// for a public bucket. env looks the variable up, as os.Getenv does.
func Open(settings Settings, env func(string) string) (objstore.Store, error) {
	s, err := open(settings, env)
	if err != nil {
		return nil, fmt.Errorf("open minio bucket %s of %s: %w", settings.Bucket, settings.Alias, err)
	}
	return s, nil
}

func open(settings Settings, env func(string) string) (objstore.Store, error) {
	if settings.Alias == "" || settings.Bucket == "" {
		return nil, fmt.Errorf("an alias and a bucket must be named: %w", objstore.ErrInvalid)
	}
	variable := "MC_HOST_" + settings.Alias
	h, err := parseHost(env(variable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", variable, err, objstore.ErrInvalid)
	}
	region := settings.Region
	if region == "" {
		region = "us-east-1" // if it is empty minio-go asks the service first
	}
	core, err := minio.NewCore(h.address, &minio.Options{
		Creds:      credentials.NewStaticV4(h.key, h.secret, h.token),
		Secure:     h.secure,
		Region:     region,
		MaxRetries: 1, // see objstore/retry; 0 would be minio-go's own ten
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return bucket.New(&client{core: core, bucket: settings.Bucket}, settings.Bucket, settings.Prefix)
}

// host is a parsed MC_HOST variable.
type host struct {
	address, key, secret, token string
	secure                      bool
}

// parseHost takes the text apart as mc does: key and secret stand as they are,
// without % escapes. Its errors do not repeat the text, which is a secret.
func parseHost(text string) (host, error) {
	if text == "" {
		return host{}, errors.New("not set, want https://key:secret@host")
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return host{}, errors.New("want http:// or https:// at the beginning")
	}
	h := host{secure: scheme == "https", address: rest}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		h.address = rest[i+1:]
		h.key, h.secret, ok = strings.Cut(rest[:i], ":")
		h.secret, h.token, _ = strings.Cut(h.secret, ":")
		if !ok || h.key == "" || h.secret == "" {
			return host{}, errors.New("want key:secret before the @")
		}
	}
	h.address = strings.TrimSuffix(h.address, "/")
	if u, err := url.Parse("//" + h.address); err != nil || u.Host != h.address || h.address == "" {
		return host{}, errors.New("want a host, or host:port, at the end")
	}
	return h, nil
}

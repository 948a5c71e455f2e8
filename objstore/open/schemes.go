package open

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/file"
	"github.com/ledgerfold/ledgerfold/objstore/minio"
	"github.com/ledgerfold/ledgerfold/objstore/s3"
)

func openFile(u *url.URL) (objstore.Store, error) {
	switch {
	case u.User != nil || u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return nil, refuse("file", "a host is named; three slashes begin an absolute path")
	case u.Opaque != "" || u.Path == "":
		return nil, refuse("file", "the path is not absolute")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, refuse("file", "? and # in a path are written %3F and %23")
	}
	return openFolder(u.Path)
}

func openFolder(path string) (objstore.Store, error) {
	s, err := file.Open(path)
	if err != nil {
		return nil, err // s would be a Store that is not nil and points nowhere
	}
	return s, nil
}

func openS3(ctx context.Context, u *url.URL, env func(string) string) (objstore.Store, error) {
	bucket, prefix, query, err := parseBucket(u, "endpoint", "region", "path_style")
	if err != nil {
		return nil, err
	}
	settings := s3.Settings{
		Bucket:   bucket,
		Prefix:   prefix,
		Endpoint: query.Get("endpoint"),
		Region:   query.Get("region"),
	}
	switch query.Get("path_style") {
	case "":
	case "true":
		settings.Addressing = s3.InPath
	case "false":
		settings.Addressing = s3.InHost
	default:
		return nil, refuse("s3", "path_style is neither true nor false")
	}
	if endpoint := settings.Endpoint; endpoint != "" {
		if e, err := url.Parse(endpoint); err != nil || e.Host == "" || e.User != nil || e.Scheme != "http" && e.Scheme != "https" {
			return nil, refuse("s3", "the endpoint is not of the form https://host, without credentials")
		}
	}
	return s3.Open(ctx, settings, env)
}

func openMinio(u *url.URL, env func(string) string) (objstore.Store, error) {
	bucket, prefix, query, err := parseBucket(u, "region")
	if err != nil {
		return nil, err
	}
	alias := bucket
	bucket, prefix, _ = strings.Cut(prefix, "/")
	if !isName(bucket) {
		return nil, refuse("minio", "no bucket is named after the alias")
	}
	return minio.Open(minio.Settings{
		Alias:  alias,
		Bucket: bucket,
		Prefix: prefix,
		Region: query.Get("region"),
	}, env)
}

// parseBucket takes apart scheme://name/prefix?query. Only the parameters in
// known may be in the query, each at most once: one that is misspelled would
// have no effect, and nobody would notice.
func parseBucket(u *url.URL, known ...string) (name, prefix string, query url.Values, err error) {
	if u.User != nil {
		return "", "", nil, refuse(u.Scheme, "credentials do not belong into the URL of a store")
	}
	if !isName(u.Host) {
		return "", "", nil, refuse(u.Scheme, "no name is where a bucket or alias belongs, or one with other bytes than [A-Za-z0-9_.-]")
	}
	if u.Fragment != "" {
		return "", "", nil, refuse(u.Scheme, "a # is in it")
	}
	prefix = strings.TrimRight(strings.TrimPrefix(u.Path, "/"), "/")
	if prefix != "" {
		if err := objstore.CheckKey(prefix); err != nil {
			return "", "", nil, refuse(u.Scheme, "the prefix is not a key: path elements of [A-Za-z0-9_.=-], joined by single slashes")
		}
	}
	query, err = url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", "", nil, refuse(u.Scheme, "malformed query")
	}
	for parameter, values := range query {
		if !slices.Contains(known, parameter) || len(values) > 1 {
			return "", "", nil, refuse(u.Scheme, "only these may be asked for after the ?, each once: "+strings.Join(known, ", "))
		}
	}
	return u.Host, prefix, query, nil
}

// isName reports whether s may be the name of a bucket or an alias.
func isName(s string) bool {
	if s == "" || strings.Contains(s, "=") {
		return false
	}
	for i := range len(s) {
		if !objstore.InAlphabet(s[i]) {
			return false
		}
	}
	return true
}

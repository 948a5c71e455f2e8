package s3_test

import (
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/buckettest"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
	"github.com/ledgerfold/ledgerfold/objstore/s3"
)

// open returns the store under a prefix of its own.
func open(t *testing.T, server *s3server.Server) objstore.Store {
	t.Helper()
	s, err := s3.Open(t.Context(), s3.Settings{
		Bucket: server.Bucket(),
		Prefix: "s3/" + t.Name(),
	}, server.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformanceOnARealServer(t *testing.T) {
	server := s3servertest.Start(t)
	objstoretest.Run(t, func(t *testing.T) objstore.Store { return open(t, server) })
}

func TestBadDays(t *testing.T) {
	buckettest.Run(t, func(t *testing.T, endpoint string) objstore.Store {
		s, err := s3.Open(t.Context(), s3.Settings{Bucket: buckettest.Bucket, Endpoint: endpoint}, canaries)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// canaries are the variables that buckettest looks for in errors.
func canaries(name string) string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID":     buckettest.Key,
		"AWS_SECRET_ACCESS_KEY": buckettest.Secret,
		"AWS_SESSION_TOKEN":     buckettest.Token,
	}[name]
}

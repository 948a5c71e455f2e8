package minio_test

import (
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/buckettest"
	"github.com/ledgerfold/ledgerfold/objstore/minio"
	"github.com/ledgerfold/ledgerfold/objstore/objstoretest"
)

// open returns the store under a prefix of its own.
func open(t *testing.T, server *s3server.Server) objstore.Store {
	t.Helper()
	s, err := minio.Open(minio.Settings{
		Alias:  "local",
		Bucket: server.Bucket(),
		Prefix: "minio/" + t.Name(),
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
		env := func(name string) string {
			if name != "MC_HOST_bad" {
				return ""
			}
			return "http://" + buckettest.Key + ":" + buckettest.Secret + ":" + buckettest.Token + "@" + strings.TrimPrefix(endpoint, "http://")
		}
		s, err := minio.Open(minio.Settings{Alias: "bad", Bucket: buckettest.Bucket}, env)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

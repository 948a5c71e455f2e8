package s3_test

import (
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
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

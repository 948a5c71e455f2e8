// Package s3servertest starts S3 servers for tests.
package s3servertest

import (
	"context"
	"testing"

	"github.com/ledgerfold/ledgerfold/localstack/s3server"
)

// Start starts a server for the rest of the test t. Starting takes some 50 ms,
// so each test has its own.
//
// A server that does not start fails the test, because a contract that is not
// tested against a real server is not tested where it breaks. With -short, the
// test is skipped and says so.
func Start(t testing.TB) *s3server.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("no S3 server with -short")
	}
	s, err := s3server.Start(context.Background(), s3server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

package minio_test

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/buckettest"
	"github.com/ledgerfold/ledgerfold/objstore/minio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mc takes keys and secrets as they stand, so they may hold almost anything.
func TestAnAliasIsSpelledAsForMC(t *testing.T) {
	service := buckettest.NewService(t)
	host := strings.TrimPrefix(service.URL, "http://")
	for variable, key := range map[string]string{
		"http://KEY:secret@" + host:                 "KEY",
		"http://KEY:secret@" + host + "/":           "KEY",
		"http://KEY:se/cr#et?%2F@x@" + host:         "KEY",
		"http://KEY:secret:token/with+more@" + host: "KEY",
		"http://" + host:                            "", // not signed
	} {
		env := func(name string) string {
			if name == "MC_HOST_my-alias" {
				return variable
			}
			return ""
		}
		s, err := minio.Open(minio.Settings{Alias: "my-alias", Bucket: buckettest.Bucket}, env)
		if err != nil {
			t.Errorf("Open with %s = %v", variable, err)
			continue
		}
		if _, err := s.Get(t.Context(), "there", 10); err != nil {
			t.Errorf("Get with %s = %v", variable, err)
		}
		requests := service.Requests()
		r := requests[len(requests)-1]
		if got := r.Header.Get("Authorization"); key == "" && got != "" || !strings.Contains(got, key) {
			t.Errorf("with %s the request is signed by %q, want %q", variable, got, key)
		}
		if token := r.Header.Get("X-Amz-Security-Token"); (token == "token/with+more") != strings.Contains(variable, "token") {
			t.Errorf("with %s the token is %q", variable, token)
		}
	}
}

func TestABadAliasIsRefusedInSilence(t *testing.T) {
	for _, variable := range []string{
		"", "canary", "canary:canary@host", "ftp://k:canary@host", "http://canary@host", "http://:canary@host",
		"http://canary:@host", "http://k:canary@", "http://k:canary@host/path", "http://k:s@ho st/canary", "http://k:s@h:canary",
	} {
		_, err := minio.Open(minio.Settings{Alias: "bad", Bucket: "b"}, func(string) string { return variable })
		if !errors.Is(err, objstore.ErrInvalid) || !strings.Contains(err.Error(), "MC_HOST_bad") {
			t.Errorf("Open with %q = %v, want ErrInvalid that names the variable", variable, err)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("Open tells a secret: %v", err)
		}
	}
}

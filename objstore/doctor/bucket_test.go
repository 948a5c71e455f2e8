package doctor_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/localstack/s3servertest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
	"github.com/ledgerfold/ledgerfold/objstore/internal/buckettest"
	"github.com/ledgerfold/ledgerfold/objstore/open"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

// patient opens a store n times, with retries that do not wait.
func patient(t *testing.T, n int, url string, env func(string) string) []objstore.Store {
	t.Helper()
	var stores []objstore.Store
	for range n {
		s, err := open.Open(t.Context(), url, env)
		if err != nil {
			t.Fatal(err)
		}
		noWait := func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		stores = append(stores, retry.New(s, retry.Settings{Tries: 5}, noWait))
	}
	return stores
}

// A real server passes, by either client, on several connections; nothing but
// the verdict stays.
func TestARealServerPasses(t *testing.T) {
	server := s3servertest.Start(t)
	for i, url := range []string{server.PrefixURL("a"), server.MinioURL() + "/b"} {
		stores := patient(t, 4, url, server.Getenv)
		r, err := doctor.Examine(t.Context(), stores, doctor.Settings{ID: id}, nil)
		if err != nil || r.Verdict != doctor.Pass || len(having(r, doctor.Warn)) > 0 {
			t.Errorf("store %d: %+v, %v", i, r, err)
		}
		a := admission(stores[0])
		a.Stores = func(context.Context) ([]objstore.Store, error) { return stores, nil }
		if err := doctor.Admit(t.Context(), stores[0], a); err != nil {
			t.Errorf("store %d: %v", i, err)
		}
		if got := keys(t, stores[0]); !slices.Equal(got, []string{"doctor/verdict-1/" + id + "-pass"}) {
			t.Errorf("store %d: %q is left", i, got)
		}
	}
}

// env is that of a test's service, by either client.
func env(service *buckettest.Service) func(string) string {
	return func(name string) string {
		return map[string]string{
			"AWS_ACCESS_KEY_ID":     buckettest.Key,
			"AWS_SECRET_ACCESS_KEY": buckettest.Secret,
			"AWS_ENDPOINT_URL_S3":   service.URL,
			"MC_HOST_bad":           "http://key:secret@" + strings.TrimPrefix(service.URL, "http://"),
		}[name]
	}
}

// What services do on the wire is found through the clients, which have ways
// of their own to turn an answer into an error.
func TestAServiceIsFoundOut(t *testing.T) {
	refuseCreates := func(status int, code string) buckettest.Meddler {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			buckettest.Refuse(w, status, code)
			return true
		}
	}
	for name, test := range map[string]struct {
		meddle buckettest.Meddler
		check  string
		seen   string
		short  bool // the short form finds it too
	}{
		"a proxy that drops the header": {
			func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("If-None-Match"); return false },
			"create-over-existing", "takes no notice of the condition", true,
		},
		"a service that says that it has no conditions": {
			refuseCreates(http.StatusNotImplemented, "NotImplemented"),
			"create-over-existing", "NotImplemented", true,
		},
		"a service that takes the header for a mistake": {
			refuseCreates(http.StatusBadRequest, "InvalidArgument"),
			"create-over-existing", "refused by a test", true,
		},
		"a service that lists out of order": {
			func(w http.ResponseWriter, r *http.Request) bool {
				if prefix := r.URL.Query().Get("prefix"); strings.Contains(prefix, "/list-order/") {
					buckettest.Page{Keys: []string{prefix + "b", prefix + "a"}}.Answer(w)
					return true
				}
				return false
			},
			"list-order", "out of order", false,
		},
		"a service that takes no notice of ranges": {
			func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false },
			"range-reads", "Content-Range", false,
		},
	} {
		service := buckettest.NewService(t)
		service.Meddle(test.meddle)
		stores := patient(t, 2, "s3://"+buckettest.Bucket, env(service))
		r, err := doctor.Examine(t.Context(), stores, doctor.Settings{ID: id}, nil)
		i := slices.IndexFunc(r.Checks, func(c doctor.Check) bool { return c.Name == test.check })
		if err != nil || i < 0 || r.Checks[i].Verdict != doctor.Fail || !strings.Contains(r.Checks[i].Seen, test.seen) {
			t.Errorf("%s: want %s to fail, %q: %+v, %v", name, test.check, test.seen, r, err)
		}
		for _, s := range append(stores, patient(t, 2, "minio://bad/"+buckettest.Bucket, env(service))...) {
			if err := doctor.Admit(t.Context(), s, admission(s)); errors.Is(err, doctor.ErrUnfit) != test.short {
				t.Errorf("%s: Admit = %v", name, err)
			}
		}
	}
}

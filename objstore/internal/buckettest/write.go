package buckettest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/retry"
)

// Parts take no condition on AWS, and a checksum in the trailer of a body is
// not understood by many services.
func lastRequestAloneIsConditional(t *testing.T, service *Service, s objstore.Store) {
	for _, size := range []int{0, 10, big} {
		if err := put(t.Context(), s, size); err != nil {
			t.Fatal(err)
		}
		if b, _ := service.Object("new"); !bytes.Equal(b, make([]byte, size)) {
			t.Errorf("Put of %d bytes arrived as %d, or others", size, len(b))
		}
		if err := s.Delete(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range service.Requests() {
		want := ""
		if creates(r) {
			want = "*"
		}
		if got := r.Header.Get("If-None-Match"); got != want {
			t.Errorf("%s %s has If-None-Match %q, want %q", r.Method, r.URL, got, want)
		}
		if got := r.Header.Get("X-Amz-Content-Sha256"); strings.HasPrefix(got, "STREAMING") || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s %s is a body with signatures or trailers in it: %s", r.Method, r.URL, got)
		}
	}
	if n := len(service.Requests()); n != 3+1+1+1+3+1 {
		t.Errorf("%d requests, want 3 Deletes, 2 small Puts, and one that begins, has 3 parts and completes", n)
	}
}

// Client libraries like to try again by themselves, and then report what they
// did as if somebody else had done it.
func requestIsSentOnce(t *testing.T, service *Service, s objstore.Store) {
	for _, status := range []int{500, 503, 429, 408} {
		service.Meddle(refuseAll(status, "SlowDown"))
		for _, c := range calls {
			before := len(service.Requests())
			wantUnknown(t, c.name, c.do(t.Context(), s))
			if n := len(service.Requests()) - before; n != 1 {
				t.Errorf("%s was sent %d times after a %d, want once", c.name, n, status)
			}
		}
	}
}

// 409 says that nothing was decided.
func conflictIsNotErrExists(t *testing.T, service *Service, s objstore.Store) {
	for code, size := range map[string]int{"ConditionalRequestConflict": big, "OperationAborted": 10} {
		conflict := only(refuseAll(http.StatusConflict, code))
		service.Meddle(conflict)
		wantUnknown(t, "Put", put(t.Context(), s, size))

		// Once the other request is out of the way, it succeeds.
		service.Meddle(once(conflict))
		if err := put(t.Context(), retry.New(s, retry.Default(), noWait), size); err != nil {
			t.Errorf("Put of %d bytes after one %s = %v, want nil", size, code, err)
		}
		if err := s.Delete(t.Context(), "new"); err != nil {
			t.Fatal(err)
		}
	}
}

// lostAnswers are ways not to hear that an object was created.
func lostAnswers(service *Service) map[string]Meddler {
	takeEffect := func(r *http.Request) { service.Serve(httptest.NewRecorder(), r) }
	return map[string]Meddler{
		"500": func(w http.ResponseWriter, r *http.Request) bool {
			takeEffect(r)
			Refuse(w, http.StatusInternalServerError, "InternalError")
			return true
		},
		"503 without a body": func(w http.ResponseWriter, r *http.Request) bool {
			takeEffect(r)
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"reset": func(w http.ResponseWriter, r *http.Request) bool {
			takeEffect(r)
			panic(http.ErrAbortHandler)
		},
	}
}

// only lets meddle see the requests that create an object.
func only(meddle Meddler) Meddler {
	return func(w http.ResponseWriter, r *http.Request) bool { return creates(r) && meddle(w, r) }
}

// once lets meddle answer one request.
func once(meddle Meddler) Meddler {
	var mu sync.Mutex
	done := false
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return false
		}
		defer func() { done = done || creates(r) }()
		return meddle(w, r)
	}
}

func lostAnswerIsUnknown(t *testing.T, service *Service, s objstore.Store) {
	for name, lose := range lostAnswers(service) {
		for _, size := range []int{10, big} {
			service.Meddle(only(lose))
			wantUnknown(t, "Put with a lost answer, "+name, put(t.Context(), s, size))
			if _, exists := service.Object("new"); !exists {
				t.Errorf("%s: the object was not created", name)
			}
			service.Meddle(nil)
			if err := s.Delete(t.Context(), "new"); err != nil {
				t.Fatal(err)
			}
		}
	}

	// Completing may answer 200 at first, and then an error in its body.
	service.Meddle(only(func(w http.ResponseWriter, r *http.Request) bool {
		Refuse(w, http.StatusOK, "InternalError")
		return true
	}))
	wantUnknown(t, "big Put with 200 and an error", put(t.Context(), s, big))
}

func retrySettlesALostAnswer(t *testing.T, service *Service, s objstore.Store) {
	for name, lose := range lostAnswers(service) {
		for _, size := range []int{10, big} {
			service.Meddle(once(only(lose)))
			before := len(service.Requests())
			if err := put(t.Context(), retry.New(s, retry.Default(), noWait), size); err != nil {
				t.Errorf("Put of %d bytes, %s = %v, want nil", size, name, err)
			}
			n := 0
			for _, r := range service.Requests()[before:] {
				if creates(r) {
					n++
				}
			}
			if n != 2 {
				t.Errorf("Put of %d bytes, %s: created %d times, want twice", size, name, n)
			}

			// Another body under this key has lost all the same.
			service.Meddle(once(only(lose)))
			err := retry.New(s, retry.Default(), noWait).Put(t.Context(), "new", bytes.NewReader([]byte("other")))
			if !errors.Is(err, objstore.ErrExists) {
				t.Errorf("Put of another body, %s = %v, want ErrExists", name, err)
			}
			if err := s.Delete(t.Context(), "new"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func refusalIsErrDenied(t *testing.T, service *Service, s objstore.Store) {
	for _, refusal := range []struct {
		status int
		code   string
	}{
		{403, "AccessDenied"}, {403, "SignatureDoesNotMatch"}, {403, "InvalidAccessKeyId"}, {401, "Unauthorized"}, {400, "ExpiredToken"},
	} {
		service.Meddle(refuseAll(refusal.status, refusal.code))
		for _, c := range calls {
			if err := c.do(t.Context(), s); !errors.Is(err, objstore.ErrDenied) || !strings.Contains(err.Error(), refusal.code) {
				t.Errorf("%s after %v = %v, want ErrDenied that names the code", c.name, refusal, err)
			}
		}
	}
	// A wrong clock is corrected by the answer.
	service.Meddle(refuseAll(http.StatusForbidden, "RequestTimeTooSkewed"))
	wantUnknown(t, "Put with a wrong clock", put(t.Context(), s, 10))
}

func missingBucketIsNamed(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(refuseAll(http.StatusNotFound, "NoSuchBucket"))
	for _, c := range calls {
		err := c.do(t.Context(), s)
		if !errors.Is(err, objstore.ErrInvalid) || errors.Is(err, objstore.ErrNotFound) || !strings.Contains(err.Error(), "bucket "+Bucket) {
			t.Errorf("%s = %v, want ErrInvalid that names the bucket, and not ErrNotFound", c.name, err)
		}
	}
}

func whatCannotSucceedIsErrInvalid(t *testing.T, service *Service, s objstore.Store) {
	for _, refusal := range []struct {
		status int
		code   string
	}{
		{501, "NotImplemented"}, {301, "PermanentRedirect"}, {400, "AuthorizationHeaderMalformed"},
	} {
		service.Meddle(refuseAll(refusal.status, refusal.code))
		for _, c := range calls {
			if err := c.do(t.Context(), s); !errors.Is(err, objstore.ErrInvalid) {
				t.Errorf("%s after %v = %v, want ErrInvalid", c.name, refusal, err)
			}
		}
	}
}

func failedUploadIsAborted(t *testing.T, service *Service, s objstore.Store) {
	for name, fails := range map[string]func(*http.Request) bool{
		"a part":   func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "2" },
		"complete": creates,
	} {
		service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
			if !fails(r) {
				return false
			}
			Refuse(w, http.StatusInternalServerError, "InternalError")
			return true
		})
		wantUnknown(t, "Put with a failure of "+name, put(t.Context(), s, big))
		if n := service.Uploads(); n != 0 {
			t.Errorf("%d uploads are left after a failure of %s, want 0", n, name)
		}
	}
	// A lost race leaves no parts either.
	service.Meddle(nil)
	if err := put(t.Context(), s, 10); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), s, big); !errors.Is(err, objstore.ErrExists) || service.Uploads() != 0 {
		t.Errorf("Put over an object = %v with %d uploads left, want ErrExists and 0", err, service.Uploads())
	}
}

// The context ends while a part is on its way.
func cancelledUploadIsAborted(t *testing.T, service *Service, s objstore.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" {
			cancel()
		}
		return false
	})
	if err := put(ctx, s, big); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	requests := service.Requests()
	if last := requests[len(requests)-1]; !aborts(last) {
		t.Errorf("the last request is %s %s, want the one that aborts", last.Method, last.URL)
	}
	if _, exists := service.Object("new"); exists || service.Uploads() != 0 {
		t.Errorf("object exists: %v, %d uploads are left; want neither", exists, service.Uploads())
	}
}

func abortThatFails(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		if aborts(r) {
			Refuse(w, http.StatusForbidden, "AccessDenied")
		}
		return aborts(r)
	})
	if err := put(t.Context(), s, 10); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), s, big); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("Put = %v, want ErrExists", err)
	}
}

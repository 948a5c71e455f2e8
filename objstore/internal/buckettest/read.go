package buckettest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// A connection may break in the middle of a body.
func shortBodyIsAnError(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Length", "1000")
		if r.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes 0-999/5000")
			w.WriteHeader(http.StatusPartialContent)
		}
		fmt.Fprint(w, "short")
		return true
	})
	b, err := s.Get(t.Context(), "there", 1000)
	wantUnknown(t, "Get", err)
	if b != nil {
		t.Errorf("Get = %d bytes, want none", len(b))
	}
	wantUnknown(t, "ReadAt", s.ReadAt(t.Context(), "there", make([]byte, 1000), 0))
}

func unknownLengthIsAnError(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush() // makes it chunked
		fmt.Fprint(w, "0123456789")
		return true
	})
	_, err := s.Get(t.Context(), "there", 1000)
	wantUnknown(t, "Get", err)
}

func anotherRangeIsAnError(t *testing.T, service *Service, s objstore.Store) {
	for name, meddle := range map[string]Meddler{
		"the whole object": func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("Range")
			return false
		},
		"a range beside it": func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Set("Range", "bytes=4-7")
			return false
		},
		"a shorter one": func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Set("Range", "bytes=3-4")
			return false
		},
		"a longer one": func(w http.ResponseWriter, r *http.Request) bool {
			r.Header.Set("Range", "bytes=3-9")
			return false
		},
		"one of which nobody knows what it is of": func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Range", "bytes 3-6/*")
			w.WriteHeader(http.StatusPartialContent)
			fmt.Fprint(w, "3456")
			return true
		},
	} {
		service.Meddle(meddle)
		wantUnknown(t, "ReadAt that was answered "+name, s.ReadAt(t.Context(), "there", make([]byte, 4), 3))
	}
}

func listOutOfOrderIsAnError(t *testing.T, service *Service, s objstore.Store) {
	for name, c := range map[string]struct {
		page Page
		want []string
	}{
		"out of order": {Page{Keys: []string{"a", "c", "b"}}, []string{"a", "c"}},
		"twice":        {Page{Keys: []string{"a", "a"}}, []string{"a"}},
		"in a loop":    {Page{Keys: []string{"a", "b"}, Truncated: true, Next: "again"}, []string{"a", "b"}},
	} {
		service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
			c.page.Answer(w)
			return true
		})
		got, err := list(t.Context(), s, "", "")
		wantUnknown(t, "List "+name, err)
		if !slices.Equal(got, c.want) {
			t.Errorf("List %s = %q before the error, want %q", name, got, c.want)
		}
	}
}

func listWithoutToken(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		Page{Keys: []string{"a"}, Truncated: true}.Answer(w)
		return true
	})
	_, err := list(t.Context(), s, "", "")
	wantUnknown(t, "List", err)
}

// A bucket may hold what others put there, and a service may take no notice of
// where it was asked to start.
func listLeavesOut(t *testing.T, service *Service, s objstore.Store) {
	service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
		Page{Keys: []string{"a", "m/", "m/ 0", "m/1", "m/1 copy", "m/2", "m/3", "m/\u00fc", "n"}}.Answer(w)
		return true
	})
	if got, err := list(t.Context(), s, "m/", "m/1"); err != nil || !slices.Equal(got, []string{"m/2", "m/3"}) {
		t.Errorf("List = %q, %v; want m/2 and m/3", got, err)
	}
}

// Credentials stay with the service that they are for.
func redirectIsNotFollowed(t *testing.T, service *Service, s objstore.Store) {
	var followed []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		followed = append(followed, r.Method+" "+r.URL.String())
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		service.Meddle(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
			return true
		})
		for _, c := range calls {
			if err := c.do(t.Context(), s); err == nil {
				t.Errorf("%s after a %d = nil, want an error", c.name, status)
			}
		}
	}
	if len(followed) > 0 {
		t.Errorf("redirects were followed: %q", followed)
	}
}

func noErrorTellsASecret(t *testing.T, service *Service, s objstore.Store) {
	for name, meddle := range map[string]Meddler{
		"403":   refuseAll(http.StatusForbidden, "SignatureDoesNotMatch"),
		"500":   refuseAll(http.StatusInternalServerError, "InternalError"),
		"404":   refuseAll(http.StatusNotFound, "NoSuchBucket"),
		"reset": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"text": func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, "<html>not S3 at all")
			return true
		},
	} {
		service.Meddle(meddle)
		for _, c := range calls {
			wantNoSecret(t, c.name+" after "+name, c.do(t.Context(), s))
		}
	}
}

func nobodyAnswers(t *testing.T, open func(t *testing.T, endpoint string) objstore.Store) {
	gone := httptest.NewServer(nil)
	gone.Close()
	s := open(t, gone.URL)
	for _, c := range calls {
		err := c.do(t.Context(), s)
		wantUnknown(t, c.name, err)
		wantNoSecret(t, c.name, err)
	}
}

func wantNoSecret(t *testing.T, what string, err error) {
	t.Helper()
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e)} {
			for _, canary := range []string{Key, Secret, Token, "Signature="} {
				if strings.Contains(text, canary) {
					t.Errorf("%s tells %q: %s", what, canary, text)
				}
			}
		}
	}
}

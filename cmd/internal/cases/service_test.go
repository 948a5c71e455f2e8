package cases

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is an S3 service in this process that does what a test wants of a bad
// one. It has one bucket of any name, knows no uploads in parts, and does not
// check signatures.
type service struct {
	url string

	// answer sees each request first. If it returns true, it has answered.
	answer func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	objects  map[string][]byte
	requests int
}

func startService(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) *service {
	t.Helper()
	s := &service{answer: answer, objects: map[string][]byte{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *service) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.answer != nil && s.answer(w, r) {
		return
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	body, there := s.objects[key]
	switch {
	case r.Method == http.MethodGet && key == "":
		s.list(w, r.URL.Query())
	case r.Method == http.MethodGet && there:
		http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader(string(body)))
	case r.Method == http.MethodGet:
		refuse(w, http.StatusNotFound, "NoSuchKey", "")
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed", "")
	case r.Method == http.MethodPut:
		s.objects[key], _ = io.ReadAll(r.Body)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented", "")
	}
}

func (s *service) list(w http.ResponseWriter, query url.Values) {
	type object struct {
		Key, LastModified string
		Size              int
	}
	var result struct {
		XMLName      xml.Name `xml:"ListBucketResult"`
		EncodingType string
		IsTruncated  bool
		Contents     []object
	}
	result.EncodingType = "url"
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("start-after") {
			result.Contents = append(result.Contents, object{url.QueryEscape(key), "2026-03-01T00:00:00.000Z", len(s.objects[key])})
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(result)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>", code)
	_ = xml.EscapeText(w, []byte(message))
	fmt.Fprint(w, "</Message></Error>")
}

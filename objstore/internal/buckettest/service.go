package buckettest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bucket is the only bucket of a Service.
const Bucket = "ledger"

// Service is an S3 service in this process, just large enough to be led astray.
// It does not check signatures.
type Service struct {
	URL string

	mu       sync.Mutex
	meddler  Meddler
	objects  map[string][]byte
	uploads  map[string]map[int][]byte // by id
	requests []*http.Request
}

// Meddler sees each request first. If it returns true it has answered, and that
// is all. It may call Serve to let the request take effect, and answer something
// else.
type Meddler func(w http.ResponseWriter, r *http.Request) bool

// Meddle lets m see the requests from now on, or nobody if it is nil.
func (s *Service) Meddle(m Meddler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddler = m
}

// NewService starts a service for the rest of the test. It holds one object,
// "there", of ten bytes.
func NewService(t *testing.T) *Service {
	s := &Service{
		objects: map[string][]byte{"there": []byte("0123456789")},
		uploads: map[string]map[int][]byte{},
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Clone(r.Context()))
	meddler := s.meddler
	s.mu.Unlock()
	if meddler == nil || !meddler(w, r) {
		s.Serve(w, r)
	}
}

// Requests returns what was asked so far.
func (s *Service) Requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Object returns the bytes of key.
func (s *Service) Object(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.objects[key]
	return b, ok
}

// Uploads returns how many uploads in parts are neither completed nor aborted.
func (s *Service) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Serve does what r asks for.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, max(0, r.ContentLength))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		Refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+Bucket), "/")
	query := r.URL.Query()
	upload := query.Get("uploadId")
	switch {
	case r.Method == http.MethodGet && key == "":
		s.list(w, query)
	case r.Method == http.MethodGet:
		s.get(w, r, key)
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.begin(w, key)
	case upload != "" && s.uploads[upload] == nil:
		Refuse(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut && upload != "":
		number, _ := strconv.Atoi(query.Get("partNumber"))
		s.uploads[upload][number] = body
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, number))
	case r.Method == http.MethodPut:
		s.create(w, r, key, body)
	case r.Method == http.MethodPost:
		s.complete(w, r, key, upload)
	case r.Method == http.MethodDelete && upload != "":
		delete(s.uploads, upload)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, key string, body []byte) bool {
	if _, exists := s.objects[key]; exists && r.Header.Get("If-None-Match") == "*" {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return false
	}
	s.objects[key] = body
	w.Header().Set("ETag", `"e"`)
	return true
}

func (s *Service) get(w http.ResponseWriter, r *http.Request, key string) {
	b, exists := s.objects[key]
	if !exists {
		Refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", `"e"`)
	http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(b))
}

func (s *Service) begin(w http.ResponseWriter, key string) {
	id := fmt.Sprint("upload-", len(s.requests))
	s.uploads[id] = map[int][]byte{}
	type result struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}
	answer(w, result{Bucket: Bucket, Key: key, UploadId: id})
}

func (s *Service) complete(w http.ResponseWriter, r *http.Request, key, id string) {
	var body []byte
	for _, number := range slices.Sorted(maps.Keys(s.uploads[id])) {
		body = append(body, s.uploads[id][number]...)
	}
	if !s.create(w, r, key, body) {
		return
	}
	delete(s.uploads, id)
	type result struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}
	answer(w, result{Bucket: Bucket, Key: key, ETag: `"e"`})
}

func (s *Service) list(w http.ResponseWriter, query url.Values) {
	var page Page
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("start-after") {
			page.Keys = append(page.Keys, key)
		}
	}
	page.Answer(w)
}

// Page is an answer to a request to list.
type Page struct {
	Keys      []string
	Truncated bool
	Next      string // the continuation token
}

// Answer writes the page.
func (p Page) Answer(w http.ResponseWriter) {
	type object struct {
		Key, LastModified string
		Size              int
	}
	result := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []object
	}{EncodingType: "url", IsTruncated: p.Truncated, NextContinuationToken: p.Next}
	for _, key := range p.Keys {
		result.Contents = append(result.Contents, object{Key: url.QueryEscape(key), LastModified: "2026-03-01T00:00:00.000Z", Size: 1})
	}
	answer(w, result)
}

func answer(w http.ResponseWriter, result any) {
	b, err := xml.Marshal(result)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(b)
}

// Refuse answers an S3 error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused by a test</Message></Error>", code)
}

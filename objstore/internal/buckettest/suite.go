// Package buckettest is a suite of what S3 services do on bad days, for stores
// in buckets. What they do on good days is in objstoretest, on a real server.
package buckettest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// The credentials that a store is to be opened with. The suite looks for them
// where they must not be.
const (
	Key    = "CANARYKEYCANARYKEY"
	Secret = "canary/secret+canary/secret"
	Token  = "canary-token-canary-token"
)

// Run opens stores on services that misbehave. endpoint is the URL of the
// service; its bucket is Bucket.
func Run(t *testing.T, open func(t *testing.T, endpoint string) objstore.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, service *Service, s objstore.Store)
	}{
		{"TheLastRequestAloneIsConditional", lastRequestAloneIsConditional},
		{"ARequestIsSentOnce", requestIsSentOnce},
		{"AConflictIsNotErrExists", conflictIsNotErrExists},
		{"ALostAnswerIsUnknown", lostAnswerIsUnknown},
		{"RetrySettlesALostAnswer", retrySettlesALostAnswer},
		{"ARefusalIsErrDenied", refusalIsErrDenied},
		{"AMissingBucketIsNamed", missingBucketIsNamed},
		{"WhatCannotSucceedIsErrInvalid", whatCannotSucceedIsErrInvalid},
		{"AFailedUploadIsAborted", failedUploadIsAborted},
		{"ACancelledUploadIsAborted", cancelledUploadIsAborted},
		{"AnAbortThatFailsChangesNoOutcome", abortThatFails},

		{"AShortBodyIsAnError", shortBodyIsAnError},
		{"AnAnswerOfUnknownLengthIsAnError", unknownLengthIsAnError},
		{"AnotherRangeThanAskedForIsAnError", anotherRangeIsAnError},

		{"AListOutOfOrderIsAnError", listOutOfOrderIsAnError},
		{"AListThatDoesNotSayWhereItGoesOnIsAnError", listWithoutToken},
		{"AListLeavesOutWhatWasNotAskedFor", listLeavesOut},

		{"ARedirectIsNotFollowed", redirectIsNotFollowed},
		{"NoErrorTellsASecret", noErrorTellsASecret},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := NewService(t)
			c.test(t, service, open(t, service.URL))
		})
	}
	t.Run("NoErrorTellsASecretWhenNobodyAnswers", func(t *testing.T) {
		nobodyAnswers(t, open)
	})
}

// big is uploaded in three parts.
const big = 17 << 20

// call is a method of a store, with arguments that succeed on a Service.
type call struct {
	name string
	do   func(context.Context, objstore.Store) error
}

var calls = []call{
	{"Put", func(ctx context.Context, s objstore.Store) error { return put(ctx, s, 10) }},
	{"big Put", func(ctx context.Context, s objstore.Store) error { return put(ctx, s, big) }},
	{"Get", func(ctx context.Context, s objstore.Store) error {
		_, err := s.Get(ctx, "there", 10)
		return err
	}},
	{"ReadAt", func(ctx context.Context, s objstore.Store) error {
		return s.ReadAt(ctx, "there", make([]byte, 4), 3)
	}},
	{"List", func(ctx context.Context, s objstore.Store) error {
		_, err := list(ctx, s, "", "")
		return err
	}},
	{"Delete", func(ctx context.Context, s objstore.Store) error { return s.Delete(ctx, "there") }},
}

func put(ctx context.Context, s objstore.Store, size int) error {
	return s.Put(ctx, "new", bytes.NewReader(make([]byte, size)))
}

func list(ctx context.Context, s objstore.Store, prefix, after string) (keys []string, err error) {
	for e, err := range s.List(ctx, prefix, after) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, e.Key)
	}
	return keys, nil
}

// wantUnknown fails the test if a caller would take err for an outcome.
func wantUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s = nil, want an error", what)
	}
	for _, outcome := range []error{
		objstore.ErrExists, objstore.ErrNotFound, objstore.ErrRange, objstore.ErrTooLarge, objstore.ErrDenied, objstore.ErrInvalid,
	} {
		if errors.Is(err, outcome) {
			t.Errorf("%s = %v, which is an outcome, want none", what, err)
		}
	}
}

// refuseAll answers every request with an S3 error.
func refuseAll(status int, code string) Meddler {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		Refuse(w, status, code)
		return true
	}
}

// creates reports whether r is the request that creates an object.
func creates(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodPut && !q.Has("uploadId") || r.Method == http.MethodPost && q.Has("uploadId")
}

func aborts(r *http.Request) bool {
	return r.Method == http.MethodDelete && strings.Contains(r.URL.RawQuery, "uploadId")
}

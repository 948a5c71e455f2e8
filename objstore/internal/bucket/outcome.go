package bucket

import (
	"fmt"
	"net/http"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// writeOutcome turns an error of Put or Delete into the outcome that it stands
// for. A 412 says that the condition was looked at and did not hold: the key
// exists.
//
// A 409 says that another request was in the way and nothing was decided, so it
// is not ErrExists: whoever takes it for a lost race deletes what was not lost.
// A 404 is not ErrNotFound: Complete finds no upload after it was completed.
func (s *Store) writeOutcome(err error) error {
	if err == nil {
		return nil
	}
	r := s.client.Refusal(err)
	if r.Status == http.StatusPreconditionFailed || r.Code == "PreconditionFailed" {
		return objstore.ErrExists
	}
	return s.outcome(err)
}

// readOutcome turns an error of Get or ReadAt into the outcome that it stands
// for.
func (s *Store) readOutcome(err error) error {
	r := s.client.Refusal(err)
	switch {
	case isNoSuchKey(r):
		return objstore.ErrNotFound
	case r.Status == http.StatusRequestedRangeNotSatisfiable:
		return objstore.ErrRange
	}
	return s.outcome(err)
}

// isNoSuchKey leaves out the 404 of a bucket that is not there. Without it, a
// wrong bucket would look like an empty one.
func isNoSuchKey(r Refusal) bool {
	return r.Status == http.StatusNotFound && r.Code != "NoSuchBucket"
}

// outcome turns an error of any request into the outcome that it stands for. It
// returns all others as they are: what they leave behind is unknown.
func (s *Store) outcome(err error) error {
	r := s.client.Refusal(err)
	switch {
	case r.Code == "NoSuchBucket":
		return fmt.Errorf("bucket %s does not exist: %w", s.bucket, objstore.ErrInvalid)
	case r.Code == "RequestTimeTooSkewed":
		return err // a 403, but the clients correct their clock by the answer
	case r.Status == http.StatusMovedPermanently, r.Code == "PermanentRedirect", r.Code == "AuthorizationHeaderMalformed":
		return fmt.Errorf("bucket %s is elsewhere, check the region and the endpoint (%s): %w", s.bucket, r, objstore.ErrInvalid)
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, r.Code == "ExpiredToken", r.Code == "InvalidToken":
		return fmt.Errorf("bucket %s: %w (%s)", s.bucket, objstore.ErrDenied, r)
	case r.Status == http.StatusNotImplemented:
		return fmt.Errorf("the store cannot do this (%s): %w", r, objstore.ErrInvalid)
	}
	return err
}

func (r Refusal) String() string {
	if r.Message == "" {
		return fmt.Sprintf("%d %s", r.Status, r.Code)
	}
	return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Message)
}

// Package bucket is an objstore.Store kept in one bucket of an S3-compatible
// service. It knows what the requests of such a service promise and what its
// answers mean; a Client knows how to send them. So the contract is met in one
// place, whichever client library is underneath.
package bucket

import (
	"context"
	"io"
	"iter"

	"github.com/ledgerfold/ledgerfold/objstore"
)

// Client sends requests for keys of one bucket. It sends each once, never
// again by itself, and follows no redirect.
type Client interface {
	// Put creates key with If-None-Match: *.
	Put(ctx context.Context, key string, body *io.SectionReader) error

	// Get asks for key, or for the range that the header value rng names if
	// it is not empty. The answer's Body is the caller's to close.
	Get(ctx context.Context, key, rng string) (Answer, error)

	// List yields the objects that the service lists, page by page.
	List(ctx context.Context, prefix, startAfter string) iter.Seq2[objstore.Entry, error]

	// Delete removes key.
	Delete(ctx context.Context, key string) error

	// Begin begins an upload in parts and returns its id.
	Begin(ctx context.Context, key string) (id string, err error)

	// PutPart uploads a part. Parts are numbered from 1.
	PutPart(ctx context.Context, up Upload, number int, body *io.SectionReader) (Part, error)

	// Complete makes an object of all parts with If-None-Match: *.
	Complete(ctx context.Context, up Upload, parts []Part) error

	// Abort gives the parts up.
	Abort(ctx context.Context, up Upload) error

	// Refusal returns what the service answered if err is such an answer, and
	// the zero Refusal if there was none.
	Refusal(err error) Refusal
}

// Answer is what came back for a Get.
type Answer struct {
	Body   io.ReadCloser
	Length int64  // of Body, or negative if it is not known
	Range  string // the value of Content-Range, or ""
}

// Upload is an upload in parts that has begun.
type Upload struct{ Key, ID string }

// Part is an uploaded part. Complete hands back what PutPart was answered.
type Part struct{ ETag, Checksum string }

// Refusal is the answer to a request that was not done.
type Refusal struct {
	Status        int
	Code, Message string
}

// Store is an objstore.Store in a bucket.
type Store struct {
	client Client
	bucket string
	base   string // what every key begins with: "" or a prefix and "/"
}

var _ objstore.Store = (*Store)(nil)

// New returns the store of the keys under prefix, which may be empty, in the
// bucket that client sends its requests to.
func New(client Client, bucket, prefix string) (*Store, error) {
	s := &Store{client: client, bucket: bucket}
	if prefix != "" {
		if err := objstore.CheckKey(prefix); err != nil {
			return nil, objstore.Failed("use prefix", prefix, err)
		}
		s.base = prefix + "/"
	}
	return s, nil
}

func check(ctx context.Context, key string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	return ctx.Err()
}

// Put uploads body in one request, or in parts if it is large. Either way the
// last request alone creates the object, on the condition that there is none.
func (s *Store) Put(ctx context.Context, key string, body objstore.Body) error {
	err := check(ctx, key)
	if err == nil && body.Size() > threshold {
		err = s.putInParts(ctx, s.base+key, body)
	} else if err == nil {
		err = s.client.Put(ctx, s.base+key, io.NewSectionReader(body, 0, body.Size()))
	}
	return objstore.Failed("put", key, s.writeOutcome(err))
}

// Delete removes key. A service may answer 404 to what is not there; the key is
// free then, and that was asked for.
func (s *Store) Delete(ctx context.Context, key string) error {
	err := check(ctx, key)
	if err == nil {
		err = s.client.Delete(ctx, s.base+key)
	}
	if err == nil || isNoSuchKey(s.client.Refusal(err)) {
		return nil
	}
	return objstore.Failed("delete", key, s.writeOutcome(err))
}

package minio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"

	"github.com/minio/minio-go/v7"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/bucket"
)

// client is a bucket.Client of minio-go.
type client struct {
	core   *minio.Core
	bucket string
}

var _ bucket.Client = (*client)(nil)

// ifAbsent is the only condition there is: objects are not replaced.
func ifAbsent() minio.PutObjectOptions {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	return o
}

// digest returns the SHA-256 that a body is signed with.
//
// Over http minio-go would sign chunk by chunk instead, and mix the signatures
// with the body. Some services do not understand that, and versitygw, when it
// refuses such a body early, takes the rest of it for the next request.
func digest(body *io.SectionReader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, body); err != nil {
		return "", err
	}
	_, err := body.Seek(0, io.SeekStart)
	return hex.EncodeToString(h.Sum(nil)), err
}

func (c *client) Put(ctx context.Context, key string, body *io.SectionReader) error {
	sum, err := digest(body)
	if err != nil {
		return err
	}
	o := ifAbsent()
	o.DisableContentSha256 = true // not chunk by chunk
	_, err = c.core.PutObject(ctx, c.bucket, key, body, body.Size(), "", sum, o)
	return err
}

func (c *client) Get(ctx context.Context, key, rng string) (bucket.Answer, error) {
	var o minio.GetObjectOptions
	if rng != "" {
		o.Set("Range", rng)
	}
	body, info, header, err := c.core.GetObject(ctx, c.bucket, key, o)
	if err != nil {
		return bucket.Answer{}, err
	}
	answer := bucket.Answer{Body: body, Length: info.Size, Range: header.Get("Content-Range")}
	if header.Get("Content-Length") == "" {
		answer.Length = -1
	}
	return answer, nil
}

func (c *client) List(ctx context.Context, prefix, startAfter string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		o := minio.ListObjectsOptions{Prefix: prefix, StartAfter: startAfter, Recursive: true, FetchOwner: new(bool)}
		for info := range c.core.ListObjectsIter(ctx, c.bucket, o) {
			e := objstore.Entry{Key: info.Key, Bytes: info.Size, Modified: info.LastModified}
			if !yield(e, info.Err) || info.Err != nil {
				return
			}
		}
	}
}

func (c *client) Delete(ctx context.Context, key string) error {
	return c.core.RemoveObject(ctx, c.bucket, key, minio.RemoveObjectOptions{})
}

func (c *client) Begin(ctx context.Context, key string) (string, error) {
	return c.core.NewMultipartUpload(ctx, c.bucket, key, minio.PutObjectOptions{})
}

func (c *client) PutPart(ctx context.Context, up bucket.Upload, number int, body *io.SectionReader) (bucket.Part, error) {
	sum, err := digest(body)
	if err != nil {
		return bucket.Part{}, err
	}
	o := minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true}
	p, err := c.core.PutObjectPart(ctx, c.bucket, up.Key, up.ID, number, body, body.Size(), o)
	return bucket.Part{ETag: p.ETag}, err
}

func (c *client) Complete(ctx context.Context, up bucket.Upload, parts []bucket.Part) error {
	completed := make([]minio.CompletePart, len(parts))
	for i, p := range parts {
		completed[i] = minio.CompletePart{PartNumber: i + 1, ETag: p.ETag}
	}
	_, err := c.core.CompleteMultipartUpload(ctx, c.bucket, up.Key, up.ID, completed, ifAbsent())
	return err
}

func (c *client) Abort(ctx context.Context, up bucket.Upload) error {
	return c.core.AbortMultipartUpload(ctx, c.bucket, up.Key, up.ID)
}

func (c *client) Refusal(err error) bucket.Refusal {
	r, _ := errors.AsType[minio.ErrorResponse](err)
	return bucket.Refusal{Status: r.StatusCode, Code: r.Code, Message: r.Message}
}

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/internal/bucket"
)

// client is a bucket.Client of the AWS SDK.
type client struct {
	sdk    *s3.Client
	bucket string
}

var _ bucket.Client = (*client)(nil)

// ifAbsent is the only condition there is: objects are not replaced.
const ifAbsent = "*"

func (c *client) Put(ctx context.Context, key string, body *io.SectionReader) error {
	_, err := c.sdk.PutObject(ctx, &s3.PutObjectInput{
		Bucket:        &c.bucket,
		Key:           &key,
		Body:          body,
		ContentLength: aws.Int64(body.Size()),
		IfNoneMatch:   aws.String(ifAbsent),
	})
	return err
}

func (c *client) Get(ctx context.Context, key, rng string) (bucket.Answer, error) {
	in := &s3.GetObjectInput{Bucket: &c.bucket, Key: &key}
	if rng != "" {
		in.Range = &rng
	}
	out, err := c.sdk.GetObject(ctx, in)
	if err != nil {
		return bucket.Answer{}, err
	}
	answer := bucket.Answer{Body: out.Body, Length: -1, Range: aws.ToString(out.ContentRange)}
	if out.ContentLength != nil {
		answer.Length = *out.ContentLength
	}
	return answer, nil
}

func (c *client) List(ctx context.Context, prefix, startAfter string) iter.Seq2[objstore.Entry, error] {
	return func(yield func(objstore.Entry, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &c.bucket, EncodingType: types.EncodingTypeUrl}
		if prefix != "" {
			in.Prefix = &prefix
		}
		if startAfter != "" {
			in.StartAfter = &startAfter
		}
		for {
			out, err := c.sdk.ListObjectsV2(ctx, in)
			if err != nil {
				yield(objstore.Entry{}, err)
				return
			}
			for _, o := range out.Contents {
				e, err := entry(o, out.EncodingType)
				if !yield(e, err) || err != nil {
					return
				}
			}
			if !aws.ToBool(out.IsTruncated) {
				return
			}
			if next := aws.ToString(out.NextContinuationToken); next == "" || next == aws.ToString(in.ContinuationToken) {
				yield(objstore.Entry{}, errors.New("the store says that a listing goes on, and not where"))
				return
			}
			in.ContinuationToken = out.NextContinuationToken
		}
	}
}

func entry(o types.Object, encoding types.EncodingType) (objstore.Entry, error) {
	key := aws.ToString(o.Key)
	if encoding == types.EncodingTypeUrl {
		var err error
		if key, err = url.QueryUnescape(key); err != nil {
			return objstore.Entry{}, fmt.Errorf("listed key %q: %w", aws.ToString(o.Key), err)
		}
	}
	return objstore.Entry{Key: key, Bytes: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}, nil
}

func (c *client) Delete(ctx context.Context, key string) error {
	_, err := c.sdk.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &c.bucket, Key: &key})
	return err
}

// Begin names the checksum of the parts if the SDK is going to send one:
// Complete repeats the checksums, and is refused if they were not announced.
func (c *client) Begin(ctx context.Context, key string) (string, error) {
	in := &s3.CreateMultipartUploadInput{Bucket: &c.bucket, Key: &key}
	if c.sdk.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenSupported {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	out, err := c.sdk.CreateMultipartUpload(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.UploadId), nil
}

func (c *client) PutPart(ctx context.Context, up bucket.Upload, number int, body *io.SectionReader) (bucket.Part, error) {
	in := &s3.UploadPartInput{
		Bucket:        &c.bucket,
		Key:           &up.Key,
		UploadId:      &up.ID,
		PartNumber:    aws.Int32(int32(number)),
		Body:          body,
		ContentLength: aws.Int64(body.Size()),
	}
	if c.sdk.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenSupported {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	out, err := c.sdk.UploadPart(ctx, in)
	if err != nil {
		return bucket.Part{}, err
	}
	return bucket.Part{ETag: aws.ToString(out.ETag), Checksum: aws.ToString(out.ChecksumCRC32)}, nil
}

func (c *client) Complete(ctx context.Context, up bucket.Upload, parts []bucket.Part) error {
	completed := make([]types.CompletedPart, len(parts))
	for i, p := range parts {
		completed[i] = types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: aws.String(p.ETag)}
		if p.Checksum != "" {
			completed[i].ChecksumCRC32 = aws.String(p.Checksum)
		}
	}
	_, err := c.sdk.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:          &c.bucket,
		Key:             &up.Key,
		UploadId:        &up.ID,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: completed},
		IfNoneMatch:     aws.String(ifAbsent),
	})
	return err
}

func (c *client) Abort(ctx context.Context, up bucket.Upload) error {
	_, err := c.sdk.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &c.bucket, Key: &up.Key, UploadId: &up.ID,
	})
	return err
}

// Refusal finds the code in what the SDK makes of an answer, and the status in
// how it came.
func (c *client) Refusal(err error) bucket.Refusal {
	var r bucket.Refusal
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		r.Code, r.Message = api.ErrorCode(), api.ErrorMessage()
	}
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		r.Status = answer.HTTPStatusCode()
	}
	return r
}

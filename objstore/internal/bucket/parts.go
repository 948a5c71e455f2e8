package bucket

import (
	"context"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ledgerfold/ledgerfold/objstore"
)

const (
	threshold    = 16 << 20 // a larger body is uploaded in parts
	minPart      = 8 << 20
	maxParts     = 10_000 // S3 takes no more
	partsAtOnce  = 4
	abortTimeout = 5 * time.Second
)

// putInParts uploads body in parts and completes the upload. The condition is
// on Complete alone: parts are not seen, so there is nothing to race for before.
func (s *Store) putInParts(ctx context.Context, key string, body objstore.Body) error {
	id, err := s.client.Begin(ctx, key)
	if err != nil {
		return err
	}
	up := Upload{Key: key, ID: id}
	parts, err := s.putParts(ctx, up, body)
	if err == nil {
		err = s.client.Complete(ctx, up, parts)
	}
	if err != nil {
		s.abort(ctx, up)
	}
	return err
}

func (s *Store) putParts(ctx context.Context, up Upload, body objstore.Body) ([]Part, error) {
	size := partSize(body.Size())
	parts := make([]Part, (body.Size()+size-1)/size)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(partsAtOnce)
	for i := range parts {
		off := int64(i) * size
		g.Go(func() (err error) {
			section := io.NewSectionReader(body, off, min(size, body.Size()-off))
			parts[i], err = s.client.PutPart(ctx, up, i+1, section)
			return err
		})
	}
	return parts, g.Wait()
}

// partSize is minPart, or as much more as keeps the parts of size to maxParts.
func partSize(size int64) int64 {
	return max(minPart, (size+maxParts-1)/maxParts)
}

// abort gives up an upload that did not come to be, so that its parts are not
// kept and paid for. It must be sent also, and above all, when ctx has ended.
//
// If it fails, the parts waste space and nothing else, and a lifecycle rule on
// incomplete uploads removes them. If the outcome of Complete was unknown, then
// either the object is there and there is nothing left to abort, or Complete
// finds no upload if it lands late.
func (s *Store) abort(ctx context.Context, up Upload) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_ = s.client.Abort(ctx, up)
}

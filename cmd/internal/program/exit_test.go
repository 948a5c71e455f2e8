package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

func TestEveryErrorHasItsCode(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("topic %q: %w", "orders", err) }
	for _, test := range []struct {
		err  error
		want Code
	}{
		{nil, Done},
		{errors.New("anything"), Failed},
		{Usagef("bad"), Usage},
		{wrap(manifest.ErrTopicName), Usage},
		{wrap(manifest.ErrSetting), Usage},
		{wrap(segments.ErrPosition), Usage},
		{wrap(readerlib.ErrBadRange), Usage},
		{wrap(objstore.ErrDenied), Usage},
		{wrap(objstore.ErrInvalid), Usage},
		{wrap(manifest.ErrTopicNotFound), NotFound},
		{wrap(manifest.ErrVersionNotFound), NotFound},
		{wrap(manifest.ErrTagNotFound), NotFound},
		{Missing(errors.New("no such key")), NotFound},
		{mark(context.Background(), &os.PathError{Op: "mkdir", Path: "/proc/x", Err: fs.ErrNotExist}), Again},
		{wrap(manifest.ErrUnknown), Again},
		{wrap(compactor.ErrQuarantined), Corrupt},
		{wrap(readerlib.ErrSnapshotExpired), Again},
		{fmt.Errorf("%w: %w", readerlib.ErrSnapshotExpired, manifest.ErrMissing), Again},
		{wrap(context.DeadlineExceeded), Again},
		{wrap(mark(context.Background(), &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})), Again},
		{wrap(mark(context.Background(), errors.New("503 slow down"))), Again},
		{wrap(mark(context.Background(), &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})), Failed},
		{wrap(mark(context.Background(), objstore.ErrDenied)), Usage},
		{wrap(manifest.ErrTopicExists), Conflict},
		{wrap(manifest.ErrTagExists), Conflict},
		{wrap(manifest.ErrConflict), Conflict},
		{wrap(manifest.ErrFenced), Conflict},
		{wrap(&segments.CorruptError{Object: "d/x", Batch: 1, Column: "key", Err: errors.New("bad")}), Corrupt},
		{wrap(manifest.ErrMissing), Corrupt},
		{wrap(&ingest.LineError{Line: 3, Err: segments.ErrPosition}), Corrupt},
		{wrap(ingest.ErrFormat), Usage},
		{wrap(manifest.ErrUnsupported), Failed},
		{fmt.Errorf("commit: %w: %w", manifest.ErrUnknown, errors.New("reset")), Again},
	} {
		if got := CodeOf(test.err); got != test.want {
			t.Errorf("%v: got %d, want %d", test.err, got, test.want)
		}
	}
}

func TestTheGravestOfManyFailuresCounts(t *testing.T) {
	for _, test := range []struct {
		errs []error
		want Code
	}{
		{nil, Done},
		{[]error{nil}, Done},
		{[]error{manifest.ErrTopicNotFound}, NotFound},
		{[]error{manifest.ErrUnknown, manifest.ErrConflict}, Conflict},
		{[]error{manifest.ErrUnknown, manifest.ErrTopicNotFound}, NotFound},
		{[]error{manifest.ErrTopicNotFound, segments.ErrCorrupt, manifest.ErrUnknown}, Corrupt},
		{[]error{manifest.ErrUnknown, errors.New("anything")}, Failed},
	} {
		var f Failures
		for _, err := range test.errs {
			f.Add(err)
		}
		if got := CodeOf(f.Err()); got != test.want {
			t.Errorf("%v: got %d, want %d", test.errs, got, test.want)
		}
	}
}

// Nothing of a stored text, however it is made, can look like a line of ours.
func TestErrorsAreShownEscapedAndWithoutSecrets(t *testing.T) {
	var b strings.Builder
	p := &Program{Name: "compact"}
	w := NewRedactor(&b, []string{"AWS_SECRET_ACCESS_KEY=hunter2hunter2", "MC_HOST_local=http://key:s3cr3t@host:9000", "PATH=/bin"})
	p.explain(w, errors.New("topic \x1b[2J\ncompact: all is well\nput http://user:pa/ss@host/x: hunter2hunter2 s3cr3t"))
	const want = "compact: topic \\x1b[2J\n  compact: all is well\n  put http://***@host/x: *** ***\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

package program

import (
	"errors"

	"github.com/ledgerfold/ledgerfold/compactor"
	"github.com/ledgerfold/ledgerfold/ingest"
	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/objstore"
	"github.com/ledgerfold/ledgerfold/objstore/doctor"
	"github.com/ledgerfold/ledgerfold/readerlib"
	"github.com/ledgerfold/ledgerfold/segments"
)

// hints say, where it is not plain, whether data is safe and what to type now.
var hints = []struct {
	is   error
	hint string
}{
	{readerlib.ErrSnapshotExpired, "nothing is lost, and what was printed is right. The version was collected while it was read; read again"},
	{ingest.ErrBadInput, "what was added before stays, the segment that the line would be in was not added. Mend the input and run it again"},
	{compactor.ErrNoPlan, "nothing was changed. Where it was committed, `compact status TOPIC` shows it; else make another with `compact plan TOPIC --save`"},
	{compactor.ErrNotDone, "nothing is lost. Do them with `compact task PLAN INDEX`, and run the same command again"},
	{compactor.ErrQuarantined, "nothing is lost of what is stored; what comes before is compacted. Restore the object from a copy of the bucket, and the next run goes on by itself"},
	{segments.ErrCorrupt, "nothing was changed. What is stored was damaged after it was written; restore the object from a copy of the bucket"},
	{manifest.ErrMissing, "nothing was changed. An object of the topic was removed by something else; restore it from a copy of the bucket"},
	{manifest.ErrTopicNotFound, "`compact topics` lists the topics, `compact create TOPIC` makes one"},
	{manifest.ErrVersionNotFound, "`reader versions TOPIC` lists the versions that can still be read"},
	{manifest.ErrTagNotFound, "`compact tag TOPIC NAME` makes a tag"},
	{manifest.ErrTopicExists, "nothing was changed. `compact set TOPIC name=value` changes its settings"},
	{manifest.ErrTagExists, "nothing was changed. `--move` lets the tag name another version"},
	{manifest.ErrConflict, "nothing was lost, and nothing of this run was added: others changed the topic each time. Run the same command again"},
	{manifest.ErrFenced, "nothing was lost, and nothing of this run was added: it took longer than a collection waits. Run the same command again"},
	{manifest.ErrUnknown, "nothing was lost. Whether this run took effect is not known yet; run the same command again, it adds nothing twice"},
	{manifest.ErrUnsupported, "nothing was changed. Update this program"},
	{doctor.ErrUnfit, "nothing was committed. Take a folder, AWS S3, or another store that `compact doctor URL` finds fit; docs/operations.md names some"},
	{objstore.ErrDenied, "nothing was changed. Check the credentials, and what they may do with the bucket"},
	{objstore.ErrInvalid, "nothing was changed. Check the store's address: is the bucket there?"},
}

// hintOf is what to say below an error's own words, or "".
func hintOf(err error) string {
	if usage := (*UsageError)(nil); errors.As(err, &usage) && usage.hint != "" {
		return usage.hint
	}
	for _, h := range hints {
		if errors.Is(err, h.is) {
			return h.hint
		}
	}
	if CodeOf(err) == Again {
		return "the store did not answer as it should. Nothing is lost; run the same command again"
	}
	return ""
}

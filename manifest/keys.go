package manifest

import "fmt"

// Object keys below a topic's folder. Everything that a job writes lies under
// its own id, with a number that the job counts up, so no two jobs ever meet.

// DataKey is the key of a segment.
func DataKey(job JobID, n int) string { return fmt.Sprintf("d/%s/%06d.arrow", job, n) }

// IndexKey is the key of a segment's key index.
func IndexKey(job JobID, n int) string { return fmt.Sprintf("x/%s/%06d", job, n) }

// DeadKey is the key of a dead-row bitmap.
func DeadKey(job JobID, n int) string { return fmt.Sprintf("b/%s/%06d", job, n) }

// partKey is the key of a manifest part.
func partKey(commit CommitID, job JobID, n int) string {
	return fmt.Sprintf("p/%s/%s-%06d", job, commit, n)
}

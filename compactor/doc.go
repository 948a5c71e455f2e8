// Package compactor folds a topic by key: of each key the compacted view shows
// the last committed message, whatever the size of the topic or the number of
// its keys.
//
//	Survey    how far may the horizon go?              reads headers of one segment at most
//	PlanRun   what is to be done, and what it costs    pure
//	Run       survey, plan, tasks, one commit          with a Deadline, in slices
//
// A plan is tasks, and a task is a value: it names a version of the topic,
// which never changes, so whoever has the task can do it, anywhere and twice.
//
//	          H                        H'
//	compacted | originals              |   originals
//	----------+------------------------+----------------
//	  older   |        dirty           |   left alone
//
//	resolve   per range of digests: merge the key indexes of dirty and older
//	          segments, and choose the winner of each key that a dirty segment
//	          has. What lost is a set of rows per segment.
//	adopt     a dirty original of which enough is left becomes a compacted
//	          segment as it is, with a bitmap of dead rows.
//
//	write     per run of other dirty originals: what is left of them goes, in
//	          position order, into new compacted segments. With the adopted ones
//	          they cover (H, H'] without a gap.
//
//	reclaim   neighbours among the older segments that waste too much, or are
//	          too small, are rewritten together.
//
// Other older segments are not rewritten. What died of one is written down as
// its new bitmap of dead rows, so a run costs about its dirty bytes and 20 bytes
// for each live key, not the size of the state; see reclaimable for what
// rewriting adds, and why that is bounded.
//
// A segment that is missing or damaged is quarantined, and nothing is folded
// past it until it is whole; see quarantine.
//
// What decides is pure (PlanRun, PlanTrim, reclaimable, and the small
// functions below them); what reads or writes takes a context. There is no clock and no chance
// in this package: the time, the ids and the observer are arguments, and the
// same inputs make the same bytes.
//
// A long run keeps notes of what it has done, so that it can be gone on with
// after it was killed; Keep, Do and Finish let others do the tasks one by one.
//
// There is no task that makes a missing key index: the segment writer makes the
// index with the segment, so none is ever missing.
package compactor

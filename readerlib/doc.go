// Package readerlib reads topics: the retained originals, or the compacted
// view, as one exact stream of messages.
//
// Everything is answered from one snapshot, a version of the topic that the
// reader holds on to, and from one definite list of messages, its view. That a
// message is available means that Next returns it; the last message id is the
// position of the last one that Messages yields; a message that was superseded
// or deleted between two questions cannot make an answer wrong, since between
// two questions nothing changes. What was committed meanwhile is seen after
// Refresh, when everything is computed anew.
//
//	r, err := readerlib.Open(ctx, topic, readerlib.Options{View: readerlib.Compacted})
//	if err != nil {
//		return err
//	}
//	for m, err := range r.Messages(ctx) {
//		if err != nil {
//			return err
//		}
//		handle(m)
//	}
//	save(r.Place().String()) // and go on later from readerlib.After(place)
//
// Beside the stream there are Get (the value of a key), Fetch (what is at
// given positions, and what became of the rest) and Changes (what happened to
// the compacted view from one version to another).
//
// # Versions that end
//
// Versions are collected some time after newer ones exist, unless a tag or a
// pin keeps them. A reader of a collected version gets ErrSnapshotExpired from
// the first read that misses an object, never a result that is short. To hold
// on to a version for long, tag or pin it (package manifest).
//
// # Cost
//
// Each call says what it costs in requests to the store. A segment is opened by
// one ranged read for the head of its key index, and one more if rows of it are
// dead; a reader keeps what it opened for as long as it stays on the snapshot,
// up to 256 segments. Only blocks are read that may show a message, and of
// those only the headers where payloads are not asked for.
package readerlib

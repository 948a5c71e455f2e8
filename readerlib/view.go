package readerlib

import (
	"fmt"

	"github.com/ledgerfold/ledgerfold/manifest"
	"github.com/ledgerfold/ledgerfold/segments"
	"github.com/ledgerfold/ledgerfold/txnfilter"
)

// view is the definite list of messages that one snapshot shows under one set
// of options. Everything a reader answers is read off this list, forwards or
// backwards, so two answers cannot disagree. It is kept as stretches: pieces
// of segments, in position order, that do not overlap. A row belongs to the
// list if its stretch shows it.
//
//	                  RetainedAfter    Horizon     MaxRead     Last
//	                        v             v           v          v
//	compacted  |==========================|
//	originals           |=====|======|=======|====|=====|=======|
//	                        |                         |
//	Raw                     (-------------------------]
//	Compacted  (--------------------------]-----------]
//	fetch      (------------]-------------------------]
//
// Under ReadUncommitted the last piece goes on through Last. Segments straddle
// these bounds freely; the clip of a stretch says what of its segment belongs.
type view []stretch

// stretch is what the list takes of one segment.
type stretch struct {
	segment *manifest.Segment
	clip    segments.Range

	// folded says that the segment is a compacted one: its dead rows are
	// hidden, and it holds no markers and only committed messages. Of an
	// original the markers and the messages of aborted transactions are hidden.
	folded bool
	txns   *txnfilter.State
}

// bound is the last entry that a reader of m may see.
func bound(m *manifest.Manifest, iso Isolation) segments.Position {
	if iso == ReadUncommitted {
		return m.Last
	}
	return m.MaxRead
}

// newView makes the list of v.
func newView(m *manifest.Manifest, txns *txnfilter.State, v View, iso Isolation) view {
	if v == Raw {
		return originals(m, txns, segments.Range{After: m.RetainedAfter, Through: bound(m, iso)})
	}
	folded := compacted(m, segments.Range{After: segments.None, Through: m.Horizon})
	return append(folded, originals(m, txns, segments.Range{After: m.Horizon, Through: bound(m, iso)})...)
}

// newFetchView makes the list that holds as many messages as there are: the
// originals where they are retained, superseded messages too, and before those
// what compaction left.
func newFetchView(m *manifest.Manifest, txns *txnfilter.State) view {
	folded := compacted(m, segments.Range{After: segments.None, Through: m.RetainedAfter})
	return append(folded, newView(m, txns, Raw, ReadCommitted)...)
}

func compacted(m *manifest.Manifest, clip segments.Range) view {
	var v view
	for i := range m.Compacted {
		s := &m.Compacted[i]
		if c := s.Range.Clip(clip); !c.IsEmpty() && s.Object != "" && s.LiveRows() > 0 {
			v = append(v, stretch{segment: s, clip: c, folded: true})
		}
	}
	return v
}

func originals(m *manifest.Manifest, txns *txnfilter.State, clip segments.Range) view {
	var v view
	for i := range m.Originals {
		s := &m.Originals[i]
		n := s.Info.Counts
		if c := s.Range.Clip(clip); !c.IsEmpty() && s.Object != "" && n.Messages+n.Tombstones > 0 {
			v = append(v, stretch{segment: s, clip: c, txns: txns})
		}
	}
	return v
}

// endsBy reports whether nothing of the stretch lies after p.
func (s stretch) endsBy(p segments.Position) bool {
	return !s.clip.Through.EndOfEntry().After(p)
}

// hides reports whether the stretch hides a row of its clip for what it is.
// Dead rows are not asked about here.
func (s stretch) hides(kind segments.Kind, txn segments.Null[segments.TxnID]) bool {
	return !s.folded && (kind.IsMarker() || txn.Valid && s.txns.IsAborted(txn.V))
}

// decodeTxns reads the transactions of m.
func decodeTxns(m *manifest.Manifest) (*txnfilter.State, error) {
	txns, err := txnfilter.Decode(m.Transactions)
	if err != nil {
		return nil, fmt.Errorf("read transactions of version %d: %w", m.Version, err)
	}
	return &txns, nil
}

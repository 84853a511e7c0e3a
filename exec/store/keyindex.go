package store

import (
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/store/hashindex"
	"github.com/tributarydb/tributary/sql/types"
)

const (
	// indexRows is the least rows of a segment that is worth an index. Inline segments always are: a
	// look-up would decode them.
	indexRows = 8
	// indexAfter is how often a large segment is read for look-ups, from end to end, before it gets an
	// index: making one costs about as much as they did. A small one gets it sooner, after a look-up
	// for each cheapRows: its cost is that of opening it.
	indexAfter = 8
	// longIndex is from how many rows an index takes long to make.
	longIndex = 1 << 16
	cheapRows = 1024
)

// indexOf names an index of a segment: that of one column, or of the columns of a
// constraint.
type indexOf struct {
	column     int16
	constraint types.OID
}

func (k *Key) indexOf() indexOf {
	if len(k.nums) == 1 {
		return indexOf{column: k.nums[0]}
	}
	return indexOf{constraint: k.id}
}

// segmentKey is a segment's state of one key, with its index; guarded by the segment's keyMu, but
// for the slot.
type segmentKey struct {
	read atomic.Int64 // rows read by look-ups for want of an index
	none bool         // it cannot be indexed
	hashindex.Slot
}

// look returns the index, if there is one.
func (x *segmentKey) look() *hashindex.Index {
	if x == nil {
		return nil
	}
	return x.Look()
}

// indexed returns a segment's state of a key, with an index if it has one by now. Making one is
// deferred until look-ups have read as many rows for want of it as it costs, so that no scan pays
// for indexes that are never used again: of a hundred million rows zone maps may leave a look-up a
// few. may reports whether the caller makes one now (nil: it does).
func (s *Store) indexed(g *segment, k *Key, may func(rows int64) bool) *segmentKey {
	g.keyMu.Lock()
	defer g.keyMu.Unlock()
	of := k.indexOf()
	x := g.keys[of]
	if x == nil {
		if g.keys == nil {
			g.keys = map[indexOf]*segmentKey{}
		}
		x = &segmentKey{}
		g.keys[of] = x
	}
	rows := g.foot.Rows
	if x.Peek() != nil || x.none || x.read.Load() < min(indexAfter, rows/cheapRows)*rows || may != nil && !may(rows) {
		return x
	}
	x.read.Store(0) // if it fails it is retried later
	bytes := hashindex.Bytes(rows)
	if !s.indexes.Take(bytes) {
		return x
	}
	hashes, err := g.keyHashes(k.nums, k.types)
	if err == nil {
		err = s.intact(g) // the index outlives the statement
	}
	if err != nil || hashes == nil {
		s.indexes.Release(bytes)
		x.none = err == nil
		return x
	}
	s.indexes.Keep(&x.Slot, hashindex.New(hashes), bytes)
	return x
}

// dropIndexes releases the memory of a segment's indexes, when the segment is unmapped.
func (s *Store) dropIndexes(g *segment) {
	g.keyMu.Lock()
	defer g.keyMu.Unlock()
	for _, x := range g.keys {
		s.indexes.Drop(&x.Slot)
	}
	g.keys = nil
}

// IndexBytes returns what the key indexes of the store take of its pool.
func (s *Store) IndexBytes() int64 { return s.indexes.Reserved() }

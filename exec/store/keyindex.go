package store

import (
	"container/list"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// keyIndex finds the rows of a segment by the hash of a key. Rows lie in buckets
// by the hash's upper bits, eight or so in each, with the lower half of the hash
// beside:
//
//	starts │ 0 │ 3 │ 7 │ …            bucket b is tags[starts[b]:starts[b+1]]
//	tags   │ 9a… 31… 07… │ …          rows │ 12 90 4 │ …
//
// So a look-up reads two places of memory, and a row takes eight and a half bytes, or ten with its
// part of the filter.
type keyIndex struct {
	shift  uint
	starts []uint32
	tags   []uint32
	rows   []uint32
	filter keyFilter
}

// keyFilter is a blocked Bloom filter that rules out most keys that a segment does not have without its index: three
// bits for each tag in one word, with eight bits or more a row. Those of a partition lie side by side (partMarks), so
// that a segment that lacks the key costs one read of memory, which depends on no other.
type keyFilter []uint64

func newKeyFilter(hashes []uint64) keyFilter {
	f := make(keyFilter, 1<<bits.Len(uint(len(hashes)/filterRows)))
	for _, h := range hashes {
		f[h/64&uint64(len(f)-1)] |= filterBits(h)
	}
	return f
}

// filterBits returns the bits of a hash in its word of a filter. With three, there is a false
// positive in one segment of fifty; with one, in one of twelve, each of which costs two reads of
// its index.
func filterBits(h uint64) uint64 { return 1<<(h%64) | 1<<(h>>58) | 1<<(h>>52%64) }

// lacks reports whether no key has a hash; false also where there is no filter.
func (f keyFilter) lacks(h uint64) bool {
	bits := filterBits(h)
	return len(f) > 0 && f[h/64&uint64(len(f)-1)]&bits != bits
}

// filterRows is how many rows of a segment share a word of its filter, at the most.
const filterRows = 8

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
	// indexShare is the share of the pool, one in so many, that all indexes may take.
	indexShare = 8
)

func newKeyIndex(hashes []uint64) *keyIndex {
	n := max(bits.Len(uint(len(hashes)/8)), 1)
	x := &keyIndex{shift: uint(64 - n), starts: make([]uint32, 1<<n+1), tags: make([]uint32, len(hashes)), rows: make([]uint32, len(hashes)), filter: newKeyFilter(hashes)}
	for _, h := range hashes {
		x.starts[h>>x.shift+1]++
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	next := slices.Clone(x.starts)
	for r, h := range hashes {
		at := next[h>>x.shift]
		next[h>>x.shift]++
		x.tags[at], x.rows[at] = uint32(h), uint32(r)
	}
	return x
}

// indexBytes returns what an index of so many rows takes, while it is made too.
func indexBytes(rows int64) int64 { return 11*rows + 64 }

// find appends the rows with a hash, and perhaps others, in order.
func (x *keyIndex) find(h uint64, out []uint32) []uint32 {
	b := h >> x.shift
	for i := x.starts[b]; i < x.starts[b+1]; i++ {
		if x.tags[i] == uint32(h) {
			out = append(out, x.rows[i])
		}
	}
	return out
}

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
// for the index, which may be evicted (indexBudget).
type segmentKey struct {
	read  atomic.Int64 // rows read by look-ups for want of an index
	none  bool         // it cannot be indexed
	index atomic.Pointer[keyIndex]
	used  atomic.Bool // since the last eviction
	bytes int64
	kept  *list.Element // in the budget's list, under its lock
}

// look returns the index, if there is one.
func (x *segmentKey) look() *keyIndex {
	if x == nil {
		return nil
	}
	had := x.index.Load()
	if had != nil && !x.used.Load() {
		x.used.Store(true)
	}
	return had
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
	if x.index.Load() != nil || x.none || x.read.Load() < min(indexAfter, rows/cheapRows)*rows || may != nil && !may(rows) {
		return x
	}
	x.read.Store(0) // if it fails it is retried later
	bytes := indexBytes(rows)
	if !s.indexes.take(bytes) {
		return x
	}
	hashes, err := g.keyHashes(k.nums, k.types)
	if err != nil || hashes == nil {
		s.indexes.release(bytes)
		x.none = err == nil
		return x
	}
	x.bytes = bytes
	x.used.Store(true)
	x.index.Store(newKeyIndex(hashes))
	s.indexes.keep(x)
	return x
}

// dropIndexes releases the memory of a segment's indexes, when the segment is unmapped.
func (s *Store) dropIndexes(g *segment) {
	g.keyMu.Lock()
	defer g.keyMu.Unlock()
	for _, x := range g.keys {
		s.indexes.drop(x)
	}
	g.keys = nil
}

// indexBudget limits what the indexes of a store take of its pool. Only other indexes give way for
// them: without one a scan reads more.
type indexBudget struct {
	mu   sync.Mutex
	acct *mem.Account // nil: without limit
	kept list.List    // of *segmentKey: those that have an index, the oldest first
}

// take reserves the bytes of an index. Where there is no room, the indexes that were not used since
// the last eviction are evicted: those in use stay, and a new one without room is tried again after
// some more look-ups.
func (b *indexBudget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct == nil {
		return true
	}
	p := b.acct.Pool()
	if limit := p.Limit() / indexShare; limit > 0 && b.acct.Used()+n > limit {
		if n > limit {
			return false
		}
		var next *list.Element
		for e := b.kept.Front(); e != nil; e = next {
			next = e.Next()
			if x := e.Value.(*segmentKey); !x.used.Swap(false) && b.acct.Used()+n > limit {
				b.forget(x)
			}
		}
		if b.acct.Used()+n > limit {
			return false
		}
	}
	return !p.Paused() && b.acct.Try(n)
}

// keep records an index that was made.
func (b *indexBudget) keep(x *segmentKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct != nil {
		x.kept = b.kept.PushBack(x)
	}
}

// drop releases what an index takes, if it is still there.
func (b *indexBudget) drop(x *segmentKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.kept != nil {
		b.forget(x)
	}
}

// forget releases what an index takes; mu is held.
func (b *indexBudget) forget(x *segmentKey) {
	b.kept.Remove(x.kept)
	x.kept = nil
	x.index.Store(nil)
	b.acct.Shrink(x.bytes)
}

// IndexBytes returns what the key indexes of the store take of its pool.
func (s *Store) IndexBytes() int64 {
	if s.indexes.acct == nil {
		return 0
	}
	return s.indexes.acct.Reserved()
}

func (b *indexBudget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct != nil {
		b.acct.Shrink(n)
	}
}

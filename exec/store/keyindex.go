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
// So a look touches two places of memory, and a row costs eight and a half bytes, or
// ten with its part of the filter.
type keyIndex struct {
	shift  uint
	starts []uint32
	tags   []uint32
	rows   []uint32
	filter keyFilter
}

// keyFilter is a blocked Bloom filter that rules out most keys that a segment does not have without its index: three
// bits for each tag in one word, with eight bits or more a row. Those of a partition lie side by side (partMarks), so
// that a look at a segment that lacks the key is one place of memory, which depends on no other.
type keyFilter []uint64

func newKeyFilter(hashes []uint64) keyFilter {
	f := make(keyFilter, 1<<bits.Len(uint(len(hashes)/filterRows)))
	for _, h := range hashes {
		f[h/64&uint64(len(f)-1)] |= filterBits(h)
	}
	return f
}

// filterBits are those of a hash in its word of a filter: of three, all are another's in one
// segment of fifty; of one, in one of twelve, each of which costs two places of its index.
func filterBits(h uint64) uint64 { return 1<<(h%64) | 1<<(h>>58) | 1<<(h>>52%64) }

// lacks reports whether no key has a hash; false also where there is no filter.
func (f keyFilter) lacks(h uint64) bool {
	bits := filterBits(h)
	return len(f) > 0 && f[h/64&uint64(len(f)-1)]&bits != bits
}

// filterRows is how many rows of a segment share a word of its filter, at the most.
const filterRows = 8

const (
	// indexRows is how many rows a segment has at least that is worth an index.
	// Those in the catalog always are: they are decoded to be looked into.
	indexRows = 8
	// indexAfter is how often a large segment is read for looks, from end to end, before
	// it gets an index: making one costs about as much as they did. A small one has it
	// sooner, a look for each cheapRows: opening it is what costs.
	indexAfter = 8
	// longIndex is how many rows a segment has whose index takes long to make.
	longIndex = 1 << 16
	cheapRows = 1024
	// indexShare of the pool is what all indexes may take.
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

// indexBytes is what an index of so many rows takes, and making it for a moment.
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

// segmentKey is what a segment knows of a key; guarded by the segment's keyMu, but
// for the index, which another's may take the place of (indexBudget).
type segmentKey struct {
	read  atomic.Int64 // rows, by looks that an index would have spared them
	none  bool         // it cannot be indexed
	index atomic.Pointer[keyIndex]
	used  atomic.Bool // since room was last looked for
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

// indexed returns what a segment knows of a key, with an index if it has one by now.
// Making it is put off until looks have read so many rows for want of it that it costs
// no more, so that no scan pays for indexes that nobody looks into again: of a hundred
// million rows zones may leave a look a few. may reports whether who looks makes one now
// (nil: he does).
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
	x.read.Store(0) // where it fails: another time
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

// indexBudget is what the indexes of a store take of its pool. Nobody gives way for
// them but other indexes: without one a scan reads more.
type indexBudget struct {
	mu   sync.Mutex
	acct *mem.Account // nil: without limit
	kept list.List    // of *segmentKey: those that have an index, the oldest first
}

// take asks for the bytes of an index. Where there is no room, those go that nobody used
// since the last time there was none: what is in use stays, and a new one that finds
// no room is asked for again after some more looks.
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

// keep takes note of an index that was made.
func (b *indexBudget) keep(x *segmentKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acct != nil {
		x.kept = b.kept.PushBack(x)
	}
}

// drop releases what an index takes, if it is there still.
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

// IndexBytes is what the key indexes of the store take of its pool.
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

package join

import (
	"math/bits"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/planner/plan"
)

// hashTable finds build rows by key. Rows are named by id; the ends of lists
// and empty places are 0, so what is stored is id+1.
//
//	hash     slots[h & mask] = tag (the upper half of h) | id+1, linear probing;
//	         a slot is the head of the list of rows whose hashes have that tag
//	direct   heads[key - min] = id+1: one integer key in a narrow range, which
//	         needs neither hashes nor comparisons. If it is null-safe no row has
//	         a NULL, so that NULLs match nothing either
//	ranked   heads[rank] = id+1: the same in a wider range, by how many keys of
//	         those that there are, in a bitmap, come before: keys in order are
//	         found in order
//	all      no keys: every row is a candidate
//	order    rows between bounds of a column, in all or in the list of a key
//
// next[id] is the next row of a list, nil where no list has a second.
type hashTable struct {
	cfg  *layout
	rows *rowset.Set
	keys []*kernel.Column

	slots  []uint64
	mask   uint64
	heads  []uint32
	min    int64
	direct bool     // or ranked
	exists []uint64 // ranked: bits by key - min; else nil
	ranks  []uint32 // by word of exists: the bits before it
	all    []uint32
	order  *order // of all, in which a head is the number of a list; nil: none
	next   []uint32
	listed atomic.Bool // some list has a second row

	filter    atomic.Pointer[tagFilter] // of the slots, once it is worth it
	filtering atomic.Bool               // a thread makes it, or has

	hasNull  atomic.Bool // some row has a NULL in a key that is not null-safe
	nullKey  atomic.Bool // some row has one in the only key, which is null-safe: no place is for it
	nonEmpty atomic.Bool
	matched  []uint32 // bits by id, for kinds that return right rows of their own

	sizes  [][]colSize // by chunk and stored column, of those that pairs are made of
	widest []int64     // value, by stored column
	copy   *rowCopy    // nil: none

	chunk atomic.Int64 // next chunk to insert, or to emit unmatched rows of
	lo    atomic.Int64
	hi    atomic.Int64
}

func newHashTable(cfg *layout, rows *rowset.Set) *hashTable {
	t := &hashTable{cfg: cfg, rows: rows}
	for _, at := range cfg.rKeyAt {
		t.keys = append(t.keys, rows.Column(at))
	}
	t.nonEmpty.Store(rows.Rows() > 0)
	t.lo.Store(1<<63 - 1)
	t.hi.Store(-1 << 63)
	return t
}

// tableBytes is what a table over n rows whose ids are below ids takes at most, the
// rows not counted.
func tableBytes(cfg *layout, n, ids int64) int64 {
	if len(cfg.rKeyAt) == 0 {
		bytes := 4*n + ids/8
		if cfg.ranges != nil {
			kept, making := cfg.ranges.orderBytes()
			bytes += (kept + making) * n
		}
		return bytes
	}
	return 16*slotCount(n) + 4*ids + ids/8 // the slots, or up to twice as much for places of values
}

func slotCount(n int64) int64 {
	size := int64(16)
	for size*3 < n*5 {
		size *= 2
	}
	return size
}

// maxExists is the most bytes that a bitmap of few keys takes: it should stay in a
// cache.
const maxExists = 4 << 20

// size allocates, once all rows are there and their range is known. grant asks
// for memory beyond tableBytes; nil: there is none.
func (t *hashTable) size(grant func(bytes int64) bool) {
	ids := t.rows.Span()
	t.sizes, t.widest = make([][]colSize, t.rows.Chunks()), make([]int64, len(t.cfg.rStoredTypes))
	if t.cfg.emitsBuild() {
		t.matched = make([]uint32, (ids+31)/32)
	}
	if len(t.keys) == 0 {
		if t.cfg.ranges == nil {
			t.all = t.rows.IDs()
		}
		return
	}
	n := slotCount(t.rows.Rows())
	if t.cfg.directKey && !t.nullKey.Load() {
		lo, hi := t.lo.Load(), t.hi.Load()
		span := uint64(hi) - uint64(lo)
		if lo <= hi && span < uint64(2*n) {
			t.direct, t.min = true, lo
			t.heads = kernel.Fresh[uint32](int(span)+1, int(span)+1)
		} else if lo > hi { // no keys at all
			t.direct, t.heads = true, []uint32{0}
		} else if words := span/64 + 1; words <= uint64(n) || words <= maxExists/8 && grant != nil && grant(int64(12*words)) {
			t.direct, t.min = true, lo
			t.exists = make([]uint64, words)
		}
	}
	if !t.direct {
		t.slots, t.mask = kernel.Fresh[uint64](int(n), int(n)), uint64(n-1)
	}
	t.next = make([]uint32, ids)
}

// finish is called when all rows are in.
func (t *hashTable) finish() {
	t.measured()
	if !t.listed.Load() {
		t.next = nil
	}
}

// findRange widens the range of the key by chunk ch.
func (t *hashTable) findRange(ch int) {
	arr := t.keys[0].Chunk(ch)
	if t.cfg.NullSafe[0] && arr.NullN() > 0 {
		t.nullKey.Store(true)
	}
	lo, hi, ok := kernel.IntRange(arr)
	if !ok {
		return
	}
	for old := t.lo.Load(); lo < old && !t.lo.CompareAndSwap(old, lo); old = t.lo.Load() {
	}
	for old := t.hi.Load(); hi > old && !t.hi.CompareAndSwap(old, hi); old = t.hi.Load() {
	}
}

// nullKeys returns which of the n or more rows of keys have a NULL that matches nothing;
// nil for none.
func (c *layout) nullKeys(keys []arrow.Array, n int) []bool {
	var out []bool
	for k, arr := range keys {
		if !c.NullSafe[k] {
			out = addNulls(out, arr, n)
		}
	}
	return out
}

// nullKeys is the layout's; places of values are for no NULL.
func (t *hashTable) nullKeys(keys []arrow.Array, n int) []bool {
	if t.direct {
		return addNulls(nil, keys[0], n)
	}
	return t.cfg.nullKeys(keys, n)
}

// addNulls sets for which rows an array has a NULL; nil for none.
func addNulls(out []bool, arr arrow.Array, n int) []bool {
	if arr.NullN() == 0 {
		return out
	}
	if out == nil {
		out = make([]bool, max(n, arr.Len()))
	}
	end := 0 // of the valid rows before
	batch.ValidRuns(arr, func(from, to int) {
		setTrue(out[end:from])
		end = to
	})
	setTrue(out[end:])
	return out
}

func setTrue(s []bool) {
	for i := range s {
		s[i] = true
	}
}

// inserter puts chunks into a table; one a thread.
type inserter struct {
	h      *kernel.Hasher
	hashes []uint64
}

// insert puts the rows of chunk ch in. alone says that no other thread inserts.
func (t *hashTable) insert(in *inserter, ch int, alone bool) {
	n := t.rows.ChunkRows(ch)
	t.measure(ch)
	keys := make([]arrow.Array, len(t.keys))
	for k := range keys {
		keys[k] = t.keys[k].Chunk(ch)
	}
	null := t.cfg.nullKeys(keys, n)
	for _, is := range null {
		if is {
			t.hasNull.Store(true)
			break
		}
	}
	if len(t.keys) == 0 {
		return
	}
	listed := false
	if t.direct {
		switch a := keys[0].(type) {
		case *array.Int64:
			listed = insertDirect(t, a.Int64Values(), null, ch, alone)
		case *array.Int32:
			listed = insertDirect(t, a.Int32Values(), null, ch, alone)
		case *array.Int16:
			listed = insertDirect(t, a.Int16Values(), null, ch, alone)
		case *array.Date32:
			listed = insertDirect(t, a.Date32Values(), null, ch, alone)
		case *array.Uint32:
			listed = insertDirect(t, a.Uint32Values(), null, ch, alone)
		}
	} else {
		in.hashes = in.h.Hash(keys, n, in.hashes)
		if alone {
			listed = t.insertHashes(in.hashes, null, ch)
		} else {
			listed = t.insertShared(in.hashes, null, ch)
		}
	}
	if listed {
		t.listed.Store(true)
	}
}

// note adds the keys of chunk ch to the bitmap of keys.
func (t *hashTable) note(ch int) {
	arr := t.keys[0].Chunk(ch)
	null := t.cfg.nullKeys([]arrow.Array{arr}, arr.Len())
	switch a := arr.(type) {
	case *array.Int64:
		noteKeys(t, a.Int64Values(), null)
	case *array.Int32:
		noteKeys(t, a.Int32Values(), null)
	case *array.Int16:
		noteKeys(t, a.Int16Values(), null)
	case *array.Date32:
		noteKeys(t, a.Date32Values(), null)
	case *array.Uint32:
		noteKeys(t, a.Uint32Values(), null)
	}
}

// rank makes a place for each key, once all are recorded.
func (t *hashTable) rank() {
	t.ranks = make([]uint32, len(t.exists))
	n := 0
	for i, w := range t.exists {
		t.ranks[i] = uint32(n)
		n += bits.OnesCount64(w)
	}
	t.heads = kernel.Fresh[uint32](n, n)
}

// place returns where the head of a key's list is; the key is in the table, at above the least.
func (t *hashTable) place(at uint64) uint64 {
	if t.exists == nil {
		return at
	}
	return rankOf(t.exists, t.ranks, at)
}

func rankOf(exists []uint64, ranks []uint32, at uint64) uint64 {
	return uint64(ranks[at>>6]) + uint64(bits.OnesCount64(exists[at>>6]&(1<<(at&63)-1)))
}

func noteKeys[T kernel.Integer](t *hashTable, vals []T, null []bool) {
	for i, v := range vals {
		if null != nil && null[i] {
			continue
		}
		at := uint64(int64(v) - t.min)
		p, bit := &t.exists[at>>6], uint64(1)<<(at&63)
		if atomic.LoadUint64(p)&bit == 0 {
			atomic.OrUint64(p, bit)
		}
	}
}

// insertDirect goes backwards so that lists ascend.
func insertDirect[T kernel.Integer](t *hashTable, vals []T, null []bool, ch int, alone bool) (listed bool) {
	for i := len(vals) - 1; i >= 0; i-- {
		if null != nil && null[i] {
			continue
		}
		id := kernel.RowID(ch, i)
		p := &t.heads[t.place(uint64(int64(vals[i])-t.min))]
		var old uint32
		if alone {
			old, *p = *p, id+1
		} else {
			old = atomic.SwapUint32(p, id+1)
		}
		if old != 0 {
			t.next[id] = old
			listed = true
		}
	}
	return listed
}

func (t *hashTable) insertHashes(hs []uint64, null []bool, ch int) (listed bool) {
	for i := len(hs) - 1; i >= 0; i-- {
		if null != nil && null[i] {
			continue
		}
		h, id := hs[i], kernel.RowID(ch, i)
		tag := h >> 32 << 32
		for at := h & t.mask; ; at = (at + 1) & t.mask {
			s := t.slots[at]
			if s == 0 {
				t.slots[at] = tag | uint64(id+1)
				break
			}
			if s>>32<<32 == tag {
				t.next[id] = uint32(s)
				t.slots[at] = tag | uint64(id+1)
				listed = true
				break
			}
		}
	}
	return listed
}

func (t *hashTable) insertShared(hs []uint64, null []bool, ch int) (listed bool) {
	for i := len(hs) - 1; i >= 0; i-- {
		if null != nil && null[i] {
			continue
		}
		h, id := hs[i], kernel.RowID(ch, i)
		tag := h >> 32 << 32
		for at := h & t.mask; ; {
			s := atomic.LoadUint64(&t.slots[at])
			if s == 0 {
				if atomic.CompareAndSwapUint64(&t.slots[at], 0, tag|uint64(id+1)) {
					break
				}
				continue
			}
			if s>>32<<32 == tag {
				t.next[id] = uint32(s)
				if atomic.CompareAndSwapUint64(&t.slots[at], s, tag|uint64(id+1)) {
					listed = true
					break
				}
				continue
			}
			at = (at + 1) & t.mask
		}
	}
	return listed
}

// id returns the row that cursor c is at, step the cursor after it (0: the end).
func (t *hashTable) id(c uint32) uint32 {
	if t.all != nil {
		return t.all[c-1]
	}
	return c - 1
}

func (t *hashTable) step(c uint32) uint32 {
	if t.all != nil {
		if int(c) < len(t.all) {
			return c + 1
		}
		return 0
	}
	if t.next == nil {
		return 0
	}
	return t.next[c-1]
}

// mark records that build rows have a match.
func (t *hashTable) mark(ids []uint32) {
	for _, id := range ids {
		p, bit := &t.matched[id>>5], uint32(1)<<(id&31)
		if atomic.LoadUint32(p)&bit == 0 {
			atomic.OrUint32(p, bit)
		}
	}
}

// rest returns the rows that go out by themselves, of the next chunk that has
// some: those without a match, for RightSemi those with one. nil at the end.
func (t *hashTable) rest() []uint32 {
	want := uint32(0)
	if t.cfg.Kind == plan.RightSemi {
		want = 1
	}
	for {
		ch := int(t.chunk.Add(1)) - 1
		if ch >= t.rows.Chunks() {
			return nil
		}
		var ids []uint32
		for i := 0; i < t.rows.ChunkRows(ch); i++ {
			id := kernel.RowID(ch, i)
			if t.matched[id>>5]>>(id&31)&1 == want {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			return ids
		}
	}
}

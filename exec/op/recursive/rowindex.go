package recursive

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/rowset"
	"github.com/tributarydb/tributary/sql/types"
)

// rowIndex is a growing set of distinct rows in memory, NULL being equal to NULL. It is for one
// goroutine and charges nothing: the caller does.
//
//	slots[upper half of h & mask] = upper half of h | id+1, linear probing
//
// A slot tells where it belongs in a table of any size, so that one grows from its first slot to its last, in order.
type rowIndex struct {
	types  []types.Type
	cols   []*kernel.Column
	n      int
	ids    []uint32 // by row in order of arrival
	hashes []uint64
	slots  []uint64
	h      *kernel.Hasher
	tmp    []uint64
	data   int64 // bytes of cols
	small  int   // chunks of few rows since compact
	full   int   // rows that lie in full chunks
}

func newRowIndex(ts []types.Type) *rowIndex {
	x := &rowIndex{types: ts, h: kernel.NewHasher(ts), slots: make([]uint64, 1024)}
	for _, t := range ts {
		x.cols = append(x.cols, kernel.NewColumn(t))
	}
	return x
}

// indexRowBytes is what a row takes beside its values, at most.
const indexRowBytes = 48

func (x *rowIndex) bytes() int64 {
	return x.data + 12*int64(cap(x.ids)) + 8*int64(len(x.slots)) + 256*int64(x.small)
}

// find returns the place of a row of hash h, or the free slot where it would be.
func (x *rowIndex) find(cols []arrow.Array, row int, h uint64) (at uint64, found bool) {
	mask := uint64(len(x.slots) - 1)
	tag := h >> 32 << 32
	at = h >> 32 & mask
	for s := x.slots[at]; s != 0; s = x.slots[at] {
		if s>>32<<32 == tag && x.same(cols, row, uint32(s)-1) {
			return at, true
		}
		at = (at + 1) & mask
	}
	return at, false
}

// split returns the rows of b that are not in the index, in two batches: those whose hash satisfies
// apart, if that is not nil, and the others.
func (x *rowIndex) split(b *batch.Batch, apart func(h uint64) bool) (some, others *batch.Batch) {
	x.tmp = x.h.Hash(b.Cols, b.N, x.tmp)
	sel, rest := []int32{}, []int32{} // nil would be all rows
	for i, h := range x.tmp {
		if _, found := x.find(b.Cols, i, h); found {
			continue
		}
		if apart != nil && apart(h) {
			sel = append(sel, int32(i))
		} else {
			rest = append(rest, int32(i))
		}
	}
	return picked(b, sel), picked(b, rest)
}

func picked(b *batch.Batch, sel []int32) *batch.Batch {
	if len(sel) == b.N {
		return b
	}
	return kernel.Compact(&batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1})
}

// put adds the rows of b that are not there, each once, and returns those. The others take room too.
func (x *rowIndex) put(b *batch.Batch) *batch.Batch {
	if b.N > kernel.ChunkRows {
		head, tail := x.put(b.Slice(0, kernel.ChunkRows)), x.put(b.Slice(kernel.ChunkRows, b.N))
		return rowset.Concat(x.types, []*batch.Batch{head, tail})
	}
	if b.N == 0 {
		return b
	}
	// The batch goes in as a chunk of its own; rows that it has twice are simply
	// never named.
	x.tmp = x.h.Hash(b.Cols, b.N, x.tmp)
	chunk := 0
	for i, c := range b.Cols {
		chunk = x.cols[i].Chunks()
		x.cols[i].Append(c)
	}
	x.data += b.Bytes()
	sel := make([]int32, 0, b.N)
	for i, h := range x.tmp {
		if 2*(x.n+1) > len(x.slots) {
			x.grow()
		}
		at, found := x.find(b.Cols, i, h)
		if found {
			continue
		}
		id := kernel.RowID(chunk, i)
		x.slots[at] = h>>32<<32 | uint64(id+1)
		x.hashes = append(x.hashes, h)
		x.ids = append(x.ids, id)
		x.n++
		sel = append(sel, int32(i))
	}
	if b.N < kernel.ChunkRows/8 {
		if x.small++; x.small > 256 {
			x.compact()
		}
	}
	return picked(b, sel)
}

func (x *rowIndex) same(cols []arrow.Array, row int, id uint32) bool {
	for k, c := range x.cols {
		if len(c.Match(cols[k], []int32{int32(row)}, []uint32{id}, true, []int32{0})) == 0 {
			return false
		}
	}
	return true
}

// compact puts the rows that came since the last time into full chunks.
func (x *rowIndex) compact() {
	x.data = 0
	for k, c := range x.cols {
		fresh := kernel.NewColumn(x.types[k])
		add := func(a arrow.Array) {
			fresh.Append(a)
			x.data += batch.New([]arrow.Array{a}, a.Len()).Bytes()
		}
		for ch := range x.full / kernel.ChunkRows {
			add(c.Chunk(ch))
		}
		for from := x.full; from < x.n; from += kernel.ChunkRows {
			add(c.Gather(x.ids[from:min(from+kernel.ChunkRows, x.n)]))
		}
		x.cols[k] = fresh
	}
	// Old and new ids may be alike: all slots are found before one is changed.
	mask := uint64(len(x.slots) - 1)
	at := make([]uint64, x.n-x.full)
	for i := range at {
		h := x.hashes[x.full+i]
		p := h >> 32 & mask
		for x.slots[p] != h>>32<<32|uint64(x.ids[x.full+i]+1) {
			p = (p + 1) & mask
		}
		at[i] = p
	}
	for i, p := range at {
		row := x.full + i
		x.ids[row] = kernel.RowID(row/kernel.ChunkRows, row%kernel.ChunkRows)
		x.slots[p] = x.hashes[row]>>32<<32 | uint64(x.ids[row]+1)
	}
	x.full, x.small = x.n/kernel.ChunkRows*kernel.ChunkRows, 0
}

func (x *rowIndex) grow() {
	from := x.slots
	x.slots = make([]uint64, 2*len(from))
	mask := uint64(len(x.slots) - 1)
	for _, s := range from {
		if s == 0 {
			continue
		}
		at := s >> 32 & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = s
	}
}

// each returns the rows in batches, those that skip (by arrival; nil: none) does
// not leave out.
func (x *rowIndex) each(skip []bool, f func(*batch.Batch) error) error {
	ids := make([]uint32, 0, kernel.ChunkRows)
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		cols := make([]arrow.Array, len(x.cols))
		for k, c := range x.cols {
			cols[k] = c.Gather(ids)
		}
		n := len(ids)
		ids = ids[:0]
		return f(batch.New(cols, n))
	}
	for i, id := range x.ids {
		if skip != nil && skip[i] {
			continue
		}
		if ids = append(ids, id); len(ids) == kernel.ChunkRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

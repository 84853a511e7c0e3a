package op

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/sql/types"
)

// rowIndex is a growing set of distinct rows, NULL being equal to NULL: what
// a recursive UNION has given already. It is for one goroutine and does not
// spill.
//
//	slots[h & mask] = upper half of h | id+1, linear probing
type rowIndex struct {
	types  []types.Type
	cols   []*kernel.Column
	n      int
	ids    []uint32 // by row in order of arrival
	hashes []uint64
	slots  []uint64
	h      *kernel.Hasher
	acct   *mem.Account
	st     *Stats
	tmp    []uint64
}

func newRowIndex(rt *Runtime, st *Stats, ts []types.Type) *rowIndex {
	x := &rowIndex{types: ts, h: kernel.NewHasher(ts), slots: make([]uint64, 1024), acct: rt.Pool.Account("recursive union", false), st: st}
	for _, t := range ts {
		x.cols = append(x.cols, kernel.NewColumn(t))
	}
	return x
}

// fresh gives the rows of b that were not there, each once, and puts them in.
func (x *rowIndex) fresh(b *batch.Batch) (*batch.Batch, error) {
	if b.N > kernel.ChunkRows/2 {
		// within a batch rows are compared with a chunk that is not there yet
		head, err := x.fresh(b.Slice(0, kernel.ChunkRows/2))
		if err != nil {
			return nil, err
		}
		tail, err := x.fresh(b.Slice(kernel.ChunkRows/2, b.N))
		if err != nil {
			return nil, err
		}
		return joinBatches(x.types, []*batch.Batch{head, tail}), nil
	}
	x.tmp = x.h.Hash(b.Cols, b.N, x.tmp)
	// The batch goes in as a chunk of its own; rows that are not new are
	// simply never named.
	if err := x.acct.Grow(b.Bytes() + 24*int64(b.N)); err != nil {
		return nil, err
	}
	chunk := 0
	for i, c := range b.Cols {
		chunk = x.cols[i].Chunks()
		x.cols[i].Append(c)
	}
	if chunk > 256 && x.n < chunk*kernel.ChunkRows/8 {
		defer x.compact()
	}
	sel := make([]int32, 0, b.N)
	mask := uint64(len(x.slots) - 1)
	for i, h := range x.tmp {
		if 2*(x.n+1) > len(x.slots) {
			x.grow()
			mask = uint64(len(x.slots) - 1)
		}
		tag := h >> 32 << 32
		at := h & mask
		found := false
		for s := x.slots[at]; s != 0; s = x.slots[at] {
			if s>>32<<32 == tag && x.same(b.Cols, i, uint32(s)-1) {
				found = true
				break
			}
			at = (at + 1) & mask
		}
		if found {
			continue
		}
		id := kernel.RowID(chunk, i)
		x.slots[at] = tag | uint64(id+1)
		x.hashes = append(x.hashes, h)
		x.ids = append(x.ids, id)
		x.n++
		sel = append(sel, int32(i))
	}
	out := &batch.Batch{Cols: b.Cols, N: b.N, Sel: sel, Seq: -1}
	return kernel.Compact(out), nil
}

func (x *rowIndex) same(cols []arrow.Array, row int, id uint32) bool {
	for k, c := range x.cols {
		if len(c.Match(cols[k], []int32{int32(row)}, []uint32{id}, true, []int32{0})) == 0 {
			return false
		}
	}
	return true
}

// compact puts rows that lie in many small chunks into full ones.
func (x *rowIndex) compact() {
	for k, c := range x.cols {
		fresh := kernel.NewColumn(x.types[k])
		for from := 0; from < x.n; from += kernel.ChunkRows {
			fresh.Append(c.Gather(x.ids[from:min(from+kernel.ChunkRows, x.n)]))
		}
		x.cols[k] = fresh
	}
	for i := range x.ids {
		x.ids[i] = kernel.RowID(i/kernel.ChunkRows, i%kernel.ChunkRows)
	}
	x.rehash(len(x.slots))
}

func (x *rowIndex) grow() { x.rehash(2 * len(x.slots)) }

func (x *rowIndex) rehash(size int) {
	x.slots = make([]uint64, size)
	mask := uint64(len(x.slots) - 1)
	for i, h := range x.hashes {
		at := h & mask
		for x.slots[at] != 0 {
			at = (at + 1) & mask
		}
		x.slots[at] = h>>32<<32 | uint64(x.ids[i]+1)
	}
}

func (x *rowIndex) close() {
	x.st.peak(x.acct)
	x.acct.Close()
}

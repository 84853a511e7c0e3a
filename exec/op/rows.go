package op

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// rowSet keeps rows in chunks that ids name (kernel.RowID). Small batches are
// joined first, so that a chunk but the last is at least half full or has
// chunkBytes. It charges nothing: who adds to it does.
type rowSet struct {
	types   []types.Type
	cols    []*kernel.Column
	lens    []int32 // rows of each chunk
	n       int64
	bytes   int64
	pend    []*batch.Batch
	pending int
	pendB   int64 // bytes of pend
}

// chunkBytes is what a chunk of few rows is worth while: to join batches takes
// as much again.
const chunkBytes = 4 << 20

func newRowSet(ts []types.Type) *rowSet {
	r := &rowSet{types: ts, cols: make([]*kernel.Column, len(ts))}
	for i, t := range ts {
		r.cols[i] = kernel.NewColumn(t)
	}
	return r
}

// add keeps the rows of b, which has no selection.
func (r *rowSet) add(b *batch.Batch) {
	size := b.Bytes()
	r.n += int64(b.N)
	r.bytes += size
	for b.N > kernel.ChunkRows {
		r.flush()
		r.append(b.Slice(0, kernel.ChunkRows))
		b = b.Slice(kernel.ChunkRows, b.N)
	}
	if r.pending+b.N > kernel.ChunkRows {
		r.flush()
	}
	if r.pendB+size > 2*chunkBytes {
		r.flush()
	}
	if len(r.pend) == 0 && (b.N >= kernel.ChunkRows/2 || size >= chunkBytes) {
		r.append(b)
		return
	}
	r.pend = append(r.pend, b)
	r.pending += b.N
	if r.pendB += size; r.pendB >= chunkBytes {
		r.flush()
	}
}

// flush makes a chunk of the batches that wait.
func (r *rowSet) flush() {
	if len(r.pend) == 0 {
		return
	}
	b := joinBatches(r.types, r.pend)
	r.pend, r.pending, r.pendB = nil, 0, 0
	r.append(b)
}

func (r *rowSet) append(b *batch.Batch) {
	if b.N == 0 {
		return
	}
	for i, c := range b.Cols {
		r.cols[i].Append(c)
	}
	r.lens = append(r.lens, int32(b.N))
}

// full tells that ids cannot name many more rows.
func (r *rowSet) full() bool { return len(r.lens) >= kernel.MaxChunks-2 }

// take moves the rows of o, flushed, to the end of r.
func (r *rowSet) take(o *rowSet) {
	o.flush()
	for ch, n := range o.lens {
		for i, c := range o.cols {
			r.cols[i].Append(c.Chunk(ch))
		}
		r.lens = append(r.lens, n)
	}
	r.n += o.n
	r.bytes += o.bytes
	*o = *newRowSet(o.types)
}

// seal prepares for reading; nothing may be added after.
func (r *rowSet) seal() {
	r.flush()
	for _, c := range r.cols {
		c.Seal()
	}
}

// chunk gives chunk ch as a batch.
func (r *rowSet) chunk(ch int) *batch.Batch {
	cols := make([]arrow.Array, len(r.cols))
	for i, c := range r.cols {
		cols[i] = c.Chunk(ch)
	}
	return batch.New(cols, int(r.lens[ch]))
}

// gather gives the rows ids of the columns which (nil: all).
func (r *rowSet) gather(ids []uint32, which []int) []arrow.Array {
	if which == nil {
		out := make([]arrow.Array, len(r.cols))
		for i, c := range r.cols {
			out[i] = c.Gather(ids)
		}
		return out
	}
	out := make([]arrow.Array, len(which))
	for i, w := range which {
		out[i] = r.cols[w].Gather(ids)
	}
	return out
}

// ids gives the ids of all rows in order.
func (r *rowSet) ids() []uint32 {
	out := make([]uint32, 0, r.n)
	for ch, n := range r.lens {
		for i := 0; i < int(n); i++ {
			out = append(out, kernel.RowID(ch, i))
		}
	}
	return out
}

// joinBatches concatenates batches without selections.
func joinBatches(ts []types.Type, in []*batch.Batch) *batch.Batch {
	if len(in) == 1 {
		return in[0]
	}
	n := 0
	for _, b := range in {
		n += b.N
	}
	cols := make([]arrow.Array, len(ts))
	parts := make([]arrow.Array, len(in))
	for i := range cols {
		for j, b := range in {
			parts[j] = b.Cols[i]
		}
		cols[i] = kernel.Concat(ts[i].Arrow(), parts)
	}
	return batch.New(cols, n)
}

// arrowTypes gives how columns of ts are carried.
func arrowTypes(ts []types.Type) []arrow.DataType {
	out := make([]arrow.DataType, len(ts))
	for i, t := range ts {
		out[i] = t.Arrow()
	}
	return out
}

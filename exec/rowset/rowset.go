package rowset

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// Set keeps rows in chunks; a row's id (kernel.RowID) is its chunk and its place there. Batches of
// few rows are concatenated first, so that every chunk but the last is at least half full or has
// chunkBytes. A set is filled by one goroutine; after Finish any number may read it. It charges
// nothing: the caller does.
//
//	Add … Add   Finish   Gather, IDs, Chunk …
type Set struct {
	types    []types.Type
	cols     []*kernel.Column
	lens     []int32 // rows of each chunk
	n        int64
	bytes    int64
	pend     []*batch.Batch // wait to be joined into a chunk
	pendRows int
	pendSize int64 // bytes of pend
}

// chunkBytes is the size from which a batch of few rows is a chunk of its own:
// joining batches takes as much memory again.
const chunkBytes = 4 << 20

// New makes an empty set of rows of columns ts.
func New(ts []types.Type) *Set {
	r := &Set{types: ts, cols: make([]*kernel.Column, len(ts))}
	for i, t := range ts {
		r.cols[i] = kernel.NewColumn(t)
	}
	return r
}

// Rows returns the number of rows, those included that wait for Flush.
func (r *Set) Rows() int64 { return r.n }

// Bytes returns what the rows take.
func (r *Set) Bytes() int64 { return r.bytes }

// Chunks returns the number of chunks; rows that wait for Flush are in none.
func (r *Set) Chunks() int { return len(r.lens) }

// Span returns a number that the ids of all rows are below, those included that wait for Flush.
func (r *Set) Span() int64 {
	if r.pendRows == 0 && len(r.lens) > 0 {
		return int64(len(r.lens)-1)*kernel.ChunkRows + int64(r.lens[len(r.lens)-1])
	}
	return int64(len(r.lens))*kernel.ChunkRows + int64(r.pendRows)
}

// ChunkRows returns the number of rows of chunk ch.
func (r *Set) ChunkRows(ch int) int { return int(r.lens[ch]) }

// Column returns column i, a chunk of it for each chunk of the set.
func (r *Set) Column(i int) *kernel.Column { return r.cols[i] }

// Add keeps the rows of b, which has no selection; the set holds on to b's
// columns.
func (r *Set) Add(b *batch.Batch) {
	size := b.Bytes()
	r.n += int64(b.N)
	r.bytes += size
	for b.N > kernel.ChunkRows {
		r.Flush()
		r.append(b.Slice(0, kernel.ChunkRows))
		b = b.Slice(kernel.ChunkRows, b.N)
	}
	if r.pendRows+b.N > kernel.ChunkRows {
		r.Flush()
	}
	if r.pendSize+size > 2*chunkBytes {
		r.Flush()
	}
	if len(r.pend) == 0 && (b.N >= kernel.ChunkRows/2 || size >= chunkBytes) {
		r.append(b)
		return
	}
	r.pend = append(r.pend, b)
	r.pendRows += b.N
	if r.pendSize += size; r.pendSize >= chunkBytes {
		r.Flush()
	}
}

// Flush makes a chunk of the rows that wait.
func (r *Set) Flush() {
	if len(r.pend) == 0 {
		return
	}
	b := Concat(r.types, r.pend)
	r.pend, r.pendRows, r.pendSize = nil, 0, 0
	r.append(b)
}

// AddChunk keeps b, without a selection and of at most kernel.ChunkRows rows, as
// a chunk of its own.
func (r *Set) AddChunk(b *batch.Batch) {
	r.n += int64(b.N)
	r.bytes += b.Bytes()
	r.append(b)
}

func (r *Set) append(b *batch.Batch) {
	if b.N == 0 {
		return
	}
	for i, c := range b.Cols {
		r.cols[i].Append(c)
	}
	r.lens = append(r.lens, int32(b.N))
}

// Reorder puts the rows of chunk ch in another order.
func (r *Set) Reorder(ch int, rows []int32) {
	for _, c := range r.cols {
		c.Replace(ch, kernel.Take(c.Chunk(ch), rows))
	}
}

// Full reports whether there are nearly as many chunks as ids can name.
func (r *Set) Full() bool { return len(r.lens) >= kernel.MaxChunks-2 }

// Take moves the rows of o to the end of r and leaves o empty.
func (r *Set) Take(o *Set) {
	o.Flush()
	for ch, n := range o.lens {
		for i, c := range o.cols {
			r.cols[i].Append(c.Chunk(ch))
		}
		r.lens = append(r.lens, n)
	}
	r.n += o.n
	r.bytes += o.bytes
	*o = *New(o.types)
}

// Finish ends the filling: nothing may be added afterwards, and nothing gathered before.
func (r *Set) Finish() {
	r.Flush()
	for _, c := range r.cols {
		c.Finish()
	}
}

// Encode makes dictionaries of the columns which, where that is cheap; after Finish.
func (r *Set) Encode(which []int) {
	for _, i := range which {
		r.cols[i].Encode()
	}
}

// Chunk returns chunk ch as a batch.
func (r *Set) Chunk(ch int) *batch.Batch {
	cols := make([]arrow.Array, len(r.cols))
	for i, c := range r.cols {
		cols[i] = c.Chunk(ch)
	}
	return batch.New(cols, int(r.lens[ch]))
}

// Gather returns the rows ids, in that order, of the columns which (nil: all).
func (r *Set) Gather(ids []uint32, which []int) []arrow.Array {
	return kernel.GatherAll(r.cols, which, ids)
}

// Spread is Gather of the columns which into n rows: row at[i] is ids[i], and the others may be
// anything. none: some ids may be kernel.NoRow. rooms, one a column if there are any, are where
// columns may lie.
func (r *Set) Spread(ids []uint32, at []int32, n int, none bool, which []int, rooms []kernel.Room) []arrow.Array {
	out := make([]arrow.Array, len(which))
	for i, w := range which {
		var room *kernel.Room
		if rooms != nil {
			room = &rooms[i]
		}
		out[i] = r.cols[w].Spread(ids, at, n, none, room)
	}
	return out
}

// IDs returns the ids of all rows in order.
func (r *Set) IDs() []uint32 {
	out := make([]uint32, 0, r.n)
	for ch, n := range r.lens {
		for i := 0; i < int(n); i++ {
			out = append(out, kernel.RowID(ch, i))
		}
	}
	return out
}

// Concat returns the rows of batches without selections as one batch of columns ts; a single batch
// is returned as it is.
func Concat(ts []types.Type, in []*batch.Batch) *batch.Batch {
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

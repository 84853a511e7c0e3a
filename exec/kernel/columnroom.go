package kernel

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
)

// Room is memory that is reused for a column of one batch after the other, for readers that are
// done with each before they ask for the next. Rows that are not written have values of earlier
// columns.
type Room struct{ words []uint64 }

// inRoom returns n uninitialised values in the room; with a nil room in memory of their own.
func inRoom[T any](r *Room, n int) []T {
	if r == nil || n == 0 {
		return make([]T, n)
	}
	var one T
	if words := (n*int(unsafe.Sizeof(one)) + 7) / 8; len(r.words) < words {
		r.words = make([]uint64, words)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&r.words[0])), n)
}

// Spread returns n rows of which row at[i] is row ids[i]; the others may be anything. It is Gather
// for columns beside others that are not copied, under a selection of at. none: some ids may be
// NoRow. The result may lie in room, where that is not nil.
func (c *Column) Spread(ids []uint32, at []int32, n int, none bool, room *Room) arrow.Array {
	dt := c.Type.Arrow()
	if c.lay != layFixed && c.lay != layVar || len(c.chunks) == 0 {
		all := make([]uint32, n)
		for i := range all {
			all[i] = NoRow
		}
		for i, r := range at {
			all[r] = ids[i]
		}
		return c.Gather(all)
	}
	bits := c.spreadValid(ids, at, n, none)
	if c.lay == layVar && !c.dictSame {
		return c.gatherStrings(dt, ids, at, n, bits)
	}
	if c.lay == layVar {
		out := make([]int32, n) // the others must be of the dictionary too
		for i, id := range ids {
			if id != NoRow {
				out[at[i]] = c.strs[id>>chunkShift].index[id&chunkMask]
			}
		}
		return makeDict(out, bits, c.dict)
	}
	switch c.width {
	case 1:
		return makeFixed(dt, spread(c.v1, ids, at, n, none, room), bits)
	case 2:
		return makeFixed(dt, spread(c.v2, ids, at, n, none, room), bits)
	case 4:
		return makeFixed(dt, spread(c.v4, ids, at, n, none, room), bits)
	case 8:
		return makeFixed(dt, spread(c.v8, ids, at, n, none, room), bits)
	case 12:
		return makeFixed(dt, spread(c.v12, ids, at, n, none, room), bits)
	default:
		return makeFixed(dt, spread(c.v16, ids, at, n, none, room), bits)
	}
}

func spread[T any](chunks [][]T, ids []uint32, at []int32, n int, none bool, room *Room) []T {
	out := inRoom[T](room, n)
	at = at[:len(ids)]
	switch {
	case none:
		for i, id := range ids {
			if id != NoRow {
				out[at[i]] = chunks[id>>chunkShift][id&chunkMask]
			}
		}
	case len(chunks) == 1:
		only := chunks[0]
		for i, id := range ids {
			out[at[i]] = only[id]
		}
	default:
		for i, id := range ids {
			out[at[i]] = chunks[id>>chunkShift][id&chunkMask]
		}
	}
	return out
}

// spreadValid leaves rows that are not written valid, so that only NULLs of written ones count.
func (c *Column) spreadValid(ids []uint32, at []int32, n int, none bool) []byte {
	if !c.nulls && !none {
		return nil
	}
	out := batch.AllOnes(n)
	for i, id := range ids {
		if c.IsNull(id) {
			batch.ClearBit(out, int(at[i]))
		}
	}
	return out
}

package kernel

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
)

// Spread gives n rows of which row at[i] is row ids[i]; the others may be anything. It
// is Gather for columns beside others that stay as they are, under a selection of at.
// none says that some ids may be NoRow.
func (c *Column) Spread(ids []uint32, at []int32, n int, none bool) arrow.Array {
	dt, fixed := c.Type.Arrow(), c.lay == layFixed || c.lay == layVar && c.dictSame
	if !fixed || len(c.chunks) == 0 {
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
	if c.lay == layVar {
		out := make([]int32, n)
		for i, id := range ids {
			if id != NoRow {
				out[at[i]] = c.strs[id>>chunkShift].index[id&chunkMask]
			}
		}
		return makeDict(out, bits, c.dict)
	}
	switch c.width {
	case 1:
		return makeFixed(dt, spread(c.v1, ids, at, n, none), bits)
	case 2:
		return makeFixed(dt, spread(c.v2, ids, at, n, none), bits)
	case 4:
		return makeFixed(dt, spread(c.v4, ids, at, n, none), bits)
	case 8:
		return makeFixed(dt, spread(c.v8, ids, at, n, none), bits)
	case 12:
		return makeFixed(dt, spread(c.v12, ids, at, n, none), bits)
	default:
		return makeFixed(dt, spread(c.v16, ids, at, n, none), bits)
	}
}

func spread[T any](chunks [][]T, ids []uint32, at []int32, n int, none bool) []T {
	out := make([]T, n)
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

// spreadValid leaves rows that are not given valid, so that NULLs are counted of those
// that are.
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

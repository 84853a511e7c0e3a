package aggregate

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/sql/types"
)

// groupValues keeps the keys of groups as they were in the first rows, where equal values may
// differ: the numerics 1.0 and 1.00 are one key, but with GROUP BY n, n::text each is in a group of
// its own.
type groupValues struct {
	keys  []int // of the table's
	cols  []*kernel.Column
	ids   []uint32 // in cols, by group
	bytes int64
	fresh []int32 // scratch
}

// newGroupValues returns nil where no key needs it.
func newGroupValues(ts []types.Type) *groupValues {
	var v *groupValues
	for k, t := range ts {
		if !spelledOnce(t) {
			if v == nil {
				v = &groupValues{}
			}
			v.keys, v.cols = append(v.keys, k), append(v.cols, kernel.NewColumn(t))
		}
	}
	return v
}

// spelledOnce reports whether equal values of t are written alike: those of bpchar(n) all
// have n characters.
func spelledOnce(t types.Type) bool {
	return t.EqualIsSame() || t.OID == types.BpcharOID && t.Mod >= 0
}

// held is the memory of the values.
func (v *groupValues) held() int64 {
	if v == nil {
		return 0
	}
	n := v.bytes + 4*int64(cap(v.ids))
	for _, c := range v.cols {
		n += 128 * int64(c.Chunks())
	}
	return n
}

// add keeps the values of the groups that are new among those of some rows, whose key k column
// returns.
func (v *groupValues) add(groups []uint32, column func(k int, rows []int32) arrow.Array) {
	if v == nil {
		return
	}
	// Groups are numbered in the order of their first rows.
	fresh, next := v.fresh[:0], uint32(len(v.ids))
	for i, g := range groups {
		if g == next {
			fresh = append(fresh, int32(i))
			next++
		}
	}
	v.fresh = fresh
	for len(fresh) > 0 {
		some := fresh[:min(len(fresh), kernel.ChunkRows)]
		fresh = fresh[len(some):]
		chunk := v.cols[0].Chunks()
		for i, k := range v.keys {
			vals := column(k, some)
			v.bytes += batch.ArrayBytes(vals)
			v.cols[i].Append(vals)
		}
		for i := range some {
			v.ids = append(v.ids, kernel.RowID(chunk, i))
		}
	}
}

// of returns which of the columns has key k; -1 if none.
func (v *groupValues) of(k int) int {
	if v != nil {
		for i, key := range v.keys {
			if key == k {
				return i
			}
		}
	}
	return -1
}

// from returns the function by which add finds the values of another table's groups list.
func (v *groupValues) from(list []uint32) func(k int, rows []int32) arrow.Array {
	return func(k int, rows []int32) arrow.Array {
		ids := make([]uint32, len(rows))
		for i, r := range rows {
			ids[i] = v.ids[list[r]]
		}
		return v.cols[v.of(k)].Gather(ids)
	}
}

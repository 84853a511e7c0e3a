package join

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/kernel/lookup"
)

// found are the probe rows that have candidates, ascending, and the head of each one's list. Rows
// are written without a branch: the end advances where there is a candidate. The slices are longer
// than the results, for what is written at once.
type found struct {
	rows   []int32
	heads  []uint32
	less   uint32   // what heads lack: 1 where they are ids, since no list has a second row
	hashes []uint64 // scratch
	spans  []span   // by row of rows, where the table has an order
	values []int64  // scratch

	asked, had int64 // rows so far that were looked up by hash, and that had a candidate
}

func (f *found) room(n int) {
	if room := n + lookup.Slack; min(cap(f.rows), cap(f.heads)) < room {
		f.rows, f.heads = make([]int32, room), make([]uint32, room)
	}
	f.rows, f.heads = f.rows[:n], f.heads[:n]
}

func (f *found) cut(n int) { f.rows, f.heads = f.rows[:n], f.heads[:n] }

// drop removes the rows for which null is set; null is indexed by the rows of the keys.
func (f *found) drop(null []bool, sel []int32) {
	if null == nil {
		return
	}
	n := 0
	for i, r := range f.rows {
		at := r
		if sel != nil {
			at = sel[r]
		}
		if !null[at] {
			f.rows[n], f.heads[n] = r, f.heads[i]
			n++
		}
	}
	f.cut(n)
}

// find looks up n rows of keys: all, or those of sel, if there are places for values.
func (t *hashTable) find(h *kernel.Hasher, keys []arrow.Array, sel []int32, n int, f *found) {
	f.room(n)
	if len(t.keys) == 0 {
		if len(t.all) == 0 {
			n = 0
		}
		f.cut(n)
		for i := range f.rows {
			f.rows[i], f.heads[i] = int32(i), 1
		}
		return
	}
	if t.direct {
		t.findDirect(keys[0], sel, f)
	} else {
		f.hashes = h.Hash(keys, n, f.hashes)
		t.findHashes(f)
	}
	f.drop(t.nullKeys(keys, n), sel)
}

// narrow keeps of what was found by keys what is within the ranges: heads and spans are then places in the table's
// order, not lists.
func (t *hashTable) narrow(b *batch.Batch, f *found) {
	c, o, n := t.cfg.ranges, t.order, len(f.rows)
	if cap(f.spans) < n {
		f.spans = make([]span, n)
	}
	f.spans = f.spans[:n]
	for i, head := range f.heads {
		x := o.lists[head-1]
		f.heads[i], f.spans[i] = x.from, span{int(x.to), math.MinInt64}
	}
	each := func(bounds []int, do func(at uint32, s *span, v int64) uint32) {
		for _, bound := range bounds {
			arr := b.Cols[bound]
			f.values = ordered(arr, f.values)
			for i, row := range f.rows {
				if b.Sel != nil {
					row = b.Sel[row]
				}
				if s := &f.spans[i]; arr.IsNull(int(row)) {
					s.to = 0
				} else if int(f.heads[i]) < s.to {
					f.heads[i] = do(f.heads[i], s, f.values[row])
				}
			}
		}
	}
	each(c.low, func(at uint32, s *span, v int64) uint32 { return uint32(o.from(int(at), s.to, v)) })
	each(c.high, func(at uint32, s *span, v int64) uint32 {
		s.to = o.beyond(int(at), s.to, v, c.low != nil)
		return at
	})
	each(c.others, func(at uint32, s *span, v int64) uint32 {
		s.floor = max(s.floor, c.turned(v))
		return at
	})
	k := 0
	for i, s := range f.spans {
		if at := int(f.heads[i]); at < s.to {
			if at = o.next(at, s); at < s.to {
				f.rows[k], f.heads[k], f.spans[k] = f.rows[i], uint32(at)+1, s
				k++
			}
		}
	}
	f.cut(k)
}

// places reports whether there are places for values, so that find can read keys under a
// selection.
func (t *hashTable) places(key arrow.Array) bool {
	if !t.direct {
		return false
	}
	switch key.DataType().ID() {
	case arrow.INT64, arrow.INT32, arrow.INT16, arrow.DATE32, arrow.UINT32:
		return true
	}
	return false
}

func (t *hashTable) findDirect(arr arrow.Array, sel []int32, f *found) {
	switch a := arr.(type) {
	case *array.Int64:
		findDirect(t, a.Int64Values(), sel, f)
	case *array.Int32:
		findDirect(t, a.Int32Values(), sel, f)
	case *array.Int16:
		findDirect(t, a.Int16Values(), sel, f)
	case *array.Date32:
		findDirect(t, a.Date32Values(), sel, f)
	case *array.Uint32:
		findDirect(t, a.Uint32Values(), sel, f)
	default: // a column of NULLs
		f.cut(0)
	}
}

func findDirect[T kernel.Integer](t *hashTable, vals []T, sel []int32, f *found) {
	if t.exists != nil {
		findRanked(t, vals, sel, f)
		return
	}
	f.cut(lookup.Find(lookup.Table{Heads: t.heads, Lo: t.min}, vals, sel, f.less, f.rows, f.heads))
}

// findRanked finds the rows whose keys are in the table, then the heads of their lists.
func findRanked[T kernel.Integer](t *hashTable, vals []T, sel []int32, f *found) {
	exists, ranks, table, lo := t.exists, t.ranks, t.heads, t.min
	rows, heads, n := f.rows, f.heads, 0
	if sel == nil {
		for i, v := range vals {
			rows[n] = int32(i)
			if at := uint64(int64(v) - lo); at>>6 < uint64(len(exists)) {
				n += int(exists[at>>6] >> (at & 63) & 1)
			}
		}
		for k, i := range rows[:n] {
			heads[k] = table[rankOf(exists, ranks, uint64(int64(vals[i])-lo))] - f.less
		}
	} else {
		for i, r := range sel {
			rows[n] = int32(i)
			if at := uint64(int64(vals[r]) - lo); at>>6 < uint64(len(exists)) {
				n += int(exists[at>>6] >> (at & 63) & 1)
			}
		}
		for k, i := range rows[:n] {
			heads[k] = table[rankOf(exists, ranks, uint64(int64(vals[sel[i]])-lo))] - f.less
		}
	}
	f.cut(n)
}

func (t *hashTable) findHashes(f *found) {
	n := 0
	if x := t.filtered(f); x != nil {
		n = t.findAmong(x, f)
	} else {
		slots, mask := t.slots, t.mask
		for i, h := range f.hashes {
			head := lookUp(slots, mask, h)
			f.rows[n], f.heads[n] = int32(i), head
			n += kernel.NonZero(head)
		}
	}
	f.asked, f.had = f.asked+int64(len(f.hashes)), f.had+int64(n)
	f.cut(n)
}

// lookUp returns the head of the list of a hash, 0 for none.
func lookUp(slots []uint64, mask, h uint64) uint32 {
	tag := h >> 32
	at := h & mask
	s := slots[at]
	for s != 0 && s>>32 != tag {
		at = (at + 1) & mask
		s = slots[at]
	}
	return uint32(s)
}

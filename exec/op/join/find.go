package join

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
)

// found are the probe rows that have candidates, ascending, and the head of
// each one's list. Rows are written without a branch: the end moves where there
// is a candidate.
type found struct {
	rows   []int32
	heads  []uint32
	hashes []uint64 // scratch
}

func (f *found) room(n int) {
	if min(cap(f.rows), cap(f.heads)) < n {
		f.rows, f.heads = make([]int32, n), make([]uint32, n)
	}
	f.rows, f.heads = f.rows[:n], f.heads[:n]
}

func (f *found) cut(n int) { f.rows, f.heads = f.rows[:n], f.heads[:n] }

// drop takes out the rows that null marks.
func (f *found) drop(null []bool) {
	if null == nil {
		return
	}
	n := 0
	for i, r := range f.rows {
		if !null[r] {
			f.rows[n], f.heads[n] = r, f.heads[i]
			n++
		}
	}
	f.cut(n)
}

// find looks up n rows of keys.
func (t *hashTable) find(h *kernel.Hasher, keys []arrow.Array, n int, f *found) {
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
	switch {
	case t.direct:
		t.findDirect(keys[0], f)
	case t.exists != nil && t.findExisting(keys[0], f):
	default:
		f.hashes = h.Hash(keys, n, f.hashes)
		t.findHashes(f)
	}
	f.drop(t.cfg.nullKeys(keys, n))
}

func (t *hashTable) findDirect(arr arrow.Array, f *found) {
	switch a := arr.(type) {
	case *array.Int64:
		findDirect(t, a.Int64Values(), f)
	case *array.Int32:
		findDirect(t, a.Int32Values(), f)
	case *array.Int16:
		findDirect(t, a.Int16Values(), f)
	case *array.Date32:
		findDirect(t, a.Date32Values(), f)
	case *array.Uint32:
		findDirect(t, a.Uint32Values(), f)
	default: // a column of NULLs
		f.cut(0)
	}
}

func findDirect[T kernel.Integer](t *hashTable, vals []T, f *found) {
	table, lo := t.heads, t.min
	rows, heads := f.rows[:len(vals)], f.heads[:len(vals)]
	n := 0
	for i, v := range vals {
		if at := uint64(int64(v) - lo); at < uint64(len(table)) {
			head := table[at]
			rows[n], heads[n] = int32(i), head
			n += kernel.NonZero(head)
		}
	}
	f.cut(n)
}

// findExisting looks up the rows whose key exists. It is not for fixed numerics
// with a scale, which hash by their normal form.
func (t *hashTable) findExisting(arr arrow.Array, f *found) bool {
	if kt := t.cfg.KeyTypes[0]; kt.IsFixed() && kt.Scale > 0 {
		return false
	}
	switch a := arr.(type) {
	case *array.Int64:
		findExisting(t, a.Int64Values(), f)
	case *array.Int32:
		findExisting(t, a.Int32Values(), f)
	case *array.Int16:
		findExisting(t, a.Int16Values(), f)
	case *array.Date32:
		findExisting(t, a.Date32Values(), f)
	case *array.Uint32:
		findExisting(t, a.Uint32Values(), f)
	default:
		return false
	}
	return true
}

func findExisting[T kernel.Integer](t *hashTable, vals []T, f *found) {
	exists, lo := t.exists, t.min
	rows, heads := f.rows[:len(vals)], f.heads[:len(vals)]
	k := 0
	for i, v := range vals {
		rows[k] = int32(i)
		if at := uint64(int64(v) - lo); at>>6 < uint64(len(exists)) {
			k += int(exists[at>>6] >> (at & 63) & 1)
		}
	}
	slots, mask, n := t.slots, t.mask, 0
	for _, i := range rows[:k] {
		head := lookUp(slots, mask, kernel.HashInt(int64(vals[i])))
		rows[n], heads[n] = i, head
		n += kernel.NonZero(head)
	}
	f.cut(n)
}

func (t *hashTable) findHashes(f *found) {
	slots, mask := t.slots, t.mask
	n := 0
	for i, h := range f.hashes {
		head := lookUp(slots, mask, h)
		f.rows[n], f.heads[n] = int32(i), head
		n += kernel.NonZero(head)
	}
	f.cut(n)
}

// lookUp gives the head of the list of a hash, 0 for none.
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

package join

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/op"
)

// fewKeys is the largest build side whose keys are listed, for scans that can look
// them up.
const fewKeys = 1 << 10

// publish fills the runtime filters of the probe side's scans with the keys, once all rows are in
// the table.
func (t *hashTable) publish(filters []*op.KeyFilter, grant func(bytes int64) bool) {
	for i, f := range filters {
		if f == nil {
			continue
		}
		k := t.keySet(i, grant)
		if k != nil && t.rows.Rows() <= fewKeys {
			k.Few = t.list(i)
		}
		f.Publish(k)
	}
}

// filterRows is the largest build side for which a set of keys is made just for the filter.
const filterRows = 1 << 20

// setBytes is the most that a bitmap of keys takes.
const setBytes = maxExists

// keySet returns what is known of key i: the table's own index where that is by the key's value,
// else a bitmap, or the range. In a range that is too wide for a bit a number, a bit stands for a
// run of them: for a thousand of sixty million orders their neighbours pass too, not all sixty
// million.
func (t *hashTable) keySet(i int, grant func(bytes int64) bool) *op.KeySet {
	if t.exists != nil {
		return &op.KeySet{Lo: t.min, Hi: t.hi.Load(), Bits: t.exists}
	}
	if t.direct {
		return &op.KeySet{Lo: t.min, Hi: t.min + int64(len(t.heads)) - 1, Heads: t.heads}
	}
	if t.rows.Rows() > filterRows {
		return nil
	}
	k := &op.KeySet{Lo: 1<<63 - 1, Hi: -1 << 63}
	col := t.keys[i]
	for ch := range col.Chunks() {
		if lo, hi, ok := kernel.IntRange(col.Chunk(ch)); ok {
			k.Lo, k.Hi = min(k.Lo, lo), max(k.Hi, hi)
		}
	}
	if k.Lo > k.Hi {
		return k
	}
	span := uint64(k.Hi - k.Lo)
	for span>>k.Shift >= 8*setBytes {
		k.Shift++
	}
	words := span>>k.Shift/64 + 1
	if !grant(int64(8 * words)) {
		k.Shift = 0
		return k
	}
	k.Bits = make([]uint64, words)
	for ch := range col.Chunks() {
		arr := col.Chunk(ch)
		switch a := arr.(type) {
		case *array.Int64:
			setBits(k, a.Int64Values(), arr)
		case *array.Int32:
			setBits(k, a.Int32Values(), arr)
		case *array.Int16:
			setBits(k, a.Int16Values(), arr)
		case *array.Date32:
			setBits(k, a.Date32Values(), arr)
		case *array.Uint32:
			setBits(k, a.Uint32Values(), arr)
		}
	}
	return k
}

func setBits[T kernel.Integer](k *op.KeySet, vals []T, arr arrow.Array) {
	nulls := arr.NullN() > 0
	for i, v := range vals {
		if !nulls || arr.IsValid(i) {
			at := uint64(int64(v)-k.Lo) >> k.Shift
			k.Bits[at>>6] |= 1 << (at & 63)
		}
	}
}

// list returns the values of key i in all rows.
func (t *hashTable) list(i int) []int64 {
	out := make([]int64, 0, t.rows.Rows())
	for ch := range t.keys[i].Chunks() {
		arr := t.keys[i].Chunk(ch)
		switch a := arr.(type) {
		case *array.Int64:
			out = listInts(out, a.Int64Values(), arr)
		case *array.Int32:
			out = listInts(out, a.Int32Values(), arr)
		case *array.Int16:
			out = listInts(out, a.Int16Values(), arr)
		case *array.Date32:
			out = listInts(out, a.Date32Values(), arr)
		default:
			return nil
		}
	}
	return out
}

func listInts[T kernel.Integer](out []int64, vals []T, arr arrow.Array) []int64 {
	for i, v := range vals {
		if arr.IsValid(i) {
			out = append(out, int64(v))
		}
	}
	return out
}

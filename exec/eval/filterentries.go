package eval

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/selection"
	"github.com/tributarydb/tributary/exec/vector"
)

// entries is a condition of one dictionary column: it is computed once for each entry, and kept
// for the next batch with the same dictionary. Columns that are not dictionaries, and dictionaries
// much larger than the rows of them so far, are left to general evaluation.
type entries struct {
	compute func(dict *vector.Vec, fr *frame) ([]uint8, error)
	dict    arrow.ArrayData
	flags   []uint8 // of dict's entries
	table   selection.Table
	pays    dictionaryPays
}

// find sets flags for a column's dictionary; ok is false where the column is none or its dictionary
// is too large.
func (e *entries) find(f *Filter, col arrow.Array, n int) (d *array.Dictionary, ok bool) {
	d, ok = col.(*array.Dictionary)
	if !ok {
		return nil, false
	}
	k := d.Dictionary().Data()
	if k == e.dict && e.flags != nil {
		return d, true
	}
	v := vector.FromArrow(&f.a, d)
	if v.Kind != vector.Dict || !e.pays.after(k, v.Dict.N, n) {
		return nil, false
	}
	flags, err := e.compute(v, &frame{ctx: context.Background(), env: f.env, a: &f.a, n: v.Dict.N})
	if err != nil || flags == nil {
		return nil, false // the error may be of an entry that no row has
	}
	e.dict, e.flags = k, flags
	for i, x := range flags[:min(len(flags), len(e.table))] {
		e.table[i] = int32(x)
	}
	return d, true
}

// mask returns the masker of a column whose dictionary is small.
func (e *entries) mask(at int) masker {
	return func(f *Filter, b *batch.Batch, m []uint16, and bool) (int, bool) {
		d, ok := e.find(f, b.Cols[at], b.N)
		if !ok || len(e.flags) > len(e.table) {
			return 0, false
		}
		idx := d.Indices().(*array.Int32).Int32Values()
		return notNull(m, d, selection.Entries(m, idx[:b.N], &e.table, and)), true
	}
}

func (e *entries) narrow(f *Filter, col arrow.Array, sel []int32, n int, out []int32) (int, bool) {
	d, ok := e.find(f, col, n)
	if !ok {
		return 0, false
	}
	flags := e.flags
	idx := d.Indices().(*array.Int32).Int32Values()
	k := 0
	if col.NullN() > 0 {
		bits, off := col.NullBitmapBytes(), col.Data().Offset()
		if sel == nil {
			for i := range n {
				j := i + off
				if bits[j>>3]>>(j&7)&1 != 0 {
					out[k] = int32(i)
					k += int(flags[idx[i]])
				}
			}
			return k, true
		}
		for _, r := range sel {
			j := int(r) + off
			if bits[j>>3]>>(j&7)&1 != 0 {
				out[k] = r
				k += int(flags[idx[r]])
			}
		}
		return k, true
	}
	if sel == nil {
		for i, x := range idx[:n] {
			out[k] = int32(i)
			k += int(flags[x])
		}
		return k, true
	}
	for _, r := range sel {
		out[k] = r
		k += int(flags[idx[r]])
	}
	return k, true
}

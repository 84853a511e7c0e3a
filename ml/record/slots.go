package record

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// Run reports whether the columns are float4 ones whose slots follow each other
// in a record, as Tiles wants them.
func (l *Layout) Run(cols []int) bool {
	for i, c := range cols {
		if l.classes[c] != classF32 || l.at[c] != l.at[cols[0]]+4*i {
			return false
		}
	}
	return len(cols) > 0
}

// Tiles writes a Run of columns of rows [from, from+n) to the first columns of
// those rows in a block of float32s. from is a multiple of f64.Lanes, n at most
// ViewRows. nulls reports whether a value is NULL; it reads as 0.
func (v *View) Tiles(cols []int, from, n int, b *block.Block) (nulls bool) {
	recs, anyNull := v.window(from, n)
	for _, c := range cols {
		nulls = nulls || anyNull[c>>3]>>(c&7)&1 != 0
	}
	at := v.layout.at[cols[0]]
	for i := 0; i < n; i += f64.Lanes {
		dst := b.X32[(from+i)*b.Dense:][:b.Dense*f64.Lanes]
		if i+f64.Lanes <= n {
			for l, r := range recs[i : i+f64.Lanes] {
				v.rows[l] = ptr[float32](r, at)
			}
			f64.Gather32(dst, &v.rows, len(cols))
			continue
		}
		for l, r := range recs[i:] {
			for j := range cols {
				dst[j*f64.Lanes+l] = *ptr[float32](r, at+4*j)
			}
		}
	}
	return nulls
}

// Slots returns the bits of column c, of a fixed width of at most eight bytes, in
// rows [from, from+len(dst)). ok is false for a column of another kind, and
// where a value is NULL.
func (v *View) Slots(c, from int, dst []uint64) (ok bool) {
	recs, anyNull := v.window(from, len(dst))
	k, at := v.layout.classes[c], v.layout.at[c]
	if k.variable() || anyNull[c>>3]>>(c&7)&1 != 0 {
		return false
	}
	switch k.width() {
	case 8:
		for i, r := range recs {
			dst[i] = slot[uint64](r, at)
		}
	case 4:
		for i, r := range recs {
			dst[i] = uint64(slot[uint32](r, at))
		}
	case 2:
		for i, r := range recs {
			dst[i] = uint64(uint16(slot[int16](r, at)))
		}
	case 1:
		for i, r := range recs {
			dst[i] = uint64(slot[uint8](r, at))
		}
	}
	return true
}

// SlotWidth is the bytes of a column's slot, 0 for one of variable width.
func (l *Layout) SlotWidth(c int) int {
	if l.classes[c].variable() {
		return 0
	}
	return l.classes[c].width()
}

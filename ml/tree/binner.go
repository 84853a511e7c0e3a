package tree

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// binner computes the bins of blocks' rows. It is for one goroutine.
type binner struct {
	*bins
	find      []finder // by column
	byColumns bool     // bins lie column by column, and not in groups
}

func newBinner(b *bins) *binner {
	r := &binner{bins: b, find: make([]finder, len(b.cols))}
	for _, c := range b.order {
		r.find[c] = b.cols[c].finder()
	}
	return r
}

// fill writes the bins of a block's rows [from, to), whose first is a multiple
// of f64.Lanes, to out, which is laid out for n rows.
func (r *binner) fill(out []uint8, n int, b *block.Block, from, to int) {
	var x [f64.Lanes]float64
	var bin [f64.Lanes]int
	for row := from; row < to; row += f64.Lanes {
		tile, lanes := row/f64.Lanes, min(to-row, f64.Lanes)
		for _, j := range r.order {
			c := &r.cols[j]
			if c.category {
				for l, slot := range b.Code[(tile*b.Codes+c.code)*f64.Lanes:][:f64.Lanes] {
					if k := int(slot - c.first); slot >= 0 && k >= 0 && k < len(c.bin) {
						bin[l] = int(c.bin[k])
					} else {
						bin[l] = c.stride - 1
					}
				}
			} else {
				at := (tile*b.Dense + j) * f64.Lanes
				if b.X32 != nil {
					for l, v := range b.X32[at : at+f64.Lanes] {
						x[l] = float64(v)
					}
				} else {
					x = [f64.Lanes]float64(b.X64[at:])
				}
				r.find[j].tile(&x, &bin, c.stride-1)
			}
			at, step := n*c.before+(row-from)*c.width+c.k, c.width
			if r.byColumns {
				at, step = n*(c.before+c.k)+row-from, 1
			}
			for l := range lanes {
				out[at] = uint8(bin[l])
				at += step
			}
		}
	}
}

// tile finds the bins of a tile's values, miss for NaN.
func (f *finder) tile(x *[f64.Lanes]float64, bin *[f64.Lanes]int, miss int) {
	*bin = [f64.Lanes]int{}
	for s := f.half; s > 0; s >>= 1 {
		b := f.bounds[s-1:]
		for l, v := range x {
			i := bin[l]
			if b[i] < v {
				i += s
			}
			bin[l] = i
		}
	}
	for l, v := range x {
		if v != v {
			bin[l] = miss
		}
	}
}

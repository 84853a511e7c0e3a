package gram

import (
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
)

// Columns says how a block's columns, its dense ones and its slots, become
// factors: (x-Shift)·Scale.
type Columns struct {
	Shift []float64
	Scale []float64 // powers of two
	Unit  float64   // weights times this are at most 1; a power of two
}

// Fit makes the factors of rows within bounds, in units of the bounds, or around
// the middle of their range where center is set, which keeps the digits of
// columns far from the origin. ok is false where values or weights are too large
// for sums.
func Fit(o *Bounds, slots int, center bool) (c Columns, ok bool) {
	for j := range len(o.Low) + slots {
		lo, hi := 0.0, 1.0
		if j < len(o.Low) {
			lo, hi = o.Low[j], o.High[j]
		}
		if !(math.Abs(lo) < 1e140 && math.Abs(hi) < 1e140) {
			return c, false
		}
		shift := 0.0
		if center {
			shift = lo + float64(0.5*(hi-lo))
		}
		c.Shift = append(c.Shift, shift)
		c.Scale = append(c.Scale, Half(math.Max(math.Abs(hi-shift), math.Abs(lo-shift))))
	}
	c.Unit = 2 * Half(o.MaxWeight)
	return c, o.MaxWeight > 0 && o.MaxWeight < 1e140
}

// Encode writes the canonical bytes.
func (c *Columns) Encode(e *canon.E) {
	e.F64s(c.Shift)
	e.F64s(c.Scale)
	e.F64(c.Unit)
}

// DecodeColumns reads what Encode wrote.
func DecodeColumns(d *canon.D) Columns {
	c := Columns{d.F64s(), d.F64s(), d.F64()}
	if len(c.Shift) != len(c.Scale) {
		d.Fail()
	}
	return c
}

// Pack makes factors of n rows of a block, from a tile on: of its columns, and
// then a column of ½. Columns of dst lie f64.FixedStride apart.
func (c *Columns) Pack(dst []float64, b *block.Block, from, n int) {
	if b.X32 != nil {
		f64.FixedPack(dst, b.X32[from*b.Dense:(from+n)*b.Dense], c.Shift[:b.Dense], c.Scale[:b.Dense])
	} else {
		f64.FixedPack(dst, b.X64[from*b.Dense:(from+n)*b.Dense], c.Shift[:b.Dense], c.Scale[:b.Dense])
	}
	cols := len(c.Shift)
	for j := b.Dense; j < cols; j++ {
		to, v := dst[j*f64.FixedStride:][:n], c.slot(j, 0)
		for i := range to {
			to[i] = v
		}
	}
	if b.Codes > 0 {
		for i, k := range b.Code[from*b.Codes:][:n*b.Codes] {
			if k >= 0 {
				row := i/(b.Codes*f64.Lanes)*f64.Lanes + i%f64.Lanes
				dst[(b.Dense+int(k))*f64.FixedStride+row] = c.slot(b.Dense+int(k), 1)
			}
		}
	}
	ones := dst[cols*f64.FixedStride:][:n]
	for i := range ones {
		ones[i] = 0.5
	}
}

// slot is the factor of a slot's 0 or 1.
func (c *Columns) slot(j int, v float64) float64 {
	return f64.Fix(float64((v - c.Shift[j]) * c.Scale[j]))
}

// Shares converts the weights of n rows of a block to the shares that ScaleRows takes.
// Where all of them are 1, which is known or checked many at a time, nothing is
// written.
func (c *Columns) Shares(dst []float64, b *block.Block, from, n int) (plain, whole bool) {
	if c.Unit == 1 && from+n <= b.Rows && b.Unit() {
		return true, true
	}
	w := b.W[from : from+n]
	if len(w)%f64.Lanes == 0 {
		var low, high [f64.Lanes]float64
		for l := range low {
			low[l], high[l] = w[0], w[0]
		}
		f64.ColumnBounds(low[:], high[:], w, 1)
		if one := w[0]; one*c.Unit == 1 && slices.Min(low[:]) == one && slices.Max(high[:]) == one {
			return true, true
		}
	}
	plain = true
	for i, v := range w {
		dst[i] = v * c.Unit
		plain = plain && (v == 0 || dst[i] == 1)
	}
	return plain, false
}

// ScaleRows multiplies the factors of cols columns by weights; shares are weights of at
// most 1. Rows of no weight become zeros; those of share 1 keep their factors exactly,
// so that the result does not depend on the rows next to them. dst may be src.
func ScaleRows(dst, src, shares []float64, cols int) {
	for i, w := range shares {
		switch {
		case w == 1 && &dst[0] == &src[0]:
		case w == 1:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = src[at]
			}
		case w > 0:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = f64.Fix(float64(w * src[at]))
			}
		default:
			for at := i; at < cols*f64.FixedStride; at += f64.FixedStride {
				dst[at] = 0
			}
		}
	}
}

package block

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/tempfile"
)

// ChunkRows is how many rows of a block a pass works on at once: few enough to
// stay in the nearest caches from margins to gradient.
const ChunkRows = f64.FixedRows

// Margins sets z to the margins of rows [from, from+len(z)) for the weights w of the
// dense columns followed by those of the slots, plus the intercept. from and len(z) are
// multiples of f64.Lanes.
func (b *Block) Margins(z []float64, from int, w []float64, intercept float64) {
	for i := range z {
		z[i] = intercept
	}
	slots := w[b.Dense:]
	for i := 0; i < len(z) && b.Codes > 0; i += f64.Lanes {
		t := b.Code[(from+i)*b.Codes:][:b.Codes*f64.Lanes]
		rows := z[i : i+f64.Lanes]
		for len(t) > 0 {
			for l, slot := range t[:f64.Lanes] {
				if slot >= 0 {
					rows[l] += slots[slot]
				}
			}
			t = t[f64.Lanes:]
		}
	}
	if b.Sparse != nil {
		b.Sparse.margins(z, from, slots)
	}
	b.AddDense(z, from, w)
}

// MarginsOf sets z[k*stride:] to n margins by the weights w[k*columns:] on top of start[k],
// for each k, as Margins does; columns are the dense ones and the slots.
func (b *Block) MarginsOf(z []float64, stride, from, n int, w, start []float64) {
	if len(start) == 0 {
		return
	}
	d := len(w) / len(start)
	for k, v := range start {
		to := z[k*stride:][:n]
		if b.Codes > 0 || d > b.Dense {
			b.Margins(to, from, w[k*d:(k+1)*d], v)
			continue
		}
		for i := range to {
			to[i] = v
		}
	}
	switch {
	case b.Codes > 0 || d > b.Dense:
	case b.X32 != nil:
		f64.MarginsOf(z, stride, n, b.X32[from*b.Dense:(from+n)*b.Dense], w, d)
	default:
		f64.MarginsOf(z, stride, n, b.X64[from*b.Dense:(from+n)*b.Dense], w, d)
	}
}

// AddDense adds to z what Margins adds of the dense columns, after the slots.
func (b *Block) AddDense(z []float64, from int, w []float64) {
	if b.X32 != nil {
		f64.Margins(z, b.X32[from*b.Dense:(from+len(z))*b.Dense], w[:b.Dense])
	} else {
		f64.Margins(z, b.X64[from*b.Dense:(from+len(z))*b.Dense], w[:b.Dense])
	}
}

// AddGrad adds Xᵀ·r of rows [from, from+len(r)), r being factors (f64.FixAll): of
// the dense columns to acc, accumulators that f64.Starts made, of the slots to
// oneHot, in units of f64.FixedUnit.
func (b *Block) AddGrad(acc []float64, oneHot []int64, from int, r []float64) {
	for i := 0; i < len(r) && b.Codes > 0; i += f64.Lanes {
		t := b.Code[(from+i)*b.Codes:][:b.Codes*f64.Lanes]
		var part [f64.Lanes]int64
		for l, v := range r[i : i+f64.Lanes] {
			part[l] = f64.FixedPart(v)
		}
		for len(t) > 0 {
			for l, v := range part {
				if slot := t[l]; slot >= 0 {
					oneHot[slot] += v
				}
			}
			t = t[f64.Lanes:]
		}
	}
	if b.Sparse != nil {
		b.Sparse.gradient(oneHot, from, r)
	}
	b.AddDenseGrad(acc, from, r)
}

// AddDenseGrad is AddGrad of the dense columns alone.
func (b *Block) AddDenseGrad(acc []float64, from int, r []float64) {
	if b.X32 != nil {
		f64.AddGrad(acc, b.X32[from*b.Dense:(from+len(r))*b.Dense], r)
	} else {
		f64.AddGrad(acc, b.X64[from*b.Dense:(from+len(r))*b.Dense], r)
	}
}

// Value returns the number in row i of dense column j.
func (b *Block) Value(i, j int) float64 {
	at := (i&^(f64.Lanes-1))*b.Dense + j*f64.Lanes + i&(f64.Lanes-1)
	if b.X32 != nil {
		return float64(b.X32[at])
	}
	return b.X64[at]
}

// CodeAt returns the code in row i of column j of the codes.
func (b *Block) CodeAt(i, j int) int32 {
	return b.Code[(i&^(f64.Lanes-1))*b.Codes+j*f64.Lanes+i&(f64.Lanes-1)]
}

// SetCode sets it.
func (b *Block) SetCode(i, j int, code int32) {
	b.Code[(i&^(f64.Lanes-1))*b.Codes+j*f64.Lanes+i&(f64.Lanes-1)] = code
}

// Ahead is the memory of the dense columns of at most n rows from a tile on.
func (b *Block) Ahead(from, n int) []byte {
	from = min(from, b.Padded())
	to := min(from+n, b.Padded())
	if b.X32 != nil {
		return tempfile.Bytes(b.X32[from*b.Dense : to*b.Dense])
	}
	return tempfile.Bytes(b.X64[from*b.Dense : to*b.Dense])
}

// Set sets the number in row i of dense column j.
func (b *Block) Set(i, j int, v float64) {
	at := (i&^(f64.Lanes-1))*b.Dense + j*f64.Lanes + i&(f64.Lanes-1)
	if b.X32 != nil {
		b.X32[at] = float32(v)
	} else {
		b.X64[at] = v
	}
}

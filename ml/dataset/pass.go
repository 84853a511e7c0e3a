package dataset

import "github.com/tributarydb/tributary/exec/kernel/f64"

// ChunkRows is how many rows of a block a pass works on at once: few enough to
// stay in the nearest caches from margins to gradient, and a Gram chunk.
const ChunkRows = f64.GramTiles * f64.Lanes

// Margins sets z to the margins of rows [from, from+len(z)) for the weights w of
// the dense columns and then of the slots, on top of the intercept. from and
// len(z) are multiples of f64.Lanes.
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
	if b.X32 != nil {
		f64.Margins(z, b.X32[from*b.Dense:(from+len(z))*b.Dense], w[:b.Dense])
	} else {
		f64.Margins(z, b.X64[from*b.Dense:(from+len(z))*b.Dense], w[:b.Dense])
	}
}

// AddGrad adds Xᵀ·r of rows [from, from+len(r)): of the dense columns to the
// lane sums acc, of the slots to the sums ones, row by row.
func (b *Block) AddGrad(acc, ones []float64, from int, r []float64) {
	for i := 0; i < len(r) && b.Codes > 0; i += f64.Lanes {
		t := b.Code[(from+i)*b.Codes:][:b.Codes*f64.Lanes]
		rows := r[i:min(i+f64.Lanes, b.Rows-from)] // not those that fill up the tile
		for len(t) > 0 {
			for l, v := range rows {
				if slot := t[l]; slot >= 0 {
					ones[slot] += v
				}
			}
			t = t[f64.Lanes:]
		}
	}
	if b.X32 != nil {
		f64.AddGrad(acc, b.X32[from*b.Dense:(from+len(r))*b.Dense], r)
	} else {
		f64.AddGrad(acc, b.X64[from*b.Dense:(from+len(r))*b.Dense], r)
	}
}

// Value gives the number in row i of dense column j.
func (b *Block) Value(i, j int) float64 {
	at := (i&^(f64.Lanes-1))*b.Dense + j*f64.Lanes + i&(f64.Lanes-1)
	if b.X32 != nil {
		return float64(b.X32[at])
	}
	return b.X64[at]
}

// AddGram adds Xᵀ·diag(h)·X of rows [from, from+len(h)) to the upper triangle of
// m, a square matrix with the given stride whose rows and columns are the dense
// columns and then the slots. from is a multiple of ChunkRows, len(h) at most
// that.
func (b *Block) AddGram(g *f64.Gram, m []float64, stride, from int, h []float64) {
	if b.X32 != nil {
		f64.AddGram(g, m, stride, b.X32[from*b.Dense:(from+len(h))*b.Dense], h)
	} else {
		f64.AddGram(g, m, stride, b.X64[from*b.Dense:(from+len(h))*b.Dense], h)
	}
	if b.Codes == 0 {
		return
	}
	d := b.Dense
	for i, v := range h[:min(len(h), b.Rows-from)] {
		row := from + i
		t := b.Code[(row&^(f64.Lanes-1))*b.Codes:]
		l := row & (f64.Lanes - 1)
		for c := range b.Codes {
			s := t[c*f64.Lanes+l]
			if s < 0 {
				continue
			}
			for j := range d {
				m[j*stride+d+int(s)] += float64(v * b.Value(row, j))
			}
			for k := range c + 1 { // slots of later columns have higher numbers
				if s2 := t[k*f64.Lanes+l]; s2 >= 0 {
					m[(d+int(s2))*stride+d+int(s)] += v
				}
			}
		}
	}
}

package block

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Pick writes the dense columns of these rows of b to the first ones of dst, a block
// of the same columns.
func (b *Block) Pick(dst *Block, rows []int32) {
	if b.X32 != nil {
		pick(dst.X32, b.X32, b.Dense, rows)
	} else {
		pick(dst.X64, b.X64, b.Dense, rows)
	}
}

func pick[T f64.Elem](dst, src []T, d int, rows []int32) {
	if d == 0 { // all columns are categories
		return
	}
	for i, r := range rows {
		to := dst[(i&^(f64.Lanes-1))*d+i&(f64.Lanes-1):]
		from := src[(int(r)&^(f64.Lanes-1))*d+int(r)&(f64.Lanes-1):]
		for at := 0; at < d*f64.Lanes; at += f64.Lanes {
			to[at] = from[at]
		}
	}
}

// Standardize replaces every dense value v by (v-center)·inv of its column,
// rounded as package feature's encoders round. Rows that fill up the last tile
// stay zero.
func (b *Block) Standardize(center, inv []float64) {
	if b.X32 != nil {
		f64.Standardize(b.X32, center, inv)
	} else {
		f64.Standardize(b.X64, center, inv)
	}
	for i := b.Rows; i < b.Padded(); i++ {
		for j := range b.Dense {
			b.Set(i, j, 0)
		}
	}
}

// Splits is f64.ColumnSplits of the dense columns in rows [from, to), at most
// f64.SplitRows of them, in whole tiles.
func (b *Block) Splits(s *f64.Splits, from, to int) (low, high, sums []float64, ok []bool) {
	if b.X32 != nil {
		return f64.ColumnSplits(s, b.X32[from*b.Dense:to*b.Dense], b.Dense)
	}
	return f64.ColumnSplits(s, b.X64[from*b.Dense:to*b.Dense], b.Dense)
}

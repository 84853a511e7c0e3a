package block

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// Part returns the block without these of its columns: they are the labels of the
// targets after the first.
func (b *Block) Part(cols []int) *Block {
	out := *b
	n := b.Padded()
	parted := make([]int, b.Dense) // 1 + the place among cols; 0 for what stays
	out.More = make([][]float64, len(cols))
	for k, c := range cols {
		parted[c], out.More[k] = k+1, make([]float64, n)
	}
	out.Dense = b.Dense - len(cols)
	if b.X32 != nil {
		out.X32 = part(b.X32, parted, n, out.More)
	} else {
		out.X64 = part(b.X64, parted, n, out.More)
	}
	return &out
}

func part[T float32 | float64](x []T, parted []int, rows int, taken [][]float64) []T {
	kept := make([]T, 0, rows*(len(parted)-len(taken)))
	for t := 0; t < rows; t += f64.Lanes {
		for j, k := range parted {
			lanes := x[t*len(parted)+j*f64.Lanes:][:f64.Lanes]
			if k == 0 {
				kept = append(kept, lanes...)
				continue
			}
			for l, v := range lanes {
				taken[k-1][t+l] = float64(v)
			}
		}
	}
	return kept
}

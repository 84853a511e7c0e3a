package gram

import (
	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
)

// CoarseScale is what a column's scale is multiplied by for coarse products: values are
// integers of at most f64.CoarseMost in size then.
const CoarseScale = 2 * f64.CoarseMost

// Coarse sums coarse products (f64.AddCoarse) of blocks' dense columns and of ones, for
// rows of weight 1. It is for one goroutine.
type Coarse struct {
	shift, scale []float64
	cols, stride int
	pack         []byte
	part         []int32 // of the last rows
	rows         int     // in part
	sums         []int64
}

// CoarseBytes returns the memory of a Coarse of n columns, and of what Take returns.
func CoarseBytes(n int) (pass, sums int64) {
	s := int64(coarseStride(n + 1))
	return f64.FixedRows*s + 12*s*s + 16*int64(n), 8 * int64(n+1) * int64(n+2) / 2
}

func coarseStride(cols int) int {
	return (cols + f64.CoarseCols - 1) / f64.CoarseCols * f64.CoarseCols
}

// NewCoarse makes one of columns that lie as c has it.
func NewCoarse(c *Columns) *Coarse {
	k := &Coarse{shift: c.Shift, cols: len(c.Shift) + 1}
	k.stride = coarseStride(k.cols)
	for _, s := range c.Scale {
		k.scale = append(k.scale, CoarseScale*s)
	}
	k.pack = make([]byte, f64.FixedRows*k.stride)
	k.part, k.sums = make([]int32, k.stride*k.stride), make([]int64, k.stride*k.stride)
	return k
}

// Add takes n rows of a block, from a tile on, those that fill up the last tile aside.
func (k *Coarse) Add(b *block.Block, from, n int) {
	rows := min(n, b.Rows-from)
	if b.X32 != nil {
		f64.CoarsePack(k.pack, b.X32[from*b.Dense:(from+n)*b.Dense], k.shift, k.scale, rows)
	} else {
		f64.CoarsePack(k.pack, b.X64[from*b.Dense:(from+n)*b.Dense], k.shift, k.scale, rows)
	}
	if k.rows += n; k.rows > f64.CoarseRows {
		k.spill()
		k.rows = n
	}
	f64.AddCoarse(k.part, k.stride, k.pack, k.cols, n)
}

func (k *Coarse) spill() {
	for i, v := range k.part {
		k.sums[i] += int64(v)
	}
	clear(k.part)
	k.rows = 0
}

// Take returns the sums of products of bytes, row by row from the diagonal on, and
// resets them. Those of columns are offset by f64.CoarseMiddle.
func (k *Coarse) Take() Sums {
	k.spill()
	out := Sums{Low: make([]int64, 0, k.cols*(k.cols+1)/2)}
	for i := range k.cols {
		out.Low = append(out.Low, k.sums[i*k.stride+i:i*k.stride+k.cols]...)
	}
	out.tighten()
	clear(k.sums)
	return out
}

// Count is sum i as an integer.
func (s *Sums) Count(i int) float64 { return s.At(i, f64.FixedUnit) }

package agg

import (
	"math/big"
	"math/bits"

	"github.com/tributarydb/tributary/sql/number"
)

// wide is a sum of integers in 128 bits.
type wide struct {
	lo uint64
	hi int64
}

func (w *wide) add(v int64) { w.merge(wide{uint64(v), v >> 63}) }

func (w *wide) merge(o wide) {
	lo, c := bits.Add64(w.lo, o.lo, 0)
	w.lo = lo
	w.hi += o.hi + int64(c)
}

func (w wide) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(w.hi), 64)
	return v.Add(v, new(big.Int).SetUint64(w.lo))
}

// decimal returns the sum of values with a scale.
func (w wide) decimal(scale int32) number.Decimal { return number.DecimalFromInt128(w.hi, w.lo, scale) }

// wideSum is a sum and how many values are in it.
type wideSum struct {
	wide
	n int64
}

package mathfn

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
)

// Divisor divides by a constant d, |d| > 1, by multiplying with its reciprocal, which takes a
// fourth of the time of a division. With l = ⌈log₂|d|⌉ and m = ⌈2⁶³⁺ˡ/|d|⌉ the quotient of
// each n below 2⁶³ is m·n >> (63+l): Granlund and Montgomery, "Division by invariant integers
// using multiplication", theorem 4.2.
type Divisor struct {
	d, sign int64 // sign: −1 where d is negative, else 0
	m       uint64
	shift   uint // of the product's upper half
}

// NewDivisor returns the divisor by d.
func NewDivisor(d int64) Divisor {
	sign := d >> 63
	u := uint64((d ^ sign) - sign)
	l := uint(bits.Len64(u - 1))
	m, rest := bits.Div64(1<<(l-1), 0, u)
	if rest > 0 {
		m++
	}
	return Divisor{d, sign, m, l - 1}
}

// Quo returns x / d for all x except the least int64.
func (v *Divisor) Quo(x int64) int64 {
	s := x >> 63
	hi, _ := bits.Mul64(v.m, uint64((x^s)-s))
	s ^= v.sign
	return (int64(hi>>(v.shift&63)) ^ s) - s
}

// byConstant divides integers by a constant, where there is one that divides all without
// an error.
func byConstant[T int16 | int32 | int64](c *function.Call, op arOp, l, r *vector.Vec, out []T) bool {
	if !r.One || c.N < 8 {
		return false
	}
	d := int64(vector.Values[T](r)[0])
	if -1 <= d && d <= 1 {
		return false
	}
	x, v := compare.SpreadVals[T](c, l)[:len(out)], NewDivisor(d)
	if op == arMod {
		for i, n := range x {
			n := int64(n)
			if n == math.MinInt64 {
				out[i] = T(n % d)
				continue
			}
			out[i] = T(n - v.Quo(n)*d)
		}
		return true
	}
	for i, n := range x {
		n := int64(n)
		if n == math.MinInt64 {
			out[i] = T(n / d)
			continue
		}
		out[i] = T(v.Quo(n))
	}
	return true
}

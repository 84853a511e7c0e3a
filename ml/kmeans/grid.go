package kmeans

import (
	"math"
	"math/bits"
)

// grid has the factors that convert numbers to integers, so small that the sums
// over all rows fit 64 bits.
type grid struct {
	Col    []float64 // by dense column: values times this
	Unit   float64   // weights times this are at most 1: a value counts in a sum with its weight times this
	Weight float64   // weights times this become integers
	Square float64   // squared distances times weights times this, for 128 bits
	Dist   float64   // distances likewise
}

// newGrid makes the grid of n rows with these bounds. top bounds the values of
// rows that are held out.
func newGrid(n int64, max []float64, weight, top float64, codes int) grid {
	room := min(61-bits.Len64(uint64(n)), most)
	w := exponent(weight)
	g := grid{Unit: power(-w), Weight: power(room - w)}
	bound := 1e-300
	for _, b := range max {
		g.Col = append(g.Col, power(room-exponent(b)))
		bound += float64(4 * math.Max(b, top) * math.Max(b, top))
	}
	e := exponent(bound + float64(4*codes))
	g.Square, g.Dist = power(most-e-w), power(most-(e+1)/2-w)
	return g
}

// exponent is the least e for which 2 to the e is not below v.
func exponent(v float64) int {
	f, e := math.Frexp(v)
	if f == 0.5 {
		e--
	}
	return e
}

// power is 2 to the e, within what is finite.
func power(e int) float64 { return math.Ldexp(1, min(e, 1000)) }

// whole rounds a number below 2^most in magnitude to the nearest integer.
func whole(v float64) int64 {
	const shift = 0x1.8p52
	return int64(math.Float64bits(float64(v)+shift)) - 0x4338000000000000 // float64: a product that v is must be rounded
}

// most is the number of bits that whole rounds to.
const most = 50

// wide is a sum of 128 bits.
type wide struct {
	Hi int64
	Lo uint64
}

func (w *wide) add(v int64) { w.plus(wide{v >> 63, uint64(v)}) }

func (w *wide) plus(o wide) {
	var c uint64
	w.Lo, c = bits.Add64(w.Lo, o.Lo, 0)
	w.Hi += o.Hi + int64(c)
}

func (w wide) float() float64 { return float64(float64(w.Hi)*0x1p64) + float64(w.Lo) }

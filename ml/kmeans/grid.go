package kmeans

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/kernel/exact"
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
	room := min(61-bits.Len64(uint64(n)), exact.WholeBits)
	w := exact.Exponent(weight)
	g := grid{Unit: exact.Power(-w), Weight: exact.Power(room - w)}
	bound := 1e-300
	for _, b := range max {
		g.Col = append(g.Col, exact.Power(room-exact.Exponent(b)))
		bound += float64(4 * math.Max(b, top) * math.Max(b, top))
	}
	e := exact.Exponent(bound + float64(4*codes))
	g.Square, g.Dist = exact.Power(exact.WholeBits-e-w), exact.Power(exact.WholeBits-(e+1)/2-w)
	return g
}

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

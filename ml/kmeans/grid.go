package kmeans

import (
	"math"
	"math/bits"
)

// grid is what numbers become integers by. Sums of all rows' integers fit into
// 64 bits.
type grid struct {
	Col    []float64 // by dense column: values times this
	Weight float64   // weights times this
	Square float64   // squared distances times this, for 128 bits
	Dist   float64   // distances likewise
}

// newGrid makes the grid of n rows with these bounds. top bounds the values of
// rows that are held out.
func newGrid(n int64, max []float64, weight, top float64, codes int) grid {
	room := 61 - bits.Len64(uint64(n))
	_, w := math.Frexp(weight)
	g := grid{Weight: power(room - w)}
	bound := 0.0
	for _, b := range max {
		_, e := math.Frexp(b)
		g.Col = append(g.Col, power(room-w-e))
		bound += 4 * math.Max(b, top) * math.Max(b, top)
	}
	_, e := math.Frexp(bound + float64(4*codes) + 1e-300)
	g.Square, g.Dist = power(60-e-w), power(60-(e+1)/2-w)
	return g
}

// power is 2 to the e, within what is finite.
func power(e int) float64 { return math.Ldexp(1, min(e, 1000)) }

// whole rounds to the nearest integer.
func whole(v float64) int64 { return int64(math.RoundToEven(v)) }

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

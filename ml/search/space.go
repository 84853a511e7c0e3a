package search

import (
	"math"
	"math/rand/v2"
	"strconv"
)

// Dim is a dimension of a space: a number of candidates, or a range of numbers.
type Dim struct {
	Candidates int // 0: a range
	Lo, Hi     float64
	Log        bool // even in the logarithm; Lo is above 0
	Integer    bool // Lo and Hi are integers, and so are all values
}

// Space has a dimension for each setting that is searched.
type Space []Dim

// Point has a value for each dimension: the index of a candidate, or a number.
type Point []float64

// at returns the value at a fraction u of the dimension, from 0 to below 1. Integers
// have equal shares of a linear range.
func (d Dim) at(u float64) float64 {
	if d.Candidates > 0 {
		return math.Min(math.Floor(u*float64(d.Candidates)), float64(d.Candidates-1))
	}
	lo, hi := d.ends()
	v := lo + float64(u*(hi-lo))
	if d.Log {
		v = math.Exp(v)
	}
	if d.Integer {
		return math.Min(math.Max(math.Round(v), d.Lo), d.Hi)
	}
	// Six digits are what a person reads, and processors whose logarithms differ in the last bit agree on them.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return math.Min(math.Max(v, d.Lo), d.Hi)
}

// ends returns the ends of a range on the scale that is even. An integer's share
// reaches half way to its neighbours.
func (d Dim) ends() (lo, hi float64) {
	lo, hi = d.Lo, d.Hi
	if d.Integer {
		lo, hi = lo-0.5, hi+0.5
	}
	if d.Log {
		lo, hi = math.Log(lo), math.Log(hi)
	}
	return lo, hi
}

// fraction returns where a value of a range lies, from 0 to 1: the inverse of at.
func (d Dim) fraction(v float64) float64 {
	lo, hi := d.ends()
	if d.Log {
		v = math.Log(v)
	}
	if hi <= lo {
		return 0.5
	}
	return math.Min(math.Max((v-lo)/(hi-lo), 0), 1)
}

// size returns how many values there are, infinitely many for a range of reals.
func (d Dim) size() float64 {
	switch {
	case d.Candidates > 0:
		return float64(d.Candidates)
	case d.Integer:
		return d.Hi - d.Lo + 1
	case d.Lo == d.Hi:
		return 1
	}
	return math.Inf(1)
}

// Size returns how many points a space has, perhaps infinitely many.
func (s Space) Size() float64 {
	n := 1.0
	for _, d := range s {
		n *= d.size()
	}
	return n
}

// draw returns a random point.
func (s Space) draw(r *rand.Rand) Point {
	p := make(Point, len(s))
	for i, d := range s {
		p[i] = d.at(r.Float64())
	}
	return p
}

// seen remembers points, so that none is tried twice.
type seen map[string]bool

// add reports whether a point is new, and notes it.
func (s seen) add(p Point) bool {
	key := make([]byte, 0, 24*len(p))
	for _, v := range p {
		key = append(strconv.AppendFloat(key, v, 'g', -1, 64), ' ')
	}
	if s[string(key)] {
		return false
	}
	s[string(key)] = true
	return true
}

// tries is how often a new point is drawn before another way is taken.
const tries = 100

// fresh returns a point that was not tried: of what draw makes, of the whole space, or
// the first of those that are left. Where all were tried it is one of these.
func (s seen) fresh(space Space, r *rand.Rand, draw func() Point) Point {
	for _, from := range []func() Point{draw, func() Point { return space.draw(r) }} {
		for range tries {
			if p := from(); s.add(p) {
				return p
			}
		}
	}
	if most := int(math.Min(space.Size(), 1<<16)); float64(most) == space.Size() {
		for _, p := range space.Grid(most) {
			if s.add(p) {
				return p
			}
		}
	}
	return draw()
}

// Steps returns the points of each range of a grid that has at most so many points,
// 0 where it has no range or not even two would fit.
func (s Space) Steps(most int) int {
	rest, ranges := float64(most), 0
	for _, d := range s {
		if d.Candidates > 0 {
			rest /= float64(d.Candidates)
		} else {
			ranges++
		}
	}
	if ranges == 0 {
		return 0
	}
	n := int(math.Floor(math.Pow(rest, 1/float64(ranges)) + 1e-9))
	if n < 2 {
		return 0
	}
	return n
}

// Grid returns all points in order, the last dimension changing fastest. A range has so
// many steps from Lo to Hi, of which integers may be fewer.
func (s Space) Grid(steps int) (out []Point) {
	out = []Point{nil}
	for _, d := range s {
		var next []Point
		values := d.steps(steps)
		for _, p := range out {
			for _, v := range values {
				next = append(next, append(p[:len(p):len(p)], v))
			}
		}
		out = next
	}
	return out
}

func (d Dim) steps(n int) (out []float64) {
	if d.Candidates > 0 {
		for i := range d.Candidates {
			out = append(out, float64(i))
		}
		return out
	}
	whole := d
	whole.Integer = false
	for i := range n {
		v := whole.at(float64(i) / float64(max(n-1, 1)))
		if d.Integer {
			v = math.Round(v)
		}
		if len(out) == 0 || v != out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}

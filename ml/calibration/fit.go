package calibration

import (
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
)

// Fit returns the curves of a method, by class.
func (t *Tally) Fit(method string) (out []Curve) {
	for k := range t.Lists {
		if cells := t.cells(k); method == family.Sigmoid {
			out = append(out, sigmoid(cells, perUnit(len(t.Lists))))
		} else {
			out = append(out, isotonic(cells, perUnit(len(t.Lists))))
		}
	}
	return out
}

// sigmoid fits 1 / (1 + e^(slope·score + offset)) with Platt's targets, which are not quite 0 and 1: scikit-learn's
// _sigmoid_calibration. It is a logistic regression of two parameters, by Newton's method with halved steps.
func sigmoid(cells []*Cell, steps float64) Curve {
	var yes, no float64
	for _, c := range cells {
		yes, no = yes+c.Of, no+(c.Weight-c.Of)
	}
	high, low := (yes+1)/(yes+2), 1/(no+2)
	loss := func(slope, offset float64) (sum float64) {
		for _, c := range cells {
			m := -(float64(slope*score(c, steps)) + offset) // the log-odds of the class
			n := c.Weight - c.Of
			sum += float64((float64(c.Of*high)+float64(n*low))*f64.LogLoss1(m)) + float64((float64(c.Of*(1-high))+float64(n*(1-low)))*f64.LogLoss1(-m))
		}
		return sum
	}
	slope, offset := 0.0, f64.Log1((no+1)/(yes+1))
	best := loss(slope, offset)
	for range 100 {
		var g, h [3]float64 // of slope and offset; and of both
		for _, c := range cells {
			x := score(c, steps)
			p := f64.Sigmoid1(-(float64(slope*x) + offset))
			n := c.Weight - c.Of
			d := float64(c.Of*high) + float64(n*low) - float64(c.Weight*p) // minus the gradient by the log-odds
			v := float64(float64(c.Weight*p) * (1 - p))
			g[0], g[1] = g[0]+float64(d*x), g[1]+d
			h[0], h[1], h[2] = h[0]+float64(float64(v*x)*x), h[1]+v, h[2]+float64(v*x)
		}
		det := float64(h[0]*h[1]) - float64(h[2]*h[2])
		if !(det > 1e-12*h[0]*h[1]) {
			break
		}
		ds, do := (float64(h[1]*g[0])-float64(h[2]*g[1]))/det, (float64(h[0]*g[1])-float64(h[2]*g[0]))/det
		next, step := math.Inf(1), 1.0
		for ; step > 1e-10; step /= 2 {
			if next = loss(slope-float64(step*ds), offset-float64(step*do)); next <= best {
				break
			}
		}
		if !(next < best) {
			break
		}
		slope, offset, best = slope-float64(step*ds), offset-float64(step*do), next
	}
	return Curve{Slope: slope, Offset: offset}
}

// score is the log-odds that a cell stands for.
func score(c *Cell, steps float64) float64 { return float64(c.Key) / steps }

// isotonic fits the nearest shares that do not fall as scores rise: pool adjacent violators (Ayer and others 1955).
// Between two scores the share is on a line, and beyond the ends it is that of the end, as scikit-learn's
// IsotonicRegression has it.
func isotonic(cells []*Cell, steps float64) (out Curve) {
	type pool struct{ weight, of, from, to float64 }
	var pools []pool
	for _, c := range cells {
		if !(c.Weight > 0) {
			continue
		}
		pools = append(pools, pool{c.Weight, c.Of, score(c, steps), score(c, steps)})
		for n := len(pools); n > 1 && pools[n-2].of*pools[n-1].weight >= pools[n-1].of*pools[n-2].weight; n-- {
			a, b := pools[n-2], pools[n-1]
			pools = append(pools[:n-2], pool{a.weight + b.weight, a.of + b.of, a.from, b.to})
		}
	}
	for _, p := range pools {
		out.X, out.Y = append(out.X, p.from), append(out.Y, p.of/p.weight)
		if p.to > p.from {
			out.X, out.Y = append(out.X, p.to), append(out.Y, p.of/p.weight)
		}
	}
	return out
}

// Radius returns how far from its prediction a row's number lies at most with this probability, for rows like those of
// the tally: the error that ⌈(n+1)·level⌉ of n rows do not exceed. It is infinite of too few rows.
func (t *Tally) Radius(level float64) float64 {
	var total, sum float64
	cells := t.cells(0)
	for _, c := range cells {
		total += c.Weight
	}
	n := float64(t.Rows)
	want := total * (math.Ceil(float64((n+1)*level)) / n) // each row has a share of the weight
	if !(math.Ceil(float64((n+1)*level)) <= n) {
		return math.Inf(1)
	}
	for _, c := range cells {
		if sum += c.Weight; sum >= want*(1-1e-12) {
			return math.Float64frombits(uint64(c.Key+1) << errorShift)
		}
	}
	return math.Inf(1)
}

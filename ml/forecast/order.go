package forecast

import (
	"fmt"
	"math"

	"github.com/tributarydb/tributary/exec/kernel/f64"
)

// order is that of an ARIMA model: (P,D,Q), in steps of a season (SeasonalP,SeasonalD,SeasonalQ), and whether there is a constant.
type order struct {
	P, D, Q                         int
	SeasonalP, SeasonalD, SeasonalQ int
	Constant                        bool
}

// parameters counts those of the process.
func (o *order) parameters() int { return o.P + o.Q + o.SeasonalP + o.SeasonalQ }

// arimaForm begins the names of orders.
const arimaForm = "ARIMA"

// name is how the order is written with seasons of m steps.
func (o *order) name(m int) string {
	s := fmt.Sprintf("%s(%d,%d,%d)", arimaForm, o.P, o.D, o.Q)
	if o.SeasonalP+o.SeasonalD+o.SeasonalQ > 0 {
		s += fmt.Sprintf("(%d,%d,%d)[%d]", o.SeasonalP, o.SeasonalD, o.SeasonalQ, m)
	}
	switch {
	case o.Constant && o.D+o.SeasonalD > 0:
		s += " with drift"
	case o.Constant:
		s += " with mean"
	}
	return s
}

// The largest orders of a search, as in the R package.
const (
	mostOrder    = 5
	mostSeasonal = 2
	mostD        = 2
	mostModels   = 94
)

// difference returns a series of what its values differ by from those k steps before.
func difference(y []float64, k int) []float64 {
	if len(y) <= k {
		return nil
	}
	out := make([]float64, len(y)-k)
	for i := range out {
		out[i] = y[i+k] - y[i]
	}
	return out
}

// differenced takes the differences of an order.
func (o *order) differenced(y []float64, m int) []float64 {
	for range o.SeasonalD {
		y = difference(y, m)
	}
	for range o.D {
		y = difference(y, 1)
	}
	return y
}

// undo returns the polynomial by which values follow from their differences: y = Σ undo·y before + w.
func (o *order) undo(m int) lags {
	one, out := []float64{1}, lags{}
	for range o.D {
		out = out.with(times(one, nil, m, -1))
	}
	for range o.SeasonalD {
		out = out.with(times(nil, one, m, -1))
	}
	return out
}

// with returns the product of two autoregressive polynomials.
func (l lags) with(o lags) lags {
	dense := func(l lags) []float64 {
		c := make([]float64, l.most())
		for i, k := range l.at {
			c[k-1] = l.by[i]
		}
		return c
	}
	return times(dense(l), dense(o), 1, -1)
}

// constant reports whether all values are about the same.
func constant(y []float64) bool {
	for _, v := range y {
		if v != y[0] {
			return false
		}
	}
	return true
}

// levelCritical is the value that the statistic of a stationary series passes once in twenty times (Kwiatkowski et al. 1992).
const levelCritical = 0.463

// kpss is the statistic of Kwiatkowski, Phillips, Schmidt and Shin for a series about a level: the squares of its sums, beside the
// variance of a sum.
func kpss(y []float64) float64 {
	n := len(y)
	mean := 0.0
	for _, v := range y {
		mean += v / float64(n)
	}
	e := make([]float64, n)
	sum, squares := 0.0, 0.0
	for i, v := range y {
		e[i] = v - mean
		sum += e[i]
		squares += float64(sum * sum)
	}
	lag := int(3 * math.Sqrt(float64(n)) / 13)
	variance := f64.Dot(e, e)
	for k := 1; k <= lag; k++ {
		w := 1 - float64(k)/float64(lag+1)
		variance += float64(2 * w * f64.Dot(e[k:], e[:n-k]))
	}
	return squares / float64(n) / variance
}

// differences is how many first differences make a series stationary: one more as long as the test says that it is not.
func differences(y []float64) (d int) {
	for d < mostD && len(y) > 3 && !constant(y) && kpss(y) > levelCritical {
		d++
		y = difference(y, 1)
	}
	return d
}

// strongSeason is the strength above which a season is taken to change with time (Wang, Smith and Hyndman 2006).
const strongSeason = 0.64

// strength is the share of a season in what is not trend: 0 for none, at most 1.
func strength(y []float64, m int) float64 {
	season, trend := decompose(y, m)
	rest, both := make([]float64, len(y)), make([]float64, len(y))
	for t, v := range y {
		both[t] = v - trend[t]
		rest[t] = both[t] - season[t]
	}
	whole := variance(both)
	if !(whole > 0) {
		return 0
	}
	return min(max(1-variance(rest)/whole, 0), 1)
}

func variance(v []float64) float64 {
	n, mean, sum := float64(len(v)), 0.0, 0.0
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		sum += float64((x - mean) * (x - mean))
	}
	return sum / n
}

// seasonalDifferences is how many seasonal differences a series needs, 0 or 1.
func seasonalDifferences(y []float64, m int) int {
	if m > 1 && len(y) >= 2*m+5 && !constant(y) && strength(y, m) > strongSeason {
		return 1
	}
	return 0
}

// moves are the neighbours of an order, in the order in which they are tried: by how much P, Q and the seasonal ones change.
var moves = [...]struct{ p, q, seasonalP, seasonalQ int }{
	{0, 0, -1, 0}, {0, 0, 0, -1}, {0, 0, 1, 0}, {0, 0, 0, 1}, {0, 0, -1, -1}, {0, 0, -1, 1}, {0, 0, 1, -1}, {0, 0, 1, 1},
	{-1, 0, 0, 0}, {0, -1, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {-1, -1, 0, 0}, {-1, 1, 0, 0}, {1, -1, 0, 0}, {1, 1, 0, 0},
}

// stepwise searches the order of least criterion (Hyndman and Khandakar 2008, section 3.2): from the best of a few, to the first
// neighbour that is better, until none is. try returns the criterion of an order, and false to stop the search.
func (o order) stepwise(m, n int, try func(order) (criterion float64, ok bool)) {
	seen := map[order]bool{}
	var best order
	least, went := math.Inf(1), true
	better := func(x order) (improved bool) {
		if seen[x] || !went || len(seen) >= mostModels {
			return false
		}
		seen[x] = true
		c, ok := try(x)
		if !ok {
			went = false
			return false
		}
		if c < least {
			best, least = x, c
			return true
		}
		return false
	}
	mostS, most := 0, min(mostOrder, n/3)
	if m > 1 {
		mostS = min(mostSeasonal, n/3/m)
	}
	o.Constant = o.D+o.SeasonalD <= 1
	start := func(p, q, seasonalP, seasonalQ int, constant bool) {
		x := o
		x.P, x.Q, x.SeasonalP, x.SeasonalQ, x.Constant = min(p, most), min(q, most), min(seasonalP, mostS), min(seasonalQ, mostS), constant && o.Constant
		better(x)
	}
	start(2, 2, 1, 1, true)
	start(0, 0, 0, 0, true)
	start(1, 0, 1, 0, true)
	start(0, 1, 0, 1, true)
	start(0, 0, 0, 0, false)
	inside := func(v, most int) bool { return v >= 0 && v <= most }
	for on := true; on && went; {
		on = false
		for _, d := range moves {
			x := best
			x.P, x.Q, x.SeasonalP, x.SeasonalQ = x.P+d.p, x.Q+d.q, x.SeasonalP+d.seasonalP, x.SeasonalQ+d.seasonalQ
			if inside(x.P, most) && inside(x.Q, most) && inside(x.SeasonalP, mostS) && inside(x.SeasonalQ, mostS) && better(x) {
				on = true
				break
			}
		}
		if x := best; !on && o.Constant {
			x.Constant = !x.Constant
			on = better(x)
		}
	}
}

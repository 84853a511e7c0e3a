package impute

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var nan = math.NaN()

// What scikit-learn 1.9.1 makes of these rows, by KNNImputer and IterativeImputer with 3 neighbours, 4 rounds and tol = 0. For weights by distance the metric is
// a function that sums squared differences: its own, by |x|² - 2xy + |y|², loses half of the digits of small distances.
var sample = [][]float64{
	{6.46, 0.17, -298.4},
	{9.57, 2.44, -445.1},
	{14.07, nan, -109.4},
	{9.56, -0.02, nan},
	{nan, 0.57, nan},
	{11.84, -1.99, 537.4},
	{12.0, -1.9, 383.9},
	{10.85, nan, 107.1},
	{8.64, -1.04, 115.5},
	{17.64, nan, 197.7},
	{nan, -1.76, nan},
	{10.25, 2.64, -470.3},
	{nan, 0.42, nan},
	{7.78, -1.66, 217.8},
}

var bySklearn = map[string][][]float64{
	"uniform": {
		{6.46, 0.17, -298.4},
		{9.57, 2.44, -445.1},
		{14.07, -0.2966666666666667, -109.4},
		{9.56, -0.02, 146.79999999999998},
		{8.22, 0.57, -209.33333333333334},
		{11.84, -1.99, 537.4},
		{12.0, -1.9, 383.9},
		{10.85, -0.9066666666666666, 107.1},
		{8.64, -1.04, 115.5},
		{17.64, -0.9066666666666666, 197.7},
		{10.540000000000001, -1.76, 379.7},
		{10.25, 2.64, -470.3},
		{8.22, 0.42, -209.33333333333334},
		{7.78, -1.66, 217.8},
	},
	"distance": {
		{6.46, 0.17, -298.4},
		{9.57, 2.44, -445.1},
		{14.07, -0.0411961760509545, -109.4},
		{9.56, -0.02, 137.79448221322286},
		{7.8321405541286415, 0.57, -249.5385286301588},
		{11.84, -1.99, 537.4},
		{12.0, -1.9, 383.9},
		{10.85, -0.2166987029434106, 107.1},
		{8.64, -1.04, 115.5},
		{17.64, -0.6132373751575255, 197.7},
		{10.003988439306362, -1.76, 337.6656069364163},
		{10.25, 2.64, -470.3},
		{7.6872239126543755, 0.42, -257.6914746543778},
		{7.78, -1.66, 217.8},
	},
	"bayesian": {
		{6.46, 0.17, -298.4},
		{9.57, 2.44, -445.1},
		{14.07, 1.7886812504303737, -109.4},
		{9.56, -0.02, -24.57309686564986},
		{10.617284202997281, 0.57, -72.94463441863968},
		{11.84, -1.99, 537.4},
		{12.0, -1.9, 383.9},
		{10.85, -0.3325889750911091, 107.1},
		{8.64, -1.04, 115.5},
		{17.64, 1.2316711435567473, 197.7},
		{11.055747020193971, -1.76, 379.96135486685284},
		{10.25, 2.64, -470.3},
		{10.645511422988486, 0.42, -43.78759648180528},
		{7.78, -1.66, 217.8},
	},
	"least squares, descending": {
		{6.46, 0.17, -298.4},
		{9.57, 2.44, -445.1},
		{14.07, 1.897642360256075, -109.4},
		{9.56, -0.02, -22.94752881132797},
		{9.963860682529475, 0.57, -110.25096634325985},
		{11.84, -1.99, 537.4},
		{12.0, -1.9, 383.9},
		{10.85, -0.3025999999295852, 107.1},
		{8.64, -1.04, 115.5},
		{17.64, 1.4015205447564423, 197.7},
		{9.936074566875668, -1.76, 318.76240601704694},
		{10.25, 2.64, -470.3},
		{9.96207187680069, 0.42, -82.63207971062207},
		{7.78, -1.66, 217.8},
	},
}

// fitted fits to rows of weight 1, each as often as copies says.
func fitted(of any, rows [][]float64, copies int) []float64 {
	d := len(rows[0])
	means, sizes, has := make([]float64, d), make([]float64, d), make([]float64, d)
	for _, r := range rows {
		for j, x := range r {
			if x == x {
				means[j] += x
				sizes[j] += x * x
				has[j]++
			}
		}
	}
	for j := range means {
		means[j], sizes[j] = means[j]/has[j], math.Sqrt(sizes[j]/has[j])
	}
	if n, ok := of.(Nearest); ok {
		return n.Fit(means, rows, slices.Repeat([]float64{float64(copies)}, len(rows)))
	}
	at := map[uint64]int{}
	var patterns []Pattern
	for _, r := range rows {
		z, bits := []float64{1}, uint64(0)
		for j, x := range r {
			if x == x {
				bits |= 1 << j
				z = append(z, x-means[j])
			} else {
				z = append(z, 0)
			}
		}
		k, ok := at[bits]
		if !ok {
			k = len(patterns)
			at[bits] = k
			patterns = append(patterns, Pattern{bits, make([]float64, Moments(d))})
		}
		for i, a := range z {
			for h, b := range z {
				patterns[k].Moments[i*(d+1)+h] += float64(copies) * a * b
			}
		}
	}
	return of.(Iterative).Fit(means, sizes, patterns)
}

func filled(f Filler, rows [][]float64) (out [][]float64) {
	for _, r := range rows {
		r = slices.Clone(r)
		f.Fill(r)
		out = append(out, r)
	}
	return out
}

// near fails unless the numbers are equal but for a share of 1 + their size.
func near(t *testing.T, name string, got, want [][]float64, share float64) {
	t.Helper()
	for i := range want {
		for j, w := range want[i] {
			if g := got[i][j]; !(math.Abs(g-w) <= share*(1+math.Abs(w))) {
				t.Errorf("%s: row %d, column %d is %v, want %v", name, i, j, g, w)
			}
		}
	}
}

func TestSklearn(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    any
		share float64
	}{
		{"uniform", Nearest{Neighbors: 3}, 1e-13},
		{"distance", Nearest{Neighbors: 3, ByDistance: true}, 1e-12},
		{"bayesian", Iterative{Rounds: 4}, 1e-10},
		{"least squares, descending", Iterative{Rounds: 4, Estimator: LeastSquares, Order: Descending}, 1e-10},
	} {
		var f Filler
		if _, ok := c.of.(Nearest); ok {
			f = OpenNearest(fitted(c.of, sample, 1), 3)
		} else {
			f = OpenIterative(fitted(c.of, sample, 1), 3)
		}
		near(t, c.name, filled(f, sample), bySklearn[c.name], c.share)
	}
}

// byRows fits regressions to the rows as they are filled so far, which is what Fit does by sums.
func byRows(of Iterative, rows [][]float64) [][]float64 {
	d := len(rows[0])
	f := OpenIterative(fitted(Iterative{}, rows, 1), d).(*iterative)
	out := filled(f, rows)
	gaps := make([]float64, d)
	for _, r := range rows {
		for j, x := range r {
			if x != x {
				gaps[j]++
			}
		}
	}
	for range of.Rounds {
		for _, j := range of.order(gaps) {
			p := Pattern{math.MaxUint64, make([]float64, Moments(d))}
			for i, r := range out {
				if rows[i][j] != rows[i][j] {
					continue
				}
				z := append([]float64{1}, r...)
				for a := range z {
					for b := range z {
						x, y := z[a], z[b]
						if a > 0 {
							x -= f.means[a-1]
						}
						if b > 0 {
							y -= f.means[b-1]
						}
						p.Moments[a*(d+1)+b] += x * y
					}
				}
			}
			r := newRegression(d)
			r.fit(of.Estimator, []Pattern{p}, j)
			for i := range out {
				if rows[i][j] == rows[i][j] {
					continue
				}
				v := f.means[j] + r.factors[0]
				for k, x := range out[i] {
					v += r.factors[k+1] * (x - f.means[k])
				}
				out[i][j] = v
			}
		}
	}
	return out
}

func TestRoundsNeedNoRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{2, 5, 9} {
		rows := make([][]float64, 300)
		for i := range rows {
			row, common := make([]float64, d), rng.NormFloat64()
			for j := range row {
				row[j] = math.Pow(10, float64(j%4)) * (common*float64(j+1) + rng.NormFloat64() + 5)
				if rng.Float64() < 0.3 {
					row[j] = nan
				}
			}
			rows[i] = row
		}
		for _, of := range []Iterative{{Rounds: 3}, {Rounds: 5, Estimator: LeastSquares, Order: Roman}, {Rounds: 2, Order: Arabic, SkipComplete: true}} {
			f := OpenIterative(fitted(of, rows, 1), d)
			near(t, "rounds", filled(f, rows), byRows(of, rows), 1e-9)
		}
	}
}

// TestDegenerate: columns that repeat others, or never vary, give numbers.
func TestDegenerate(t *testing.T) {
	var rows [][]float64
	for i := range 40 {
		x := float64(i * i % 17)
		row := []float64{x, 2*x + 1, 7, 3 - x}
		if i%5 < 4 && i > 5 {
			row[i%5] = nan
		}
		rows = append(rows, row)
	}
	for _, e := range []Estimator{BayesianRidge, LeastSquares} {
		for i, r := range filled(OpenIterative(fitted(Iterative{Rounds: 10, Estimator: e}, rows, 1), 4), rows) {
			x := float64(i * i % 17)
			near(t, "degenerate", [][]float64{r}, [][]float64{{x, 2*x + 1, 7, 3 - x}}, 1e-3)
		}
	}
}

func TestTolerance(t *testing.T) {
	all := len(fitted(Iterative{Rounds: 50}, sample, 1))
	few := len(fitted(Iterative{Rounds: 50, Tolerance: 1e-3}, sample, 1))
	if few >= all || (few-4)%(3*5) != 0 {
		t.Errorf("%d numbers with a tolerance, %d without", few, all)
	}
}

// TestWeights: a donor of weight 2 is two rows.
func TestWeights(t *testing.T) {
	for _, byDistance := range []bool{false, true} {
		of := Nearest{Neighbors: 4, ByDistance: byDistance}
		weighted := filled(OpenNearest(fitted(of, sample, 2), 3), sample)
		near(t, "twice", weighted, filled(OpenNearest(fitted(of, append(slices.Clone(sample), sample...), 1), 3), sample), 1e-14)
		near(t, "half as many", weighted, filled(OpenNearest(fitted(Nearest{2, byDistance}, sample, 1), 3), sample), 1e-14)
	}
}

// TestFar: a row of which nothing is known, or that has no column in common with a donor, gets the means.
func TestFar(t *testing.T) {
	f := OpenNearest(fitted(Nearest{Neighbors: 1}, [][]float64{{1, nan, 4}, {nan, 5, 6}, {3, nan, nan}}, 1), 3)
	near(t, "far", filled(f, [][]float64{{nan, nan, nan}, {1, nan, nan}, {nan, 9, nan}, {2.9, nan, 4.2}}),
		[][]float64{{2, 5, 5}, {1, 5, 4}, {2, 9, 6}, {2.9, 5, 4.2}}, 0)
}

func TestOpenRefuses(t *testing.T) {
	good := fitted(Nearest{Neighbors: 3}, sample, 1)
	steps := fitted(Iterative{Rounds: 2}, sample, 1)
	for cut := range good {
		if cut < 6 || (cut-6)%4 != 0 {
			if OpenNearest(good[:cut], 3) != nil {
				t.Errorf("%d numbers of neighbours are taken", cut)
			}
		}
	}
	steps[4] = 3
	if OpenNearest(good, 2) != nil || OpenIterative(steps, 3) != nil || OpenIterative(steps[:3], 3) != nil || OpenIterative(nil, 0) != nil {
		t.Error("numbers of another shape are taken")
	}
}

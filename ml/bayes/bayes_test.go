package bayes

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// rows are n rows of three classes: two numbers, one far from 0 and some of the other missing; a category.
func rows(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &familytest.Data{Cats: []int{4}, Classes: 3}
	for i := range n {
		y := float64(r.IntN(3))
		x := []float64{1e6 + y + r.NormFloat64()*(1+y), r.NormFloat64() * 3}
		if r.IntN(7) == 0 {
			x[1] = math.NaN()
		}
		d.X, d.Y = append(d.X, x), append(d.Y, y)
		d.Code = append(d.Code, []int32{int32(min(r.IntN(3)+r.IntN(int(y)+2), 4)) - 1})
		d.W, d.Held = append(d.W, []float64{1, 2, 0.25, 0}[r.IntN(4)]), append(d.Held, i%6 == 0)
	}
	return d
}

// counts are words of texts of two classes.
func counts(seed uint64, n int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 2))
	d := &familytest.Data{Classes: 2}
	for range n {
		y := float64(r.IntN(2))
		x := make([]float64, 5)
		for j := range x {
			x[j] = math.Floor(r.ExpFloat64() * (1 + y*float64(j)/3))
		}
		d.X, d.Y = append(d.X, x), append(d.Y, y)
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	plain := rows(2, 900)
	plain.W, plain.Held = nil, nil
	for name, c := range map[string]struct {
		d       *familytest.Data
		options []any
	}{
		"mixed": {rows(1, 900), nil}, "plain": {plain, []any{"alpha", 0.5, "var_smoothing", 0.01}},
		"bernoulli": {rows(3, 700), []any{"model", "bernoulli"}}, "multinomial": {counts(4, 800), []any{"model", "multinomial"}},
		"gaussian": {counts(5, 800), []any{"model", "gaussian"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := familytest.Same(t, bayes{}, c.d, c.options...); !got.State.Converged {
				t.Errorf("state %+v", got.State)
			}
		})
	}
}

// reference are the logarithms of P(class) and P(row | class) by their definitions.
func reference(d *familytest.Data, k kind, a, smoothing float64) (prior []float64, likelihood func(i, c int) float64) {
	// moments of a column's rows of a class, -1 for all
	moments := func(j, c int) (n, mean, variance float64) {
		for pass := range 2 {
			sum := 0.0
			n = 0
			for i, x := range d.X {
				if w := d.Weight(i); x[j] == x[j] && (c < 0 || int(d.Y[i]) == c) {
					n += w
					if pass == 0 {
						sum += w * (x[j] - d.X[0][j])
					} else {
						sum += w * (x[j] - mean) * (x[j] - mean)
					}
				}
			}
			if pass == 0 {
				mean = d.X[0][j] + sum/n
			} else {
				variance = sum / n
			}
		}
		return n, mean, variance
	}
	total := 0.0
	prior = make([]float64, d.Classes)
	for i := range d.X {
		prior[int(d.Y[i])] += d.Weight(i)
		total += d.Weight(i)
	}
	mass := slices.Clone(prior)
	for c := range prior {
		prior[c] = math.Log(prior[c] / total)
	}
	most := 0.0
	for j := range d.X[0] {
		_, _, v := moments(j, -1)
		most = max(most, v)
	}
	sum := func(c int, of func(i int) float64) (s float64) {
		for i := range d.X {
			if int(d.Y[i]) == c && d.Weight(i) > 0 {
				s += d.Weight(i) * of(i)
			}
		}
		return s
	}
	return prior, func(i, c int) (l float64) {
		all := 0.0
		for j := range d.X[0] {
			all += sum(c, func(i int) float64 { return d.X[i][j] })
		}
		for j, x := range d.X[i] {
			switch {
			case x != x:
			case k == mixed:
				_, m, v := moments(j, c)
				v += smoothing * most
				l -= (math.Log(2*math.Pi*v) + (x-m)*(x-m)/v) / 2
			case k == multinomial:
				l += x * math.Log((sum(c, func(i int) float64 { return d.X[i][j] })+a)/(all+a*float64(len(d.X[0]))))
			default:
				yes := sum(c, func(i int) float64 {
					if d.X[i][j] > 0 {
						return 1
					}
					return 0
				})
				of := sum(c, func(i int) float64 {
					if d.X[i][j] == d.X[i][j] {
						return 1
					}
					return 0
				})
				p := (yes + a) / (of + 2*a)
				if !(x > 0) {
					p = 1 - p
				}
				l += math.Log(p)
			}
		}
		for j, n := range d.Cats {
			has := func(s int32) float64 {
				return sum(c, func(i int) float64 {
					if d.Code[i][j] == s {
						return 1
					}
					return 0
				})
			}
			some := 0.0
			for s := range n {
				some += has(int32(s))
			}
			for s := range n {
				own := d.Code[i][j] == int32(s)
				switch p := (has(int32(s)) + a) / (mass[c] + 2*a); {
				case k == bernoulli && own:
					l += math.Log(p)
				case k == bernoulli:
					l += math.Log(1 - p)
				case own:
					l += math.Log((has(int32(s)) + a) / (some + a*float64(n)))
				}
			}
		}
		return l
	}
}

// TestAgainstDefinitions: probabilities are those of plain loops, of rows with missing numbers too, and what
// explains them adds up to them.
func TestAgainstDefinitions(t *testing.T) {
	for name, c := range map[string]struct {
		d            *familytest.Data
		k            kind
		a, smoothing float64
		options      []any
	}{
		"mixed": {rows(6, 300), mixed, 1, 1e-9, nil}, "smoothed": {rows(6, 300), mixed, 0.3, 0.1, []any{"alpha", 0.3, "var_smoothing", 0.1}},
		"bernoulli": {rows(7, 300), bernoulli, 2, 0, []any{"model", "bernoulli", "alpha", 2}}, "multinomial": {counts(8, 300), multinomial, 1, 0, []any{"model", "multinomial"}},
		"gaussian of two": {counts(9, 300), mixed, 1, 1e-9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := familytest.Train(t, bayes{}, c.d, familytest.Spread{Nodes: 2}, c.options...)
			if err != nil {
				t.Fatal(err)
			}
			prior, likelihood := reference(c.d, c.k, c.a, c.smoothing)
			b := c.d.All(false)
			s := m.Score(b)
			e := m.Predictor.(family.Explainer).Explain(b, s)
			for i := range c.d.X[:60] {
				z, top := make([]float64, len(prior)), math.Inf(-1)
				for k := range z {
					z[k] = prior[k] + likelihood(i, k)
					top = max(top, z[k])
				}
				sum := 0.0
				for _, v := range z {
					sum += math.Exp(v - top)
				}
				for k, v := range z {
					if want := math.Exp(v-top) / sum; math.Abs(s.Prob(k, i)-want) > 1e-9 {
						t.Fatalf("row %d has class %d with %v, want %v", i, k, s.Prob(k, i), want)
					}
				}
				want := z[s.Class(i)]
				if len(z) == 2 {
					want = z[1] - z[0]
				}
				got := e.Baseline[i]
				for _, p := range e.Parts {
					got += p[i]
				}
				if math.Abs(got-want) > 1e-8*math.Max(1, math.Abs(want)) || math.Abs(e.Prediction[i]-got) > 1e-9*math.Max(1, math.Abs(want)) {
					t.Fatalf("row %d is explained as %v and %v, want %v", i, got, e.Prediction[i], want)
				}
			}
		})
	}
}

// TestWeightTwoIsTheRowTwice to the last bit of what a grid holds.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
	for name, options := range map[string][]any{"mixed": nil, "bernoulli": {"model", "bernoulli"}} {
		d := rows(10, 500)
		d.Held = nil
		twice := &familytest.Data{Cats: d.Cats, Classes: d.Classes}
		for i := range d.X {
			d.W[i] = float64(1 + i%2)
			for range 1 + i%2 {
				twice.X, twice.Y, twice.Code = append(twice.X, d.X[i]), append(twice.Y, d.Y[i]), append(twice.Code, d.Code[i])
			}
		}
		var of [2]*predictor
		for k, d := range []*familytest.Data{d, twice} {
			m, err := familytest.Train(t, bayes{}, d, familytest.Spread{}, options...)
			if err != nil {
				t.Fatal(err)
			}
			of[k] = m.Predictor.(*predictor)
		}
		for k, v := range [][]float64{of[0].prior, of[0].first, of[0].second, of[0].slots} {
			for i, x := range [][]float64{of[1].prior, of[1].first, of[1].second, of[1].slots}[k] {
				if math.Abs(v[i]-x) > 1e-11*math.Max(1, math.Abs(x)) {
					t.Errorf("%s: %v with weights, %v with copies", name, v[i], x)
				}
			}
		}
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := rows(11, 60)
	same := counts(12, 60)
	for i := range same.X {
		same.X[i][2] = same.Y[i]
	}
	huge := counts(13, 20)
	huge.X[3][1] = 1e200
	for _, c := range []struct {
		code    pgerr.Code
		d       *familytest.Data
		options []any
	}{
		{pgerr.InvalidParameterValue, d, []any{"alpha", 0}},
		{pgerr.InvalidParameterValue, d, []any{"model", "complement"}},
		{pgerr.InvalidParameterValue, d, []any{"model", "gaussian"}},
		{pgerr.InvalidParameterValue, d, []any{"model", "categorical"}},
		{pgerr.InvalidParameterValue, rows(14, 60), []any{"model", "multinomial"}},
		{pgerr.InvalidParameterValue, same, []any{"model", "bernoulli", "var_smoothing", 0.1}},
		{pgerr.InvalidParameterValue, same, []any{"model", "gaussian", "alpha", 0.1}},
		{pgerr.InvalidParameterValue, same, []any{"var_smoothing", 0.0}},
		{pgerr.NumericValueOutOfRange, huge, nil},
	} {
		if _, err := familytest.Train(t, bayes{}, c.d, familytest.Spread{}, c.options...); pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

// TestOddRows: rows that no class makes likely, and classes without rows, have probabilities that add up to 1.
func TestOddRows(t *testing.T) {
	d := rows(15, 90)
	for i, y := range d.Y {
		d.Held[i] = y == 2
	}
	m, err := familytest.Train(t, bayes{}, d, familytest.Spread{})
	if err != nil {
		t.Fatal(err)
	}
	odd := &familytest.Data{Cats: d.Cats, Classes: 3, Y: []float64{0, 0, 0}, X: [][]float64{{math.Inf(1), 0}, {math.NaN(), math.NaN()}, {1e300, -1e300}}, Code: [][]int32{{-1}, {-1}, {0}}}
	s := m.Score(odd.All(false))
	for i := range odd.X {
		sum := 0.0
		for k := range 3 {
			sum += s.Prob(k, i)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("probabilities of row %d add up to %v", i, sum)
		}
	}
	if p := s.Prob(2, 1); p != 0 {
		t.Errorf("a class without rows has the probability %v", p)
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, bayes{}, rows(16, 100), 3000, 4)
	familytest.Hostile(t, bayes{}, rows(16, 100), 3000, 4, "model", "bernoulli")
}

package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// plainLoss is the loss of one row by its definition; z are the margins of all classes.
func plainLoss(g *glm, z []float64, y float64, theta []float64) float64 {
	e := z[0] - y
	switch g {
	case huberRegression:
		s := math.Exp(theta[len(theta)-1])
		if u := math.Abs(e) / s; u > 1.35 {
			return s + s*(2*1.35*u-1.35*1.35)
		}
		return s + e*e/s
	case quantileRegression:
		return math.Max(-0.3*e, 0.7*e)
	case poissonRegression:
		return math.Exp(z[0]) - y*z[0]
	case gammaRegression:
		return z[0] + y*math.Exp(-z[0])
	case tweedieRegression:
		return math.Exp(0.5*z[0])/0.5 + y*math.Exp(-0.5*z[0])/0.5
	case logisticRegression:
		if len(z) == 1 {
			return math.Log1p(math.Exp(z[0])) - y*z[0]
		}
		sum := 0.0
		for _, v := range z {
			sum += math.Exp(v)
		}
		return math.Log(sum) - z[int(y)]
	case linearSVM:
		sum := 0.0
		for k, v := range z {
			s := -1.0
			if len(z) == 1 && y == 1 || len(z) > 1 && int(y) == k {
				s = 1
			}
			sum += math.Pow(math.Max(0, 1-s*v), 2)
		}
		return sum
	}
	return e * e / 2
}

// TestNothingIsLower moves from the learnt parameters in random directions: the mean loss with
// penalties, by definition, is nowhere lower.
func TestNothingIsLower(t *testing.T) {
	for _, f := range Families() {
		g := f.(*glm)
		for _, penalty := range [][2]float64{{0, 0.1}, {0.03, 0}, {0.02, 0.05}} {
			classes := 0
			if g.task == family.Classification {
				classes = 2 + int(penalty[0]*100)%2
			}
			d := some(13, 300, g, classes)
			d.W = weigh(some(13, 300, g, classes)).W
			options := []any{"l1_reg", penalty[0], "l2_reg", penalty[1], "tolerance", 1e-9, "max_iterations", 5000}
			if g == quantileRegression {
				options = append(options, "quantile", 0.3)
			}
			offset := g.task != family.Classification
			if offset {
				options = append(options, "offset", "x2")
			}
			got, err := familytest.Train(t, g, d, familytest.Spread{Nodes: 2}, options...)
			if err != nil {
				t.Fatal(err)
			}
			p := got.Predictor.(*predictor)
			per, slopes := 3+3+1, p.slopes()
			total := func(theta []float64) float64 {
				sum, weight := 0.0, 0.0
				for i, x := range d.X {
					z := make([]float64, slopes)
					for k := range z {
						th := theta[k*per:]
						for j, v := range x {
							z[k] += th[j] * v
						}
						if c := d.Code[i][0]; c >= 0 {
							z[k] += th[3+c]
						}
						z[k] += th[6]
					}
					sum += d.W[i] * plainLoss(g, z, d.Y[i], theta)
					weight += d.W[i]
				}
				f := sum / weight
				for i, v := range theta {
					if j := i % per; i < slopes*per && j != 6 && !(offset && j == 2) {
						f += penalty[0]*math.Abs(v) + penalty[1]/2*v*v
					}
				}
				return f
			}
			least := total(p.theta)
			r := rand.New(rand.NewPCG(1, 5))
			allowed := 1e-9
			if g == quantileRegression {
				allowed = 1e-6
			}
			for range 400 {
				step := math.Pow(10, -1-4*r.Float64())
				theta := slices.Clone(p.theta)
				one := r.IntN(len(theta))
				for i := range theta {
					if (r.IntN(2) == 0 || i == one) && !(offset && i%per == 2) {
						theta[i] += step * r.NormFloat64()
					}
				}
				if f := total(theta); f < least-allowed {
					t.Errorf("%s l1 %v l2 %v: %v is lower than %v by %v (%+v)", g.info.Name, penalty[0], penalty[1], f, least, least-f, got.State)
					break
				}
			}
			if what := fmt.Sprint(g.info.Name, penalty); g.scale == 2 && math.Abs(2*plainMean(d, g, p.theta, per)-got.State.TrainLoss) > 1e-9 {
				t.Errorf("%s: a loss of %v, by hand %v", what, got.State.TrainLoss, 2*plainMean(d, g, p.theta, per))
			}
		}
	}
}

// plainMean is the mean loss of one output.
func plainMean(d *familytest.Data, g *glm, theta []float64, per int) float64 {
	sum, weight := 0.0, 0.0
	for i, x := range d.X {
		z := theta[per-1]
		for j, v := range x {
			z += theta[j] * v
		}
		if c := d.Code[i][0]; c >= 0 {
			z += theta[len(x)+int(c)]
		}
		sum += d.W[i] * plainLoss(g, []float64{z}, d.Y[i], theta)
		weight += d.W[i]
	}
	return sum / weight
}

// TestQuantilesOfSkewedTargets: a few outliers must not coarsen the fixed-point scale of the loss
// so much that most rows round to 0.
func TestQuantilesOfSkewedTargets(t *testing.T) {
	d := &familytest.Data{}
	r := rand.New(rand.NewPCG(17, 1))
	for i := range 2000 {
		d.X, d.Y = append(d.X, []float64{float64(i % 2)}), append(d.Y, float64(i%2)+r.Float64())
	}
	for i := range 10 {
		d.Y[i*7] = 1e7
	}
	for _, q := range []float64{0.1, 0.5, 0.9} {
		got, err := familytest.Train(t, quantileRegression, d, familytest.Spread{}, "quantile", q, "max_iterations", 5000)
		if err != nil {
			t.Fatal(err)
		}
		var below [2]float64
		s := got.Score(d.All(false))
		for i, y := range d.Y {
			if y <= s.Value[i] {
				below[i%2]++
			}
		}
		for k, n := range below {
			if math.Abs(n/1000-q) > 0.005 {
				t.Errorf("quantile %v: %v of group %d are below (%+v)", q, n/1000, k, got.State)
			}
		}
	}
}

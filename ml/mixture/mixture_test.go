package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// blobs are n rows of k Gaussian components in d dimensions.
func blobs(seed uint64, n, k, d int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	data := &familytest.Data{Seed: seed}
	for range n {
		c := r.IntN(k)
		x, first := make([]float64, d), r.NormFloat64()
		for j := range x {
			x[j] = float64(7*c)*math.Cos(float64(c*d+j)) + 0.6*first + r.NormFloat64()*(0.5+float64(c)/2)
		}
		data.X = append(data.X, x)
	}
	return data
}

// mixed has a category, weights and rows held out.
func mixed(seed uint64) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 2))
	d := blobs(seed, 700, 3, 2)
	d.Cats = []int{3}
	for range d.X {
		d.Code = append(d.Code, []int32{int32(r.IntN(4)) - 1})
		d.W, d.Held = append(d.W, []float64{1, 2, 0.25, 0}[r.IntN(4)]), append(d.Held, r.IntN(5) == 0)
	}
	return d
}

// TestSameModel: on any nodes, from any checkpoint.
func TestSameModel(t *testing.T) {
	for _, kind := range kinds {
		for name, d := range map[string]*familytest.Data{"blobs": blobs(1, 900, 3, 4), "mixed": mixed(2)} {
			t.Run(kind+" "+name, func(t *testing.T) {
				m := familytest.Same(t, mixture{}, d, "n_components", 3, "covariance_type", kind, "max_iterations", 6, "reg_covar", 0.01)
				if m.State.Iteration == 0 || m.State.TrainLoss-m.State.TrainLoss != 0 || d.Held != nil && m.State.ValidationLoss-m.State.ValidationLoss != 0 {
					t.Errorf("state %+v", m.State)
				}
			})
		}
	}
}

// matrix is the covariance of a component.
func (m *components) matrix(k int) []float64 {
	n := m.n
	out := make([]float64, n*n)
	switch m.kind {
	case full:
		copy(out, m.covariances[k*n*n:])
	case tied:
		copy(out, m.covariances)
	default:
		for j := range n {
			at := k
			if m.kind == diagonal {
				at = k*n + j
			}
			out[j*n+j] = m.covariances[at]
		}
	}
	return out
}

// density is the logarithm of a normal density, by elimination.
func density(x, mean, c []float64) float64 {
	n := len(x)
	a, u := slices.Clone(c), make([]float64, n)
	for j := range x {
		u[j] = x[j] - mean[j]
	}
	v, det := slices.Clone(u), 0.0
	for i := range n {
		det += math.Log(a[i*n+i])
		for k := i + 1; k < n; k++ {
			f := a[k*n+i] / a[i*n+i]
			for j := range n {
				a[k*n+j] -= f * a[i*n+j]
			}
			v[k] -= f * v[i]
		}
	}
	quad := 0.0
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			v[i] -= a[i*n+j] * v[j]
		}
		v[i] /= a[i*n+i]
		quad += u[i] * v[i]
	}
	return -(quad + det + float64(n)*math.Log(2*math.Pi)) / 2
}

// TestAgainstPlainLoops computes one more iteration from the model of some by plain loops, and compares with the
// model of one more; and the predictions.
func TestAgainstPlainLoops(t *testing.T) {
	const reg = 0.02
	for name, d := range map[string]*familytest.Data{"blobs": blobs(3, 500, 3, 3), "mixed": mixed(4)} {
		for _, kind := range kinds {
			t.Run(name+" "+kind, func(t *testing.T) {
				var before *components
				for iterations := 2; iterations < 5; iterations++ {
					r, err := familytest.Train(t, mixture{}, d, familytest.Spread{Nodes: 2}, "k", 3, "covariance_type", kind, "max_iterations", iterations, "tol", 0.0, "reg_covar", reg)
					if err != nil {
						t.Fatal(err)
					}
					p := r.Predictor.(*predictor)
					if before != nil {
						compare(t, d, before, p.components, reg)
					}
					before = p.components
					sum, all := 0.0, 0.0
					s := p.Score(d.All(false))
					for i := range d.X {
						top, best, total := math.Inf(-1), 0, 0.0
						var z []float64
						for k, w := range p.weights {
							z = append(z, math.Log(w)+density(d.Coords(i), p.means[k*p.n:(k+1)*p.n], p.matrix(k)))
							if z[k] > top {
								top, best = z[k], k
							}
						}
						for _, v := range z {
							total += math.Exp(v - top)
						}
						want := top + math.Log(total)
						if math.Abs(s.Extra[0][i]-want) > 1e-8*math.Max(1, math.Abs(want)) || int(s.Label[i]) != best+1 {
							t.Fatalf("row %d has the density %v of component %d, want %v of %d", i, s.Extra[0][i], s.Label[i], want, best+1)
						}
						sum, all = sum+d.Weight(i)*want, all+d.Weight(i)
					}
					if loss := -sum / all; math.Abs(r.State.TrainLoss-loss) > 1e-8*math.Max(1, math.Abs(loss)) {
						t.Fatalf("the loss is %v, want %v", r.State.TrainLoss, loss)
					}
				}
			})
		}
	}
}

// compare compares components with those that an iteration by plain loops makes.
func compare(t *testing.T, d *familytest.Data, before, after *components, reg float64) {
	t.Helper()
	n, all := before.n, 0.0
	mass, means, squares := make([]float64, before.k), make([][]float64, before.k), make([][]float64, before.k)
	for k := range mass {
		means[k], squares[k] = make([]float64, n), make([]float64, n*n)
	}
	for i := range d.X {
		x := d.Coords(i)
		z, sum := make([]float64, before.k), 0.0
		for k := range z {
			z[k] = before.weights[k] * math.Exp(density(x, before.means[k*n:(k+1)*n], before.matrix(k)))
			sum += z[k]
		}
		for k := range z {
			w := d.Weight(i) * z[k] / sum
			mass[k], all = mass[k]+w, all+w
			for j := range n {
				means[k][j] += w * x[j]
				for l := range n {
					squares[k][j*n+l] += w * x[j] * x[l]
				}
			}
		}
	}
	shared := make([]float64, n*n)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-8*math.Max(1, math.Abs(want)) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
	for k := range mass {
		near("a share", after.weights[k], mass[k]/all)
		mean := 0.0
		for j := range n {
			means[k][j] /= mass[k]
			near("a mean", after.means[k*n+j], means[k][j])
		}
		for j := range n {
			for l := range n {
				v := squares[k][j*n+l]/mass[k] - means[k][j]*means[k][l]
				shared[j*n+l] += v * mass[k] / all
				if j == l {
					v += reg
					mean += v / float64(n)
					if after.kind == diagonal {
						near("a variance", after.covariances[k*n+j], v)
					}
				}
				if after.kind == full {
					near("a covariance", after.covariances[k*n*n+j*n+l], v)
				}
			}
		}
		if after.kind == spherical {
			near("a variance", after.covariances[k], mean)
		}
	}
	for j := range n {
		for l := range n {
			if after.kind == tied {
				want := shared[j*n+l]
				if j == l {
					want += reg
				}
				near("the covariance", after.covariances[j*n+l], want)
			}
		}
	}
}

// TestComponentsAreFound far from the origin too, from any start.
func TestComponentsAreFound(t *testing.T) {
	for _, init := range []string{"kmeans", "k-means++", "random"} {
		d := blobs(5, 1500, 2, 2)
		for _, x := range d.X {
			x[0] += 1e5
		}
		m, err := familytest.Train(t, mixture{}, d, familytest.Spread{}, "n_components", 2, "init", init, "tol", 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if !m.State.Converged || m.State.TrainLoss > 4 || len(m.State.Metrics) != 3 {
			t.Errorf("%s: %+v", init, m.State)
		}
		if rows, ok := m.Predictor.(family.Describer).Describe("centroids"); !ok || len(rows) != 4 || fmt.Sprint(rows[3][:3]) != "[2 x1 <nil>]" {
			t.Errorf("centroids %v", rows)
		}
	}
}

// TestFewDistinctRows: there are no more components than distinct rows.
func TestFewDistinctRows(t *testing.T) {
	d := &familytest.Data{}
	for i := range 200 {
		d.X = append(d.X, []float64{float64(i % 3)})
	}
	m := familytest.Same(t, mixture{}, d, "n_components", 5)
	if k := m.Predictor.(*predictor).k; k != 3 {
		t.Errorf("%d components of 3 distinct rows", k)
	}
}

func TestOptionsAndErrors(t *testing.T) {
	d := blobs(6, 40, 2, 2)
	for _, x := range d.X {
		x[1] = 2 * x[0]
	}
	huge := blobs(7, 40, 2, 2)
	huge.X[3][1] = 1e200
	for _, c := range []struct {
		code    pgerr.Code
		d       *familytest.Data
		options []any
	}{
		{pgerr.InvalidParameterValue, d, []any{"n_components", 41}},
		{pgerr.InvalidParameterValue, d, []any{"covariance_type", "banded"}},
		{pgerr.InvalidParameterValue, d, []any{"init", "seeds"}},
		{pgerr.InvalidParameterValue, d, []any{"reg_covar", -1}},
		{pgerr.InvalidParameterValue, d, []any{"reg_covar", 0.0}}, // a column is twice another
		{pgerr.NumericValueOutOfRange, huge, nil},
	} {
		if _, err := familytest.Train(t, mixture{}, c.d, familytest.Spread{}, c.options...); pgerr.CodeOf(err) != c.code {
			t.Errorf("%v: %v", c.options, err)
		}
	}
}

func TestHostileBytes(t *testing.T) {
	for _, kind := range kinds {
		familytest.Hostile(t, mixture{}, mixed(8), 1000, 70, "covariance_type", kind, "max_iterations", 1)
	}
}

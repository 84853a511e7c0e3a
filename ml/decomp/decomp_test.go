package decomp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// rows returns n rows of d columns, of at most this rank, far from the origin.
func rows(seed uint64, n, d, rank int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 1))
	basis := make([][]float64, rank)
	for k := range basis {
		for range d {
			basis[k] = append(basis[k], r.NormFloat64()*math.Pow(0.6, float64(k)))
		}
	}
	data := &familytest.Data{Seed: seed}
	for range n {
		x := make([]float64, d)
		for j := range x {
			x[j] = float64(j) - 3
		}
		for _, b := range basis {
			c := r.NormFloat64()
			for j := range x {
				x[j] += c * b[j]
			}
		}
		data.X = append(data.X, x)
	}
	return data
}

// mixed has categories, weights and rows held out.
func mixed() *familytest.Data {
	d := rows(5, 1300, 4, 4)
	r := rand.New(rand.NewPCG(5, 5))
	d.Cats = []int{3, 5}
	for range d.X {
		d.Code = append(d.Code, []int32{int32(r.IntN(4)) - 1, int32(r.IntN(5))})
		d.W = append(d.W, []float64{1, 2, 0.25, 0}[r.IntN(4)])
		d.Held = append(d.Held, r.IntN(5) == 0)
	}
	return d
}

// jacobi is a slow reference, the Jacobi eigenvalue algorithm: all eigenvalues, greatest first, and
// their vectors.
func jacobi(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	v := make([][]float64, n)
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
	}
	for range 100 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if a[p][q] == 0 {
					continue
				}
				theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(t*t+1)
				s := t * c
				for k := range n {
					a[k][p], a[k][q] = c*a[k][p]-s*a[k][q], s*a[k][p]+c*a[k][q]
				}
				for k := range n {
					a[p][k], a[q][k] = c*a[p][k]-s*a[q][k], s*a[p][k]+c*a[q][k]
					v[p][k], v[q][k] = c*v[p][k]-s*v[q][k], s*v[p][k]+c*v[q][k]
				}
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if a[i][i] > a[j][j] {
			return -1
		}
		return 1
	})
	for _, i := range order {
		values, vectors = append(values, a[i][i]), append(vectors, v[i])
	}
	return values, vectors
}

// reference returns mean, eigenvalues and eigenvectors of the training rows.
func reference(d *familytest.Data, center bool) (mean, values []float64, vectors [][]float64, total float64) {
	n := len(d.Coords(0))
	mean = make([]float64, n)
	w := 0.0
	for i := range d.X {
		for j, v := range d.Coords(i) {
			mean[j] += d.Weight(i) * v
		}
		w += d.Weight(i)
	}
	for j := range mean {
		mean[j] /= w
	}
	a := make([][]float64, n)
	for j := range a {
		a[j] = make([]float64, n)
	}
	for i := range d.X {
		x := d.Coords(i)
		for j := range x {
			for k := range x {
				if center {
					a[j][k] += d.Weight(i) * (x[j] - mean[j]) * (x[k] - mean[k]) / (w - 1)
				} else {
					a[j][k] += d.Weight(i) * x[j] * x[k] / w
				}
			}
		}
	}
	for j := range a {
		total += a[j][j]
	}
	values, vectors = jacobi(a)
	return mean, values, vectors, total
}

var solvers = []string{full, tsqr, randomized}

func TestSame(t *testing.T) {
	for _, f := range []family.Family{pca, svd} {
		for _, solver := range solvers {
			t.Run(f.Info().Name+" "+solver, func(t *testing.T) {
				familytest.Same(t, f, rows(1, 2000, 9, 9), "solver", solver, "n_components", 4)
				familytest.Same(t, f, mixed(), "solver", solver, "n_components", 5)
				familytest.Same(t, f, rows(2, 700, 3, 3), "solver", solver, "whiten", true)
			})
		}
	}
}

func TestAgainstJacobi(t *testing.T) {
	for name, d := range map[string]*familytest.Data{"plain": rows(3, 400, 8, 8), "wide": rows(4, 600, 30, 30), "mixed": mixed()} {
		for _, f := range []family.Family{pca, svd} {
			center := f == pca
			mean, values, vectors, total := reference(d, center)
			for _, solver := range solvers {
				what := fmt.Sprint(name, " ", f.Info().Name, " ", solver)
				k := min(6, len(values))
				options := []any{"solver", solver, "n_components", k}
				if solver == randomized {
					options = append(options, "power_iterations", 30)
				}
				r, err := familytest.Train(t, f, d, familytest.Spread{Nodes: 2}, options...)
				if err != nil {
					t.Fatal(what, err)
				}
				p := r.Predictor.(*predictor)
				n := len(mean)
				w := 0.0
				for i := range d.X {
					w += d.Weight(i)
				}
				for i := range k {
					v := slices.Clone(vectors[i])
					positive(v)
					for j := range v {
						if math.Abs(v[j]-p.comp[i*n+j]) > 1e-10*math.Max(1, values[0]/(values[i]-values[i+1])) {
							t.Fatalf("%s: component %d is %v, want %v", what, i, p.comp[i*n:(i+1)*n], v)
						}
					}
					div := w
					if center {
						div = w - 1
					}
					if want := math.Sqrt(values[i] * div); math.Abs(p.singular[i]-want) > 1e-10*want {
						t.Fatalf("%s: singular value %d is %v, want %v", what, i, p.singular[i], want)
					}
					if center && (math.Abs(p.variance[i]-values[i]) > 1e-10*values[0] || math.Abs(p.ratio[i]-values[i]/total) > 1e-10) {
						t.Fatalf("%s: component %d explains %v, %v of all, want %v, %v", what, i, p.variance[i], p.ratio[i], values[i], values[i]/total)
					}
				}
				s := r.Score(d.All(false))
				for i := range 50 {
					x := d.Coords(i)
					for c := range k {
						want := 0.0
						for j := range x {
							if center {
								x := x[j] - mean[j]
								want += x * p.comp[c*n+j]
							} else {
								want += x[j] * p.comp[c*n+j]
							}
						}
						if math.Abs(s.Vector[c][i]-want) > 1e-9 {
							t.Fatalf("%s: row %d has %v, want %v", what, i, s.Vector[c][i], want)
						}
					}
				}
			}
		}
	}
}

// TestAllComponents: the components are orthonormal and reconstruct the rows; those beyond the rank
// explain no variance.
func TestAllComponents(t *testing.T) {
	for _, rank := range []int{1, 3, 12} {
		d := rows(6, 500, 12, rank)
		for _, f := range []family.Family{pca, svd} {
			for _, solver := range solvers {
				r, err := familytest.Train(t, f, d, familytest.Spread{}, "solver", solver)
				if err != nil {
					t.Fatal(err)
				}
				p := r.Predictor.(*predictor)
				if p.k != 12 {
					t.Fatalf("%d components", p.k)
				}
				what := fmt.Sprint(f.Info().Name, " ", solver, " rank ", rank)
				for i := range p.k {
					for j := range p.k {
						want := 0.0
						if i == j {
							want = 1
						}
						if got := f64.Dot(p.comp[i*12:(i+1)*12], p.comp[j*12:(j+1)*12]); math.Abs(got-want) > 1e-13 {
							t.Fatalf("%s: components %d and %d: %v", what, i, j, got)
						}
					}
				}
				limit := rank
				if f == svd {
					limit++ // for the mean
				}
				for i := limit; i < 12; i++ {
					if p.singular[i] > 1e-5*p.singular[0] {
						t.Errorf("%s: singular value %d is %v of %v", what, i, p.singular[i], p.singular)
					}
				}
				s := r.Score(d.All(false))
				for i := range d.X {
					for j, want := range d.X[i] {
						got := 0.0
						if p.mean != nil {
							got = p.mean[j]
						}
						for c := range p.k {
							got += s.Vector[c][i] * p.comp[c*12+j]
						}
						if math.Abs(got-want) > 1e-9 {
							t.Fatalf("%s: row %d column %d comes back as %v, was %v", what, i, j, got, want)
						}
					}
				}
			}
		}
	}
}

// TestSmallSingularValues: tsqr finds singular values so small that they are lost where the matrix
// is squared.
func TestSmallSingularValues(t *testing.T) {
	d := &familytest.Data{}
	r := rand.New(rand.NewPCG(9, 9))
	for range 1000 {
		a := r.NormFloat64()
		d.X = append(d.X, []float64{a, a + 1e-10*r.NormFloat64()})
	}
	m, err := familytest.Train(t, pca, d, familytest.Spread{}, "solver", "tsqr")
	if err != nil {
		t.Fatal(err)
	}
	want := 1e-10 / math.Sqrt2 * math.Sqrt(999)
	if got := m.Predictor.(*predictor).singular[1]; math.Abs(got-want) > 0.1*want {
		t.Errorf("the second singular value is %v, want about %v", got, want)
	}
}

// TestFarFromTheOrigin: a mean of 10⁶ standard deviations costs no digits.
func TestFarFromTheOrigin(t *testing.T) {
	near, far := rows(7, 800, 5, 5), rows(7, 800, 5, 5)
	for i := range far.X {
		for j := range far.X[i] {
			near.X[i][j] = math.Round(near.X[i][j]*0x1p20) * 0x1p-20
			far.X[i][j] = near.X[i][j] + 0x1p20
		}
	}
	a, err := familytest.Train(t, pca, near, familytest.Spread{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := familytest.Train(t, pca, far, familytest.Spread{})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range a.Predictor.(*predictor).comp {
		if w := b.Predictor.(*predictor).comp[i]; math.Abs(v-w) > 1e-12 {
			t.Errorf("loading %d is %v, far away %v", i, v, w)
		}
	}
}

func TestWeightTwoIsTheRowTwice(t *testing.T) {
	d := rows(8, 300, 4, 4)
	twice := &familytest.Data{}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range d.X {
		n := 1 + r.IntN(2)
		d.W = append(d.W, float64(n))
		for range n {
			twice.X = append(twice.X, d.X[i])
		}
	}
	for _, f := range []family.Family{pca, svd} {
		for _, solver := range solvers {
			a, err := familytest.Train(t, f, d, familytest.Spread{}, "solver", solver)
			if err != nil {
				t.Fatal(err)
			}
			b, err := familytest.Train(t, f, twice, familytest.Spread{}, "solver", solver)
			if err != nil {
				t.Fatal(err)
			}
			p, q := a.Predictor.(*predictor), b.Predictor.(*predictor)
			for i := range p.comp {
				if math.Abs(p.comp[i]-q.comp[i]) > 1e-10 {
					t.Fatalf("%s %s: loading %d is %v with weights, %v with copies", f.Info().Name, solver, i, p.comp[i], q.comp[i])
				}
			}
			for i := range p.k {
				if math.Abs(p.variance[i]-q.variance[i]) > 1e-10 {
					t.Fatalf("%s %s: variance %d is %v with weights, %v with copies", f.Info().Name, solver, i, p.variance[i], q.variance[i])
				}
			}
		}
	}
}

func TestEigen(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for _, n := range []int{1, 2, 3, 5, 20, 60} {
		for _, kind := range []string{"random", "identity", "zero", "multiple", "graded"} {
			a := make([]float64, n*n)
			for i := range n {
				switch kind {
				case "identity":
					a[i*n+i] = 3
				case "graded":
					a[i*n+i] = math.Pow(10, -float64(i)/3)
				}
			}
			if kind == "random" || kind == "multiple" {
				for range max(n/3, 1) {
					v := make([]float64, n)
					for i := range v {
						v[i] = r.NormFloat64()
					}
					for i := range v {
						for j := range v {
							a[i*n+j] += v[i] * v[j]
						}
					}
				}
				if kind == "random" {
					for i := range n {
						a[i*n+i] += r.NormFloat64()
					}
				}
			}
			m := slices.Clone(a)
			square := make([][]float64, n)
			size := 0.0
			for i := range square {
				square[i] = slices.Clone(a[i*n : (i+1)*n])
				size = max(size, f64.Dot(square[i], square[i]))
			}
			size = math.Sqrt(size)
			want, _ := jacobi(square)
			values, vectors := eigen(m, n, n)
			for i, v := range values {
				if math.Abs(v-want[i]) > 1e-12*math.Max(size, 1e-300) {
					t.Fatalf("%s of %d: eigenvalue %d is %v, want %v", kind, n, i, v, want[i])
				}
				for j := range n {
					if got := f64.Dot(a[j*n:(j+1)*n], vectors[i]); math.Abs(got-v*vectors[i][j]) > 1e-12*math.Max(size, 1e-300) {
						t.Fatalf("%s of %d: A·x of vector %d is %v, want %v", kind, n, i, got, v*vectors[i][j])
					}
				}
				for j := range i + 1 {
					one := 0.0
					if i == j {
						one = 1
					}
					if got := f64.Dot(vectors[i], vectors[j]); math.Abs(got-one) > 1e-13 {
						t.Fatalf("%s of %d: vectors %d and %d: %v", kind, n, i, j, got)
					}
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	d := rows(11, 50, 4, 4)
	for _, f := range []family.Family{pca, svd} {
		for _, c := range [][]any{{"n_components", 5}, {"n_components", 0}, {"solver", "arpack"}, {"components", 3}} {
			if _, err := familytest.Train(t, f, d, familytest.Spread{}, c...); pgerr.From(err).Code != pgerr.InvalidParameterValue {
				t.Errorf("%v: %v", c, err)
			}
		}
		for _, solver := range solvers {
			huge := rows(11, 50, 4, 4)
			huge.X[7][2] = 1e200
			if _, err := familytest.Train(t, f, huge, familytest.Spread{}, "solver", solver); pgerr.From(err).Code != pgerr.NumericValueOutOfRange {
				t.Errorf("a huge value: %v", err)
			}
			same := &familytest.Data{X: [][]float64{{1, 2}, {1, 2}, {1, 2}}}
			m, err := familytest.Train(t, f, same, familytest.Spread{}, "solver", solver)
			if err != nil {
				t.Errorf("equal rows: %v", err)
				continue
			}
			if p := m.Predictor.(*predictor); f == pca && (p.variance[0] > 1e-20 || p.singular[1] > 1e-10) {
				t.Errorf("%s: equal rows vary by %v", solver, p.variance)
			}
		}
	}
	if _, err := familytest.Train(t, pca, rows(1, 3, 5, 5), familytest.Spread{}, "n_components", 4); pgerr.From(err).Code != pgerr.InvalidParameterValue {
		t.Errorf("four components of three rows: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	m, err := familytest.Train(t, pca, mixed(), familytest.Spread{}, "n_components", 2)
	if err != nil {
		t.Fatal(err)
	}
	p := m.Predictor.(family.Describer)
	rows, ok := p.Describe("components")
	if !ok || len(rows) != 2*12 || fmt.Sprint(rows[12+3][:3], rows[4][:3]) != "[2 x3 <nil>] [1 c0 0000]" {
		t.Errorf("components: %v", rows)
	}
	rows, ok = p.Describe("explained_variance_ratio")
	if !ok || len(rows) != 2 || len(rows[0]) != 4 {
		t.Errorf("explained variance: %v", rows)
	}
	if _, ok := p.Describe("weights"); ok {
		t.Error("components have no weights")
	}
}

func TestHostileBytes(t *testing.T) {
	familytest.Hostile(t, pca, rows(12, 100, 3, 3), 5000, 8)
}

package decomp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
)

// strong returns n rows of d columns in which some directions stand out from noise.
func strong(seed uint64, n, d int) *familytest.Data {
	data := rows(seed, n, d, 6)
	r := rand.New(rand.NewPCG(seed, 2))
	for _, x := range data.X {
		for j := range x {
			x[j] = float64(float32(x[j] + 0.2*r.NormFloat64()))
		}
	}
	return data
}

func trained(t *testing.T, f family.Family, d *familytest.Data, s familytest.Spread, options ...any) (*familytest.Result, *predictor) {
	t.Helper()
	r, err := familytest.Train(t, f, d, s, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.Predictor.(*predictor)
}

// TestDavidsonIsAsExactAsFull: the Davidson solver finds the components of the exact matrix with
// fewer products: one pass for a rough matrix, and a few for corrections.
func TestDavidsonIsAsExactAsFull(t *testing.T) {
	d := strong(11, 3000, 40)
	for _, f := range []family.Family{pca, svd} {
		for _, k := range []int{1, 4, 6} {
			got := familytest.Same(t, f, d, "solver", davidson, "n_components", k)
			p := got.Predictor.(*predictor)
			_, want := trained(t, f, d, familytest.Spread{}, "solver", full, "n_components", k)
			if n := got.State.Iteration; f == pca && n < 4 || n > 2+davidsonPasses {
				t.Errorf("%s(%d) took %d steps", f.Info().Name, k, n)
			}
			for i, v := range want.variance {
				if math.Abs(p.singular[i]-want.singular[i]) > 1e-11*want.singular[0] || math.Abs(p.variance[i]-v) > 1e-9*v || math.Abs(p.ratio[i]-want.ratio[i]) > 1e-9 {
					t.Errorf("%s(%d): component %d explains %v, want %v", f.Info().Name, k, i, p.variance[i], v)
				}
			}
			for i, v := range want.comp {
				if math.Abs(p.comp[i]-v) > 1e-8 {
					t.Fatalf("%s(%d): loading %d is %v, want %v", f.Info().Name, k, i, p.comp[i], v)
				}
			}
			if got.State.TrainLoss <= 0 || math.Abs(p.loss-want.loss) > 1e-10*want.loss {
				t.Errorf("%s(%d): what is left is %v, want %v", f.Info().Name, k, p.loss, want.loss)
			}
		}
	}
}

// TestDavidsonFallsBackToFull: where the rough matrix would not converge, the model is that of
// solver full, to the bit.
func TestDavidsonFallsBackToFull(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	outlier := strong(12, 2000, 40)
	outlier.X[77][3] = 1e6
	weighted := strong(13, 2000, 40)
	for range weighted.X {
		weighted.W = append(weighted.W, float64(1+r.IntN(2)))
	}
	slots := strong(14, 2000, 40)
	slots.Cats = []int{3}
	for range slots.X {
		slots.Code = append(slots.Code, []int32{int32(r.IntN(3))})
	}
	for name, d := range map[string]*familytest.Data{"outlier": outlier, "weighted": weighted, "slots": slots} {
		a, _ := trained(t, pca, d, familytest.Spread{}, "solver", davidson, "n_components", 3)
		b, _ := trained(t, pca, d, familytest.Spread{}, "solver", full, "n_components", 3)
		if !bytes.Equal(a.Bytes, b.Bytes) {
			t.Errorf("%s: not the model of full", name)
		}
	}
}

// TestDavidsonNoticesAPoorMatrix: passes that reduce the error too little end in solver full.
func TestDavidsonNoticesAPoorMatrix(t *testing.T) {
	data := strong(19, 1000, 40)
	train := func(solver string, poor bool) (*predictor, int) {
		o, err := familytest.Options(pca, "solver", solver, "n_components", 3)
		if err != nil {
			t.Fatal(err)
		}
		b, set := data.All(false), &family.Setup{Fitted: data.Fitted(false), Rows: 1000, Weight: 1000, Options: o}
		d, err := pca.NewDriver(set, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		w, err := pca.NewWorker(set, familytest.Home)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for !d.State().Done {
			step := d.Next()
			p, err := w.NewPass(step)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Add(context.Background(), family.Rows{To: b.End()}, b); err != nil {
				t.Fatal(err)
			}
			if err := d.Tell(p.Partial()); err != nil {
				t.Fatal(err)
			}
			if root := d.(*driver); poor && step.Op == opCoarse {
				for i := range root.s.rough {
					root.s.rough[i] = float64(i % 7)
				}
				root.near = nil
			}
		}
		p, err := d.Predictor()
		if err != nil {
			t.Fatal(err)
		}
		return p.(*predictor), d.State().Iteration
	}
	got, steps := train(davidson, true)
	want, _ := train(full, false)
	if !slices.Equal(got.comp, want.comp) || !slices.Equal(got.variance, want.variance) {
		t.Error("not the components of full")
	}
	if steps < 5 { // bounds, coarse, two passes, gram
		t.Errorf("%d steps", steps)
	}
}

// TestAutoChoosesDavidson: svd_solver auto chooses it for few components of many columns.
func TestAutoChoosesDavidson(t *testing.T) {
	d := strong(15, davidsonRows*davidsonLeast, davidsonLeast)
	a, _ := trained(t, pca, d, familytest.Spread{Narrow: true, Threads: 2}, "n_components", 1)
	b, _ := trained(t, pca, d, familytest.Spread{Narrow: true, Nodes: 3}, "n_components", 1, "solver", davidson)
	if !bytes.Equal(a.Bytes, b.Bytes) || a.State.Iteration < 4 {
		t.Errorf("another model, or %d steps", a.State.Iteration)
	}
	c, _ := trained(t, pca, d, familytest.Spread{Narrow: true}, "n_components", 20)
	if c.State.Iteration != 2 {
		t.Errorf("20 components took %d steps", c.State.Iteration)
	}
}

// TestDavidsonBits pins the bytes of a model, as TestGoldenBits does.
func TestDavidsonBits(t *testing.T) {
	m, _ := trained(t, pca, strong(16, 1500, 40), familytest.Spread{Narrow: true}, "solver", davidson, "n_components", 3)
	if got := fmt.Sprintf("%x", sha256.Sum256(m.Bytes))[:16]; got != "63c1d48ce1709b4c" {
		t.Errorf("the model is %s", got)
	}
}

// TestSpectrumSolves compares the solution of a linear system with the vector that the system was
// made of.
func TestSpectrumSolves(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	for _, n := range []int{1, 2, 3, 17} {
		a := make([]float64, n*n)
		for i := range n {
			for j := i; j < n; j++ {
				a[i*n+j] = 100 * r.NormFloat64()
				a[j*n+i] = a[i*n+j]
			}
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		y := append([]float64{}, x...)
		reduce(append([]float64{}, a...), n).solve(7.5, y)
		for i := range n {
			if got := f64.Dot(a[i*n:(i+1)*n], y) - 7.5*y[i]; math.Abs(got-x[i]) > 1e-11 {
				t.Errorf("n = %d: %v, want %v", n, got, x[i])
			}
		}
	}
}

package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/family/familytest"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// some returns random rows with categories, with a target suitable for the family.
func some(seed uint64, n int, g *glm, classes int) *familytest.Data {
	r := rand.New(rand.NewPCG(seed, 7))
	d := &familytest.Data{Cats: []int{3}, Classes: classes, Seed: 5}
	for range n {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		c := int32(r.IntN(4)) - 1
		y := x[0] - 2*x[1] + float64(c) + r.NormFloat64()
		switch {
		case classes > 0:
			y = min(max(math.Floor(y)+float64(classes/2), 0), float64(classes-1))
		case g == poissonRegression:
			y = math.Floor(math.Exp(y / 2))
		case g == gammaRegression || g == tweedieRegression:
			y = math.Exp(y / 2)
		}
		d.X, d.Code, d.Y = append(d.X, x), append(d.Code, []int32{c}), append(d.Y, y)
	}
	return d
}

// weigh gives rows weights, and holds some out.
func weigh(d *familytest.Data) *familytest.Data {
	r := rand.New(rand.NewPCG(11, 7))
	for range d.X {
		d.W, d.Held = append(d.W, []float64{0, 0.3, 1, 1, 2.5}[r.IntN(5)]), append(d.Held, r.IntN(5) == 0)
	}
	return d
}

// evaluator evaluates loss, gradient and Hessian over all rows.
type evaluator struct {
	t   *testing.T
	drv *driver
	w   family.Worker
	d   *familytest.Data
}

func newEvaluator(t *testing.T, g *glm, d *familytest.Data, narrow bool, options ...any) *evaluator {
	o, err := familytest.Options(g, options...)
	if err != nil {
		t.Fatal(err)
	}
	f := d.Fitted(narrow)
	plan, err := g.Plan(&family.Request{Options: o, Columns: d.Columns(), Target: &f.Label})
	if err != nil {
		t.Fatal(err)
	}
	weight := 0.0
	for i := range d.X {
		if d.W == nil {
			weight++
		} else {
			weight += d.W[i]
		}
	}
	set := &family.Setup{Options: o, Plan: plan, Fitted: f, Rows: int64(len(d.X)), Weight: weight}
	drv, err := g.NewDriver(set, familytest.Home)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.NewWorker(set, &family.Node{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := &evaluator{t, drv.(*driver), w, d}
	p := e.pass(&family.Step{Op: opBounds, Set: family.Train})
	if err := e.drv.bounded(p.bounds); err != nil {
		t.Fatal(err)
	}
	e.drv.columns = uncentred(e.drv)
	return e
}

func (e *evaluator) pass(s *family.Step) *partial {
	p, err := e.w.NewPass(s)
	if err != nil {
		e.t.Fatal(err)
	}
	b := e.d.All(false)
	if err := p.Add(e.t.Context(), family.Rows{To: b.Padded()}, b); err != nil {
		e.t.Fatal(err)
	}
	return p.Partial().(*partial)
}

func (e *evaluator) at(theta []float64, need optim.Need) *optim.Eval {
	d := e.drv
	for {
		r := &request{Need: need, Theta: theta, Width: d.width, Bound: d.bound, most: d.train, Columns: d.columns}
		d.phase = toTrain
		p := e.pass(&family.Step{Op: opEvaluate, Set: family.Train, Body: r})
		if !d.repeat(r, p) {
			return d.evaluation(r, p)
		}
	}
}

// TestGradientAndHessianAgainstCentralDifferences covers dense columns, category codes, weights,
// padding, intercept, offset, mean and penalty.
func TestGradientAndHessianAgainstCentralDifferences(t *testing.T) {
	for _, f := range Families() {
		g := f.(*glm)
		for _, options := range [][]any{{"l2_reg", 0.1}, {"l2_reg", 0.1, "fit_intercept", false}, {"offset", "x1"}} {
			classes := 0
			if g.task == family.Classification {
				classes = 2 + len(options)/2
			}
			d := some(1, 333, g, classes)
			d.W = weigh(some(1, 333, g, classes)).W
			e := newEvaluator(t, g, d, false, options...)
			n, r := e.drv.root.size(), rand.New(rand.NewPCG(1, 1))
			theta := make([]float64, n)
			for i := range theta {
				theta[i] = r.NormFloat64() / 2
			}
			need := optim.Loss | optim.Grad
			hess := e.drv.root.outputs == 1 && g != tweedieRegression && g != gammaRegression && !g.bends && g != linearSVM
			if hess {
				need |= optim.Hessian
			}
			at := e.at(theta, need)
			const eps = 1e-5
			for i := range theta {
				if !e.drv.root.learnt(i) {
					if at.Grad[i] != 0 {
						t.Errorf("%s: what is not learnt has gradient %v", g.info.Name, at.Grad[i])
					}
					continue
				}
				up, down := slices.Clone(theta), slices.Clone(theta)
				up[i] += eps
				down[i] -= eps
				eu, ed := e.at(up, optim.Loss|optim.Grad), e.at(down, optim.Loss|optim.Grad)
				if want := (eu.Loss - ed.Loss) / (2 * eps); math.Abs(at.Grad[i]-want) > 1e-6 {
					t.Errorf("%s %v: gradient[%d] = %v, differences give %v", g.info.Name, options, i, at.Grad[i], want)
				}
				for j := 0; hess && j <= i; j++ {
					if !e.drv.root.learnt(j) {
						continue
					}
					if want, got := (eu.Grad[j]-ed.Grad[j])/(2*eps), at.Hess[j*n+i]; math.Abs(got-want) > 1e-6 {
						t.Errorf("%s %v: hessian[%d][%d] = %v, differences give %v", g.info.Name, options, j, i, got, want)
					}
				}
			}
		}
	}
}

// TestTheContract trains with every loss and optimizer, with rows spread in any way over nodes and
// threads: the bytes of the model are the same.
func TestTheContract(t *testing.T) {
	for _, c := range []struct {
		g       *glm
		classes int
		options []any
	}{
		{linearRegression, 0, nil},
		{linearRegression, 0, []any{"calculate_p_values", true, "offset", "x2"}},
		{linearRegression, 0, []any{"l1_reg", 0.05, "l2_reg", 0.1, "optimizer", "lbfgs"}},
		{ridge, 0, []any{"optimizer", "gd", "max_iterations", 7}},
		{lasso, 0, []any{"alpha", 0.1}},
		{elasticNet, 0, []any{"alpha", 0.1, "offset", "x0"}},
		{huberRegression, 0, []any{"alpha", 0.001}},
		{quantileRegression, 0, []any{"quantile", 0.8, "max_iterations", 60}},
		{quantileRegression, 0, []any{"alpha", 0.01, "max_iterations", 30}},
		{poissonRegression, 0, []any{"offset", "x2", "calculate_p_values", true}},
		{poissonRegression, 0, []any{"l1_reg", 0.01, "early_stop", true}},
		{gammaRegression, 0, []any{"alpha", 0.01}},
		{tweedieRegression, 0, []any{"power", 1.2, "optimizer", "lbfgs"}},
		{logisticRegression, 2, []any{"c", 2.0}},
		{logisticRegression, 2, []any{"c", 2.0, "l1_ratio", 0.5}},
		{logisticRegression, 2, []any{"optimizer", "newton", "calculate_p_values", true}},
		{linearRegression, 0, []any{"optimizer", "newton_cg", "fit_intercept", false}},
		{logisticRegression, 2, []any{"optimizer", "newton_cg", "c", 2.0}},
		{poissonRegression, 0, []any{"offset", "x2", "solver", "newton-cg"}},
		{linearSVM, 2, []any{"c", 0.1, "optimizer", "newton_cg"}},
		{logisticRegression, 2, []any{"optimizer", "adam", "batch_size", 100, "max_iterations", 3, "early_stop", true, "min_rel_progress", 1e-9}},
		{logisticRegression, 4, []any{"l2_reg", 1e-3, "early_stop", true}},
		{linearSVM, 2, []any{"c", 0.1}},
		{linearSVM, 3, []any{"l1_reg", 0.01}},
	} {
		for k, d := range []*familytest.Data{some(7, 1500, c.g, c.classes), weigh(some(8, 1500, c.g, c.classes))} {
			var got *familytest.Result
			if !t.Run(fmt.Sprint(c.g.info.Name, " ", c.options, " ", k), func(t *testing.T) { got = familytest.Same(t, c.g, d, c.options...) }) {
				continue
			}
			if !got.State.Done || got.State.TrainLoss != got.State.TrainLoss || (d.Held != nil) != (got.State.ValidationLoss == got.State.ValidationLoss) {
				t.Errorf("%s %v ended in %+v", c.g.info.Name, c.options, got.State)
			}
			if got.Plan.Scope != family.ByNode || got.Plan.Distributed != stochastic(got.Setup.Options) {
				t.Errorf("%s %v: scope %d, distributed %v", c.g.info.Name, c.options, got.Plan.Scope, got.Plan.Distributed)
			}
		}
	}
}

// TestEveryFamilyIsDescribed: each family's models give their weights, a row for each slot and the
// intercept of each class, and explain a prediction; a parameter that is no weight does not show.
func TestEveryFamilyIsDescribed(t *testing.T) {
	for _, f := range Families() {
		g := f.(*glm)
		numbers := []int{0}
		if g.task == family.Classification {
			numbers = []int{2, 3}
		}
		for _, classes := range numbers {
			d := some(11, 200, g, classes)
			r, err := familytest.Train(t, g, d, familytest.Spread{}, "max_iterations", 3)
			if err != nil {
				t.Fatal(err)
			}
			p := r.Predictor.(*predictor)
			per, outputs := len(p.f.Slots())+1, 1
			if classes > 2 {
				outputs = classes
			}
			for _, relation := range []string{"weights", "original_weights"} {
				rows, ok := p.Describe(relation)
				if !ok || len(rows) != outputs*per {
					t.Fatalf("%s of %s, %d classes: %d rows, want %d", relation, g.info.Name, classes, len(rows), outputs*per)
				}
				for i, row := range rows {
					if (row[0] != nil) != (outputs > 1) || row[2] != p.theta[i] && relation == "weights" {
						t.Errorf("%s of %s, %d classes: row %d is %v, the parameter is %v", relation, g.info.Name, classes, i, row, p.theta[i])
					}
				}
			}
			if _, ok := p.Describe("feature_importance"); !ok {
				t.Errorf("%s has no feature_importance", g.info.Name)
			}
		}
	}
}

// TestWeightTwoIsTheRowTwice: parameters and their standard errors for a row of weight 2 equal
// those for two copies of the row.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
	for _, f := range Families() {
		g := f.(*glm)
		classes := 0
		if g.task == family.Classification {
			classes = 2
		}
		once := some(9, 400, g, classes)
		twice := &familytest.Data{Cats: once.Cats, Classes: classes, Seed: 5}
		for i := range once.X {
			w := i % 3
			once.W = append(once.W, float64(w))
			for range w {
				twice.X, twice.Code, twice.Y = append(twice.X, once.X[i]), append(twice.Code, once.Code[i]), append(twice.Y, once.Y[i])
			}
		}
		options := []any{"tolerance", 1e-9, "max_iterations", 2000}
		if g.theory != none {
			options = append(options, "calculate_p_values", true)
		}
		a, err := familytest.Train(t, g, once, familytest.Spread{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := familytest.Train(t, g, twice, familytest.Spread{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		p, q := a.Predictor.(*predictor), b.Predictor.(*predictor)
		if g == logisticRegression || g == linearRegression { // the categories and the intercept are collinear
			for j := range p.errors {
				if math.Abs(p.errors[j]-q.errors[j]) > 1e-6 {
					t.Errorf("%s: error %d is %v with weights, %v with copies", g.info.Name, j, p.errors[j], q.errors[j])
				}
			}
		}
		for j := range p.theta {
			if math.Abs(p.theta[j]-q.theta[j]) > 2e-5 {
				t.Errorf("%s: parameter %d is %v with weights, %v with copies", g.info.Name, j, p.theta[j], q.theta[j])
			}
		}
	}
}

// TestGreatResiduals trains on targets so large and uneven that the first scale of the fixed-point
// sums is too coarse.
func TestGreatResiduals(t *testing.T) {
	d := &familytest.Data{}
	r := rand.New(rand.NewPCG(3, 3))
	for range 900 {
		x := r.NormFloat64()
		d.X, d.Y = append(d.X, []float64{x}), append(d.Y, 1e9*(3+x)+1e3*r.NormFloat64())
	}
	for _, how := range []string{"newton", "newton_cg", "lbfgs", "gd"} {
		got := familytest.Same(t, linearRegression, d, "optimizer", how, "max_iterations", 500, "tolerance", 1e-10)
		th := got.Predictor.(*predictor).theta
		if math.Abs(th[0]-1e9) > 200 || math.Abs(th[1]-3e9) > 200 {
			t.Errorf("%s: %v", how, th)
		}
	}
	for i := range d.Y {
		d.Y[i] = math.Floor(math.Exp(20 + d.X[i][0]))
	}
	for _, how := range []string{"newton", "newton_cg", "lbfgs"} {
		got := familytest.Same(t, poissonRegression, d, "optimizer", how, "max_iterations", 500, "tolerance", 1e-9)
		th := got.Predictor.(*predictor).theta
		if math.Abs(th[0]-1) > 1e-6 || math.Abs(th[1]-20) > 1e-6 || !got.State.Converged {
			t.Errorf("poisson by %s: %v %+v", how, th, got.State)
		}
	}
}

// TestNewtonWithoutAHessian: for more parameters than a Hessian is made for, solver newton still
// finds the minimum that L-BFGS finds, in fewer steps.
func TestNewtonWithoutAHessian(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	d := &familytest.Data{Classes: 2, Cats: []int{maxNewtonParams + 1000}}
	for range 20000 {
		x, c := r.NormFloat64(), r.IntN(d.Cats[0])
		y := 0.0
		if 3*x+float64(c%7)-3+r.NormFloat64() > 0 {
			y = 1
		}
		d.X, d.Code, d.Y = append(d.X, []float64{x, x + r.NormFloat64()/100}), append(d.Code, []int32{int32(c)}), append(d.Y, y)
	}
	train := func(how string) *familytest.Result {
		got, err := familytest.Train(t, logisticRegression, d, familytest.Spread{Threads: 2}, "optimizer", how, "c", 10.0, "tolerance", 1e-8, "max_iterations", 2000)
		if err != nil {
			t.Fatal(err)
		}
		if !got.State.Converged {
			t.Errorf("%s ended in %+v", how, got.State)
		}
		return got
	}
	cg, other := train("newton_cg"), train("lbfgs")
	if cg.State.Iteration > 20 || math.Abs(cg.State.TrainLoss-other.State.TrainLoss) > 1e-7 {
		t.Errorf("newton_cg: %+v, lbfgs: %+v", cg.State, other.State)
	}
	t.Logf("newton_cg: %d steps, %d passes; lbfgs: %d, %d", cg.State.Iteration, cg.State.Evals, other.State.Iteration, other.State.Evals)
	for i, v := range cg.Predictor.(*predictor).theta {
		if w := other.Predictor.(*predictor).theta[i]; math.Abs(v-w) > 1e-4 {
			t.Fatalf("parameter %d is %v, %v by lbfgs", i, v, w)
		}
	}
}

// TestCorrelatedColumns: L-BFGS with the Gram matrix of the columns as a preconditioner takes few
// evaluations, however columns are scaled and correlated. The preconditioner must not change the
// minimum.
func TestCorrelatedColumns(t *testing.T) {
	for _, classes := range []int{2, 3} {
		d := &familytest.Data{Classes: classes}
		r := rand.New(rand.NewPCG(8, 8))
		for range 3000 {
			x, z, u := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			y := 0.0
			if v := x - z + 2*r.NormFloat64(); v > 1 {
				y = float64(classes - 1)
			} else if v > 0 {
				y = 1
			}
			d.X, d.Y = append(d.X, []float64{1000 * x, x + z/50, 7 + u/100, u + x/100, 0, x + z/50}), append(d.Y, y)
		}
		for _, g := range []*glm{logisticRegression, linearSVM} {
			o := []any{"c", 10.0, "tolerance", 1e-7, "max_iterations", 5000}
			got := familytest.Same(t, g, d, o...)
			if !got.State.Converged || got.State.Evals > 40 {
				t.Errorf("%s of %d classes: %+v", g.info.Name, classes, got.State)
			}
			if classes > 2 {
				continue
			}
			want, err := familytest.Train(t, g, d, familytest.Spread{Threads: 1}, append(o, "optimizer", "newton")...)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.State.TrainLoss-want.State.TrainLoss) > 1e-9 {
				t.Errorf("%s: loss %v, by Newton's method %v", g.info.Name, got.State.TrainLoss, want.State.TrainLoss)
			}
		}
	}
}

// TestAPerfectFit: where the rows lie on a plane, iterative refinement ends with a loss of 0 but
// for rounding.
func TestAPerfectFit(t *testing.T) {
	d := &familytest.Data{}
	r := rand.New(rand.NewPCG(4, 4))
	for range 500 {
		x, z := r.Float64(), r.Float64()
		d.X, d.Y = append(d.X, []float64{x, z, x + 1e-4*z}), append(d.Y, 3*x-2*z+7)
	}
	got := familytest.Same(t, linearRegression, d)
	if th := got.Predictor.(*predictor).theta; got.State.TrainLoss > 1e-20 || math.Abs(th[3]-7) > 1e-9 {
		t.Errorf("a loss of %v with %v", got.State.TrainLoss, th)
	}
}

// TestEarlyStopKeepsTheBest trains with steps so large that the validation loss rises again: the
// best parameters are kept.
func TestEarlyStopKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	d := &familytest.Data{Classes: 2}
	for i := range 600 {
		x := r.NormFloat64()
		y := 0.0
		if x+r.NormFloat64() > 0 {
			y = 1
		}
		d.X, d.Y, d.Held = append(d.X, []float64{x}), append(d.Y, y), append(d.Held, i%3 == 0)
	}
	got, err := familytest.Train(t, logisticRegression, d, familytest.Spread{}, "optimizer", "sgd", "learn_rate", 30.0, "batch_size", 16, "max_iterations", 40,
		"early_stop", true, "min_rel_progress", 0.0)
	if err != nil {
		t.Fatal(err)
	}
	loss := func(p family.Predictor) (sum float64) {
		s := p.Score(d.All(false))
		for i, held := range d.Held {
			if held {
				sum -= math.Log(s.Prob(int(d.Y[i]), i)) / 200
			}
		}
		return sum
	}
	if got.State.Stopped != "early_stop" || !(loss(got.Predictor) < got.State.ValidationLoss) {
		t.Errorf("%s: the model's loss is %v, the last iteration's %v", got.State.Stopped, loss(got.Predictor), got.State.ValidationLoss)
	}
}

// TestMisuse lists statements whose error shows only in the rows or classes.
func TestMisuse(t *testing.T) {
	for _, c := range []struct {
		g       *glm
		classes int
		change  func(*familytest.Data)
		options []any
		code    pgerr.Code
		text    string
	}{
		{poissonRegression, 0, func(d *familytest.Data) { d.Y[3] = -1 }, nil, "22003", `target column "y" has negative values`},
		{tweedieRegression, 0, func(d *familytest.Data) { d.Y[3] = -1 }, nil, "22003", `target column "y" has negative values`},
		{gammaRegression, 0, func(d *familytest.Data) { d.Y[3] = 0 }, nil, "22003", `values that are not above 0`},
		{poissonRegression, 0, func(d *familytest.Data) { clear(d.Y) }, nil, "22023", `is 0 in all rows`},
		{linearRegression, 0, func(d *familytest.Data) { d.X[3][0] = 1e200 }, nil, "22003", `too large`},
		{logisticRegression, 3, nil, []any{"optimizer", "newton"}, "0A000", "more than two classes"},
		{logisticRegression, 3, nil, []any{"optimizer", "newton_cg"}, "0A000", "more than two classes"},
		{logisticRegression, 2, nil, []any{"l1_reg", 0.1, "optimizer", "newton_cg"}, "22023", "does not support an L1 penalty"},
		{quantileRegression, 0, nil, []any{"optimizer", "newton_cg"}, "0A000", "bends"},
		{logisticRegression, 3, nil, []any{"calculate_p_values", true}, "0A000", "more than two classes"},
		{logisticRegression, 2, nil, []any{"calculate_p_values", true, "optimizer", "adam"}, "0A000", "p-values are of the minimum"},
		{logisticRegression, 2, nil, []any{"l1_reg", 0.1, "optimizer", "newton"}, "22023", "does not support an L1 penalty"},
		{logisticRegression, 2, nil, []any{"optimizer", "cd"}, "0A000", "for least squares only"},
		{lasso, 0, nil, []any{"optimizer", "gd"}, "22023", "does not support an L1 penalty"},
		{quantileRegression, 0, nil, []any{"optimizer", "newton"}, "0A000", "bends"},
		{quantileRegression, 0, nil, []any{"optimizer", "sgd"}, "0A000", "does not support quantiles"},
	} {
		d := some(2, 50, c.g, c.classes)
		if c.change != nil {
			c.change(d)
		}
		if _, err := familytest.Train(t, c.g, d, familytest.Spread{}, c.options...); !pgerr.Is(err, c.code) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s %v: %v", c.g.info.Name, c.options, err)
		}
	}
}

// TestValuesAreTheScores: values scored chunk by chunk have the bits of all scores at once; a
// classifier has no values.
func TestValuesAreTheScores(t *testing.T) {
	for _, g := range []*glm{linearRegression, poissonRegression, logisticRegression} {
		d := some(31, 600, g, map[bool]int{true: 2}[g == logisticRegression])
		f := d.Fitted(true)
		p := g.predictor(f, []float64{0.5, -2, 0.25, 1, 0, -1, 3})
		b := d.All(true)
		got := make([]float64, b.Padded())
		ok := true
		for at := 0; at < len(got) && ok; at += block.ChunkRows {
			ok = p.Values(got[at:min(at+block.ChunkRows, len(got))], b, at)
		}
		if ok != (g != logisticRegression) {
			t.Fatalf("%s has values: %v", g.info.Name, ok)
		}
		if want := p.Score(b).Value; ok && !slices.Equal(got[:b.Rows], want) {
			t.Errorf("%s: values are not the scores", g.info.Name)
		}
	}
}

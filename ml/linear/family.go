package linear

import (
	"slices"

	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/ml/optim"
	"github.com/tributarydb/tributary/ml/reduce"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// glm is a family of generalised linear models: a loss of one margin a row, or
// of one a class.
type glm struct {
	info      family.Info
	task      family.Task
	penalty   *family.Option                        // scikit-learn's name for the strength of the penalty
	l2        func(v, weight float64) float64       // that penalty on the mean loss of rows of this weight
	alpha     float64                               // its value where no penalty was given
	scale     float64                               // of reported losses
	objective func(classes int) objective.Objective // the loss
	direct    bool                                  // Newton's method needs one step
}

// Families are the families of this package.
func Families() []family.Family { return []family.Family{linearRegression, ridge, logisticRegression} }

var alpha = &family.Option{Names: []string{"alpha"}, Type: "number",
	Doc: "scikit-learn's way to say it (ridge): Σ (y-ŷ)² + alpha·‖weights‖² is minimised.", Read: family.NotNegative}

func squared(int) objective.Objective { return objective.Squared{} }

var linearRegression = &glm{
	info: family.Info{Name: "linear_regression", Synonyms: []string{"linear_reg"}, Doc: "Least squares, with an L2 penalty where one is given."},
	task: family.Regression, penalty: alpha, l2: func(v, weight float64) float64 { return v / weight }, scale: 2, objective: squared, direct: true,
}

var ridge = &glm{
	info: family.Info{Name: "ridge", Synonyms: []string{"ridge_regression"}, Doc: "Least squares with an L2 penalty, `alpha` being 1 unless given."},
	task: family.Regression, penalty: alpha, l2: linearRegression.l2, alpha: 1, scale: 2, objective: squared, direct: true,
}

var logisticRegression = &glm{
	info:    family.Info{Name: "logistic_regression", Synonyms: []string{"logistic_reg"}, Doc: "Binary and multinomial logistic regression."},
	task:    family.Classification,
	penalty: &family.Option{Names: []string{"c"}, Type: "number", Doc: "scikit-learn's way to say it: C·Σ loss + ½‖weights‖² is minimised.", Read: family.Positive},
	l2:      func(v, weight float64) float64 { return 1 / float64(v*weight) }, scale: 1,
	objective: func(classes int) objective.Objective {
		if classes > 2 {
			return objective.Softmax{K: classes}
		}
		return objective.Logistic{}
	},
}

// Info implements family.Family.
func (g *glm) Info() family.Info { return g.info }

var (
	optimizer = &family.Option{Names: []string{"optimizer", "optimize_strategy", "solver"}, Type: "text",
		Default: "`newton` for regressions of at most 2048 parameters, else `lbfgs`",
		Doc:     "How the loss is minimised: `lbfgs`, `newton` (`irls`, `normal_equation`), `gd` (`batch_gradient_descent`), or by mini-batches `sgd`, `momentum`, `adam`.",
		Read:    family.Word("auto|auto_strategy", "lbfgs", "newton|irls|normal_equation", "gd|batch_gradient_descent", "sgd", "momentum", "adam")}
	maxIterations = family.MaxIterations("100; 20 for mini-batches", "The most iterations; with mini-batches an iteration is a pass over the rows.")
	tolerance     = family.Tolerance("1e-6; 0 for mini-batches", "Training ends when the gradient is this much shorter than the first one.")
	learnRate     = family.LearnRate("line search for `gd`; 0.01 for `sgd` and `momentum`, 0.001 for `adam`", "The length of a step along the gradient.")
	strategy      = &family.Option{Names: []string{"learn_rate_strategy"}, Type: "text", Default: "`line_search` unless learn_rate is given",
		Doc: "`line_search` or `constant`, for `gd`.", Read: family.Word("line_search", "constant")}
	intercept = &family.Option{Names: []string{"fit_intercept"}, Type: "boolean", Default: "true", Doc: "Learn an intercept.", Read: family.Boolean}
	noL1      = &family.Option{Names: family.L1.Names, Type: "number", Default: "0", Doc: "Not supported yet, except as 0.", Read: func(v family.Value) (any, error) {
		f, err := family.NotNegative(v)
		if err == nil && f != 0.0 {
			return nil, pgerr.Unsupported("option %q is not supported", v.Name).At(v.Pos).WithHint("Use l2_reg.")
		}
		return nil, err
	}}
	unsupported = []*family.Option{
		{Names: []string{"calculate_p_values"}, Type: "boolean", Doc: "Not supported yet."},
		{Names: []string{"ls_init_learn_rate"}, Type: "number", Doc: "Not supported yet."},
		{Names: []string{"penalty"}, Type: "text", Doc: "Not supported yet; l2_reg says how strong the penalty is."},
	}
)

// Options implements family.Family.
func (g *glm) Options() []*family.Option {
	return append([]*family.Option{optimizer, maxIterations, tolerance, learnRate, strategy, family.BatchSize, family.L2, g.penalty, noL1,
		family.EarlyStop, family.MinRelProgress, intercept}, unsupported...)
}

// stochastic tells whether the statement asks for mini-batches.
func stochastic(o *family.Values) bool {
	return slices.Contains([]string{"sgd", "momentum", "adam"}, o.Text("optimizer", ""))
}

// Plan implements family.Family.
func (g *glm) Plan(r *family.Request) (*family.Plan, error) {
	o := r.Options
	if strength := g.penalty.Names[0]; o.Given("l2_reg") && o.Given(strength) {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "only one of the options l2_reg and %s can be given", strength).At(o.Pos(strength)).
			WithDetail("They both set the strength of the same penalty.")
	}
	p := family.Plan{Scope: family.ByLeaf, Standardize: true, MaxIterations: o.Int("max_iterations", 100)}
	if stochastic(o) {
		p.MaxIterations = o.Int("max_iterations", 20)
	}
	if g.task == family.Classification {
		return family.Classify(r, p)
	}
	return family.Regress(r, p)
}

// penalised is the L2 penalty on the mean loss.
func (g *glm) penalised(s *family.Setup) float64 {
	o, strength := s.Options, g.penalty.Names[0]
	switch {
	case o.Given("l2_reg"):
		return o.Float("l2_reg", 0)
	case o.Given(strength):
		return g.l2(o.Float(strength, 0), s.Weight)
	case g.alpha > 0:
		return g.l2(g.alpha, s.Weight)
	}
	return 0
}

// The one step there is.
const evaluate = 1

// request asks for an evaluation at theta.
type request struct {
	need  optim.Need
	theta []float64
}

// Encode implements family.Message.
func (r *request) Encode(e *canon.E) {
	e.U8(uint8(r.need))
	e.F64s(r.theta)
}

// DecodeStep implements family.Family.
func (g *glm) DecodeStep(op uint8, d *canon.D) family.Message {
	if op != evaluate {
		d.Fail()
	}
	return &request{optim.Need(d.U8()), d.F64s()}
}

// DecodePartial implements family.Family.
func (g *glm) DecodePartial(op uint8, d *canon.D) family.Message {
	if op != evaluate {
		d.Fail()
	}
	return reduce.DecodeSums(d)
}

// Merge implements family.Family.
func (g *glm) Merge(_ uint8, left, right family.Message) (family.Message, error) {
	a, ok := left.(*reduce.Sums)
	b, ok2 := right.(*reduce.Sums)
	if !ok || !ok2 {
		return nil, pgerr.Internal("partials of a linear model are %T and %T", left, right)
	}
	return reduce.MergeSums(a, b)
}

// Decode implements family.Family.
func (g *glm) Decode(f *feature.Fitted, d *canon.D) (family.Predictor, error) {
	p := g.predictor(f, d.F64s())
	if g.task == family.Classification && len(f.Keys) < 2 || len(p.theta) != p.obj.Outputs()*(f.Params()+1) {
		d.Fail()
	}
	return p, nil
}

// newtonParams is the most parameters for which the normal equations are solved
// unasked.
const newtonParams = 2048

// maxNewtonParams bounds the Hessian to 512 MB.
const maxNewtonParams = 8192

// optimizer makes the optimiser that the statement asks for.
func (g *glm) optimizer(s *family.Setup, outputs int) (optim.Optimizer, error) {
	o, params := s.Options, s.Fitted.Params()
	how := o.Text("optimizer", "auto")
	if how == "auto" {
		how = "lbfgs"
		if g.direct && params <= newtonParams {
			how = "newton"
		}
	}
	switch {
	case how == "newton" && outputs > 1:
		return nil, pgerr.Unsupported("optimizer newton does not support more than two classes").At(o.Pos("optimizer")).WithHint("Use lbfgs.")
	case how == "newton" && params > maxNewtonParams:
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "optimizer newton supports at most %d parameters, not %d", maxNewtonParams, params).WithHint("Use lbfgs.")
	}
	stop := optim.Stop{Tolerance: o.Float("tolerance", 1e-6), MaxIter: s.Plan.MaxIterations}
	if stochastic(o) {
		stop.Tolerance = o.Float("tolerance", 0)
	}
	theta := make([]float64, outputs*(params+1))
	steps := s.Batches(o.Int("batch_size", 1024))
	rate := func(def float64) float64 { return o.Float("learn_rate", def) }
	switch how {
	case "lbfgs":
		return optim.NewLBFGS(theta, stop), nil
	case "newton":
		return optim.NewNewton(theta, stop), nil
	case "gd":
		def := 0.0
		if o.Text("learn_rate_strategy", "") == "constant" {
			def = 0.1
		}
		return optim.NewGD(theta, stop, rate(def)), nil
	case "sgd":
		return optim.NewStochastic(theta, stop, optim.SGD, rate(0.01), steps, s.Seed), nil
	case "momentum":
		return optim.NewStochastic(theta, stop, optim.Momentum, rate(0.01), steps, s.Seed), nil
	case "adam":
		return optim.NewStochastic(theta, stop, optim.Adam, rate(0.001), steps, s.Seed), nil
	}
	return nil, pgerr.Internal("unknown optimizer %s", how)
}

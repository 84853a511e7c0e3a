package linear

import (
	"slices"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

var (
	optimizer = &family.Option{Names: []string{"optimizer", "optimize_strategy", "solver"}, Type: "text",
		Default: "`newton` for least squares of at most 2048 parameters, for Tweedie's family of at most 256, else `lbfgs`; with an L1 penalty `coordinate_descent` for least squares of at most 2048 parameters, else `lbfgs`",
		Doc: "How the loss is minimised: `lbfgs`, with an L1 penalty OWL-QN; `newton` (`irls`, `normal_equation`); `newton_cg`, Newton's method without a Hessian, for many parameters; `coordinate_descent` (`cd`), for least squares; " +
			"`gd` (`batch_gradient_descent`); or by mini-batches `sgd`, `momentum`, `adam`.",
		Read: family.Word("auto|auto_strategy", "lbfgs|owlqn", "newton|irls|normal_equation|newton-cholesky|cholesky", "newton_cg|newton-cg|tron", "coordinate_descent|cd", "gd|batch_gradient_descent", "sgd", "momentum", "adam")}
	maxIterations = family.MaxIterations("100; 20 for mini-batches, 1000 for `coordinate_descent` and quantiles", "The most iterations; with mini-batches an iteration is a pass over the rows.")
	tolerance     = family.Tolerance("1e-6; 1e-10 for `coordinate_descent`, 0 for mini-batches",
		"Training ends when the gradient is this much shorter than the first one; `coordinate_descent` when the duality gap is this much smaller than the target's mean square.")
	learnRate = family.LearnRate("line search for `gd`; 0.01 for `sgd` and `momentum`, 0.001 for `adam`", "The length of a step along the gradient.")
	strategy  = &family.Option{Names: []string{"learn_rate_strategy"}, Type: "text", Default: "`line_search` unless learn_rate is given",
		Doc: "`line_search` or `constant`, for `gd`.", Read: family.Word("line_search", "constant")}
	intercept = &family.Option{Names: []string{"fit_intercept"}, Type: "boolean", Default: "true", Doc: "Learn an intercept.", Read: family.Boolean}
	epsilon   = &family.Option{Names: []string{"epsilon"}, Type: "number", Default: "1.35", Doc: "Residuals greater than this many times the scale count linearly.",
		Read: family.Interval("(1, inf)")}
	quantile = &family.Option{Names: []string{"quantile"}, Type: "number", Default: "0.5", Doc: "Which quantile is learnt.",
		Read: family.Interval("(0, 1)")}
	power = &family.Option{Names: []string{"power", "tweedie_variance_power"}, Type: "number", Default: "1.5",
		Doc:  "The variance grows as the mean to this power: 0 is normal, 1 Poisson, 2 Gamma, 3 inverse Gaussian.",
		Read: family.Number("0, or a number from 1 to 10", 0, 10, func(f float64) bool { return f == 0 || f >= 1 })}
	link    = &family.Option{Names: []string{"link"}, Type: "text", Default: "`log`", Doc: "Only `log`.", Read: family.Word("log|auto")}
	pValues = &family.Option{Names: []string{"calculate_p_values"}, Type: "boolean", Default: "false",
		Doc: "Give `ml.weights` the weights' standard errors and p-values. A weight counts as so many rows unless weight_type says otherwise. They are NULL for columns that others explain; there are none with a penalty.", Read: family.Boolean}

	weightType = &family.Option{Names: []string{"weight_type"}, Type: "text", Default: "`frequency`",
		Doc: "What a weight is to calculate_p_values: `frequency`, a number of copies of the row, so that degrees of freedom are the sum of the weights less the parameters; `analytic`, " +
			"a precision, as R's lm and statsmodels' WLS take it, and degrees of freedom are those of the rows. The weights of the model are the same.",
		Read: family.Word("frequency|copies", "analytic|precision|importance")}

	// penalty is scikit-learn's option, along with c and l1_ratio.
	penalty = &family.Option{Names: []string{"penalty"}, Type: "text", Default: "`none`, or as `c` and `l1_ratio` say",
		Doc:  "scikit-learn's notation for the penalised weights: `none`, `l1`, `l2`, or `elasticnet` with l1_ratio. Their strength is `c`, then 1 unless given.",
		Read: family.Word("none", "l1", "l2", "elasticnet|elastic_net")}

	unsupported = []*family.Option{
		{Names: []string{"ls_init_learn_rate"}, Type: "number", Doc: "Not supported yet."},
		{Names: []string{"positive"}, Type: "boolean", Doc: "Not supported yet: weights have either sign."},
	}
	noPenalty = &family.Option{Names: []string{"penalty"}, Type: "text", Doc: "Not supported: penalties are as strong as l1_reg and l2_reg say."}
)

// hinge is scikit-learn's option of linear support vector machines.
var hinge = &family.Option{Names: []string{"loss"}, Type: "text", Default: "`squared_hinge`", Doc: "Only `squared_hinge`.", Read: func(v family.Value) (any, error) {
	switch w := v.Word(); w {
	case "squared_hinge":
		return w, nil
	case "hinge":
		return nil, pgerr.Unsupported("loss %q is not supported", w).At(v.Pos).WithHint("Use squared_hinge.")
	}
	return nil, v.Bad("squared_hinge")
}}

func alpha(doc string) *family.Option {
	return &family.Option{Names: []string{"alpha"}, Type: "number", Doc: doc, Read: family.NotNegative}
}

func l1Ratio(def string) *family.Option {
	return &family.Option{Names: []string{"l1_ratio"}, Type: "number", Default: def, Doc: "The share of the L1 penalty in the whole.",
		Read: family.Interval("[0, 1]")}
}

// estimates reports whether the deviation of the rows is estimated, for which it matters what
// their weights are: otherwise it follows from the mean.
func (g *glm) estimates() bool { return g.theory == studentT || g.theory == dispersed }

// Options implements family.Family.
func (g *glm) Options() []*family.Option {
	out := []*family.Option{optimizer, maxIterations, tolerance, learnRate, strategy, family.BatchSize, family.L2, family.L1, g.strength}
	out = append(append(out, g.own...), family.EarlyStop, family.MinRelProgress, family.WarmStart, intercept, family.Offset)
	if g.theory != none {
		out = append(out, pValues)
	}
	if g.estimates() {
		out = append(out, weightType)
	}
	if g.task != family.Classification {
		out = append(out, noPenalty)
	}
	return append(out, unsupported...)
}

// stochastic reports whether the statement asks for mini-batches.
func stochastic(o *family.Values) bool {
	return slices.Contains([]string{"sgd", "momentum", "adam"}, o.Text("optimizer", ""))
}

// fit returns an error for options that have no effect: before the rows are read by the
// statement alone, and then with the method it leads to.
func (g *glm) fit(o *family.Values, how string) error {
	mini, stops := stochastic(o), o.Bool("early_stop", true)
	l1, l2 := g.penalty(o, 1)
	penalised := l1+l2 > 0
	direct := g.direct && (how == byGram || how == newton || how == coordinate)
	const smooth = "The loss is smoothed over a shrinking width, which raises it: early_stop cannot tell."
	const once = "Least squares is solved from sums over all rows, without steps to stop after. Choose optimizer lbfgs for steps."
	return o.Fit(
		family.Unfit{Option: "batch_size", Why: "It is for the optimizers sgd, momentum and adam.", If: !mini},
		family.Unfit{Option: "learn_rate", Why: "It is for the optimizers gd, sgd, momentum and adam.", If: !mini && how != gd},
		family.Unfit{Option: "learn_rate_strategy", Why: "It is for the optimizer gd.", If: how != gd},
		family.Unfit{Option: "learn_rate", Why: "It is for the learn_rate_strategy constant.", If: how == gd && o.Text("learn_rate_strategy", "") == "line_search"},
		family.Unfit{Option: "min_rel_progress", Why: "It is for early_stop, which is off.", If: !stops},
		family.Unfit{Option: "early_stop", Why: smooth, If: stops && g.bends},
		family.Unfit{Option: "min_rel_progress", Why: smooth, If: g.bends},
		family.Unfit{Option: "early_stop", Why: once, If: stops && direct},
		family.Unfit{Option: "min_rel_progress", Why: once, If: direct},
		family.Unfit{Option: "calculate_p_values", Why: "With a penalty weights are not those that standard errors are known of.", If: penalised && o.Bool("calculate_p_values", false)},
		family.Unfit{Option: "weight_type", Why: "It is for calculate_p_values.", If: !o.Bool("calculate_p_values", false)},
		family.Unfit{Option: "weight_type", Why: "It is for rows with weights.", If: !o.Given("weight")},
		family.Unfit{Option: "l1_ratio", Why: "It is the share of L1 in a penalty, and there is none. " + g.strength.Names[0] + " is its strength.",
			If: g.alpha == 0 && !o.Given(g.strength.Names[0]) && !o.Given("penalty")},
	)
}

// checkPenalty returns an error for a penalty that is specified twice.
func (g *glm) checkPenalty(o *family.Values) error {
	for _, given := range []string{"l2_reg", "l1_reg"} {
		for _, strength := range []string{g.strength.Names[0], "l1_ratio"} {
			if o.Given(given) && o.Given(strength) {
				return pgerr.New(pgerr.InvalidParameterValue, "only one of the options %s and %s can be given", given, strength).At(o.Pos(strength)).
					WithDetail("They both set the strength of the penalty.")
			}
		}
	}
	return checkWord(o)
}

// checkWord returns an error for options that conflict with scikit-learn's option
// penalty.
func checkWord(o *family.Values) error {
	word := o.Text("penalty", "")
	for _, name := range []string{"l1_reg", "l2_reg", "c", "l1_ratio"} {
		if word == "" || !o.Given(name) || name == "c" && word != "none" || name == "l1_ratio" && word == "elasticnet" {
			continue
		}
		return pgerr.New(pgerr.InvalidParameterValue, "option %q does not fit penalty %q", name, word).At(o.Pos(name)).
			WithDetail("The strength of penalty is c, and l1_ratio the share of L1 in elasticnet.")
	}
	if word == "elasticnet" && !o.Given("l1_ratio") {
		return pgerr.New(pgerr.InvalidParameterValue, "penalty %q needs the option l1_ratio", word).At(o.Pos("penalty")).
			WithHint("l1_ratio is the share of the L1 penalty, from 0 to 1.")
	}
	return nil
}

// penalty returns the penalties on the mean loss of rows of this weight.
func (g *glm) penalty(o *family.Values, weight float64) (l1, l2 float64) {
	if o.Given("l1_reg") || o.Given("l2_reg") {
		return o.Float("l1_reg", 0), o.Float("l2_reg", 0)
	}
	name, strength, ratio := g.strength.Names[0], g.alpha, o.Float("l1_ratio", g.ratio)
	switch o.Text("penalty", "") {
	case "none":
		return 0, 0
	case "l1":
		strength, ratio = 1, 1
	case "l2", "elasticnet":
		strength = 1
	}
	if !o.Given(name) && strength == 0 {
		return 0, 0
	}
	return g.penalise(o.Float(name, strength), ratio, weight)
}

// The numbers of parameters up to which second derivatives are used by default, for
// least squares and for Tweedie's family; and the maximum, whose Hessian has 512 MB.
const (
	newtonParams    = 2048
	scoringParams   = 256
	maxNewtonParams = 8192
)

// How a training minimises.
const (
	byGram     = "gram" // least squares: the Gram matrix suffices
	byRows     = "rows" // of few rows their products suffice
	lbfgs      = "lbfgs"
	newton     = "newton"
	newtonCG   = "newton_cg"
	coordinate = "coordinate_descent"
	gd         = "gd"
)

// method chooses how, with these penalties and so many parameters of an output.
func (g *glm) method(o *family.Values, l1 float64, outputs, params int) (string, error) {
	how := o.Text("optimizer", "auto")
	at := o.Pos("optimizer")
	if how == "auto" {
		switch how = lbfgs; {
		case g.direct && params <= newtonParams:
			return byGram, nil
		case g.scoring && params <= scoringParams && l1 == 0:
			return newton, nil
		}
		return how, nil
	}
	switch {
	case how == coordinate && !g.direct:
		return "", pgerr.Unsupported("optimizer %s is for least squares only", how).At(at).WithHint("Use lbfgs.")
	case (how == newton || how == newtonCG) && outputs > 1:
		return "", pgerr.Unsupported("optimizer %s does not support more than two classes, or a scale", how).At(at).WithHint("Use lbfgs.")
	case (how == newton || how == newtonCG) && g.bends:
		return "", pgerr.Unsupported("optimizer %s does not support a loss that bends", how).At(at).WithHint("Use lbfgs.")
	case l1 > 0 && how != lbfgs && how != coordinate:
		return "", pgerr.New(pgerr.InvalidParameterValue, "optimizer %s does not support an L1 penalty", how).At(at).WithHint("Use lbfgs.")
	case (how == newton || how == coordinate) && params > maxNewtonParams:
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "optimizer %s supports at most %d parameters, not %d", how, maxNewtonParams, params).WithHint("Use lbfgs.")
	case (how == newton || how == coordinate) && g.direct:
		return byGram, nil
	case g.bends && stochastic(o):
		return "", pgerr.Unsupported("optimizer %s does not support quantiles", how).At(at).WithHint("Use lbfgs.")
	}
	return how, nil
}

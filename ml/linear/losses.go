package linear

import (
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/objective"
)

// Families returns the families of this package.
func Families() []family.Family {
	return []family.Family{linearRegression, ridge, lasso, elasticNet, huberRegression, quantileRegression,
		poissonRegression, gammaRegression, tweedieRegression, logisticRegression, linearSVM}
}

// fixed returns the lossOf of families with a single loss.
func fixed(o objective.Objective) lossOf {
	return func(*family.Values, int, float64) objective.Objective { return o }
}

// lossOf returns the loss for options, number of classes and width of smoothing, or unit of residuals.
type lossOf func(o *family.Values, classes int, width float64) objective.Objective

// The loss of linear regression and related families.
var squared = fixed(objective.Squared{})

// sumL2 converts scikit-learn's penalty added to Σ (y-ŷ)², meanL2 one added to the mean
// loss.
func sumL2(v, _, weight float64) (l1, l2 float64) { return 0, v / weight }
func meanL2(v, _, _ float64) (l1, l2 float64)     { return 0, v }
func meanNet(v, ratio, _ float64) (l1, l2 float64) {
	return float64(v * ratio), float64(v * (1 - ratio))
}
func meanL1(v, _, _ float64) (l1, l2 float64) { return v, 0 }
func c(v, ratio, weight float64) (l1, l2 float64) {
	v = 1 / float64(v*weight)
	return float64(v * ratio), float64(v * (1 - ratio))
}

var linearRegression = &glm{
	info: family.Info{Name: "linear_regression", Synonyms: []string{"linear_reg"}, Doc: "Least squares, with penalties where they are given.",
		Instead: map[string]string{"sgd_regressor": "linear_regression … WITH (optimizer = 'sgd')"}},
	task: family.Regression, loss: squared, scale: 2, direct: true, theory: studentT,
	strength: alpha("Σ (y-ŷ)² + alpha·‖weights‖² is minimised, as by scikit-learn's Ridge."), penalise: sumL2,
}

var ridge = &glm{
	info: family.Info{Name: "ridge", Synonyms: []string{"ridge_regression"}, Doc: "Least squares with an L2 penalty, `alpha` being 1 unless given."},
	task: family.Regression, loss: squared, scale: 2, direct: true, strength: linearRegression.strength, penalise: sumL2, alpha: 1,
}

var lasso = &glm{
	info: family.Info{Name: "lasso", Doc: "Least squares with an L1 penalty, which makes many weights 0; `alpha` is 1 unless given."},
	task: family.Regression, loss: squared, scale: 2, direct: true,
	strength: alpha("½·mean of (y-ŷ)² + alpha·|weights| is minimised, as by scikit-learn's Lasso."), penalise: meanL1, alpha: 1,
}

var elasticNet = &glm{
	info: family.Info{Name: "elastic_net", Doc: "Least squares with both penalties; `alpha` is 1 unless given."},
	task: family.Regression, loss: squared, scale: 2, direct: true,
	strength: alpha("½·mean of (y-ŷ)² + alpha·l1_ratio·|weights| + ½·alpha·(1-l1_ratio)·‖weights‖² is minimised, as by scikit-learn's ElasticNet."),
	penalise: meanNet, alpha: 1, ratio: 0.5, own: []*family.Option{l1Ratio("0.5")},
}

var huberRegression = &glm{
	info: family.Info{Name: "huber_regression", Synonyms: []string{"huber", "huber_regressor"}, Doc: "Huber's loss, on which outliers have less influence; the scale of the residuals is learnt with the weights."},
	task: family.Regression, scale: 1,
	loss: func(o *family.Values, _ int, width float64) objective.Objective {
		return objective.Huber{Epsilon: o.Float("epsilon", 1.35), Unit: width}
	},
	strength: alpha("Σ loss + alpha·‖weights‖² is minimised, as by scikit-learn's HuberRegressor."),
	penalise: func(v, _, weight float64) (l1, l2 float64) { return 0, 2 * v / weight }, own: []*family.Option{epsilon},
}

var quantileRegression = &glm{
	info: family.Info{Name: "quantile_regression", Synonyms: []string{"quantile", "quantile_regressor"}, Doc: "A quantile of the target, the median unless `quantile` is given, by the pinball loss."},
	task: family.Regression, scale: 1, bends: true,
	loss: func(o *family.Values, _ int, width float64) objective.Objective {
		return objective.Quantile{Tau: o.Float("quantile", 0.5), Width: width}
	},
	strength: alpha("Mean pinball loss + alpha·|weights| is minimised, as by scikit-learn's QuantileRegressor."), penalise: meanL1, own: []*family.Option{quantile},
}

// tweedie returns the loss of a Tweedie family with log link.
func tweedie(power float64) lossOf { return fixed(objective.Tweedie{Power: power}) }

var meanDeviance = alpha("Mean of half the unit deviance + ½·alpha·‖weights‖² is minimised, as by scikit-learn.")

var poissonRegression = &glm{
	info: family.Info{Name: "poisson_regression", Synonyms: []string{"poisson", "poisson_regressor"}, Doc: "Counts and rates: the Poisson deviance with the log link."},
	task: family.Regression, loss: tweedie(1), scale: 1, scoring: true, theory: normal, strength: meanDeviance, penalise: meanL2,
}

var gammaRegression = &glm{
	info: family.Info{Name: "gamma_regression", Synonyms: []string{"gamma_regressor"}, Doc: "Positive targets whose deviation grows with their mean: the Gamma deviance with the log link."},
	task: family.Regression, loss: tweedie(2), scale: 1, scoring: true, theory: dispersed, strength: meanDeviance, penalise: meanL2,
}

var tweedieRegression = &glm{
	info: family.Info{Name: "tweedie_regression", Synonyms: []string{"tweedie", "tweedie_regressor"}, Doc: "Targets of the Tweedie family, such as amounts of which many are 0 (`power` between 1 and 2), with the log link."},
	task: family.Regression, scale: 1, scoring: true, theory: dispersed,
	loss: func(o *family.Values, _ int, _ float64) objective.Objective {
		return objective.Tweedie{Power: o.Float("power", 1.5)}
	},
	strength: meanDeviance, penalise: meanL2, own: []*family.Option{power, link},
}

var strengthC = &family.Option{Names: []string{"c"}, Type: "number", Doc: "scikit-learn's notation: C·Σ loss + ½‖weights‖² is minimised.", Read: family.Positive}

var logisticRegression = &glm{
	info: family.Info{Name: "logistic_regression", Synonyms: []string{"logistic_reg"}, Doc: "Binary and multinomial logistic regression.",
		Instead: map[string]string{"sgd_classifier": "logistic_regression … WITH (optimizer = 'sgd')"}},
	task: family.Classification, scale: 1, theory: normal,
	loss: func(_ *family.Values, classes int, _ float64) objective.Objective {
		if classes > 2 {
			return objective.Softmax{K: classes}
		}
		return objective.Logistic{}
	},
	strength: strengthC, penalise: c, own: []*family.Option{l1Ratio("0"), penalty},
}

var linearSVM = &glm{
	info: family.Info{Name: "linear_svm", Synonyms: []string{"linear_svc", "svm"}, Doc: "A linear support vector machine by the squared hinge loss; with more than two classes each against the rest. Its probabilities rank rows, but are not calibrated.",
		Instead: map[string]string{"svc": "linear_svm, which has no kernels"}},
	task: family.Classification, scale: 1,
	loss: func(_ *family.Values, classes int, _ float64) objective.Objective {
		return objective.SquaredHinge{K: classes}
	},
	strength: strengthC, penalise: c, own: []*family.Option{l1Ratio("0"), penalty, hinge},
}

package feature

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/ml/impute"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// The functions of TRANSFORM that fill the gaps of columns from each other, with the arguments of scikit-learn's
// KNNImputer and IterativeImputer.
const (
	knnImputer       = "knn_imputer"
	iterativeImputer = "iterative_imputer"
)

var (
	knnParams       = []string{"n_neighbors", "weights", "max_samples", "metric", "add_indicator", "keep_empty_features", "missing_values"}
	iterativeParams = []string{"max_iter", "tol", "estimator", "imputation_order", "skip_complete", "initial_strategy", "sample_posterior", "n_nearest_features",
		"min_value", "max_value", "add_indicator", "keep_empty_features", "missing_values"}
)

const (
	knnUsage = "((a, b) [, n_neighbors [, 'uniform' | 'distance' [, max_samples]]]), with 2 to 64 columns, 1 to 1000 neighbours, and at most 1048576 numbers in all samples"

	iterativeUsage = "((a, b) [, max_iter [, tol [, 'bayesian_ridge' | 'linear_regression' [, 'ascending' | 'descending' | 'roman' | 'arabic' [, skip_complete]]]]]), with 2 to 64 columns, 1 to 100 rounds, and a number from 0"
)

// onlyArgs are arguments of which one value is implemented, "" for none.
var onlyArgs = map[string]string{"metric": "nan_euclidean", "add_indicator": "false", "keep_empty_features": "false", "missing_values": "", "initial_strategy": "mean",
	"sample_posterior": "false", "n_nearest_features": "", "min_value": "", "max_value": ""}

// ImputesJointly reports whether a function's name, without "ml.", is one that takes a list of columns.
func ImputesJointly(name string) bool { return name == knnImputer || name == iterativeImputer }

// refused returns an error for an argument whose value is not implemented.
func (t *Transform) refused(params []string, args []types.Datum) error {
	if t.Elements == nil {
		return nil
	}
	for i, d := range args {
		only, restricted := onlyArgs[params[i]]
		switch {
		case d == nil:
		case restricted && strings.ToLower(fmt.Sprint(d)) != only:
			err := pgerr.Unsupported("ml.%s with %s = %v is not supported", strings.ToLower(t.Func), params[i], d).At(t.Pos)
			if only == "" {
				return err.WithHint("Leave it out.")
			}
			return err.WithHint("It can be %s.", only)
		case params[i] == "imputation_order" && strings.EqualFold(text(d), "random"):
			return pgerr.Unsupported("ml.%s with a random order of the columns is not supported", iterativeImputer).At(t.Pos)
		case params[i] == "estimator" && text(d) != "" && !slices.Contains(estimators[:], simple(text(d))):
			return pgerr.Unsupported("ml.%s with the estimator %s is not supported", iterativeImputer, text(d)).At(t.Pos).
				WithHint("It can be bayesian_ridge or linear_regression.")
		}
	}
	return nil
}

// simple is a name without case and underscores, so that scikit-learn's names of classes are known.
func simple(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

var (
	estimators = [impute.NumEstimators]string{impute.BayesianRidge: "bayesianridge", impute.LeastSquares: "linearregression"}
	orders     = [impute.NumOrders]string{impute.Ascending: "ascending", impute.Descending: "descending", impute.Roman: "roman", impute.Arabic: "arabic"}
)

// onImputed applies a function to what an imputer made.
func (t *Transform) onImputed(c *Col, name string) error {
	if name != "standard_scaler" || len(t.Args) > 0 {
		return pgerr.Unsupported("ml.%s cannot encode what ml.%v makes", name, c.Encoder).At(t.Pos).WithHint("Only ml.standard_scaler can.")
	}
	c.Boundaries[imputeScaled] = 1
	return nil
}

func (c *Col) imputed(e Encoder) bool {
	c.Encoder, c.NoIndicator = e, true
	return len(c.Elements) >= 2 && len(c.Elements) <= impute.MaxColumns
}

// word reads argument i, one of words; nil for none is the first.
func word(a []types.Datum, i int, words []string, of func(string) string) (at float64, ok bool) {
	if i >= len(a) || a[i] == nil {
		return 0, true
	}
	k := slices.Index(words, of(text(a[i])))
	return float64(k), k >= 0
}

func setNearest(c *Col, a []types.Datum) bool {
	neighbors, most := 5, 10000
	byDistance, ok := word(a, 1, []string{"uniform", "distance"}, strings.ToLower)
	ok = c.imputed(NearestRows) && ok && whole(a, 0, 1, 1000, &neighbors) && whole(a, 2, 1, maxDonorNumbers, &most) && most*len(c.Elements) <= maxDonorNumbers
	c.Boundaries = []float64{0, float64(neighbors), byDistance, float64(most)}
	return ok
}

func setRegressions(c *Col, a []types.Datum) bool {
	rounds, tolerance, skip := 10, 1e-3, 0.0
	ok := c.imputed(Regressions) && whole(a, 0, 1, 100, &rounds)
	if len(a) > 1 && a[1] != nil {
		v, number := types.Float(a[1])
		tolerance, ok = v, ok && number && v >= 0 && v <= math.MaxFloat32
	}
	estimator, known := word(a, 2, estimators[:], simple)
	order, ordered := word(a, 3, orders[:], strings.ToLower)
	if len(a) > 4 && a[4] != nil {
		complete, boolean := a[4].(bool)
		if ok = ok && boolean; complete {
			skip = 1
		}
	}
	c.Boundaries = []float64{0, float64(rounds), tolerance, estimator, order, skip}
	return ok && known && ordered
}

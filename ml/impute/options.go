package impute

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Func is a function of TRANSFORM that fills the gaps of columns from each other, with the arguments of scikit-learn's
// KNNImputer or IterativeImputer.
type Func struct {
	Name   string
	Params []string // names of the arguments after the columns
	Usage  string
	// Settings makes settings of arguments, nil for one that is left out, for so many columns; ok is false where they are bad.
	Settings func(args []types.Datum, columns int) (s []float64, ok bool)
}

// KNN is that of Nearest.
var KNN = Func{"knn_imputer", []string{"n_neighbors", "weights", "max_samples", "metric", "add_indicator", "keep_empty_features", "missing_values"},
	"((a, b) [, n_neighbors [, 'uniform' | 'distance' [, max_samples]]]), with 2 to 64 columns, 1 to 1000 neighbours, and at most 1048576 numbers in all samples", nearestSettings}

// Rounds is that of Iterative.
var Rounds = Func{"iterative_imputer", []string{"max_iter", "tol", "estimator", "imputation_order", "skip_complete", "initial_strategy", "sample_posterior", "n_nearest_features",
	"min_value", "max_value", "add_indicator", "keep_empty_features", "missing_values"},
	"((a, b) [, max_iter [, tol [, 'bayesian_ridge' | 'linear_regression' [, 'ascending' | 'descending' | 'roman' | 'arabic' [, skip_complete]]]]]), with 2 to 64 columns, 1 to 100 rounds, and a number from 0",
	iterativeSettings}

// Known reports whether a function's name, without "ml.", is one of these.
func Known(name string) bool { return name == KNN.Name || name == Rounds.Name }

// What settings say: first whether the results are standardised.
const Scaled = 0

// Of KNN.
const (
	neighbors = iota + 1
	byDistance
	samples
	knnSettings
)

// Of Rounds.
const (
	rounds = iota + 1
	tolerance
	estimator
	order
	skip
	roundsSettings
)

const maxDonorNumbers = 1 << 20 // of all donors

// Valid reports whether settings are those of the function.
func (f *Func) Valid(s []float64) bool {
	if f.Name == KNN.Name {
		return len(s) == knnSettings && s[samples] >= 1 && s[samples] <= maxDonorNumbers
	}
	return len(s) == roundsSettings
}

// Samples is how many different rows settings of KNN keep.
func Samples(s []float64) int { return int(s[samples]) }

// NearestOf is what settings of KNN say.
func NearestOf(s []float64) Nearest {
	return Nearest{Neighbors: int(s[neighbors]), ByDistance: s[byDistance] != 0}
}

// IterativeOf is what settings of Rounds say.
func IterativeOf(s []float64) Iterative {
	return Iterative{Rounds: int(s[rounds]), Tolerance: s[tolerance], Estimator: Estimator(s[estimator]), Order: Order(s[order]), SkipComplete: s[skip] != 0}
}

// onlyArgs are arguments of which one value is implemented, "" for none.
var onlyArgs = map[string]string{"metric": "nan_euclidean", "add_indicator": "false", "keep_empty_features": "false", "missing_values": "", "initial_strategy": "mean",
	"sample_posterior": "false", "n_nearest_features": "", "min_value": "", "max_value": ""}

var (
	estimators = [NumEstimators]string{BayesianRidge: "bayesianridge", LeastSquares: "linearregression"}
	orders     = [NumOrders]string{Ascending: "ascending", Descending: "descending", Roman: "roman", Arabic: "arabic"}
)

// Refused returns 0A000 for an argument of a function whose value is not implemented, nil for functions of others.
func Refused(name string, params []string, args []types.Datum) *pgerr.Error {
	if !Known(name) {
		return nil
	}
	for i, d := range args {
		only, restricted := onlyArgs[params[i]]
		word, _ := d.(string)
		switch {
		case d == nil:
		case restricted && strings.ToLower(fmt.Sprint(d)) != only:
			err := pgerr.Unsupported("ml.%s with %s = %v is not supported", name, params[i], d)
			if only == "" {
				return err.WithHint("Leave it out.")
			}
			return err.WithHint("It can be %s.", only)
		case params[i] == "imputation_order" && strings.EqualFold(word, "random"):
			return pgerr.Unsupported("ml.%s with a random order of the columns is not supported", name)
		case params[i] == "estimator" && word != "" && !slices.Contains(estimators[:], simple(word)):
			return pgerr.Unsupported("ml.%s with the estimator %s is not supported", name, word).WithHint("It can be bayesian_ridge or linear_regression.")
		}
	}
	return nil
}

// simple is a name without case and underscores, so that scikit-learn's names of classes are known.
func simple(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// word reads argument i, one of words, of which the first stands for none.
func word(a []types.Datum, i int, words []string, of func(string) string) (at float64, ok bool) {
	if i >= len(a) || a[i] == nil {
		return 0, true
	}
	s, _ := a[i].(string)
	k := slices.Index(words, of(s))
	return float64(k), k >= 0
}

// whole reads argument i, an integer from 1 to most.
func whole(a []types.Datum, i, most, otherwise int) (v float64, ok bool) {
	if i >= len(a) || a[i] == nil {
		return float64(otherwise), true
	}
	n, ok := a[i].(int64)
	return float64(n), ok && n >= 1 && n <= int64(most)
}

func nearestSettings(a []types.Datum, columns int) ([]float64, bool) {
	k, counted := whole(a, 0, 1000, 5)
	w, known := word(a, 1, []string{"uniform", "distance"}, strings.ToLower)
	most, kept := whole(a, 2, maxDonorNumbers, 10000)
	return []float64{0, k, w, most}, counted && known && kept && columns >= 2 && columns <= MaxColumns && most*float64(columns) <= maxDonorNumbers
}

func iterativeSettings(a []types.Datum, columns int) ([]float64, bool) {
	n, ok := whole(a, 0, 100, 10)
	tol, skipped := 1e-3, 0.0
	if len(a) > 1 && a[1] != nil {
		v, number := types.Float(a[1])
		tol, ok = v, ok && number && v >= 0 && v <= math.MaxFloat32
	}
	of, known := word(a, 2, estimators[:], simple)
	by, ordered := word(a, 3, orders[:], strings.ToLower)
	if len(a) > 4 && a[4] != nil {
		complete, boolean := a[4].(bool)
		if ok = ok && boolean; complete {
			skipped = 1
		}
	}
	return []float64{0, n, tol, of, by, skipped}, ok && known && ordered && columns >= 2 && columns <= MaxColumns
}

package family

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/tributarydb/tributary/exec/kernel/f64"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/canon"
	"github.com/tributarydb/tributary/ml/shape"
	"github.com/tributarydb/tributary/sql/types"
)

// Predictor is a trained model without its encoders. It is immutable, and its
// methods may be called from any goroutine.
type Predictor interface {
	// Encode writes the canonical bytes, which contain only what was learnt.
	Encode(e *canon.E)
	// Score scores the rows, or the windows, of a block that the model's encoders
	// made.
	Score(b *block.Block) *Scores
	// Bytes returns approximately the memory that the predictor holds.
	Bytes() int64
}

// ScratchPredictor is a Predictor that needs memory while it scores.
type ScratchPredictor interface {
	// Scratch returns the memory that each goroutine needs, besides the scores.
	Scratch() int64
}

// Scratch returns what a predictor needs on each goroutine.
func Scratch(p Predictor) int64 {
	if b, ok := p.(ScratchPredictor); ok {
		return b.Scratch()
	}
	return 0
}

// Valuer is a Predictor of numbers that can be measured chunk by chunk, in the
// first-level cache. Storing the values of all rows would take fresh memory, which
// takes longer to get than to fill.
type Valuer interface {
	// Values writes the Value of rows [from, from+len(dst)) of a block of rows, both
	// multiples of f64.Lanes; ok is false where the model predicts something else.
	Values(dst []float64, b *block.Block, from int) (ok bool)
}

// Scores are the predictions of rows 0 … Rows-1, or of a block's windows; which fields
// are set depends on the task.
type Scores struct {
	Rows  int
	Value []float64 // regression
	// Classification: by class. With two classes the first may be nil: it is 1 minus the
	// second; see Prob and ClassProbs.
	Probs [][]float64
	// Clustering: the number of the cluster, from 1. Anomaly detection: 1 for an anomaly, else 0.
	Label []int32
	// Costs are what it costs to predict the second class where the first is true, nil where the likeliest class is
	// predicted; the class of the least expected cost is, otherwise.
	Costs [][]float64
	// By further output column, e.g. the distance to the cluster.
	Extra [][]float64
	// Decomposition and sequences: by component; returned as an array.
	Vector [][]float64
}

// Prob returns row i's probability of class k.
func (s *Scores) Prob(k, i int) float64 {
	if p := s.Probs[k]; p != nil {
		return p[i]
	}
	return 1 - s.Probs[1][i]
}

// ClassProbs returns all rows' probabilities of class k.
func (s *Scores) ClassProbs(k int) []float64 {
	if p := s.Probs[k]; p != nil {
		return p
	}
	out := make([]float64, s.Rows)
	for i := range out {
		out[i] = s.Prob(k, i)
	}
	return out
}

// Class returns the number of row i's most probable class, or the cheapest, the first of equals.
func (s *Scores) Class(i int) int {
	best := 0
	if s.Costs != nil {
		for k := 1; k < len(s.Probs); k++ {
			if s.cost(k, i) < s.cost(best, i) {
				best = k
			}
		}
		return best
	}
	for k := 1; k < len(s.Probs); k++ {
		if s.Prob(k, i) > s.Prob(best, i) {
			best = k
		}
	}
	return best
}

// cost is what it is expected to cost to predict class k of row i.
func (s *Scores) cost(k, i int) (sum float64) {
	for y, row := range s.Costs {
		sum += float64(s.Prob(y, i) * row[k])
	}
	return sum
}

// Classes returns Class of all rows.
func (s *Scores) Classes() []int32 {
	out := make([]int32, s.Rows)
	if s.Costs != nil {
		for i := range out {
			out[i] = int32(s.Class(i))
		}
		return out
	}
	if len(s.Probs) == 2 {
		PickTwo(out, s, 0, 1)
		return out
	}
	if len(s.Probs) < 2 {
		return out
	}
	best := slices.Clone(s.Probs[0][:s.Rows])
	for k, p := range s.Probs[1:] {
		for i, v := range p[:s.Rows] {
			var likelier uint64
			if v > best[i] {
				likelier = 1
			}
			// By a mask, as for two classes: a branch would be unpredictable.
			b, mask := math.Float64bits(best[i]), -likelier
			best[i] = math.Float64frombits(b ^ (b^math.Float64bits(v))&mask)
			out[i] ^= (out[i] ^ int32(k+1)) & int32(mask)
		}
	}
	return out
}

// PickTwo sets out[i] to first or second, by row i's class in the scores of two
// classes. It is branch-free, since the branch would be unpredictable.
func PickTwo[T int16 | int32 | int64](out []T, s *Scores, first, second T) {
	of, yes := [2]T{first, second}, s.Probs[1][:len(out)]
	if s.Probs[0] == nil {
		f64.Likelier(out, yes, first, second)
		return
	}
	for i, v := range s.Probs[0][:len(out)] {
		k := 0
		if yes[i] > v {
			k = 1
		}
		out[i] = of[k&1]
	}
}

// Keeper is a Worker that keeps the scores of its rows, so that its blocks need not be
// scored again for the metrics.
type Keeper interface {
	// Kept returns the kept scores of a block, or nil.
	Kept(r Rows) *Scores
}

// Describer is a Predictor with rows for the relations of schema ml, such as weights,
// feature_importance and centroids.
type Describer interface {
	// Describe returns the rows of a relation in the order of its columns; ok is
	// false where the model has no such thing.
	Describe(relation string) (rows [][]types.Datum, ok bool)
}

// Lister is a Predictor with a relation of schema ml that may be long.
type Lister interface {
	// List calls put with the rows of a relation, or with those of one part of the model, counted from 1; ok is
	// false where the model has no such thing. An error is put's.
	List(relation string, part int, put func(row []types.Datum) error) (ok bool, err error)
}

// Survivor is a Predictor of survival curves.
type Survivor interface {
	// Curves returns times, and by time and row the probability that the event has not
	// occurred by then.
	Curves(b *block.Block) (times []float64, left [][]float64)
	// Points bounds how many times there are.
	Points() int
}

// Forecaster is a Predictor of what comes after a series.
type Forecaster interface {
	// Forecast calls put with the time, the mean, its standard error, the confidence and the bounds of the interval of each of
	// the next values. A horizon of 0 is the model's own. An error may be put's.
	Forecast(horizon int, confidence float64, put func(row []types.Datum) error) error
}

// SeriesRows are rows of a series, by time. Effects are what regressors add to the values, nil for nothing.
type SeriesRows struct {
	Times           []int64
	Values, Effects []float64
	Options         []Arg // of the training
}

// SeriesReader is a Forecaster that can be asked about rows of a series.
type SeriesReader interface {
	// Expect returns the mean and the standard deviation of the value at each time, by what came before it: up to the end of
	// the series that was trained on by the rows, if they have values, and behind it by the model. Both are NaN where nothing
	// is expected, and more than horizon steps behind the end where that is not 0.
	Expect(ctx context.Context, r *SeriesRows, horizon int) (mean, deviation []float64, err error)
	// Backtest fits the series again as it was at earlier times, and measures the forecasts from there.
	Backtest(ctx context.Context, r *SeriesRows, f Folds) ([]float64, error)
}

// Folds says from which times forecasts are measured: from so many, each a number of steps after the other, the last one so
// that the horizon ends with the series.
type Folds struct {
	Horizon, Folds, Step int
	Confidence           float64 // of the interval
}

// Described is a Predictor that formats of other systems can take. Its error is 0A000, of a model
// that no shape describes.
type Described interface {
	// Shape returns what it computes from a block that the model's encoders made.
	Shape() (shape.Shape, error)
}

// Explainer is a Predictor that can explain predictions by feature attributions.
type Explainer interface {
	// Explain explains the predictions of a block's rows, whose scores s are.
	Explain(b *block.Block, s *Scores) *Explanation
}

// Interactor is a Predictor that can say what pairs of features contribute together.
type Interactor interface {
	// Interact calls put with a matrix for each row of a block, whose scores s are: by two features half of what they
	// contribute beyond each for itself, and in the diagonal what one contributes for itself. All together are the
	// prediction less the baseline of an Explanation. The matrix is valid during the call. An error of put ends it.
	Interact(b *block.Block, s *Scores, put func(row int, features []string, values []float64) error) error
}

// Explanation has additive feature attributions: row i's Prediction is its Baseline
// plus the sum of Parts[f][i] over all features f. They are on the scale of the margin:
// the predicted value, for two classes the log-odds of the second one, for more the
// score of the predicted class.
type Explanation struct {
	Baseline, Prediction []float64
	Features             []string
	Parts                [][]float64 // by feature
}

// Attribution is a feature's contribution to a prediction.
type Attribution struct {
	Feature string
	Value   float64
}

// Attributions returns row i's attributions, the largest first.
func (e *Explanation) Attributions(i int) []Attribution {
	out := make([]Attribution, len(e.Features))
	for f, name := range e.Features {
		out[f] = Attribution{name, e.Parts[f][i]}
	}
	slices.SortStableFunc(out, func(a, b Attribution) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	return out
}

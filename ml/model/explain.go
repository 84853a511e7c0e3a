package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
)

// Attribution is a feature's part in a prediction.
type Attribution struct {
	Feature string
	Value   float64
}

// Explanation takes predictions of a linear model apart: row i's Prediction is
// its Baseline and the sum of its Attributions. They are of the margin: the
// predicted value, for two classes the log-odds of the second one, for more the
// score of the predicted class. The baseline is that of a row whose numbers are
// at their means and which has none of the categories, so that an attribution is
// w·(x−x̄), a linear model's Shapley value for independent features (Lundberg
// and Lee 2017, section 4.1, corollary 1).
type Explanation struct {
	Baseline, Prediction []float64
	features             []string
	parts                [][]float64 // by feature
}

// Attributions are row i's, the largest first.
func (e *Explanation) Attributions(i int) []Attribution {
	out := make([]Attribution, len(e.features))
	for f, name := range e.features {
		out[f] = Attribution{name, e.parts[f][i]}
	}
	slices.SortStableFunc(out, func(a, b Attribution) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	return out
}

// Explain explains the predictions of rows 0 … n-1 of cols.
func (s *Scorer) Explain(cols []arrow.Array, n int) (*Explanation, error) {
	scores, err := s.Score(cols, n)
	if err != nil {
		return nil, err
	}
	b, err := s.m.Fitted.EncodeInto(nil, cols, n)
	if err != nil {
		return nil, err
	}
	padded, per := b.Padded(), len(s.m.Theta)/s.outputs
	// at picks the margin of each row's output out of all outputs' margins.
	at := func(z []float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			k := 0
			if s.outputs > 1 {
				k = scores.Class(i)
			}
			out[i] = z[k*padded+i]
		}
		return out
	}
	e := &Explanation{Prediction: at(s.marginsOf(b, s.m.Theta))}
	slots := s.m.Fitted.Slots()
	theta := make([]float64, len(s.m.Theta))
	only := func(keep func(slot int) bool) []float64 {
		for j := range theta {
			if theta[j] = 0; keep(j % per) {
				theta[j] = s.m.Theta[j]
			}
		}
		return at(s.marginsOf(b, theta))
	}
	e.Baseline = only(func(j int) bool { return j == per-1 })
	for j, sl := range slots {
		if slices.Contains(e.features, sl.Column) {
			continue
		}
		e.features = append(e.features, sl.Column)
		e.parts = append(e.parts, only(func(k int) bool { return k >= j && k < per-1 && slots[k].Column == sl.Column }))
	}
	return e, nil
}

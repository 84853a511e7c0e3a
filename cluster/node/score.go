package node

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/exec/profile"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/ml/profiling"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// scorer implements function.Scorer for a model. It is for one goroutine at a time.
type scorer struct {
	s *model.Scorer
	// order says, of a model of a group, which of its classes each class of all groups is, by target; -1 for none.
	// It is nil where they are the same.
	order  [][]int
	acct   *mem.Account // of the buffers of scoring, which are reused; nil where they are not charged
	memory vector.Arena // for scores that need not outlive the call
	texts  int64        // of these, what the last call returned and was charged while it was made
	bins   *profiling.Binner
}

// Score implements function.Scorer.
func (s *scorer) Score(ctx context.Context, asked []*expr.Predict, cols []arrow.Array, n int, scratch bool) ([]arrow.Array, error) {
	size := s.s.Scratch(n)
	var lent *vector.Arena
	if scratch {
		s.memory.Reset()
		lent = &s.memory
		size += 16 * int64(n) * int64(len(asked))
	}
	for _, p := range asked {
		switch p.Mode {
		case expr.PredictSeries:
			size += model.SeriesBytes(cols)
		case expr.PredictRanked:
			size += s.s.RankedBytes(n, p.Rank.K)
		case expr.PredictAttributions, expr.PredictBaseline, expr.PredictMargin:
			size += s.s.ExplainBytes(n)
		case expr.PredictTimes, expr.PredictSurvival:
			size += s.s.CurveBytes(n)
		case expr.PredictBins:
			if err := s.binner(p); err != nil {
				return nil, err
			}
			size += s.bins.Bytes(n)
		}
	}
	if s.acct != nil {
		if err := s.acct.Resize(max(s.acct.Used()-s.texts, size)); err != nil {
			return nil, err
		}
		s.texts = 0
	}
	out := make([]arrow.Array, len(asked))
	scores := map[*model.Scorer]*model.Scores{} // computed once for all expressions that read them
	ranked := map[expr.Rank]*model.Ranked{}
	curves, places := map[*model.Scorer][2]arrow.Array{}, map[*model.Scorer][2]arrow.Array{} // likewise
	for i, p := range asked {
		of, target := s.s, 0
		if len(p.Parts) > 0 {
			target = p.Parts[0] - 1
			of = of.Part(target)
		}
		var err error
		switch p.Mode {
		case expr.PredictRanked, expr.PredictScores:
			r := ranked[p.Rank]
			if r == nil {
				if r, err = of.Ranked(cols, n, family.RankBy(p.Rank.By), p.Rank.K); err != nil {
					return nil, err
				}
				ranked[p.Rank] = r
			}
			if p.Mode == expr.PredictScores {
				out[i] = r.Scores()
			} else {
				out[i], err = r.Values(p.Typ, s.grow)
			}
		case expr.PredictPlace, expr.PredictPercentile:
			c, ok := places[of]
			if !ok {
				if c, err = of.Places(cols, n); err != nil {
					return nil, err
				}
				places[of] = c
			}
			if out[i] = c[0]; p.Mode == expr.PredictPercentile {
				out[i] = c[1]
			}
		case expr.PredictAttributions, expr.PredictBaseline, expr.PredictMargin:
			out[i], err = s.explain(of, p.Mode, cols, n)
		case expr.PredictTimes, expr.PredictSurvival:
			c, ok := curves[of]
			if !ok {
				if c[0], c[1], err = of.Curves(cols, n); err != nil {
					return nil, err
				}
				curves[of] = c
			}
			if out[i] = c[0]; p.Mode == expr.PredictSurvival {
				out[i] = c[1]
			}
		case expr.PredictInteractions:
			out[i], err = s.interactions(of, cols, n)
		case expr.PredictBins:
			out[i], err = s.binned(cols, n)
		case expr.PredictSeries:
			out[i], err = of.Series(ctx, cols, n)
		default:
			r := scores[of]
			if r == nil {
				if r, err = of.Score(cols, n, lent); err != nil {
					return nil, err
				}
				scores[of] = r
			}
			if p.Mode == expr.PredictProba && s.order != nil && s.order[target] != nil {
				out[i] = r.Aligned(s.order[target], p.Output)
			} else {
				out[i], err = column(of, r, p)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// column returns the requested column of scores.
func column(of *model.Scorer, r *model.Scores, p *expr.Predict) (arrow.Array, error) {
	switch {
	case p.Mode == expr.PredictValue:
		return r.Column(p.Output), nil
	case p.Output > 0:
		return r.Probability(p.Output - 1), nil
	case len(of.Model().Classes()) == 2:
		return r.Positive()
	case len(of.Model().Classes()) > 2:
		return r.Probabilities(), nil
	}
	return nil, pgerr.Unsupported("predict_proba needs a classifier")
}

// explain returns the columns of ml.explain_predict.
func (s *scorer) explain(of *model.Scorer, mode expr.PredictMode, cols []arrow.Array, n int) (arrow.Array, error) {
	e, err := of.Explain(cols, n)
	if err != nil {
		return nil, err
	}
	switch mode {
	case expr.PredictBaseline:
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, e.Baseline, nil), nil
	case expr.PredictMargin:
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, e.Prediction, nil), nil
	}
	type part struct {
		Feature     string  `json:"feature"`
		Attribution float64 `json:"attribution"`
	}
	column := s.newDocuments()
	for i := range n {
		list := []part{}
		for _, a := range e.Attributions(i) {
			list = append(list, part{a.Feature, a.Value})
		}
		if err := column.add(list); err != nil {
			return nil, err
		}
	}
	return column.to.NewArray(), nil
}

// grow charges some of what is returned, until the next call.
func (s *scorer) grow(bytes int64) error {
	if s.acct == nil {
		return nil
	}
	if err := s.acct.Grow(bytes); err != nil {
		return err
	}
	s.texts += bytes
	return nil
}

// documents are a column of jsonb, charged as it grows: a row may have a number for each pair of features.
type documents struct {
	to array.Builder
	of *scorer
}

func (s *scorer) newDocuments() documents {
	return documents{array.NewBuilder(memory.DefaultAllocator, types.JSONB.Arrow()), s}
}

// add appends a row.
func (d documents) add(row any) error {
	text, err := json.Marshal(row)
	if err != nil {
		return pgerr.From(err)
	}
	if err := d.of.grow(2 * int64(len(text))); err != nil { // the column grows by doubling
		return err
	}
	v, err := types.ParseText(types.JSONB, string(text), types.DefaultEnv)
	if err != nil {
		return err
	}
	return types.AppendDatum(d.to, types.JSONB, v)
}

// interactions returns the column of ml.explain_interactions: of each row the pairs that contribute something, the greatest
// first, a feature with itself among them.
func (s *scorer) interactions(of *model.Scorer, cols []arrow.Array, n int) (arrow.Array, error) {
	type pair struct {
		First  string  `json:"feature_1"`
		Second string  `json:"feature_2"`
		Value  float64 `json:"interaction"`
	}
	column, pairs := s.newDocuments(), []pair{}
	err := of.Interactions(cols, n, func(_ int, features []string, values []float64) error {
		pairs = pairs[:0]
		for i := range features {
			for j := i; j < len(features); j++ {
				if v := values[i*len(features)+j]; v != 0 {
					pairs = append(pairs, pair{features[i], features[j], v})
				}
			}
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
		return column.add(pairs)
	})
	if err != nil {
		return nil, err
	}
	return column.to.NewArray(), nil
}

// binner makes what counts rows by the bins of the training rows.
func (s *scorer) binner(p *expr.Predict) error {
	if s.bins != nil {
		return nil
	}
	of, err := profile.Decode(p.Given)
	if err != nil {
		return err
	}
	if s.bins = profiling.NewBinner(s.s.Model().Fitted, of); s.bins == nil {
		return pgerr.New(pgerr.DataCorrupted, "the statistics are of other features than model %q has", p.Model)
	}
	return nil
}

// binned returns, in the first row, the counts of a data set's rows by the bins of the training rows.
func (s *scorer) binned(cols []arrow.Array, n int) (arrow.Array, error) {
	counts, err := s.bins.Count(cols, n)
	if err != nil {
		return nil, err
	}
	ends, valid := make([]int32, n+1), make([]byte, batch.BitmapBytes(n))
	for i := range n {
		ends[i+1] = int32(len(counts))
	}
	if n > 0 {
		batch.SetBit(valid, 0)
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, ends, counts, valid), nil
}

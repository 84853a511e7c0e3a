package model

import (
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// Explain explains the predictions of rows 0 … n-1 of cols; 0A000 for a model
// that cannot.
func (s *Scorer) Explain(cols []arrow.Array, n int) (*family.Explanation, error) {
	x, ok := s.m.Predictor.(family.Explainer)
	if !ok {
		return nil, pgerr.Unsupported("predictions of %s cannot be explained", s.m.Algorithm)
	}
	b, err := s.m.Fitted.EncodeInto(nil, cols, n)
	if err != nil {
		return nil, err
	}
	return x.Explain(b, s.m.Predictor.Score(b)), nil
}

// Curves returns the survival of rows 0 … n-1 of cols as columns of float8[]: the
// times, and the probability of survival at each; 0A000 for other models.
func (s *Scorer) Curves(cols []arrow.Array, n int) (times, left arrow.Array, err error) {
	x, ok := s.m.Predictor.(family.Survivor)
	if !ok {
		return nil, nil, pgerr.Unsupported("a %s knows no times", s.m.Algorithm)
	}
	b, err := s.m.Fitted.EncodeInto(nil, cols, n)
	if err != nil {
		return nil, nil, err
	}
	at, share := x.Curves(b)
	ends := make([]int32, n+1)
	for i := range ends {
		ends[i] = int32(i * len(at))
	}
	return lists(ends, slices.Repeat(at, n)), arrays(share, n), nil
}

// ExplainBytes is what Explain returns of so many rows, and CurveBytes what Curves needs.
func (s *Scorer) ExplainBytes(rows int) int64 {
	return 8 * int64(rows) * int64(len(s.m.Fitted.Cols)+3)
}

// CurveBytes: see ExplainBytes.
func (s *Scorer) CurveBytes(rows int) int64 {
	if x, ok := s.m.Predictor.(family.Survivor); ok {
		return 3 * 8 * int64(rows) * int64(x.Points())
	}
	return 0
}

// Interactions calls put for rows 0 … n-1 of cols with what pairs of features contribute (family.Interactor), until put
// returns an error; 0A000 for a model that cannot.
func (s *Scorer) Interactions(cols []arrow.Array, n int, put func(row int, features []string, values []float64) error) error {
	x, ok := s.m.Predictor.(family.Interactor)
	if !ok {
		return pgerr.Unsupported("interactions of features are those of trees, and not of %s", s.m.Algorithm)
	}
	b, err := s.m.Fitted.EncodeInto(nil, cols, n)
	if err != nil {
		return err
	}
	return x.Interact(b, s.m.Predictor.Score(b), put)
}

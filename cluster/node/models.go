package node

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// models caches decoded models by the hash of their bytes: coord.Models.
type models struct {
	mu    sync.Mutex
	byKey map[[32]byte]*model.Scorer
	order [][32]byte // oldest first
}

// maxModels is how many decoded models a node keeps.
const maxModels = 256

func newModels() *models { return &models{byKey: map[[32]byte]*model.Scorer{}} }

// Scorer implements coord.Models.
func (m *models) Scorer(_ context.Context, st *catalog.State, ref expr.ModelRef) (eval.Scorer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.byKey[ref.SHA256]; s != nil {
		return scorer{s}, nil
	}
	cm := st.ModelByOID(ref.OID)
	if cm == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model with OID %d does not exist", ref.OID)
	}
	v := cm.Find(ref.Number)
	if v == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model %q has no version %d", cm.Name, ref.Number)
	}
	if model.SHA256(v.Bytes) != v.SHA256 {
		return nil, pgerr.New(pgerr.DataCorrupted, "model %q version %d is damaged", cm.Name, v.Number)
	}
	dec, err := model.Decode(v.Bytes)
	if err != nil {
		return nil, err
	}
	s, err := model.NewScorer(dec)
	if err != nil {
		return nil, err
	}
	if len(m.order) >= maxModels {
		delete(m.byKey, m.order[0])
		m.order = m.order[1:]
	}
	m.byKey[ref.SHA256] = s
	m.order = append(m.order, ref.SHA256)
	return scorer{s}, nil
}

type scorer struct{ s *model.Scorer }

// Score implements eval.Scorer.
func (s scorer) Score(_ context.Context, mode expr.PredictMode, cols []arrow.Array, n int) (arrow.Array, error) {
	switch mode {
	case expr.PredictAttributions, expr.PredictBaseline, expr.PredictMargin:
		return s.explain(mode, cols, n)
	}
	r, err := s.s.Score(cols, n)
	if err != nil {
		return nil, err
	}
	switch {
	case mode == expr.PredictValue:
		return r.Predictions(), nil
	case len(s.s.Model().Classes()) == 2:
		return r.Positive()
	case len(s.s.Model().Classes()) > 2:
		return r.Probabilities(), nil
	}
	return nil, pgerr.Unsupported("predict_proba needs a classifier")
}

// explain gives the columns of ml.explain_predict.
func (s scorer) explain(mode expr.PredictMode, cols []arrow.Array, n int) (arrow.Array, error) {
	e, err := s.s.Explain(cols, n)
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
	b := array.NewBuilder(memory.DefaultAllocator, types.JSONB.Arrow())
	for i := range n {
		list := []part{}
		for _, a := range e.Attributions(i) {
			list = append(list, part{a.Feature, a.Value})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, pgerr.From(err)
		}
		d, err := types.ParseText(types.JSONB, string(text), types.DefaultEnv)
		if err != nil {
			return nil, err
		}
		if err := types.AppendDatum(b, types.JSONB, d); err != nil {
			return nil, err
		}
	}
	return b.NewArray(), nil
}

package node

import (
	"context"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
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

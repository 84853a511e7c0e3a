package node

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/eval"
	"github.com/tributarydb/tributary/exec/mem"
	"github.com/tributarydb/tributary/ml/model"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// models caches decoded models by the hash of their bytes: training.Models. What it
// holds is charged; it lets the ones go that were not used for longest.
type models struct {
	mu    sync.Mutex
	acct  *mem.Account
	byKey map[[32]byte]*list.Element // of *cachedModel
	used  *list.List                 // the last used in front
}

type cachedModel struct {
	key    [32]byte
	scorer *model.Scorer
	bytes  int64
}

// maxModelBytes is how much of decoded models a node keeps.
const maxModelBytes = 256 << 20

// decodedBytes bounds what a model of n encoded bytes takes when it is decoded:
// its numbers, its names and their tables, some scratch space.
func decodedBytes(n int) int64 { return 3*int64(n) + 64<<10 }

func newModels(acct *mem.Account) *models {
	return &models{acct: acct, byKey: map[[32]byte]*list.Element{}, used: list.New()}
}

func (m *models) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.used.Len() > 0 {
		m.drop()
	}
	m.acct.Close()
}

// drop lets the model go that was not used for longest.
func (m *models) drop() {
	c := m.used.Remove(m.used.Back()).(*cachedModel)
	delete(m.byKey, c.key)
	m.acct.Shrink(c.bytes)
}

// reserve charges n bytes, letting others go for them.
func (m *models) reserve(n int64) error {
	for m.used.Len() > 0 && m.acct.Used()+n > maxModelBytes {
		m.drop()
	}
	for m.used.Len() > 0 {
		if m.acct.Try(n) {
			return nil
		}
		m.drop()
	}
	return m.acct.Grow(n)
}

// Scorer implements training.Models.
func (m *models) Scorer(_ context.Context, st *catalog.State, ref expr.ModelRef) (eval.Scorer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.byKey[ref.SHA256]; e != nil {
		m.used.MoveToFront(e)
		return scorer{e.Value.(*cachedModel).scorer}, nil
	}
	cm := st.ModelByOID(ref.OID)
	if cm == nil {
		return nil, pgerr.New(pgerr.UndefinedObject, "model with OID %d does not exist", ref.OID)
	}
	v, err := cm.Want(ref.Number)
	if err != nil {
		return nil, err
	}
	if model.SHA256(v.Bytes) != v.SHA256 {
		return nil, pgerr.New(pgerr.DataCorrupted, "model %q version %d is damaged", cm.Name, v.Number)
	}
	c := &cachedModel{key: ref.SHA256, bytes: decodedBytes(len(v.Bytes))}
	if err := m.reserve(c.bytes); err != nil {
		return nil, err
	}
	dec, err := model.Decode(v.Bytes)
	if err == nil {
		c.scorer, err = model.NewScorer(dec)
	}
	if err != nil {
		m.acct.Shrink(c.bytes)
		return nil, err
	}
	m.byKey[c.key] = m.used.PushFront(c)
	return scorer{c.scorer}, nil
}

type scorer struct{ s *model.Scorer }

// Score implements eval.Scorer.
func (s scorer) Score(_ context.Context, mode expr.PredictMode, output int, cols []arrow.Array, n int) (arrow.Array, error) {
	switch mode {
	case expr.PredictAttributions, expr.PredictBaseline, expr.PredictMargin:
		return s.explain(mode, cols, n)
	case expr.PredictTimes, expr.PredictSurvival:
		times, left, err := s.s.Curves(cols, n)
		if mode == expr.PredictTimes {
			return times, err
		}
		return left, err
	}
	r, err := s.s.Score(cols, n)
	if err != nil {
		return nil, err
	}
	switch {
	case mode == expr.PredictValue:
		return r.Column(output), nil
	case output > 0:
		return r.Probability(output - 1), nil
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

package model

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/dataset"
	"github.com/tributarydb/tributary/ml/objective"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Scorer applies a model. Any number of goroutines may use it.
type Scorer struct {
	blocks  sync.Pool // of blocks that were scored
	m       *Model
	obj     objective.Objective
	outputs int
	classes classArray
}

// NewScorer prepares a model for scoring.
func NewScorer(m *Model) (*Scorer, error) {
	s := &Scorer{m: m, obj: Objective(m.Kind, m.Fitted), outputs: Outputs(m.Kind, m.Fitted)}
	if m.Kind == LogisticRegression {
		var err error
		if s.classes, err = newClassArray(m.Fitted.Label.Type, m.Fitted.Keys); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Model is the scorer's model.
func (s *Scorer) Model() *Model { return s.m }

// Scores are the results for some rows.
type Scores struct {
	Rows   int
	Value  []float64   // a regression's predictions
	Probs  [][]float64 // a classifier's probabilities, by class
	scorer *Scorer
}

// Score scores rows 0 … n-1 of cols, which are the model's Features in order.
// NULL and NaN features are imputed, so every row has a score.
func (s *Scorer) Score(cols []arrow.Array, n int) (*Scores, error) {
	b, _ := s.blocks.Get().(*dataset.Block)
	b, err := s.m.Fitted.EncodeInto(b, cols, n)
	if err != nil {
		return nil, err
	}
	out := s.ScoreBlock(b)
	s.blocks.Put(b)
	return out, nil
}

// ScoreBlock scores the rows of a block that the model's encoders made.
func (s *Scorer) ScoreBlock(b *dataset.Block) *Scores {
	z := s.Margins(b)
	n, padded := b.Rows, b.Padded()
	out := &Scores{Rows: n, scorer: s}
	s.obj.Link(z, padded)
	switch {
	case s.m.Kind == LinearRegression:
		out.Value = z[:n:n]
	case s.outputs == 1:
		p := make([]float64, n)
		for i := range p {
			p[i] = 1 - z[i]
		}
		out.Probs = [][]float64{p, z[:n:n]}
	default:
		for k := range s.outputs {
			out.Probs = append(out.Probs, z[k*padded:][:n:n])
		}
	}
	return out
}

// Margins gives the margins of all rows of a block, those that fill up the last
// tile included, output by output.
func (s *Scorer) Margins(b *dataset.Block) []float64 { return s.marginsOf(b, s.m.Theta) }

func (s *Scorer) marginsOf(b *dataset.Block, theta []float64) []float64 {
	padded, per := b.Padded(), len(theta)/s.outputs
	z := make([]float64, padded*s.outputs)
	for k := range s.outputs {
		th := theta[k*per:][:per]
		for from := 0; from < padded; from += dataset.ChunkRows {
			b.Margins(z[k*padded:][from:min(from+dataset.ChunkRows, padded)], from, th[:per-1], th[per-1])
		}
	}
	return z
}

// Class gives the number of row i's most probable class, the first of equals.
func (r *Scores) Class(i int) int {
	best := 0
	for k := 1; k < len(r.Probs); k++ {
		if r.Probs[k][i] > r.Probs[best][i] {
			best = k
		}
	}
	return best
}

// Predictions are the predicted values or classes as a column of
// Model.PredictedType.
func (r *Scores) Predictions() arrow.Array {
	if r.Value != nil || r.Probs == nil {
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.Value, nil)
	}
	idx := make([]int32, r.Rows)
	for i := range idx {
		idx[i] = int32(r.Class(i))
	}
	return r.scorer.classes.make(idx)
}

// Probability is the column of probabilities of class k.
func (r *Scores) Probability(k int) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.Probs[k], nil)
}

// Positive is the column of probabilities of a binary classifier's second
// class.
func (r *Scores) Positive() (arrow.Array, error) {
	if len(r.Probs) != 2 {
		return nil, pgerr.Unsupported("a model of %d classes has no single probability", len(r.Probs))
	}
	return r.Probability(1), nil
}

// Probabilities are the probabilities of all classes, in the order of
// Model.Classes, as a column of float8[].
func (r *Scores) Probabilities() arrow.Array {
	k := len(r.Probs)
	vals := make([]float64, r.Rows*k)
	offsets := make([]int32, r.Rows+1)
	for i := range r.Rows {
		for c := range k {
			vals[i*k+c] = r.Probs[c][i]
		}
		offsets[i+1] = int32((i + 1) * k)
	}
	data := array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Float64), r.Rows,
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))},
		[]arrow.ArrayData{batch.FromSlice(arrow.PrimitiveTypes.Float64, vals, nil).Data()}, 0, 0)
	return array.MakeFromData(data)
}

// classArray makes columns of classes.
type classArray struct {
	t    types.Type
	keys []string
	dict arrow.Array // of texts
	i64  []int64
	f64  []float64
}

func newClassArray(t types.Type, keys []string) (classArray, error) {
	c := classArray{t: t, keys: keys}
	if t.IsString() {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(keys, nil)
		c.dict = b.NewArray()
		return c, nil
	}
	for _, k := range keys {
		i, f, ok := keyValue(t, k)
		if !ok {
			return c, pgerr.New(pgerr.DataCorrupted, "invalid class in a model")
		}
		c.i64, c.f64 = append(c.i64, i), append(c.f64, f)
	}
	return c, nil
}

func (c *classArray) make(idx []int32) arrow.Array {
	n := len(idx)
	switch {
	case c.dict != nil:
		return batch.FromIndices(types.DictArrow, idx, nil, c.dict)
	case c.t.OID == types.BoolOID:
		bits := make([]byte, batch.BitmapBytes(n))
		for i, k := range idx {
			if c.i64[k] != 0 {
				batch.SetBit(bits, i)
			}
		}
		return batch.FromBits(bits, nil, n)
	case c.t.OID == types.Int2OID:
		return pick[int16](c, idx)
	case c.t.OID == types.Int4OID:
		return pick[int32](c, idx)
	case c.t.OID == types.Int8OID || c.t.IsFixed():
		return pick[int64](c, idx)
	case c.t.OID == types.Float4OID:
		return pick[float32](c, idx)
	case c.t.OID == types.Float8OID:
		return pick[float64](c, idx)
	}
	offsets := make([]int32, n+1)
	var data []byte
	for i, k := range idx {
		data = append(data, c.keys[k]...)
		offsets[i+1] = int32(len(data))
	}
	return batch.FromOffsets(arrow.BinaryTypes.Binary, offsets, data, nil)
}

func pick[T int16 | int32 | int64 | float32 | float64](c *classArray, idx []int32) arrow.Array {
	vals := make([]T, len(idx))
	for i, k := range idx {
		if c.t.OID == types.Float4OID || c.t.OID == types.Float8OID {
			vals[i] = T(c.f64[k])
		} else {
			vals[i] = T(c.i64[k])
		}
	}
	return batch.FromSlice(c.t.Arrow(), vals, nil)
}

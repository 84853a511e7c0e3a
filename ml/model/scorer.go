package model

import (
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Scorer applies a model. Any number of goroutines may use it.
type Scorer struct {
	blocks  sync.Pool // of blocks that were scored
	m       *Model
	classes classArray
	parts   []*Scorer // of several targets
}

// NewScorer prepares a model for scoring.
func NewScorer(m *Model) (*Scorer, error) {
	s := &Scorer{m: m}
	for i := range m.Targets {
		part, err := NewScorer(m.Part(i))
		if err != nil {
			return nil, err
		}
		s.parts = append(s.parts, part)
	}
	if s.parts == nil && m.Task == family.Classification {
		var err error
		if s.classes, err = newClassArray(m.Fitted.Label.Type, m.Fitted.Keys); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Part returns the scorer of one of several targets, the first being 0.
func (s *Scorer) Part(target int) *Scorer { return s.parts[target] }

// Model returns the scorer's model.
func (s *Scorer) Model() *Model { return s.m }

// Scratch returns the memory that a goroutine needs to score so many rows, besides the
// scores: a block of them, and what the predictor needs.
func (s *Scorer) Scratch(rows int) int64 {
	f := s.m.Fitted
	return block.Bytes(rows, f.Dense, f.Codes, f.Narrow) + family.Scratch(s.m.Predictor)
}

// Scores are the results for some rows.
type Scores struct {
	memory         *vector.Arena
	*family.Scores // nil where there is none
	scorer         *Scorer
	ends           []int32 // of windows: for each row, the window that it ends, or -1
}

// Score scores rows 0 … n-1 of cols, which are the model's Features in order. NULL and
// NaN features are imputed, so every row has a score. Of a model of windows the rows
// are a partition in its order, and a row has the score of the window that it ends,
// NULL where it ends none. The scores and the columns made of them are allocated in
// lent; nil: on the heap.
func (s *Scorer) Score(cols []arrow.Array, n int, lent *vector.Arena) (*Scores, error) {
	if w := s.m.Windows; w != nil {
		first, ends := w.firsts(n)
		out := &Scores{scorer: s, ends: ends}
		if len(first) == 0 {
			return out, nil
		}
		b, err := s.m.Fitted.EncodeColumns(cols, n)
		if err != nil {
			return nil, err
		}
		b.Windows, b.Length = first, w.Length
		out.Scores = s.m.score(b)
		return out, nil
	}
	b, _ := s.blocks.Get().(*block.Block)
	b, err := s.m.Fitted.EncodeInto(b, cols, n)
	if err != nil {
		return nil, err
	}
	b.Memory = lent
	out := &Scores{Scores: s.m.score(b), scorer: s, memory: lent}
	b.Memory = nil
	s.blocks.Put(b)
	return out, nil
}

// Column returns output i of the predictions as a column of the type in Model.Columns.
func (r *Scores) Column(i int) arrow.Array {
	return r.byRow(r.scorer.m.Columns()[i].Type.Arrow(), func() arrow.Array { return r.column(i) })
}

// byRow returns a column of scores as one of rows.
func (r *Scores) byRow(t arrow.DataType, scores func() arrow.Array) arrow.Array {
	switch {
	case r.ends == nil:
		return scores()
	case r.Scores == nil:
		return batch.Nulls(t, len(r.ends))
	}
	return kernel.Take(scores(), r.ends)
}

func (r *Scores) column(i int) arrow.Array {
	switch {
	case i > 0:
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.Extra[i-1], nil)
	case r.Vector != nil:
		return arrays(r.Vector, r.Rows)
	case r.Label != nil && r.scorer.m.Columns()[0].Type.OID == types.BoolOID:
		set := make([]byte, batch.BitmapBytes(r.Rows))
		for i, v := range r.Label {
			if v != 0 {
				batch.SetBit(set, i)
			}
		}
		return batch.FromBits(set, nil, r.Rows)
	case r.Label != nil:
		return batch.FromSlice(arrow.PrimitiveTypes.Int32, r.Label, nil)
	case len(r.Probs) == 2:
		if c := r.scorer.classes.ofTwo(r.Scores, r.memory); c != nil {
			return c
		}
		return r.scorer.classes.make(r.Classes())
	case r.Probs != nil:
		return r.scorer.classes.make(r.Classes())
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.Value, nil)
}

// Probability returns the column of class k's probabilities.
func (r *Scores) Probability(k int) arrow.Array {
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.ClassProbs(k), nil)
}

// Positive returns the column of probabilities of a binary classifier's second class.
func (r *Scores) Positive() (arrow.Array, error) {
	if k := len(r.scorer.m.Fitted.Keys); k != 2 {
		return nil, pgerr.Unsupported("a model of %d classes has no single probability", k)
	}
	return r.byRow(arrow.PrimitiveTypes.Float64, func() arrow.Array { return batch.FromSlice(arrow.PrimitiveTypes.Float64, r.Probs[1], nil) }), nil
}

// Probabilities returns the probabilities of all classes, in the order of
// Model.Classes, as a column of float8[].
func (r *Scores) Probabilities() arrow.Array {
	return r.byRow(arrow.ListOf(arrow.PrimitiveTypes.Float64), func() arrow.Array { return arrays(r.Probs, r.Rows) })
}

// Aligned returns the probabilities of other classes, of which order says which of the model's they are, -1 for
// none, as a column of float8[]; or those of the one with this number, from 1.
func (r *Scores) Aligned(order []int, number int) arrow.Array {
	zeros := make([]float64, r.Rows)
	of := func(k int) []float64 {
		if k < 0 {
			return zeros
		}
		return r.ClassProbs(k)
	}
	if number > 0 {
		return batch.FromSlice(arrow.PrimitiveTypes.Float64, of(order[number-1]), nil)
	}
	all := make([][]float64, len(order))
	for i, k := range order {
		all[i] = of(k)
	}
	return arrays(all, r.Rows)
}

// arrays returns a column of float8[] made of the columns of its elements.
func arrays(elems [][]float64, rows int) arrow.Array {
	k := len(elems)
	vals := make([]float64, rows*k)
	offsets := make([]int32, rows+1)
	for i := range rows {
		for c := range k {
			vals[i*k+c] = elems[c][i]
		}
		offsets[i+1] = int32((i + 1) * k)
	}
	return lists(offsets, vals)
}

// lists returns a column of float8[]: row i has the numbers from offset i to the next.
func lists(offsets []int32, vals []float64) arrow.Array {
	data := array.NewData(arrow.ListOf(arrow.PrimitiveTypes.Float64), len(offsets)-1,
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
	switch form := c.t.Form(); {
	case c.dict != nil:
		return batch.FromIndices(types.DictArrow, idx, nil, c.dict)
	case form == types.FormBool:
		bits := make([]byte, batch.BitmapBytes(n))
		for i, k := range idx {
			if c.i64[k] != 0 {
				batch.SetBit(bits, i)
			}
		}
		return batch.FromBits(bits, nil, n)
	case form == types.FormInt16:
		return pick[int16](c, idx)
	case form == types.FormInt32:
		return pick[int32](c, idx)
	case form == types.FormInt64:
		return pick[int64](c, idx)
	case form == types.FormFloat32:
		return pick[float32](c, idx)
	case form == types.FormFloat64:
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

// ofTwo returns the column of the numbers that Scores.Classes would choose, without the
// class indexes; nil where the classes are not numbers.
func (c *classArray) ofTwo(s *family.Scores, a *vector.Arena) arrow.Array {
	if c.dict != nil || s.Costs != nil {
		return nil
	}
	switch c.t.Form() {
	case types.FormInt16:
		return pickTwo[int16](c, s, a)
	case types.FormInt32:
		return pickTwo[int32](c, s, a)
	case types.FormInt64:
		return pickTwo[int64](c, s, a)
	}
	return nil
}

func pickTwo[T int16 | int32 | int64](c *classArray, s *family.Scores, a *vector.Arena) arrow.Array {
	vals := vector.Alloc[T](a, s.Rows)
	family.PickTwo(vals, s, T(c.i64[0]), T(c.i64[1]))
	return batch.FromSlice(c.t.Arrow(), vals, nil)
}

func pick[T int16 | int32 | int64 | float32 | float64](c *classArray, idx []int32) arrow.Array {
	of, vals := make([]T, len(c.keys)), make([]T, len(idx))
	for k := range of {
		if c.t.OID == types.Float4OID || c.t.OID == types.Float8OID {
			of[k] = T(c.f64[k])
		} else {
			of[k] = T(c.i64[k])
		}
	}
	for i, k := range idx {
		vals[i] = of[k]
	}
	return batch.FromSlice(c.t.Arrow(), vals, nil)
}

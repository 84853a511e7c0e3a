package model

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/ml/block"
	"github.com/tributarydb/tributary/ml/family"
	"github.com/tributarydb/tributary/ml/feature"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Ranked are lists of what a model ranks for some rows.
type Ranked struct {
	*family.Ranked
	of *feature.FitCol // whose categories they are; nil: they are numbers from 1
}

// ranker returns the predictor, and the block of rows 0 … n-1 of cols; 0A000 for a model that ranks nothing.
func (s *Scorer) ranker(cols []arrow.Array, n int) (family.Ranker, *block.Block, error) {
	x, ok := s.m.Predictor.(family.Ranker)
	if !ok {
		return nil, nil, pgerr.Unsupported("a %s ranks nothing", s.m.Algorithm)
	}
	b, err := s.m.Fitted.EncodeInto(nil, cols, n)
	return x, b, err
}

// rankedBytes is the memory of what is ranked, in a list and in two columns.
const rankedBytes = 64

// RankedBytes bounds the memory of the first k for so many rows, without texts.
func (s *Scorer) RankedBytes(rows, k int) int64 {
	if x, ok := s.m.Predictor.(family.Ranker); ok {
		k = min(k, x.Most())
	}
	return rankedBytes * int64(rows) * int64(k)
}

// Ranked returns the first k for rows 0 … n-1 of cols, which are the model's Features in order.
func (s *Scorer) Ranked(cols []arrow.Array, n int, by family.RankBy, k int) (*Ranked, error) {
	x, b, err := s.ranker(cols, n)
	if err != nil {
		return nil, err
	}
	out := &Ranked{Ranked: x.Rank(b, by, min(k, x.Most()))}
	if c := out.Column; c >= 0 {
		out.of = &s.m.Fitted.Cols[c]
	}
	return out, nil
}

// Places returns two columns of float8: the places of family.Ranker, and which share of the others comes before each.
func (s *Scorer) Places(cols []arrow.Array, n int) (out [2]arrow.Array, err error) {
	x, b, err := s.ranker(cols, n)
	if err != nil {
		return out, err
	}
	places, of := x.Places(b)
	shares, valid := make([]float64, n), make([]byte, batch.BitmapBytes(n))
	for i, p := range places {
		if p != p {
			continue
		}
		batch.SetBit(valid, i)
		if of[i] > 1 {
			shares[i] = (p - 1) / (of[i] - 1)
		}
	}
	for k, v := range [][]float64{places, shares} {
		out[k] = batch.FromSlice(arrow.PrimitiveTypes.Float64, v, valid)
	}
	return out, nil
}

// Scores returns the scores as a column of float8[].
func (r *Ranked) Scores() arrow.Array {
	return lists(append([]int32{0}, r.Ends...), r.Score)
}

// Values returns what is ranked as a column of an array type. The memory of texts is charged by grow.
func (r *Ranked) Values(t types.Type, grow func(bytes int64) error) (arrow.Array, error) {
	elem, _ := t.Elem()
	b := array.NewBuilder(memory.DefaultAllocator, t.Arrow())
	defer b.Release()
	from := int32(0)
	for _, to := range r.Ends {
		a := types.Array{Elem: elem}
		if r.of != nil {
			size := int64(0)
			for _, n := range r.Number[from:to] {
				size += int64(len(r.of.Cats[n]))
			}
			if err := grow(3 * size); err != nil { // of values, and of a column that grows by doubling
				return nil, err
			}
		}
		for _, n := range r.Number[from:to] {
			d, err := r.value(elem, n)
			if err != nil {
				return nil, err
			}
			a.Elems = append(a.Elems, d)
		}
		if err := types.AppendDatum(b, t, a); err != nil {
			return nil, err
		}
		from = to
	}
	return b.NewArray(), nil
}

// value is one of the values.
func (r *Ranked) value(t types.Type, n int32) (types.Datum, error) {
	if r.of == nil {
		return int64(n) + 1, nil
	}
	key := r.of.Cats[n]
	if t.Form() == types.FormInt64 && len(key) == 8 && t.IsInteger() {
		return int64(binary.LittleEndian.Uint64([]byte(key))), nil
	}
	return types.ParseText(t, feature.KeyText(r.of.Type, key), types.DefaultEnv)
}

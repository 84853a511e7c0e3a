package agg

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/types"
)

// newExtreme makes min or max.
func newExtreme(t types.Type, max bool) Agg {
	if t.OID == types.NumericOID && !t.IsFixed() {
		return &numericExtreme{max: max}
	}
	switch t.Arrow().ID() {
	case arrow.INT16:
		return &fixedExtreme[int16]{t: t, max: max, vals: func(a arrow.Array) []int16 { return a.(*array.Int16).Int16Values() }}
	case arrow.INT32:
		return &fixedExtreme[int32]{t: t, max: max, vals: func(a arrow.Array) []int32 { return a.(*array.Int32).Int32Values() }}
	case arrow.INT64:
		return &fixedExtreme[int64]{t: t, max: max, vals: func(a arrow.Array) []int64 { return a.(*array.Int64).Int64Values() }}
	case arrow.FLOAT64:
		return &fixedExtreme[float64]{t: t, max: max, vals: func(a arrow.Array) []float64 { return a.(*array.Float64).Float64Values() }}
	case arrow.DATE32:
		return &fixedExtreme[arrow.Date32]{t: t, max: max, vals: func(a arrow.Array) []arrow.Date32 { return a.(*array.Date32).Date32Values() }}
	case arrow.TIMESTAMP:
		return &fixedExtreme[arrow.Timestamp]{t: t, max: max, vals: func(a arrow.Array) []arrow.Timestamp { return a.(*array.Timestamp).TimestampValues() }}
	}
	return &anyExtreme{t: t, max: max}
}

// fixedExtreme is min and max of values that Go's < orders; NaN is greatest.
type fixedExtreme[T interface {
	~int16 | ~int32 | ~int64 | ~float64
	batch.Fixed
}] struct {
	t    types.Type
	max  bool
	vals func(arrow.Array) []T
	v    []T
	has  []bool
}

func (e *fixedExtreme[T]) Resize(groups int) { e.v, e.has = grown(e.v, groups), grown(e.has, groups) }

func (e *fixedExtreme[T]) put(g uint32, x T) {
	if !e.has[g] || e.better(x, e.v[g]) {
		e.v[g], e.has[g] = x, true
	}
}

// better reports whether x takes the place of cur.
func (e *fixedExtreme[T]) better(x, cur T) bool {
	switch {
	case x != x: // NaN
		return e.max && cur == cur
	case cur != cur:
		return !e.max
	}
	return e.max && x > cur || !e.max && x < cur
}

func (e *fixedExtreme[T]) Update(groups []uint32, args []arrow.Array) error {
	vals := e.vals(args[0])
	if args[0].NullN() > 0 {
		valid := bitsOf(args[0])
		for i, g := range groups {
			if valid.at(i) != 0 {
				e.put(g, vals[i])
			}
		}
		return nil
	}
	for i, g := range groups {
		e.put(g, vals[i])
	}
	return nil
}

func (e *fixedExtreme[T]) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		u, _, err := getU64(state)
		if err != nil {
			return err
		}
		var x T
		if e.t.OID == types.Float8OID {
			x = T(math.Float64frombits(u))
		} else {
			x = T(int64(u))
		}
		e.put(g, x)
	}
	return nil
}

func (e *fixedExtreme[T]) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		if !e.has[g] {
			return dst, false
		}
		var u uint64
		if e.t.OID == types.Float8OID {
			u = math.Float64bits(float64(e.v[g]))
		} else {
			u = uint64(int64(e.v[g]))
		}
		for i := 0; i < 8; i++ {
			dst = append(dst, byte(u>>(8*i)))
		}
		return dst, true
	}), nil
}

func (e *fixedExtreme[T]) Results(from, to int) (arrow.Array, error) {
	valid := make([]byte, batch.BitmapBytes(to-from))
	for i := range to - from {
		if e.has[from+i] {
			batch.SetBit(valid, i)
		}
	}
	return batch.FromSlice(e.t.Arrow(), append([]T(nil), e.v[from:to]...), valid), nil
}

func (e *fixedExtreme[T]) Bytes() int64 { return int64(cap(e.v)) * 9 }

// anyExtreme is min and max of the other types.
type anyExtreme struct {
	t    types.Type
	max  bool
	v    []types.Datum
	held int64
}

func (e *anyExtreme) Resize(groups int) { e.v = grown(e.v, groups) }

func (e *anyExtreme) put(g uint32, d types.Datum) {
	if d == nil {
		return
	}
	if cur := e.v[g]; cur != nil {
		if c := types.Compare(e.t, d, cur); e.max && c <= 0 || !e.max && c >= 0 {
			return
		}
		if s, ok := cur.(string); ok {
			e.held -= int64(len(s))
		}
	}
	if s, ok := d.(string); ok {
		// The string aliases its batch: keep a copy.
		d = string(append([]byte(nil), s...))
		e.held += int64(len(s))
	}
	e.v[g] = d
}

func (e *anyExtreme) Update(groups []uint32, args []arrow.Array) error {
	if e.t.IsString() && e.t.OID < types.FirstUserOID && e.t.EqualByBytes() {
		s := batch.StringsOf(args[0])
		for i, g := range groups {
			if s.IsNull(i) {
				continue
			}
			x := s.Value(i)
			cur, ok := e.v[g].(string)
			if ok && (e.max && x <= cur || !e.max && x >= cur) {
				continue
			}
			e.held += int64(len(x) - len(cur))
			e.v[g] = string(append([]byte(nil), x...))
		}
		return nil
	}
	for i, g := range groups {
		e.put(g, types.DatumAt(e.t, args[0], i))
	}
	return nil
}

func (e *anyExtreme) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		d, err := types.ParseBinary(e.t, state)
		if err != nil {
			return err
		}
		e.put(g, d)
	}
	return nil
}

func (e *anyExtreme) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		if e.v[g] == nil {
			return dst, false
		}
		return types.AppendBinary(dst, e.t, e.v[g]), true
	}), nil
}

func (e *anyExtreme) Results(from, to int) (arrow.Array, error) {
	return datumColumn(e.t, from, to, func(g int) (types.Datum, error) { return e.v[g], nil })
}

func (e *anyExtreme) Bytes() int64 { return int64(cap(e.v))*32 + e.held }

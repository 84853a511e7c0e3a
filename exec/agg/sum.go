package agg

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func newSum(in, out types.Type) Agg {
	switch in.OID {
	case types.Float4OID, types.Float8OID:
		return &floatSum{out: out}
	case types.IntervalOID:
		return &intervalSum{}
	case types.NumericOID:
		if !in.IsFixed() {
			return &decimalSum{}
		}
	}
	return &intSum{in: in, out: out}
}

func newAvg(in, out types.Type) Agg {
	switch in.OID {
	case types.Float4OID, types.Float8OID:
		return &floatSum{out: out, mean: true}
	case types.IntervalOID:
		return &intervalSum{mean: true}
	case types.NumericOID:
		if !in.IsFixed() {
			return &decimalSum{mean: true}
		}
	}
	return &intSum{in: in, out: out, mean: true}
}

// intSum is sum and avg of integers and fixed numerics, in 128 bits: no number
// of rows overflows it.
type intSum struct {
	in, out types.Type
	mean    bool
	s       []intState
}

// intState is a sum in 128 bits and how many values are in it.
type intState struct {
	lo    uint64
	hi, n int64
}

func (t *intState) add(v int64) {
	l, c := bits.Add64(t.lo, uint64(v), 0)
	t.lo = l
	t.hi += v>>63 + int64(c)
	t.n++
}

func (s *intSum) Resize(groups int) {
	s.s = grown(s.s, groups)
}

func addInts[T int16 | int32 | int64](s *intSum, groups []uint32, vals []T) {
	to := s.s
	for i, g := range groups {
		to[g].add(int64(vals[i]))
	}
}

func addIntsNull[T int16 | int32 | int64](s *intSum, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) { addInts(s, groups[from:to], vals[from:to]) })
}

func (s *intSum) add(g uint32, v int64) { s.s[g].add(v) }

func (s *intSum) Update(groups []uint32, args []arrow.Array) error {
	nulls := args[0].NullN() > 0
	switch a := args[0].(type) {
	case *array.Int64:
		if nulls {
			addIntsNull(s, groups, a.Int64Values(), a)
		} else {
			addInts(s, groups, a.Int64Values())
		}
	case *array.Int32:
		if nulls {
			addIntsNull(s, groups, a.Int32Values(), a)
		} else {
			addInts(s, groups, a.Int32Values())
		}
	case *array.Int16:
		if nulls {
			addIntsNull(s, groups, a.Int16Values(), a)
		} else {
			addInts(s, groups, a.Int16Values())
		}
	default:
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	return nil
}

func (s *intSum) MergeStates(groups []uint32, states *array.Binary) error {
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != intSumBytes {
			return badState()
		}
		s.merge(g, b)
	}
	return nil
}

// intSumBytes is the size of an encoded state.
const intSumBytes = 24

// merge adds an encoded state.
func (s *intSum) merge(g uint32, b []byte) {
	le := binary.LittleEndian
	l, c := bits.Add64(s.s[g].lo, le.Uint64(b), 0)
	s.s[g].lo = l
	s.s[g].hi += int64(le.Uint64(b[8:])) + int64(c)
	s.s[g].n += int64(le.Uint64(b[16:]))
}

func (s *intSum) appendState(dst []byte, g int) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint64(le.AppendUint64(dst, s.s[g].lo), uint64(s.s[g].hi)), uint64(s.s[g].n))
}

func (s *intSum) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return s.appendState(dst, g), true }), nil
}

// decimal is the sum of values with a scale.
func (s *intSum) decimal(g int, scale int32) number.Decimal {
	if v, ok := s.small(g); ok {
		return number.DecimalFromInt64(v, scale)
	}
	v := new(big.Int).SetInt64(s.s[g].hi)
	v.Lsh(v, 64)
	return number.DecimalFromBig(v.Add(v, new(big.Int).SetUint64(s.s[g].lo)), scale)
}

// small gives the sum where 64 bits hold it.
func (s *intSum) small(g int) (int64, bool) {
	v := int64(s.s[g].lo)
	return v, s.s[g].hi == v>>63
}

func (s *intSum) Results(from, to int) (arrow.Array, error) {
	scale := int32(0)
	if s.in.IsFixed() {
		scale = int32(s.in.Scale)
	}
	if s.out.OID == types.Int8OID {
		return s.integers(from, to)
	}
	value := func(g int) (number.Decimal, error) {
		d := s.decimal(g, scale)
		if s.mean {
			return d.Div(number.DecimalFromInt64(s.s[g].n, 0))
		}
		return d, nil
	}
	if !s.out.IsFixed() {
		return numericColumn(from, to, func(g int) bool { return s.s[g].n > 0 }, value)
	}
	return datumColumn(s.out, from, to, func(g int) (types.Datum, error) {
		if s.s[g].n == 0 {
			return nil, nil
		}
		return value(g)
	})
}

// integers gives sums as bigint.
func (s *intSum) integers(from, to int) (arrow.Array, error) {
	out := make([]int64, to-from)
	valid := make([]byte, batch.BitmapBytes(len(out)))
	for i := range out {
		g := from + i
		if s.s[g].n == 0 {
			continue
		}
		v, ok := s.small(g)
		if !ok {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
		}
		out[i] = v
		batch.SetBit(valid, i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, valid), nil
}

func (s *intSum) Bytes() int64 { return int64(cap(s.s)) * 24 }

// floatSum is sum and avg of floats.
type floatSum struct {
	out  types.Type
	mean bool
	s    []exact.Sum
}

func (s *floatSum) Resize(groups int) { s.s = grown(s.s, groups) }

func addFloats[T float32 | float64](s []exact.Sum, groups []uint32, vals []T, arr arrow.Array) {
	if arr.NullN() > 0 {
		for i, g := range groups {
			if !arr.IsNull(i) {
				s[g].Add(float64(vals[i]))
			}
		}
		return
	}
	for i, g := range groups {
		s[g].Add(float64(vals[i]))
	}
}

func (s *floatSum) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		addFloats(s.s, groups, a.Float64Values(), a)
	case *array.Float32:
		addFloats(s.s, groups, a.Float32Values(), a)
	default:
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	return nil
}

func (s *floatSum) MergeStates(groups []uint32, states *array.Binary) error {
	var e exact.Sum
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != exact.Bytes {
			return badState()
		}
		e.Decode(b)
		s.s[g].Merge(&e)
	}
	return nil
}

func (s *floatSum) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return s.s[g].Append(dst), true }), nil
}

func (s *floatSum) Results(from, to int) (arrow.Array, error) {
	n := to - from
	out := make([]float64, n)
	valid := make([]byte, batch.BitmapBytes(n))
	for i := range out {
		e := &s.s[from+i]
		if e.N() == 0 {
			continue
		}
		batch.SetBit(valid, i)
		if out[i] = e.Value(); math.IsInf(out[i], 0) && !e.Special() {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
		}
		if s.mean {
			out[i] /= float64(e.N())
		}
	}
	if s.out.OID == types.Float4OID {
		f := make([]float32, n)
		for i, v := range out {
			f[i] = float32(v)
			if math.IsInf(float64(f[i]), 0) && !math.IsInf(v, 0) {
				return nil, pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
			}
		}
		return batch.FromSlice(arrow.PrimitiveTypes.Float32, f, valid), nil
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, valid), nil
}

func (s *floatSum) Bytes() int64 { return int64(cap(s.s)) * 48 }

// intervalSum is sum and avg of intervals.
type intervalSum struct {
	mean bool
	sum  []datetime.Interval
	n    []int64
}

func (s *intervalSum) Resize(groups int) { s.sum, s.n = grown(s.sum, groups), grown(s.n, groups) }

func (s *intervalSum) add(g uint32, v datetime.Interval, n int64) {
	t := &s.sum[g]
	t.Months += v.Months
	t.Days += v.Days
	t.Micros += v.Micros
	s.n[g] += n
}

func (s *intervalSum) Update(groups []uint32, args []arrow.Array) error {
	for i, g := range groups {
		if v, ok := types.DatumAt(types.IntervalT, args[0], i).(datetime.Interval); ok {
			s.add(g, v, 1)
		}
	}
	return nil
}

func (s *intervalSum) MergeStates(groups []uint32, states *array.Binary) error {
	le := binary.LittleEndian
	for i, g := range groups {
		b := states.Value(i)
		if len(b) != 24 {
			return badState()
		}
		s.add(g, datetime.Interval{Micros: int64(le.Uint64(b)), Days: int32(le.Uint32(b[8:])), Months: int32(le.Uint32(b[12:]))}, int64(le.Uint64(b[16:])))
	}
	return nil
}

func (s *intervalSum) States(from, to int) (arrow.Array, error) {
	le := binary.LittleEndian
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) {
		v := s.sum[g]
		dst = le.AppendUint64(dst, uint64(v.Micros))
		dst = le.AppendUint32(le.AppendUint32(dst, uint32(v.Days)), uint32(v.Months))
		return le.AppendUint64(dst, uint64(s.n[g])), true
	}), nil
}

func (s *intervalSum) Results(from, to int) (arrow.Array, error) {
	return datumColumn(types.IntervalT, from, to, func(g int) (types.Datum, error) {
		if s.n[g] == 0 {
			return nil, nil
		}
		if s.mean {
			return datetime.IntervalDiv(s.sum[g], float64(s.n[g]))
		}
		return s.sum[g], nil
	})
}

func (s *intervalSum) Bytes() int64 { return int64(cap(s.sum)) * 24 }

package agg

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/kernel/exact"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// newSum makes sum, or avg where mean is set.
func newSum(in, out types.Type, mean bool) Agg {
	switch c := in.Class(); {
	case c == types.ClassFloat:
		return &floatSum{out: out, mean: mean}
	case c == types.ClassInterval:
		return &intervalSum{mean: mean}
	case c == types.ClassNumeric && !in.IsFixed():
		return &decimalSum{mean: mean}
	}
	return &intSum{in: in, out: out, mean: mean}
}

// intSum is sum and avg of integers and fixed numerics. A group has the sum modulo 2^64 and the
// number of values; over holds, for the few groups whose sums are beyond 64 bits, how often 2^64 is
// to be added: no number of rows overflows it.
type intSum struct {
	in, out types.Type
	mean    bool
	s       []intState
	over    map[uint32]int64
	// beside: each state has another one after it, of intVariance, so that a row meets one line of a cache.
	beside uint8 // 1
}

type intState struct{ sum, n int64 }

func (s *intSum) Resize(groups int) {
	s.s = grown(s.s, groups<<s.beside)
}

// at returns the state of group g.
func (s *intSum) at(g int) *intState { return &s.s[g<<s.beside] }

func addInts[T int16 | int32 | int64](s *intSum, groups []uint32, vals []T) {
	for i := 0; i < len(groups); i++ {
		if i += sumRun64(s.s, groups[i:], vals[i:]); i < len(groups) {
			s.add(groups[i], int64(vals[i]), 1)
		}
	}
}

// sumRun64 adds values up to the first that 64 bits do not hold, and returns how many. It calls nothing, so that
// what the loop needs is in registers, unless it is part of one that does.
//
//go:noinline
func sumRun64[T int16 | int32 | int64](states []intState, groups []uint32, vals []T) int {
	vals = vals[:len(groups)]
	for i, g := range groups {
		p, v := &states[g], int64(vals[i])
		sum := p.sum + v
		if (sum^p.sum)&(sum^v) < 0 {
			return i
		}
		p.sum = sum
		p.n++
	}
	return len(groups)
}

// carry records that adding v overflowed.
func (s *intSum) carry(g uint32, v int64) { s.addHigh(g, 1|v>>63) }

func addIntsNull[T int16 | int32 | int64](s *intSum, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) { addInts(s, groups[from:to], vals[from:to]) })
}

// add adds the sum v of n values.
func (s *intSum) add(g uint32, v, n int64) {
	p := s.at(int(g))
	sum := p.sum + v
	if (sum^p.sum)&(sum^v) < 0 {
		s.carry(g, v)
	}
	p.sum = sum
	p.n += n
}

// high returns the upper half of a sum in 128 bits.
func (s *intSum) high(g int) int64 {
	hi := s.at(g).sum >> 63
	if s.over != nil {
		hi += s.over[uint32(g)]
	}
	return hi
}

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
	for g, b := range stored(groups, states) {
		if len(b) != intSumBytes {
			return badState()
		}
		s.mergeState(g, b)
	}
	return nil
}

// mergeState adds what appendState wrote.
func (s *intSum) mergeState(g uint32, b []byte) {
	le := binary.LittleEndian
	lo, hi := int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	s.add(g, lo, int64(le.Uint64(b[16:])))
	s.addHigh(g, hi-lo>>63)
}

// addHigh adds 2^64 so many times.
func (s *intSum) addHigh(g uint32, times int64) {
	if times == 0 {
		return
	}
	if s.over == nil {
		s.over = map[uint32]int64{}
	}
	s.over[g] += times
}

// intSumBytes is the size of an encoded state.
const intSumBytes = 24

func (s *intSum) appendState(dst []byte, g int) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint64(le.AppendUint64(dst, uint64(s.at(g).sum)), uint64(s.high(g))), uint64(s.at(g).n))
}

func (s *intSum) States(from, to int) (arrow.Array, error) {
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return s.appendState(dst, g), true }), nil
}

// decimal returns the sum of values with a scale.
func (s *intSum) decimal(g int, scale int32) number.Decimal {
	return wide{uint64(s.at(g).sum), s.high(g)}.decimal(scale)
}

func (s *intSum) Results(from, to int) (arrow.Array, error) {
	scale := int32(0)
	if s.in.IsFixed() {
		scale = int32(s.in.Scale)
	}
	if s.out.OID == types.Int8OID || s.out.IsFixed() && !s.mean && s.out.Scale == uint8(scale) {
		return s.integers(from, to)
	}
	value := func(g int) (number.Decimal, error) {
		d := s.decimal(g, scale)
		if s.mean {
			return d.Div(number.DecimalFromInt64(s.at(g).n, 0))
		}
		return d, nil
	}
	if !s.out.IsFixed() {
		return numericColumn(from, to, func(g int) bool { return s.at(g).n > 0 }, value)
	}
	return datumColumn(s.out, from, to, func(g int) (types.Datum, error) {
		if s.at(g).n == 0 {
			return nil, nil
		}
		return value(g)
	})
}

// integers returns sums as bigint.
func (s *intSum) integers(from, to int) (arrow.Array, error) {
	out := make([]int64, to-from)
	valid := make([]byte, batch.BitmapBytes(len(out)))
	for i := range out {
		g := from + i
		if s.at(g).n == 0 {
			continue
		}
		v := s.at(g).sum
		if s.high(g) != v>>63 {
			return nil, pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
		}
		out[i] = v
		batch.SetBit(valid, i)
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Int64, out, valid), nil
}

func (s *intSum) Bytes() int64 { return int64(cap(s.s))*16 + int64(len(s.over))*48 }

// floatSum is sum and avg of floats.
type floatSum struct {
	out  types.Type
	mean bool
	s    exact.Sums
	of   sumsOf // not nil: it has the sums instead (View)
}

// sumsOf are sums that can be read.
type sumsOf interface {
	N(g int) int64
	Value(g int) (v float64, special bool)
	Append(dst []byte, g int) []byte
}

func (s *floatSum) sums() sumsOf {
	if s.of != nil {
		return s.of
	}
	return &s.s
}

func (s *floatSum) Resize(groups int) { s.s.Resize(groups) }

func addFloats[T float32 | float64](s *exact.Sums, groups []uint32, vals []T, arr arrow.Array) {
	batch.ValidRuns(arr, func(from, to int) { exact.AddFloats(s, groups[from:to], vals[from:to]) })
}

func (s *floatSum) Update(groups []uint32, args []arrow.Array) error {
	switch a := args[0].(type) {
	case *array.Float64:
		addFloats(&s.s, groups, a.Float64Values(), a)
	case *array.Float32:
		addFloats(&s.s, groups, a.Float32Values(), a)
	default:
		return pgerr.Internal("sum of %s", args[0].DataType())
	}
	return nil
}

func (s *floatSum) MergeStates(groups []uint32, states *array.Binary) error {
	for g, state := range stored(groups, states) {
		if !s.s.MergeBytes(g, state) {
			return badState()
		}
	}
	return nil
}

func (s *floatSum) States(from, to int) (arrow.Array, error) {
	sums := s.sums()
	return binaryColumn(from, to, func(dst []byte, g int) ([]byte, bool) { return sums.Append(dst, g), true }), nil
}

func (s *floatSum) Results(from, to int) (arrow.Array, error) {
	n, sums := to-from, s.sums()
	out := make([]float64, n)
	valid := make([]byte, batch.BitmapBytes(n))
	for i := range out {
		count := sums.N(from + i)
		if count == 0 {
			continue
		}
		batch.SetBit(valid, i)
		var special bool
		if out[i], special = sums.Value(from + i); math.IsInf(out[i], 0) && !special {
			return nil, errOverflow()
		}
		if s.mean {
			out[i] /= float64(count)
		}
	}
	if s.out.OID == types.Float4OID {
		f := make([]float32, n)
		for i, v := range out {
			f[i] = float32(v)
			if math.IsInf(float64(f[i]), 0) && !math.IsInf(v, 0) {
				return nil, errOverflow()
			}
		}
		return batch.FromSlice(arrow.PrimitiveTypes.Float32, f, valid), nil
	}
	return batch.FromSlice(arrow.PrimitiveTypes.Float64, out, valid), nil
}

func (s *floatSum) Bytes() int64 { return s.s.Held() }

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
	for g, b := range stored(groups, states) {
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

package eval

import (
	"errors"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// datum gives row i of a vec of type t as a datum, nil for NULL. Strings are
// not copied: functions must not keep them.
func (v *vec) datum(t types.Type, i int) types.Datum {
	if v.null(i) {
		return nil
	}
	if v.one {
		i = 0
	}
	switch v.kind {
	case kBool:
		return vals[uint8](v)[i] != 0
	case kI16:
		return int64(vals[int16](v)[i])
	case kI32:
		return int64(vals[int32](v)[i])
	case kI64:
		if t.OID == types.NumericOID {
			return number.DecimalFromInt64(vals[int64](v)[i], int32(t.Scale))
		}
		return vals[int64](v)[i]
	case kU32:
		return int64(vals[uint32](v)[i])
	case kF32:
		return float64(vals[float32](v)[i])
	case kF64:
		return vals[float64](v)[i]
	case kStr, kDict:
		return v.str(i)
	case kBin:
		if t.OID == types.NumericOID {
			d, err := number.DecodeDecimal(v.bytes(i))
			if err != nil {
				return number.DecimalNaN
			}
			return d
		}
		return v.bytes(i)
	case kF12:
		return datetime.GetTimeTZ(v.fixedBytes(i))
	case kF16:
		if t.OID == types.IntervalOID {
			return datetime.GetInterval(v.fixedBytes(i))
		}
		return [16]byte(v.fixedBytes(i))
	case kArr:
		return types.DatumAt(t, v.arr, i)
	}
	return nil
}

// reader gives access to the values of a vec of type t as Go values: bool,
// int64, float64, string, []byte, Decimal, Interval, TimeTZ, [16]byte, Array,
// Row, or any datum. It must not be asked for NULL rows (Datum gives nil).
func reader[T any](v *vec, t types.Type) func(int) T {
	var z T
	var f any
	if v.kind == kNull {
		return func(int) T { return z }
	}
	switch any(z).(type) {
	case bool:
		x := vals[uint8](v)
		f = pick(v, func(i int) bool { return x[i] != 0 })
	case int64:
		f = intReader(v)
	case float64:
		if v.kind == kF32 {
			x := vals[float32](v)
			f = pick(v, func(i int) float64 { return float64(x[i]) })
		} else {
			x := vals[float64](v)
			f = pick(v, func(i int) float64 { return x[i] })
		}
	case string:
		f = v.str
	case []byte:
		f = v.bytes
	case number.Decimal:
		f = decimalReader(v, t)
	case datetime.Interval:
		f = func(i int) datetime.Interval { return datetime.GetInterval(v.fixedBytes(i)) }
	case datetime.TimeTZ:
		f = func(i int) datetime.TimeTZ { return datetime.GetTimeTZ(v.fixedBytes(i)) }
	case [16]byte:
		f = func(i int) [16]byte { return [16]byte(v.fixedBytes(i)) }
	case types.Array:
		f = func(i int) types.Array { a, _ := v.datum(t, i).(types.Array); return a }
	case types.Row:
		f = func(i int) types.Row { r, _ := v.datum(t, i).(types.Row); return r }
	default:
		// T is types.Datum
		return func(i int) T { d := v.datum(t, i); r, _ := d.(T); return r }
	}
	return f.(func(int) T)
}

func pick[T any](v *vec, f func(int) T) func(int) T {
	if !v.one {
		return f
	}
	if v.n == 0 {
		return f
	}
	x := f(0)
	return func(int) T { return x }
}

func intReader(v *vec) func(int) int64 {
	switch v.kind {
	case kI16:
		x := vals[int16](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	case kI32:
		x := vals[int32](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	case kU32:
		x := vals[uint32](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	}
	x := vals[int64](v)
	return pick(v, func(i int) int64 { return x[i] })
}

func decimalReader(v *vec, t types.Type) func(int) number.Decimal {
	if v.kind == kI64 {
		x, s := vals[int64](v), int32(t.Scale)
		return pick(v, func(i int) number.Decimal { return number.DecimalFromInt64(x[i], s) })
	}
	return pick(v, func(i int) number.Decimal {
		if v.null(i) {
			return number.Decimal{}
		}
		d, err := number.DecodeDecimal(v.bytes(i))
		if err != nil {
			return number.DecimalNaN
		}
		return d
	})
}

// writer collects the n rows of a result of type t, in order.
type writer[T any] struct {
	out  *vec
	col  *column // where the values are of variable length
	set  func(i int, x T) error
	done func() *vec
}

// variable makes w's values ones of variable length.
func (w *writer[T]) variable(a *arena) {
	w.col = newColumn(a, w.out.n)
	w.done = func() *vec { w.col.end(w.out); return w.out }
}

// newWriter makes one for T as in reader. Rows that are left out hold zero.
func newWriter[T any](a *arena, t types.Type, n int) *writer[T] {
	var z T
	k := kindOf(t)
	w := &writer[T]{out: &vec{kind: k, n: n}}
	w.done = func() *vec { return w.out }
	var f any
	switch any(z).(type) {
	case bool:
		x := fixedOut[uint8](a, w.out)
		f = func(i int, b bool) error { x[i] = b2u(b); return nil }
	case int64:
		f = intWriter(a, w.out, t)
	case float64:
		if k == kF32 {
			x := fixedOut[float32](a, w.out)
			f = func(i int, v float64) error { x[i] = float32(v); return nil }
		} else {
			x := fixedOut[float64](a, w.out)
			f = func(i int, v float64) error { x[i] = v; return nil }
		}
	case string:
		w.variable(a)
		f = func(i int, s string) error { return w.col.set(i, stringBytes(s)) }
	case []byte:
		w.variable(a)
		f = w.col.set
	case number.Decimal:
		if k == kI64 {
			x := fixedOut[int64](a, w.out)
			f = func(i int, d number.Decimal) (err error) { x[i], err = types.FixedCoefficient(t, d); return err }
		} else {
			w.variable(a)
			var buf []byte
			f = func(i int, d number.Decimal) error {
				buf = d.AppendBinary(buf[:0])
				return w.col.set(i, buf)
			}
		}
	case datetime.Interval:
		x := fixedOut[[16]byte](a, w.out)
		f = func(i int, iv datetime.Interval) error { datetime.PutInterval(x[i][:], iv); return nil }
	case datetime.TimeTZ:
		x := fixedOut[[12]byte](a, w.out)
		f = func(i int, v datetime.TimeTZ) error { datetime.PutTimeTZ(x[i][:], v); return nil }
	case [16]byte:
		x := fixedOut[[16]byte](a, w.out)
		f = func(i int, u [16]byte) error { x[i] = u; return nil }
	default:
		b := array.NewBuilder(a.allocator(), t.Arrow())
		at := 0
		w.set = func(i int, d T) error {
			for ; at < i; at++ {
				b.AppendNull()
			}
			at++
			return appendTo(b, t, any(d))
		}
		w.done = func() *vec {
			for ; at < n; at++ {
				b.AppendNull()
			}
			out := fromArrow(a, b.NewArray())
			return out
		}
		return w
	}
	w.set = f.(func(int, T) error)
	return w
}

// appendTo appends a datum; NULL for a nil or an untyped nothing.
func appendTo(b array.Builder, t types.Type, d types.Datum) error {
	return types.AppendDatum(b, t, d)
}

func fixedOut[T any](a *arena, v *vec) []T {
	x := alloc[T](a, v.n)
	clear(x)
	v.p = unsafe.Pointer(unsafe.SliceData(x))
	return x
}

func intWriter(a *arena, v *vec, t types.Type) func(int, int64) error {
	switch v.kind {
	case kI16:
		x := fixedOut[int16](a, v)
		return func(i int, n int64) error {
			if int64(int16(n)) != n {
				return errRange(t)
			}
			x[i] = int16(n)
			return nil
		}
	case kI32:
		x := fixedOut[int32](a, v)
		return func(i int, n int64) error {
			if int64(int32(n)) != n {
				return errRange(t)
			}
			x[i] = int32(n)
			return nil
		}
	case kU32:
		x := fixedOut[uint32](a, v)
		return func(i int, n int64) error { x[i] = uint32(n); return nil }
	}
	x := fixedOut[int64](a, v)
	return func(i int, n int64) error { x[i] = n; return nil }
}

// ErrBatchTooLarge is in the chain of the error that a batch of more than one
// row gives when the text of one column outgrows what a batch should hold.
// Evaluating fewer rows at a time gets further.
var ErrBatchTooLarge = errors.New("result of one batch too large")

const (
	maxColumnBytes = 64 << 20 // of a batch of several rows
	maxValueBytes  = 1<<30 - 1
)

// tooLarge is the error for n rows whose text takes size bytes, nil if they may.
func tooLarge(n, size int) error {
	switch {
	case n > 1 && size > maxColumnBytes:
		return pgerr.Wrap(pgerr.ProgramLimitExceeded, ErrBatchTooLarge, "values of %d bytes in one batch", size)
	case size > maxValueBytes:
		return pgerr.New(pgerr.ProgramLimitExceeded, "invalid memory alloc request size %d", size)
	}
	return nil
}

func errRange(t types.Type) error {
	switch t.OID {
	case types.Int2OID:
		return pgerr.New(pgerr.NumericValueOutOfRange, "smallint out of range")
	case types.Int4OID:
		return pgerr.New(pgerr.NumericValueOutOfRange, "integer out of range")
	case types.Int8OID:
		return pgerr.New(pgerr.NumericValueOutOfRange, "bigint out of range")
	case types.DateOID:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
	case types.OIDOID:
		return pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
	}
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range")
}

// constVec makes a vec of n rows that all are d.
func constVec(t types.Type, d types.Datum, n int) (*vec, error) {
	if d == nil {
		return nullVec(n), nil
	}
	var arr arrow.Array
	if s, ok := d.(string); ok && t.IsString() {
		v := &vec{kind: kStr, n: n, one: true, off: []int32{0, int32(len(s))}, data: stringBytes(s)}
		return v, nil
	}
	arr, err := types.ArrayOf1(t, d, 1)
	if err != nil {
		return nil, err
	}
	v := fromArrow(nil, arr)
	v.one, v.n = true, n
	if v.kind != kArr {
		v.arr = nil
	}
	return v, nil
}

func badDatum(t types.Type, d types.Datum) error {
	return pgerr.Internal("a %T is not a value of type %s", d, t)
}

// stampAt gives a date or timestamp as a timestamp, or, zoned, as one with time
// zone, for comparing; dates beyond the range of timestamps saturate.
func stampAt(env *Env, v *vec, t types.Type, i int, zoned bool) int64 {
	x := intAt(v, i)
	var err error
	switch t.OID {
	case types.DateOID:
		y := x
		if zoned {
			x, err = datetime.DateToTimestamptz(x, env.location())
		} else {
			x, err = datetime.DateToTimestamp(x)
		}
		if err != nil {
			if y > 0 {
				return datetime.TimestampInf - 1
			}
			return datetime.TimestampNegInf + 1
		}
	case types.TimestampOID:
		if zoned {
			y := x
			if x, err = datetime.TimestampToTimestamptz(x, env.location()); err != nil {
				return y
			}
		}
	}
	return x
}

func elems(d types.Datum) []types.Datum {
	a, _ := d.(types.Array)
	return a.Elems
}

func errDimensions() error {
	return pgerr.Unsupported("multidimensional arrays are not supported")
}

func intAt(v *vec, i int) int64 {
	switch v.kind {
	case kI16:
		return int64(at[int16](v, i))
	case kI32:
		return int64(at[int32](v, i))
	case kU32:
		return int64(at[uint32](v, i))
	case kBool:
		return int64(at[uint8](v, i))
	}
	return at[int64](v, i)
}

func at[T any](v *vec, i int) T {
	if v.one {
		i = 0
	}
	var z T
	return *(*T)(unsafe.Add(v.p, i*int(unsafe.Sizeof(z))))
}

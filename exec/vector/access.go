package vector

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

// Datum returns row i of a vec of type t as a datum, nil for NULL. Strings are
// not copied: functions must not keep them.
func (v *Vec) Datum(t types.Type, i int) types.Datum {
	if v.Null(i) {
		return nil
	}
	if v.One {
		i = 0
	}
	switch v.Kind {
	case Bool:
		return Values[uint8](v)[i] != 0
	case I16:
		return int64(Values[int16](v)[i])
	case I32:
		return int64(Values[int32](v)[i])
	case I64:
		if t.OID == types.NumericOID {
			return number.DecimalFromInt64(Values[int64](v)[i], int32(t.Scale))
		}
		return Values[int64](v)[i]
	case U32:
		return int64(Values[uint32](v)[i])
	case F32:
		return float64(Values[float32](v)[i])
	case F64:
		return Values[float64](v)[i]
	case Str, Dict:
		return v.Str(i)
	case Bin:
		if t.OID == types.NumericOID {
			d, err := number.DecodeDecimal(v.Bytes(i))
			if err != nil {
				return number.DecimalNaN
			}
			return d
		}
		return v.Bytes(i)
	case F12:
		return datetime.GetTimeTZ(v.FixedBytes(i))
	case F16:
		if t.OID == types.IntervalOID {
			return datetime.GetInterval(v.FixedBytes(i))
		}
		return [16]byte(v.FixedBytes(i))
	case Arr:
		return types.DatumAt(t, v.Arr, i)
	}
	return nil
}

// Reader returns access to the values of a vec of type t as Go values: bool, int64, float64,
// string, []byte, Decimal, Interval, TimeTZ, [16]byte, Array, Row, or any datum. It must not be
// called for NULL rows (Datum returns nil).
func Reader[T any](v *Vec, t types.Type) func(int) T {
	var z T
	var f any
	if v.Kind == Null {
		return func(int) T { return z }
	}
	switch any(z).(type) {
	case bool:
		x := Values[uint8](v)
		f = pick(v, func(i int) bool { return x[i] != 0 })
	case int64:
		f = IntReader(v)
	case float64:
		if v.Kind == F32 {
			x := Values[float32](v)
			f = pick(v, func(i int) float64 { return float64(x[i]) })
		} else {
			x := Values[float64](v)
			f = pick(v, func(i int) float64 { return x[i] })
		}
	case string:
		f = v.Str
	case []byte:
		f = v.Bytes
	case number.Decimal:
		f = DecimalReader(v, t)
	case datetime.Interval:
		f = func(i int) datetime.Interval { return datetime.GetInterval(v.FixedBytes(i)) }
	case datetime.TimeTZ:
		f = func(i int) datetime.TimeTZ { return datetime.GetTimeTZ(v.FixedBytes(i)) }
	case [16]byte:
		f = func(i int) [16]byte { return [16]byte(v.FixedBytes(i)) }
	case types.Array:
		f = func(i int) types.Array { a, _ := v.Datum(t, i).(types.Array); return a }
	case types.Row:
		f = func(i int) types.Row { r, _ := v.Datum(t, i).(types.Row); return r }
	default:
		// T is types.Datum
		return func(i int) T { d := v.Datum(t, i); r, _ := d.(T); return r }
	}
	return f.(func(int) T)
}

func pick[T any](v *Vec, f func(int) T) func(int) T {
	if !v.One {
		return f
	}
	if v.N == 0 {
		return f
	}
	x := f(0)
	return func(int) T { return x }
}

// IntReader returns access to a column of integers of any width.
func IntReader(v *Vec) func(int) int64 {
	switch v.Kind {
	case I16:
		x := Values[int16](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	case I32:
		x := Values[int32](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	case U32:
		x := Values[uint32](v)
		return pick(v, func(i int) int64 { return int64(x[i]) })
	}
	x := Values[int64](v)
	return pick(v, func(i int) int64 { return x[i] })
}

// DecimalReader returns access to a column of numeric, however it is represented.
func DecimalReader(v *Vec, t types.Type) func(int) number.Decimal {
	if v.Kind == I64 {
		x, s := Values[int64](v), int32(t.Scale)
		return pick(v, func(i int) number.Decimal { return number.DecimalFromInt64(x[i], s) })
	}
	return pick(v, func(i int) number.Decimal {
		if v.Null(i) {
			return number.Decimal{}
		}
		d, err := number.DecodeDecimal(v.Bytes(i))
		if err != nil {
			return number.DecimalNaN
		}
		return d
	})
}

// Writer collects the n rows of a result of type t, in order.
type Writer[T any] struct {
	out    *Vec
	Column *Column // where the values are of variable length
	Set    func(i int, x T) error
	Done   func() *Vec
}

// variable makes w write values of variable length.
func (w *Writer[T]) variable(a *Arena) {
	w.Column = newColumn(a, w.out.N)
	w.Done = func() *Vec { w.Column.end(w.out); return w.out }
}

// NewWriter makes a writer, for the same T as Reader. Rows that are skipped hold zero.
func NewWriter[T any](a *Arena, t types.Type, n int) *Writer[T] {
	var z T
	k := t.Form()
	w := &Writer[T]{out: &Vec{Kind: k, N: n}}
	w.Done = func() *Vec { return w.out }
	var f any
	switch any(z).(type) {
	case bool:
		x := fixedOut[uint8](a, w.out)
		f = func(i int, b bool) error { x[i] = ByteOf(b); return nil }
	case int64:
		f = intWriter(a, w.out, t)
	case float64:
		if k == F32 {
			x := fixedOut[float32](a, w.out)
			f = func(i int, v float64) error { x[i] = float32(v); return nil }
		} else {
			x := fixedOut[float64](a, w.out)
			f = func(i int, v float64) error { x[i] = v; return nil }
		}
	case string:
		w.variable(a)
		f = func(i int, s string) error { return w.Column.set(i, StringBytes(s)) }
	case []byte:
		w.variable(a)
		f = w.Column.set
	case number.Decimal:
		if k == I64 {
			x := fixedOut[int64](a, w.out)
			f = func(i int, d number.Decimal) (err error) { x[i], err = types.FixedCoefficient(t, d); return err }
		} else {
			w.variable(a)
			var buf []byte
			f = func(i int, d number.Decimal) error {
				buf = d.AppendBinary(buf[:0])
				return w.Column.set(i, buf)
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
		b := array.NewBuilder(a.Allocator(), t.Arrow())
		at := 0
		w.Set = func(i int, d T) error {
			for ; at < i; at++ {
				b.AppendNull()
			}
			at++
			return appendTo(b, t, any(d))
		}
		w.Done = func() *Vec {
			for ; at < n; at++ {
				b.AppendNull()
			}
			out := FromArrow(a, b.NewArray())
			return out
		}
		return w
	}
	w.Set = f.(func(int, T) error)
	return w
}

// appendTo appends a datum; NULL for nil.
func appendTo(b array.Builder, t types.Type, d types.Datum) error {
	return types.AppendDatum(b, t, d)
}

func fixedOut[T any](a *Arena, v *Vec) []T {
	x := Alloc[T](a, v.N)
	clear(x)
	v.P = unsafe.Pointer(unsafe.SliceData(x))
	return x
}

func intWriter(a *Arena, v *Vec, t types.Type) func(int, int64) error {
	switch v.Kind {
	case I16:
		x := fixedOut[int16](a, v)
		return func(i int, n int64) error {
			if int64(int16(n)) != n {
				return ErrRange(t)
			}
			x[i] = int16(n)
			return nil
		}
	case I32:
		x := fixedOut[int32](a, v)
		return func(i int, n int64) error {
			if int64(int32(n)) != n {
				return ErrRange(t)
			}
			x[i] = int32(n)
			return nil
		}
	case U32:
		x := fixedOut[uint32](a, v)
		return func(i int, n int64) error { x[i] = uint32(n); return nil }
	}
	x := fixedOut[int64](a, v)
	return func(i int, n int64) error { x[i] = n; return nil }
}

// ErrBatchTooLarge is in the chain of the error for a batch of more than one row when the text of
// one column outgrows what a batch should hold. Evaluating fewer rows at a time may succeed.
var ErrBatchTooLarge = errors.New("result of one batch too large")

const (
	maxColumnBytes = 64 << 20 // of a batch of several rows
	maxValueBytes  = 1<<30 - 1
)

// TooLarge returns the error for n rows whose text takes size bytes, nil if they may.
func TooLarge(n, size int) error {
	switch {
	case n > 1 && size > maxColumnBytes:
		return pgerr.Wrap(pgerr.ProgramLimitExceeded, ErrBatchTooLarge, "values of %d bytes in one batch", size)
	case size > maxValueBytes:
		return pgerr.New(pgerr.ProgramLimitExceeded, "invalid memory alloc request size %d", size)
	}
	return nil
}

// ErrRange returns the error "out of range" for t.
func ErrRange(t types.Type) error {
	switch t.Class() {
	case types.ClassInteger:
		return pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", types.TypeName(t.OID))
	case types.ClassDate:
		return pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range")
	case types.ClassObject:
		return pgerr.New(pgerr.NumericValueOutOfRange, "OID out of range")
	}
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range")
}

// NewConst makes a vec of n rows that all are d.
func NewConst(t types.Type, d types.Datum, n int) (*Vec, error) {
	if d == nil {
		return NewNull(n), nil
	}
	if s, ok := d.(string); ok && t.IsString() {
		v := &Vec{Kind: Str, N: n, One: true, Off: []int32{0, int32(len(s))}, Data: StringBytes(s)}
		return v, nil
	}
	v := constNumber(t.Form(), d)
	if v == nil {
		arr, err := types.ArrayOf1(t, d, 1)
		if err != nil {
			return nil, err
		}
		v = FromArrow(nil, arr)
	}
	v.One, v.N = true, n
	if v.Kind != Arr {
		v.Arr = nil
	}
	return v, nil
}

// constNumber makes a column of one number of the most frequent widths; nil for others.
func constNumber(k Kind, d types.Datum) *Vec {
	switch x := d.(type) {
	case int64:
		switch k {
		case I32:
			return NewFixed(k, []int32{int32(x)}, nil)
		case I64:
			return NewFixed(k, []int64{x}, nil)
		}
	case float64:
		if k == F64 {
			return NewFixed(k, []float64{x}, nil)
		}
	}
	return nil
}

// BadDatum returns the error for a bug of ours: d is no value of t.
func BadDatum(t types.Type, d types.Datum) error {
	return pgerr.Internal("a %T is not a value of type %s", d, t)
}

// Elems returns the elements of an array, none for NULL.
func Elems(d types.Datum) []types.Datum {
	a, _ := d.(types.Array)
	return a.Elems
}

// ErrDimensions returns the error for arrays of arrays, which are not supported.
func ErrDimensions() error {
	return pgerr.Unsupported("multidimensional arrays are not supported")
}

// IntAt returns value i of a column of integers of any width.
func IntAt(v *Vec, i int) int64 {
	switch v.Kind {
	case I16:
		return int64(At[int16](v, i))
	case I32:
		return int64(At[int32](v, i))
	case U32:
		return int64(At[uint32](v, i))
	case Bool:
		return int64(At[uint8](v, i))
	}
	return At[int64](v, i)
}

// At returns value i of a column of fixed width.
func At[T any](v *Vec, i int) T {
	if v.One {
		i = 0
	}
	var z T
	return *(*T)(unsafe.Add(v.P, i*int(unsafe.Sizeof(z))))
}

// ListLen returns how many elements row i of a list has.
func ListLen(arr arrow.Array, i int) int {
	if l, ok := arr.(*array.List); ok {
		from, to := l.ValueOffsets(i)
		return int(to - from)
	}
	return 0
}

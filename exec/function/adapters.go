package function

import (
	"errors"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// The adapters below make an implementation of a Go function of values. Strict1 and Strict2 take a
// pure function of one or two values that cannot fail; Try0 … Try4 one that can and that gets the
// call; where it returns ErrNull the row is NULL. The value types are those of vector.Reader and
// vector.Writer. All are for strict functions; for the others there is Loose, which passes datums,
// nil for NULL.

// ErrNull is what an adapted function returns for a NULL result.
var ErrNull = errors.New("NULL")

// Each runs f for the rows that count and collects the results; ErrNull makes a row NULL.
func Each[R any](c *Call, f func(i int) (R, error)) (*vector.Vec, error) {
	w := vector.NewWriter[R](c.Arena, c.Ret, c.N)
	c.col = w.Column
	valid, cloned := c.Valid, false
	for i := range c.N {
		if c.Skip(i) {
			continue
		}
		r, err := f(i)
		if err == nil {
			err = w.Set(i, r)
		}
		if err != nil {
			if err != ErrNull && !c.null(err) {
				return nil, err
			}
			if !cloned {
				valid, cloned = vector.CloneBits(c.Arena, valid, c.N), true
			}
			valid[i>>3] &^= 1 << (i & 7)
		}
		c.RowDone()
	}
	v := w.Done()
	if v.Kind == vector.Arr || v.Kind == vector.Null || v.Arr != nil {
		return v, nil // built with its NULLs
	}
	v.Valid = valid
	return v, nil
}

// Check adapts a function that returns its argument, or an error: values are not copied.
func Check[A any](f func(c *Call, x A) error) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		a := Arg[A](c, args, 0)
		if args[0].One {
			return Each(c, func(i int) (A, error) { return a(i), f(c, a(i)) })
		}
		valid, cloned := c.Valid, false
		for i := range c.N {
			if c.Skip(i) {
				continue
			}
			if err := f(c, a(i)); err != nil {
				if !c.null(err) {
					return nil, err
				}
				if !cloned {
					valid, cloned = vector.CloneBits(c.Arena, valid, c.N), true
				}
				valid[i>>3] &^= 1 << (i & 7)
			}
			c.RowDone()
		}
		v := *args[0]
		v.Arr, v.Valid = nil, valid
		return &v, nil
	}
}

// Strict1 adapts a function of one value that cannot fail.
func Strict1[A, R any](f func(A) R) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		var v *vector.Vec
		switch f := any(f).(type) {
		case func(float64) float64:
			v = floatLoop(c, args[0], func(x float64) (float64, error) { return f(x), nil })
		case func(int64) int64:
			v = integerLoop(c, args[0], func(_ *Call, x int64) (int64, error) { return f(x), nil })
		}
		if v != nil {
			return v, nil
		}
		a := Arg[A](c, args, 0)
		return Each(c, func(i int) (R, error) { return f(a(i)), nil })
	}
}

// Strict2 adapts one of two.
func Strict2[A, B, R any](f func(A, B) R) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		if f, ok := any(f).(func(int64, int64) int64); ok {
			if v := integerPairs(c, args[0], args[1], func(_ *Call, x, y int64) (int64, error) { return f(x, y), nil }); v != nil {
				return v, nil
			}
		}
		a, b := Arg[A](c, args, 0), Arg[B](c, args, 1)
		return Each(c, func(i int) (R, error) { return f(a(i), b(i)), nil })
	}
}

// Try0 adapts a function without arguments.
func Try0[R any](f func(*Call) (R, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		return Each(c, func(int) (R, error) { return f(c) })
	}
}

// Try1 adapts a function of one value.
func Try1[A, R any](f func(*Call, A) (R, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		var v *vector.Vec
		switch f := any(f).(type) {
		case func(*Call, float64) (float64, error):
			v = floatLoop(c, args[0], func(x float64) (float64, error) { return f(c, x) })
		case func(*Call, int64) (int64, error):
			v = integerLoop(c, args[0], f)
		}
		if v != nil {
			return v, nil
		}
		a := Arg[A](c, args, 0)
		return Each(c, func(i int) (R, error) { return f(c, a(i)) })
	}
}

// Try2 adapts a function of two values.
func Try2[A, B, R any](f func(*Call, A, B) (R, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		var v *vector.Vec
		switch f := any(f).(type) {
		case func(*Call, int64, int64) (int64, error):
			v = integerPairs(c, args[0], args[1], f)
		case func(*Call, int64, datetime.Interval) (int64, error):
			if args[1].One && !args[1].Null(0) {
				by := Arg[datetime.Interval](c, args, 1)(0)
				v = integerLoop(c, args[0], func(c *Call, x int64) (int64, error) { return f(c, x, by) })
			}
		}
		if v != nil {
			return v, nil
		}
		a, b := Arg[A](c, args, 0), Arg[B](c, args, 1)
		return Each(c, func(i int) (R, error) { return f(c, a(i), b(i)) })
	}
}

// Try3 adapts a function of three values.
func Try3[A, B, C, R any](f func(*Call, A, B, C) (R, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		x, y, z := Arg[A](c, args, 0), Arg[B](c, args, 1), Arg[C](c, args, 2)
		return Each(c, func(i int) (R, error) { return f(c, x(i), y(i), z(i)) })
	}
}

// Try4 adapts a function of four values.
func Try4[A, B, C, D, R any](f func(*Call, A, B, C, D) (R, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		x, y, z := Arg[A](c, args, 0), Arg[B](c, args, 1), Arg[C](c, args, 2)
		w := Arg[D](c, args, 3)
		return Each(c, func(i int) (R, error) { return f(c, x(i), y(i), z(i), w(i)) })
	}
}

// Datums adapts a strict function of any number of arguments, passed as datums.
func Datums(f func(c *Call, args []types.Datum) (types.Datum, error)) Impl {
	return Loose(f)
}

// Loose calls f with datums, nil for NULL; for a strict function it is called only for rows without
// NULLs. A nil result is NULL.
func Loose(f func(c *Call, args []types.Datum) (types.Datum, error)) Impl {
	return func(c *Call, args []*vector.Vec) (*vector.Vec, error) {
		row := make([]types.Datum, len(args))
		w := newDatumWriter(c.Arena, c.Ret, c.N)
		c.col = w.Column
		for i := range c.N {
			if c.Skip(i) {
				continue
			}
			for k, v := range args {
				c.Boxed(v, i)
				row[k] = v.Datum(c.Types[k], i)
			}
			d, err := f(c, row)
			if err == nil && d != nil {
				err = w.Set(i, d)
			}
			if err != nil && err != ErrNull && !c.null(err) {
				return nil, err
			}
			c.RowDone()
		}
		return w.Done(), nil
	}
}

// null reports whether an error makes a row NULL.
func (c *Call) null(err error) bool { return c.NullOn != nil && c.NullOn(err) }

// RowDone releases what one row's function charged.
func (c *Call) RowDone() {
	if c.col != nil {
		c.col.Drop()
	}
	c.Meter().RowDone()
}

// Arg reads argument k of a call.
func Arg[T any](c *Call, args []*vector.Vec, k int) func(int) T {
	v := args[k]
	f := vector.Reader[T](v, c.Types[k])
	if v.Kind != vector.Arr {
		return f
	}
	return func(i int) T {
		c.Boxed(v, i)
		return f(i)
	}
}

// Boxed charges the memory of row i of an array as datums.
func (c *Call) Boxed(v *vector.Vec, i int) {
	if v.Kind == vector.Arr {
		if v.One {
			i = 0
		}
		c.Meter().Scratch(BoxedBytes * vector.ListLen(v.Arr, i))
	}
}

// BoxedBytes is the size of a datum in a slice: the interface, and the value it points to.
const BoxedBytes = 32

// newDatumWriter makes a writer of datums. Rows that are skipped are NULL.
func newDatumWriter(a *vector.Arena, t types.Type, n int) *vector.Writer[types.Datum] {
	switch t.Form() {
	case vector.Str:
		return boxing[string](a, t, n)
	case vector.Bool:
		return boxing[bool](a, t, n)
	case vector.I16, vector.I32, vector.U32, vector.I64, vector.Bin:
		switch {
		case t.OID == types.NumericOID:
			return boxing[number.Decimal](a, t, n)
		case t.Form() == vector.Bin:
			return boxing[[]byte](a, t, n)
		}
		return boxing[int64](a, t, n)
	case vector.F32, vector.F64:
		return boxing[float64](a, t, n)
	case vector.Null:
		return &vector.Writer[types.Datum]{Set: func(int, types.Datum) error { return nil }, Done: func() *vector.Vec { return vector.NewNull(n) }}
	}
	return vector.NewWriter[types.Datum](a, t, n)
}

// boxing makes a writer of datums, of Go type T, from a writer of values.
func boxing[T any](a *vector.Arena, t types.Type, n int) *vector.Writer[types.Datum] {
	w := vector.NewWriter[T](a, t, n)
	valid := vector.Alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	given := 0
	return &vector.Writer[types.Datum]{
		Column: w.Column,
		Set: func(i int, d types.Datum) error {
			x, ok := d.(T)
			if !ok {
				return vector.BadDatum(t, d)
			}
			valid[i>>3] |= 1 << (i & 7)
			given++
			return w.Set(i, x)
		},
		Done: func() *vector.Vec {
			v := w.Done()
			if given < n {
				v.Valid = valid
			}
			return v
		},
	}
}

// OrNull passes a function's text and error on as a datum.
func OrNull(s string, err error) (types.Datum, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

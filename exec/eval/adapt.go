package eval

import (
	"errors"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/tributarydb/tributary/exec/batch"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// The adapters below make an implementation of a Go function of values. Their
// names say what they take: strict1 … strict4 a pure function of one to four
// values that cannot fail; try1 … one that can and that sees the call; where it
// returns errNull the row is NULL. The value types are those of reader and
// writer. All are for strict functions; for the others there is loose, which
// gets datums, nil for NULL.

// errNull is what an adapted function returns for a NULL result.
var errNull = errors.New("NULL")

// each runs f for the rows that count and collects what it sets NULL.
func each[R any](c *call, f func(i int) (R, error)) (*vec, error) {
	w := newWriter[R](c.a, c.ret, c.n)
	c.col = w.col
	valid, cloned := c.valid, false
	for i := range c.n {
		if c.skip(i) {
			continue
		}
		r, err := f(i)
		if err == nil {
			err = w.set(i, r)
		}
		if err != nil {
			if err != errNull {
				return nil, err
			}
			if !cloned {
				valid, cloned = cloneBits(c.a, valid, c.n), true
			}
			valid[i>>3] &^= 1 << (i & 7)
		}
		c.rowDone()
	}
	v := w.done()
	if v.kind == kArr || v.kind == kNull || v.arr != nil {
		return v, nil // built with its NULLs
	}
	v.valid = valid
	return v, nil
}

func strict1[A, R any](f func(A) R) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a := arg[A](c, args, 0)
		return each(c, func(i int) (R, error) { return f(a(i)), nil })
	}
}

func strict2[A, B, R any](f func(A, B) R) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a, b := arg[A](c, args, 0), arg[B](c, args, 1)
		return each(c, func(i int) (R, error) { return f(a(i), b(i)), nil })
	}
}

func try0[R any](f func(*call) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		return each(c, func(int) (R, error) { return f(c) })
	}
}

func try1[A, R any](f func(*call, A) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a := arg[A](c, args, 0)
		return each(c, func(i int) (R, error) { return f(c, a(i)) })
	}
}

func try2[A, B, R any](f func(*call, A, B) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a, b := arg[A](c, args, 0), arg[B](c, args, 1)
		return each(c, func(i int) (R, error) { return f(c, a(i), b(i)) })
	}
}

func try3[A, B, C, R any](f func(*call, A, B, C) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		x, y, z := arg[A](c, args, 0), arg[B](c, args, 1), arg[C](c, args, 2)
		return each(c, func(i int) (R, error) { return f(c, x(i), y(i), z(i)) })
	}
}

func try4[A, B, C, D, R any](f func(*call, A, B, C, D) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		x, y, z := arg[A](c, args, 0), arg[B](c, args, 1), arg[C](c, args, 2)
		w := arg[D](c, args, 3)
		return each(c, func(i int) (R, error) { return f(c, x(i), y(i), z(i), w(i)) })
	}
}

// datums is for strict functions of many or unlike arguments.
func datums(f func(c *call, args []types.Datum) (types.Datum, error)) impl {
	return loose(f)
}

// loose calls f with datums, nil for NULL; of a strict function only rows
// without NULLs get there. A nil result is NULL.
func loose(f func(c *call, args []types.Datum) (types.Datum, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		row := make([]types.Datum, len(args))
		w := newDatumWriter(c.a, c.ret, c.n)
		c.col = w.col
		for i := range c.n {
			if c.skip(i) {
				continue
			}
			for k, v := range args {
				c.boxed(v, i)
				row[k] = v.datum(c.types[k], i)
			}
			d, err := f(c, row)
			if err != nil && err != errNull {
				return nil, err
			}
			if err == nil && d != nil {
				if err := w.set(i, d); err != nil {
					return nil, err
				}
			}
			c.rowDone()
		}
		return w.done(), nil
	}
}

// rowDone gives back what one row's function needed.
func (c *call) rowDone() {
	if c.col != nil {
		c.col.drop()
	}
	c.meter().done()
}

// arg reads argument k of a call.
func arg[T any](c *call, args []*vec, k int) func(int) T {
	v := args[k]
	f := reader[T](v, c.types[k])
	if v.kind != kArr {
		return f
	}
	return func(i int) T {
		c.boxed(v, i)
		return f(i)
	}
}

// boxed charges what row i of an array takes as datums.
func (c *call) boxed(v *vec, i int) {
	if v.kind == kArr {
		if v.one {
			i = 0
		}
		c.meter().scratch(boxedBytes * listLen(v.arr, i))
	}
}

// boxedBytes is what a datum in a slice takes: the interface, and what it
// points to.
const boxedBytes = 32

func listLen(arr arrow.Array, i int) int {
	if l, ok := arr.(*array.List); ok {
		from, to := l.ValueOffsets(i)
		return int(to - from)
	}
	return 0
}

// newDatumWriter makes a writer of datums. Rows that are left out are NULL.
func newDatumWriter(a *arena, t types.Type, n int) *writer[types.Datum] {
	switch kindOf(t) {
	case kStr:
		return boxing[string](a, t, n)
	case kBool:
		return boxing[bool](a, t, n)
	case kI16, kI32, kU32:
		return boxing[int64](a, t, n)
	case kI64:
		if t.OID != types.NumericOID {
			return boxing[int64](a, t, n)
		}
		return boxing[number.Decimal](a, t, n)
	case kF32, kF64:
		return boxing[float64](a, t, n)
	case kNull:
		return &writer[types.Datum]{set: func(int, types.Datum) error { return nil }, done: func() *vec { return nullVec(n) }}
	}
	if t.OID == types.NumericOID {
		return boxing[number.Decimal](a, t, n)
	}
	if t.OID == types.ByteaOID {
		return boxing[[]byte](a, t, n)
	}
	return newWriter[types.Datum](a, t, n)
}

// boxing makes a writer of datums of one of values.
func boxing[T any](a *arena, t types.Type, n int) *writer[types.Datum] {
	w := newWriter[T](a, t, n)
	valid := alloc[byte](a, batch.BitmapBytes(n))
	clear(valid)
	given := 0
	return &writer[types.Datum]{
		col: w.col,
		set: func(i int, d types.Datum) error {
			x, ok := d.(T)
			if !ok {
				return badDatum(t, d)
			}
			valid[i>>3] |= 1 << (i & 7)
			given++
			return w.set(i, x)
		},
		done: func() *vec {
			v := w.done()
			if given < n {
				v.valid = valid
			}
			return v
		},
	}
}

func orNil(s string, err error) (types.Datum, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

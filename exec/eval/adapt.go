package eval

import (
	"errors"

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
		if i&0x3ff == 0x3ff {
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
		}
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
		a := reader[A](args[0], c.types[0])
		return each(c, func(i int) (R, error) { return f(a(i)), nil })
	}
}

func strict2[A, B, R any](f func(A, B) R) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a, b := reader[A](args[0], c.types[0]), reader[B](args[1], c.types[1])
		return each(c, func(i int) (R, error) { return f(a(i), b(i)), nil })
	}
}

func strict3[A, B, C, R any](f func(A, B, C) R) impl {
	return func(c *call, args []*vec) (*vec, error) {
		x, y, z := reader[A](args[0], c.types[0]), reader[B](args[1], c.types[1]), reader[C](args[2], c.types[2])
		return each(c, func(i int) (R, error) { return f(x(i), y(i), z(i)), nil })
	}
}

func try0[R any](f func(*call) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		return each(c, func(int) (R, error) { return f(c) })
	}
}

func try1[A, R any](f func(*call, A) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a := reader[A](args[0], c.types[0])
		return each(c, func(i int) (R, error) { return f(c, a(i)) })
	}
}

func try2[A, B, R any](f func(*call, A, B) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		a, b := reader[A](args[0], c.types[0]), reader[B](args[1], c.types[1])
		return each(c, func(i int) (R, error) { return f(c, a(i), b(i)) })
	}
}

func try3[A, B, C, R any](f func(*call, A, B, C) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		x, y, z := reader[A](args[0], c.types[0]), reader[B](args[1], c.types[1]), reader[C](args[2], c.types[2])
		return each(c, func(i int) (R, error) { return f(c, x(i), y(i), z(i)) })
	}
}

func try4[A, B, C, D, R any](f func(*call, A, B, C, D) (R, error)) impl {
	return func(c *call, args []*vec) (*vec, error) {
		x, y, z := reader[A](args[0], c.types[0]), reader[B](args[1], c.types[1]), reader[C](args[2], c.types[2])
		w := reader[D](args[3], c.types[3])
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
		vs := make([]types.Datum, c.n)
		for i := range c.n {
			if c.skip(i) {
				continue
			}
			for k, v := range args {
				row[k] = v.datum(c.types[k], i)
			}
			d, err := f(c, row)
			if err != nil && err != errNull {
				return nil, err
			}
			if err == nil {
				vs[i] = d
			}
			if i&0x3ff == 0x3ff {
				if err := c.ctx.Err(); err != nil {
					return nil, err
				}
			}
		}
		return vecOf(c.a, c.ret, vs)
	}
}

// vecOf makes a column of datums.
func vecOf(a *arena, t types.Type, ds []types.Datum) (*vec, error) {
	switch kindOf(t) {
	case kStr:
		return fill[string](a, t, ds)
	case kBool:
		return fill[bool](a, t, ds)
	case kI16, kI32, kU32:
		return fill[int64](a, t, ds)
	case kI64:
		if t.OID != types.NumericOID {
			return fill[int64](a, t, ds)
		}
		return fill[types.Decimal](a, t, ds)
	case kF32, kF64:
		return fill[float64](a, t, ds)
	case kNull:
		return nullVec(len(ds)), nil
	}
	return fill[types.Datum](a, t, ds)
}

func fill[T any](a *arena, t types.Type, ds []types.Datum) (*vec, error) {
	w := newWriter[T](a, t, len(ds))
	var valid []byte
	for i, d := range ds {
		if d == nil {
			if valid == nil {
				valid = ones(a, len(ds))
			}
			valid[i>>3] &^= 1 << (i & 7)
			continue
		}
		x, ok := d.(T)
		if !ok {
			return nil, badDatum(t, d)
		}
		if err := w.set(i, x); err != nil {
			return nil, err
		}
	}
	v := w.done()
	if v.kind != kArr && v.arr == nil {
		v.valid = valid
	}
	return v, nil
}

package mathfn

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// ErrDivZero returns the error of a divisor that is 0.
func ErrDivZero() error { return pgerr.New(pgerr.DivisionByZero, "division by zero") }

// ErrFloatOver returns PostgreSQL's error for a float that is too large.
func ErrFloatOver() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
}

// ErrFloatUnder returns PostgreSQL's error for a float that is too small.
func ErrFloatUnder() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
}

// addArithmetic registers + - * / % and the signs for integers and floats.
func addArithmetic(t function.Table) {
	ints := []string{"2", "4", "8"}
	for _, l := range ints {
		for _, r := range ints {
			args := "(int" + l + ",int" + r + ")"
			name := "int" + l
			if l != r {
				name += r
			}
			t.Put(name+"pl"+args, intArith(arAdd))
			t.Put(name+"mi"+args, intArith(arSub))
			t.Put(name+"mul"+args, intArith(arMul))
			t.Put(name+"div"+args, intArith(arDiv))
			if l == r {
				t.Puts(intArith(arMod), name+"mod"+args, "mod"+args)
			}
		}
		one := "(int" + l + ")"
		t.Put("int"+l+"um"+one, function.Always(function.Try1(func(c *function.Call, v int64) (int64, error) {
			if v == math.MinInt64 {
				return 0, vector.ErrRange(c.Ret)
			}
			return -v, nil
		})))
		t.Put("int"+l+"up"+one, function.Always(Same))
		t.Puts(function.Always(function.Try1(func(c *function.Call, v int64) (int64, error) {
			if v < 0 {
				if v == math.MinInt64 {
					return 0, vector.ErrRange(c.Ret)
				}
				v = -v
			}
			return v, nil
		})), "int"+l+"abs"+one, "abs"+one)
		two := "(int" + l + ",int" + l + ")"
		t.Put("int"+l+"and"+two, intBits(bitAnd))
		t.Put("int"+l+"or"+two, intBits(bitOr))
		t.Put("int"+l+"xor"+two, intBits(bitXor))
		t.Put("int"+l+"not"+one, function.Always(function.Strict1(func(a int64) int64 { return ^a })))
		sh := "(int" + l + ",int4)"
		t.Put("int"+l+"shl"+sh, intBits(bitLeft))
		t.Put("int"+l+"shr"+sh, intBits(bitRight))
	}
	for _, l := range []string{"4", "8"} {
		for _, r := range []string{"4", "8"} {
			args := "(float" + l + ",float" + r + ")"
			name := "float" + l
			if l != r {
				name += r
			}
			t.Put(name+"pl"+args, floatArith(arAdd))
			t.Put(name+"mi"+args, floatArith(arSub))
			t.Put(name+"mul"+args, floatArith(arMul))
			t.Put(name+"div"+args, floatArith(arDiv))
		}
		one := "(float" + l + ")"
		t.Put("float"+l+"um"+one, function.Always(function.Strict1(func(v float64) float64 { return -v })))
		t.Put("float"+l+"up"+one, function.Always(Same))
		t.Puts(function.Always(function.Strict1(math.Abs)), "float"+l+"abs"+one, "abs"+one)
	}
}

// Same returns the first argument.
func Same(_ *function.Call, args []*vector.Vec) (*vector.Vec, error) { return args[0], nil }

type arOp uint8

const (
	arAdd arOp = iota
	arSub
	arMul
	arDiv
	arMod
)

// intArith is integer arithmetic in the result's width. A loop without checks records whether any
// row overflowed; only then a second one searches for such a row that counts.
func intArith(op arOp) function.Maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
		var run function.Impl
		switch ret.Form() {
		case vector.I16:
			run = narrowArith[int16](op)
		case vector.I32:
			run = narrowArith[int32](op)
		default:
			run = wideArith(op)
		}
		if at[0].OID == ret.OID && at[1].OID == ret.OID {
			return run
		}
		k := ret.Form()
		return compare.Widened(k, func(a *vector.Arena, v *vector.Vec) *vector.Vec {
			if k == vector.I32 {
				return compare.Convert[int16, int32](a, v, vector.I32)
			}
			return compare.WidenInt(a, v)
		}, run)
	}
}

// narrowArith computes int2 and int4 in int64, where nothing overflows.
func narrowArith[T int16 | int32](op arOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[T](c.Arena, c.N)
		var over int64
		l, r := args[0], args[1]
		if op == arDiv || op == arMod {
			return divNarrow[T](c, op, l, r, out)
		}
		switch {
		case r.One:
			x, y := compare.SpreadVals[T](c, l)[:len(out)], int64(vector.Values[T](r)[0])
			switch op {
			case arAdd:
				for i := range out {
					s := int64(x[i]) + y
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			case arSub:
				for i := range out {
					s := int64(x[i]) - y
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			case arMul:
				for i := range out {
					s := int64(x[i]) * y
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			}
		default:
			x, y := compare.SpreadVals[T](c, l)[:len(out)], vector.Values[T](r)[:len(out)]
			switch op {
			case arAdd:
				for i := range out {
					s := int64(x[i]) + int64(y[i])
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			case arSub:
				for i := range out {
					s := int64(x[i]) - int64(y[i])
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			case arMul:
				for i := range out {
					s := int64(x[i]) * int64(y[i])
					out[i] = T(s)
					over |= s ^ int64(T(s))
				}
			}
		}
		if over != 0 {
			x, y := vector.IntReader(l), vector.IntReader(r)
			for i := range out {
				if c.Skip(i) {
					continue
				}
				s := int64(0)
				switch op {
				case arAdd:
					s = x(i) + y(i)
				case arSub:
					s = x(i) - y(i)
				case arMul:
					s = x(i) * y(i)
				}
				if int64(T(s)) != s {
					return nil, vector.ErrRange(c.Ret)
				}
			}
		}
		return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
	}
}

func divNarrow[T int16 | int32](c *function.Call, op arOp, l, r *vector.Vec, out []T) (*vector.Vec, error) {
	if byConstant(c, op, l, r, out) {
		return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
	}
	x, y := vector.IntReader(l), vector.IntReader(r)
	for i := range out {
		if c.Skip(i) {
			out[i] = 0
			continue
		}
		d := y(i)
		if d == 0 {
			return nil, ErrDivZero()
		}
		if op == arMod {
			out[i] = T(x(i) % d)
			continue
		}
		q := x(i) / d
		if int64(T(q)) != q {
			return nil, vector.ErrRange(c.Ret)
		}
		out[i] = T(q)
	}
	return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
}

// wideArith is int8 arithmetic.
func wideArith(op arOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[int64](c.Arena, c.N)
		l, r := args[0], args[1]
		if (op == arDiv || op == arMod) && byConstant(c, op, l, r, out) {
			return vector.NewFixed(vector.I64, out, c.Valid), nil
		}
		if op == arDiv || op == arMod {
			x, y := vector.IntReader(l), vector.IntReader(r)
			for i := range out {
				if c.Skip(i) {
					out[i] = 0
					continue
				}
				d := y(i)
				switch {
				case d == 0:
					return nil, ErrDivZero()
				case d == -1:
					if op == arMod {
						out[i] = 0
						continue
					}
					if x(i) == math.MinInt64 {
						return nil, vector.ErrRange(c.Ret)
					}
					out[i] = -x(i)
				case op == arMod:
					out[i] = x(i) % d
				default:
					out[i] = x(i) / d
				}
			}
			return vector.NewFixed(vector.I64, out, c.Valid), nil
		}
		if !rawArith(c, op, out, l, r) {
			x, y := vector.IntReader(l), vector.IntReader(r)
			for i := range out {
				if c.Skip(i) {
					continue
				}
				if overflows(op, x(i), y(i)) {
					return nil, vector.ErrRange(c.Ret)
				}
			}
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

// rawArith computes + - * over int64 and reports whether no row overflowed.
func rawArith(c *function.Call, op arOp, out []int64, l, r *vector.Vec) bool {
	if l.One && !r.One && op != arSub {
		l, r = r, l
	}
	x := compare.SpreadVals[int64](c, l)[:len(out)]
	over, bad := int64(0), int64(0)
	if r.One {
		y := vector.Values[int64](r)[0]
		switch op {
		case arAdd:
			for i, a := range x {
				s := a + y
				out[i] = s
				over |= (a ^ s) & (y ^ s)
			}
		case arSub:
			for i, a := range x {
				s := a - y
				out[i] = s
				over |= (a ^ y) & (a ^ s)
			}
		case arMul:
			for i, a := range x {
				hi, lo := Mul128(a, y)
				out[i] = lo
				bad |= hi ^ lo>>63
			}
		}
		return over >= 0 && bad == 0
	}
	y := vector.Values[int64](r)[:len(out)]
	switch op {
	case arAdd:
		for i, a := range x {
			s := a + y[i]
			out[i] = s
			over |= (a ^ s) & (y[i] ^ s)
		}
	case arSub:
		for i, a := range x {
			s := a - y[i]
			out[i] = s
			over |= (a ^ y[i]) & (a ^ s)
		}
	case arMul:
		for i, a := range x {
			hi, lo := Mul128(a, y[i])
			out[i] = lo
			bad |= hi ^ lo>>63
		}
	}
	return over >= 0 && bad == 0
}

// Mul128 returns the signed 128-bit product.
func Mul128(a, b int64) (hi, lo int64) {
	h, l := bits.Mul64(uint64(a), uint64(b))
	h -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a)
	return int64(h), int64(l)
}

func overflows(op arOp, a, b int64) bool {
	switch op {
	case arAdd:
		s := a + b
		return (a^s)&(b^s) < 0
	case arSub:
		s := a - b
		return (a^b)&(a^s) < 0
	}
	hi, lo := Mul128(a, b)
	return hi != lo>>63
}

// floatArith is arithmetic of floats: an infinite result of finite operands and
// a zero product or quotient of others are errors.
func floatArith(op arOp) function.Maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
		if ret.OID == types.Float4OID {
			return floatKernel[float32](op)
		}
		if at[0].OID == ret.OID && at[1].OID == ret.OID {
			return floatKernel[float64](op)
		}
		return compare.Widened(vector.F64, compare.WidenFloat, floatKernel[float64](op))
	}
}

func floatKernel[T compare.Float](op arOp) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		out := vector.Alloc[T](c.Arena, c.N)
		x, y := compare.SpreadVals[T](c, args[0])[:len(out)], compare.SpreadVals[T](c, args[1])[:len(out)]
		// a row whose result is not finite, or for * and / zero, may be an error: such rows are
		// checked one by one
		odd := false
		switch op {
		case arAdd:
			for i := range out {
				s := x[i] + y[i]
				out[i] = s
				odd = odd || s-s != 0
			}
		case arSub:
			for i := range out {
				s := x[i] - y[i]
				out[i] = s
				odd = odd || s-s != 0
			}
		case arMul:
			for i := range out {
				s := x[i] * y[i]
				out[i] = s
				odd = odd || s-s != 0 || s == 0
			}
		case arDiv:
			for i := range out {
				s := x[i] / y[i]
				out[i] = s
				odd = odd || s-s != 0 || s == 0
			}
		}
		if odd {
			for i, s := range out {
				if s-s == 0 && s != 0 || c.Skip(i) {
					continue
				}
				a, b := float64(x[i]), float64(y[i])
				if op == arDiv && b == 0 && !math.IsNaN(a) {
					return nil, ErrDivZero()
				}
				if math.IsInf(float64(s), 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
					return nil, ErrFloatOver()
				}
				if s == 0 && (op == arMul && a != 0 && b != 0 || op == arDiv && a != 0 && !math.IsInf(b, 0)) {
					return nil, ErrFloatUnder()
				}
			}
		}
		return vector.NewFixed(c.Ret.Form(), out, c.Valid), nil
	}
}

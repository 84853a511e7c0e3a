package eval

import (
	"math"
	"math/bits"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func errDivZero() error { return pgerr.New(pgerr.DivisionByZero, "division by zero") }

func errFloatOver() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: overflow")
}

func errFloatUnder() error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value out of range: underflow")
}

// addArithmetic registers + - * / % and the signs for integers and floats.
func addArithmetic(t table) {
	ints := []string{"2", "4", "8"}
	for _, l := range ints {
		for _, r := range ints {
			args := "(int" + l + ",int" + r + ")"
			name := "int" + l
			if l != r {
				name += r
			}
			t.put(name+"pl"+args, intArith(arAdd))
			t.put(name+"mi"+args, intArith(arSub))
			t.put(name+"mul"+args, intArith(arMul))
			t.put(name+"div"+args, intArith(arDiv))
			if l == r {
				t.puts(intArith(arMod), name+"mod"+args, "mod"+args)
			}
		}
		one := "(int" + l + ")"
		t.put("int"+l+"um"+one, always(try1(func(c *call, v int64) (int64, error) {
			if v == math.MinInt64 {
				return 0, errRange(c.ret)
			}
			return -v, nil
		})))
		t.put("int"+l+"up"+one, always(same))
		t.puts(always(try1(func(c *call, v int64) (int64, error) {
			if v < 0 {
				if v == math.MinInt64 {
					return 0, errRange(c.ret)
				}
				v = -v
			}
			return v, nil
		})), "int"+l+"abs"+one, "abs"+one)
		two := "(int" + l + ",int" + l + ")"
		t.put("int"+l+"and"+two, always(strict2(func(a, b int64) int64 { return a & b })))
		t.put("int"+l+"or"+two, always(strict2(func(a, b int64) int64 { return a | b })))
		t.put("int"+l+"xor"+two, always(strict2(func(a, b int64) int64 { return a ^ b })))
		t.put("int"+l+"not"+one, always(strict1(func(a int64) int64 { return ^a })))
		sh := "(int" + l + ",int4)"
		width := map[string]uint{"2": 32, "4": 32, "8": 64}[l] // C promotes int2
		wrap := map[string]func(int64) int64{
			"2": func(v int64) int64 { return int64(int16(v)) },
			"4": func(v int64) int64 { return int64(int32(v)) },
			"8": func(v int64) int64 { return v },
		}[l]
		t.put("int"+l+"shl"+sh, always(strict2(func(a, n int64) int64 { return wrap(a << (uint(n) % width)) })))
		t.put("int"+l+"shr"+sh, always(strict2(func(a, n int64) int64 { return wrap(a >> (uint(n) % width)) })))
	}
	for _, l := range []string{"4", "8"} {
		for _, r := range []string{"4", "8"} {
			args := "(float" + l + ",float" + r + ")"
			name := "float" + l
			if l != r {
				name += r
			}
			t.put(name+"pl"+args, floatArith(arAdd))
			t.put(name+"mi"+args, floatArith(arSub))
			t.put(name+"mul"+args, floatArith(arMul))
			t.put(name+"div"+args, floatArith(arDiv))
		}
		one := "(float" + l + ")"
		t.put("float"+l+"um"+one, always(strict1(func(v float64) float64 { return -v })))
		t.put("float"+l+"up"+one, always(same))
		t.puts(always(strict1(math.Abs)), "float"+l+"abs"+one, "abs"+one)
	}
}

// same gives the first argument.
func same(_ *call, args []*vec) (*vec, error) { return args[0], nil }

type arOp uint8

const (
	arAdd arOp = iota
	arSub
	arMul
	arDiv
	arMod
)

// intArith is integer arithmetic in the result's width. A loop without checks
// notes whether any row overflowed; only then does a second one look for a row
// that counts.
func intArith(op arOp) maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) impl {
		var run impl
		switch kindOf(ret) {
		case kI16:
			run = narrowArith[int16](op)
		case kI32:
			run = narrowArith[int32](op)
		default:
			run = wideArith(op)
		}
		if at[0].OID == ret.OID && at[1].OID == ret.OID {
			return run
		}
		k := kindOf(ret)
		return widened(k, func(a *arena, v *vec) *vec {
			if k == kI32 {
				return convert[int16, int32](a, v, kI32)
			}
			return widenInt(a, v)
		}, run)
	}
}

// narrowArith computes int2 and int4 in int64, where nothing overflows.
func narrowArith[T int16 | int32](op arOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[T](c.a, c.n)
		var over int64
		l, r := args[0], args[1]
		if op == arDiv || op == arMod {
			return divNarrow[T](c, op, l, r, out)
		}
		switch {
		case r.one:
			x, y := spreadVals[T](c, l)[:len(out)], int64(vals[T](r)[0])
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
			x, y := spreadVals[T](c, l)[:len(out)], vals[T](r)[:len(out)]
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
			x, y := intReader(l), intReader(r)
			for i := range out {
				if c.skip(i) {
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
					return nil, errRange(c.ret)
				}
			}
		}
		return fixedVec(kindOf(c.ret), out, c.valid), nil
	}
}

func divNarrow[T int16 | int32](c *call, op arOp, l, r *vec, out []T) (*vec, error) {
	x, y := intReader(l), intReader(r)
	for i := range out {
		if c.skip(i) {
			out[i] = 0
			continue
		}
		d := y(i)
		if d == 0 {
			return nil, errDivZero()
		}
		if op == arMod {
			out[i] = T(x(i) % d)
			continue
		}
		q := x(i) / d
		if int64(T(q)) != q {
			return nil, errRange(c.ret)
		}
		out[i] = T(q)
	}
	return fixedVec(kindOf(c.ret), out, c.valid), nil
}

// wideArith is int8 arithmetic.
func wideArith(op arOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[int64](c.a, c.n)
		l, r := args[0], args[1]
		if op == arDiv || op == arMod {
			x, y := intReader(l), intReader(r)
			for i := range out {
				if c.skip(i) {
					out[i] = 0
					continue
				}
				d := y(i)
				switch {
				case d == 0:
					return nil, errDivZero()
				case d == -1:
					if op == arMod {
						out[i] = 0
						continue
					}
					if x(i) == math.MinInt64 {
						return nil, errRange(c.ret)
					}
					out[i] = -x(i)
				case op == arMod:
					out[i] = x(i) % d
				default:
					out[i] = x(i) / d
				}
			}
			return fixedVec(kI64, out, c.valid), nil
		}
		if !rawArith(c, op, out, l, r) {
			x, y := intReader(l), intReader(r)
			for i := range out {
				if c.skip(i) {
					continue
				}
				if overflows(op, x(i), y(i)) {
					return nil, errRange(c.ret)
				}
			}
		}
		return fixedVec(kI64, out, c.valid), nil
	}
}

// rawArith computes + - * over int64 and tells whether no row overflowed.
func rawArith(c *call, op arOp, out []int64, l, r *vec) bool {
	if l.one && !r.one && op != arSub {
		l, r = r, l
	}
	x := spreadVals[int64](c, l)[:len(out)]
	over, bad := int64(0), int64(0)
	if r.one {
		y := vals[int64](r)[0]
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
				hi, lo := mul128(a, y)
				out[i] = lo
				bad |= hi ^ lo>>63
			}
		}
		return over >= 0 && bad == 0
	}
	y := vals[int64](r)[:len(out)]
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
			hi, lo := mul128(a, y[i])
			out[i] = lo
			bad |= hi ^ lo>>63
		}
	}
	return over >= 0 && bad == 0
}

// mul128 is the signed 128-bit product.
func mul128(a, b int64) (hi, lo int64) {
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
	hi, lo := mul128(a, b)
	return hi != lo>>63
}

// floatArith is arithmetic of floats: an infinite result of finite operands and
// a zero product or quotient of others are errors.
func floatArith(op arOp) maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) impl {
		if ret.OID == types.Float4OID {
			return floatKernel[float32](op)
		}
		if at[0].OID == ret.OID && at[1].OID == ret.OID {
			return floatKernel[float64](op)
		}
		return widened(kF64, widenFloat, floatKernel[float64](op))
	}
}

func floatKernel[T float](op arOp) impl {
	return func(c *call, args []*vec) (*vec, error) {
		out := alloc[T](c.a, c.n)
		x, y := spreadVals[T](c, args[0])[:len(out)], spreadVals[T](c, args[1])[:len(out)]
		// a result that is neither finite nor, for * and /, other than zero is
		// looked at again
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
				if c.skip(i) {
					continue
				}
				a, b := float64(x[i]), float64(y[i])
				if op == arDiv && b == 0 && !math.IsNaN(a) {
					return nil, errDivZero()
				}
				if math.IsInf(float64(s), 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
					return nil, errFloatOver()
				}
				if s == 0 && (op == arMul && a != 0 && b != 0 || op == arDiv && a != 0 && !math.IsInf(b, 0)) {
					return nil, errFloatUnder()
				}
			}
		}
		return fixedVec(kindOf(c.ret), out, c.valid), nil
	}
}

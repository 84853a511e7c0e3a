package eval

import (
	"math"

	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// pow10 are the powers of ten that int64 holds.
var pow10 = func() (t [19]int64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

// addNumeric registers numeric's functions. Fixed numerics are int64 loops that
// need no checks where Bind has proved the result to fit; the others go through
// Decimal, small coefficients by a short way.
func addNumeric(t table) {
	t.put("numeric_add(numeric,numeric)", numArith(arAdd))
	t.put("numeric_sub(numeric,numeric)", numArith(arSub))
	t.put("numeric_mul(numeric,numeric)", numArith(arMul))
	t.puts(numMod, "numeric_mod(numeric,numeric)", "mod(numeric,numeric)")
	t.put("numeric_div(numeric,numeric)", always(dec2(number.Decimal.Div)))
	t.puts(always(dec2(number.Decimal.DivTrunc)), "div(numeric,numeric)", "numeric_div_trunc(numeric,numeric)")
	t.puts(always(dec2(number.Decimal.Pow)), "numeric_power(numeric,numeric)", "pow(numeric,numeric)", "power(numeric,numeric)")
	t.puts(always(dec2(number.Log)), "log(numeric,numeric)", "numeric_log(numeric,numeric)")
	t.put("lcm(numeric,numeric)", always(dec2(number.Decimal.LCM)))
	t.put("gcd(numeric,numeric)", always(strict2(number.Decimal.GCD)))
	t.puts(always(dec1(number.Decimal.Sqrt)), "numeric_sqrt(numeric)", "sqrt(numeric)")
	t.puts(always(dec1(number.Decimal.Exp)), "numeric_exp(numeric)", "exp(numeric)")
	t.puts(always(dec1(number.Decimal.Ln)), "numeric_ln(numeric)", "ln(numeric)")
	t.puts(always(dec1(number.Decimal.Log10)), "log(numeric)", "log10(numeric)")
	t.put("factorial(int8)", always(try1(func(_ *call, n int64) (number.Decimal, error) { return number.Factorial(n) })))
	t.put("numeric_uminus(numeric)", fixedOr(func(v int64, _ types.Type) int64 { return -v }, number.Decimal.Neg))
	t.put("numeric_uplus(numeric)", always(same))
	t.puts(fixedOr(func(v int64, _ types.Type) int64 {
		if v < 0 {
			return -v
		}
		return v
	}, number.Decimal.Abs), "numeric_abs(numeric)", "abs(numeric)")
	t.puts(fixedOr(func(v int64, t types.Type) int64 {
		q, r := v/pow10[t.Scale], v%pow10[t.Scale]
		if r > 0 {
			q++
		}
		return q
	}, number.Decimal.Ceil), "ceil(numeric)", "ceiling(numeric)")
	t.put("floor(numeric)", fixedOr(func(v int64, t types.Type) int64 {
		q, r := v/pow10[t.Scale], v%pow10[t.Scale]
		if r < 0 {
			q--
		}
		return q
	}, number.Decimal.Floor))
	t.put("round(numeric)", fixedOr(func(v int64, t types.Type) int64 { return rescale(v, t.Scale, 0) },
		func(d number.Decimal) number.Decimal { return d.Round(0) }))
	t.put("trunc(numeric)", fixedOr(func(v int64, t types.Type) int64 { return v / pow10[t.Scale] },
		func(d number.Decimal) number.Decimal { return d.Trunc(0) }))
	t.put("sign(numeric)", fixedOr(func(v int64, _ types.Type) int64 { return sign(v) },
		func(d number.Decimal) number.Decimal {
			if d.IsNaN() {
				return d
			}
			return number.DecimalFromInt64(int64(d.Sign()), 0)
		}))
	const maxScale = 2000
	t.put("round(numeric,int4)", always(strict2(func(d number.Decimal, n int64) number.Decimal {
		return d.Round(int32(min(max(n, -maxScale), maxScale)))
	})))
	t.put("trunc(numeric,int4)", always(strict2(func(d number.Decimal, n int64) number.Decimal {
		return d.Trunc(int32(min(max(n, -maxScale), maxScale)))
	})))
	t.put("scale(numeric)", always(try1(func(_ *call, d number.Decimal) (int64, error) {
		if !d.IsFinite() {
			return 0, errNull
		}
		return int64(d.Scale()), nil
	})))
	t.put("min_scale(numeric)", always(try1(func(_ *call, d number.Decimal) (int64, error) {
		if !d.IsFinite() {
			return 0, errNull
		}
		return int64(d.MinScale()), nil
	})))
	t.put("trim_scale(numeric)", always(strict1(number.Decimal.TrimScale)))
	t.put("numeric(numeric,int4)", always(try2(func(_ *call, d number.Decimal, mod int64) (number.Decimal, error) {
		return number.FitNumeric(int32(mod), d)
	})))
	t.put("width_bucket(numeric,numeric,numeric,int4)", always(datums(widthBucketNumeric)))
}

func sign(v int64) int64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

func dec1(f func(number.Decimal) (number.Decimal, error)) impl {
	return try1(func(_ *call, d number.Decimal) (number.Decimal, error) { return f(d) })
}

func dec2(f func(a, b number.Decimal) (number.Decimal, error)) impl {
	return try2(func(_ *call, a, b number.Decimal) (number.Decimal, error) { return f(a, b) })
}

// fixedOr picks between a function of a fixed numeric's int64 and one of
// Decimals.
func fixedOr(f func(v int64, t types.Type) int64, g func(number.Decimal) number.Decimal) maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) impl {
		if !at[0].IsFixed() || !ret.IsFixed() {
			return strict1(g)
		}
		ty := at[0]
		return func(c *call, args []*vec) (*vec, error) {
			out := alloc[int64](c.a, c.n)
			for i, v := range spreadVals[int64](c, args[0]) {
				out[i] = f(v, ty)
			}
			return fixedVec(kI64, out, c.valid), nil
		}
	}
}

// rescale brings a coefficient from one scale to another, rounding halves away
// from zero.
func rescale(v int64, from, to uint8) int64 {
	if to >= from {
		return v * pow10[to-from]
	}
	p := pow10[from-to]
	q, r := v/p, v%p
	switch {
	case r >= p-r && r > 0:
		q++
	case -r >= p+r && r < 0:
		q--
	}
	return q
}

// scaled brings a fixed vec to a larger scale.
func scaled(c *call, v *vec, from, to uint8) *vec {
	if from == to {
		return v
	}
	m := pow10[to-from]
	src := vals[int64](v)
	dst := alloc[int64](c.a, len(src))
	for i, x := range src {
		dst[i] = x * m
	}
	out := fixedVec(kI64, dst, v.valid)
	out.n, out.one = v.n, v.one
	return out
}

func numArith(op arOp) maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) impl {
		l, r := at[0], at[1]
		if l.IsFixed() && r.IsFixed() && ret.IsFixed() {
			return func(c *call, args []*vec) (*vec, error) {
				x, y := args[0], args[1]
				if op != arMul {
					x, y = scaled(c, x, l.Scale, ret.Scale), scaled(c, y, r.Scale, ret.Scale)
				}
				out := alloc[int64](c.a, c.n)
				fixedArith(c, op, out, x, y)
				return fixedVec(kI64, out, c.valid), nil
			}
		}
		slow := number.Decimal.Add
		switch op {
		case arSub:
			slow = number.Decimal.Sub
		case arMul:
			slow = number.Decimal.Mul
		}
		return func(c *call, args []*vec) (*vec, error) {
			a, b := smallReader(args[0], l), smallReader(args[1], r)
			w := newWriter[number.Decimal](c.a, c.ret, c.n)
			da, db := decimalReader(args[0], l), decimalReader(args[1], r)
			for i := range c.n {
				if c.skip(i) {
					continue
				}
				x, sx, okx := a(i)
				y, sy, oky := b(i)
				d, ok := number.Decimal{}, false
				if okx && oky {
					d, ok = smallArith(op, x, sx, y, sy)
				}
				if !ok {
					var err error
					if d, err = slow(da(i), db(i)); err != nil {
						return nil, err
					}
				}
				if err := w.set(i, d); err != nil {
					return nil, err
				}
			}
			v := w.done()
			v.valid = c.valid
			return v, nil
		}
	}
}

// fixedArith is + - * of int64 that cannot overflow.
func fixedArith(c *call, op arOp, out []int64, l, r *vec) {
	if l.one && !r.one {
		x, y := vals[int64](l)[0], vals[int64](r)[:len(out)]
		switch op {
		case arAdd:
			for i := range out {
				out[i] = x + y[i]
			}
		case arSub:
			for i := range out {
				out[i] = x - y[i]
			}
		case arMul:
			for i := range out {
				out[i] = x * y[i]
			}
		}
		return
	}
	x := spreadVals[int64](c, l)[:len(out)]
	if r.one {
		y := vals[int64](r)[0]
		switch op {
		case arAdd:
			for i := range out {
				out[i] = x[i] + y
			}
		case arSub:
			for i := range out {
				out[i] = x[i] - y
			}
		case arMul:
			for i := range out {
				out[i] = x[i] * y
			}
		}
		return
	}
	y := vals[int64](r)[:len(out)]
	switch op {
	case arAdd:
		for i := range out {
			out[i] = x[i] + y[i]
		}
	case arSub:
		for i := range out {
			out[i] = x[i] - y[i]
		}
	case arMul:
		for i := range out {
			out[i] = x[i] * y[i]
		}
	}
}

// smallReader gives coefficients that fit an int64.
func smallReader(v *vec, t types.Type) func(int) (int64, int32, bool) {
	if v.kind == kI64 {
		s := int32(t.Scale)
		x := intReader(v)
		return func(i int) (int64, int32, bool) { return x(i), s, true }
	}
	return func(i int) (int64, int32, bool) { return number.SmallDecimalBytes(v.bytes(i)) }
}

func smallArith(op arOp, x int64, sx int32, y int64, sy int32) (number.Decimal, bool) {
	if op == arMul {
		if overflows(arMul, x, y) || x == math.MinInt64 || y == math.MinInt64 || sx+sy > 60 {
			return number.Decimal{}, false
		}
		return number.DecimalFromInt64(x*y, sx+sy), true
	}
	if sx < sy {
		if sy-sx > 18 || overflows(arMul, x, pow10[sy-sx]) {
			return number.Decimal{}, false
		}
		x, sx = x*pow10[sy-sx], sy
	} else if sy < sx {
		if sx-sy > 18 || overflows(arMul, y, pow10[sx-sy]) {
			return number.Decimal{}, false
		}
		y = y * pow10[sx-sy]
	}
	if overflows(op, x, y) {
		return number.Decimal{}, false
	}
	if op == arSub {
		y = -y
	}
	return number.DecimalFromInt64(x+y, sx), true
}

func numMod(_ *fn.Func, at []types.Type, ret types.Type) impl {
	l, r := at[0], at[1]
	if !l.IsFixed() || !r.IsFixed() || !ret.IsFixed() {
		return dec2(number.Decimal.Mod)
	}
	return func(c *call, args []*vec) (*vec, error) {
		x := spreadVals[int64](c, scaled(c, args[0], l.Scale, ret.Scale))
		y := spreadVals[int64](c, scaled(c, args[1], r.Scale, ret.Scale))
		out := alloc[int64](c.a, c.n)
		for i := range out {
			switch {
			case c.skip(i):
				out[i] = 0
			case y[i] == 0:
				return nil, errDivZero()
			default:
				out[i] = x[i] % y[i]
			}
		}
		return fixedVec(kI64, out, c.valid), nil
	}
}

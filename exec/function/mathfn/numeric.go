package mathfn

import (
	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Pow10 are the powers of ten that int64 holds.
var Pow10 = func() (t [19]int64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

// addNumeric registers numeric's functions. Fixed numerics are int64 loops that need no checks
// where Bind has proved the result to fit; the others use Decimal, with a fast path for small
// coefficients.
func addNumeric(t function.Table) {
	t.Put("numeric_add(numeric,numeric)", numArith(arAdd))
	t.Put("numeric_sub(numeric,numeric)", numArith(arSub))
	t.Put("numeric_mul(numeric,numeric)", numArith(arMul))
	t.Puts(numMod, "numeric_mod(numeric,numeric)", "mod(numeric,numeric)")
	t.Put("numeric_div(numeric,numeric)", numDiv)
	t.Puts(function.Always(dec2(number.Decimal.DivTrunc)), "div(numeric,numeric)", "numeric_div_trunc(numeric,numeric)")
	t.Puts(function.Always(dec2(number.Decimal.Pow)), "numeric_power(numeric,numeric)", "pow(numeric,numeric)", "power(numeric,numeric)")
	t.Puts(function.Always(dec2(number.Log)), "log(numeric,numeric)", "numeric_log(numeric,numeric)")
	t.Put("lcm(numeric,numeric)", function.Always(dec2(number.Decimal.LCM)))
	t.Put("gcd(numeric,numeric)", function.Always(function.Strict2(number.Decimal.GCD)))
	t.Puts(function.Always(dec1(number.Decimal.Sqrt)), "numeric_sqrt(numeric)", "sqrt(numeric)")
	t.Puts(function.Always(dec1(number.Decimal.Exp)), "numeric_exp(numeric)", "exp(numeric)")
	t.Puts(function.Always(dec1(number.Decimal.Ln)), "numeric_ln(numeric)", "ln(numeric)")
	t.Puts(function.Always(dec1(number.Decimal.Log10)), "log(numeric)", "log10(numeric)")
	t.Put("factorial(int8)", function.Always(function.Try1(func(_ *function.Call, n int64) (number.Decimal, error) { return number.Factorial(n) })))
	t.Put("numeric_uminus(numeric)", fixedOr(func(v int64, _ types.Type) int64 { return -v }, number.Decimal.Neg))
	t.Put("numeric_uplus(numeric)", function.Always(Same))
	t.Puts(fixedOr(func(v int64, _ types.Type) int64 {
		if v < 0 {
			return -v
		}
		return v
	}, number.Decimal.Abs), "numeric_abs(numeric)", "abs(numeric)")
	t.Puts(fixedOr(func(v int64, t types.Type) int64 {
		q, r := v/Pow10[t.Scale], v%Pow10[t.Scale]
		if r > 0 {
			q++
		}
		return q
	}, number.Decimal.Ceil), "ceil(numeric)", "ceiling(numeric)")
	t.Put("floor(numeric)", fixedOr(func(v int64, t types.Type) int64 {
		q, r := v/Pow10[t.Scale], v%Pow10[t.Scale]
		if r < 0 {
			q--
		}
		return q
	}, number.Decimal.Floor))
	t.Put("round(numeric)", fixedOr(func(v int64, t types.Type) int64 { return Rescale(v, t.Scale, 0) },
		func(d number.Decimal) number.Decimal { return d.Round(0) }))
	t.Put("trunc(numeric)", fixedOr(func(v int64, t types.Type) int64 { return v / Pow10[t.Scale] },
		func(d number.Decimal) number.Decimal { return d.Trunc(0) }))
	t.Put("sign(numeric)", fixedOr(func(v int64, _ types.Type) int64 { return sign(v) },
		func(d number.Decimal) number.Decimal {
			if d.IsNaN() {
				return d
			}
			return number.DecimalFromInt64(int64(d.Sign()), 0)
		}))
	t.Put("round(numeric,int4)", numRound)
	t.Put("trunc(numeric,int4)", numTrunc)
	t.Put("scale(numeric)", numScale)
	t.Put("min_scale(numeric)", function.Always(function.Try1(func(_ *function.Call, d number.Decimal) (int64, error) {
		if !d.IsFinite() {
			return 0, function.ErrNull
		}
		return int64(d.MinScale()), nil
	})))
	t.Put("trim_scale(numeric)", function.Always(function.Strict1(number.Decimal.TrimScale)))
	t.Put("numeric(numeric,int4)", function.Always(function.Try2(func(_ *function.Call, d number.Decimal, mod int64) (number.Decimal, error) {
		return number.FitNumeric(int32(mod), d)
	})))
	t.Put("width_bucket(numeric,numeric,numeric,int4)", function.Always(function.Try4(widthBucketNumeric)))
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

func dec1(f func(number.Decimal) (number.Decimal, error)) function.Impl {
	return function.Try1(func(_ *function.Call, d number.Decimal) (number.Decimal, error) { return f(d) })
}

func dec2(f func(a, b number.Decimal) (number.Decimal, error)) function.Impl {
	return function.Try2(func(_ *function.Call, a, b number.Decimal) (number.Decimal, error) { return f(a, b) })
}

// numDiv divides. Quotients of fixed numerics are written directly in the column encoding.
func numDiv(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
	if ret.IsFixed() {
		return dec2(number.Decimal.Div)
	}
	if !at[0].IsFixed() || !at[1].IsFixed() {
		return wide(at[0], at[1], number.Wide.Div, number.Decimal.Div)
	}
	l, r := int32(at[0].Scale), int32(at[1].Scale)
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		a, b := compare.SpreadVals[int64](c, args[0]), compare.SpreadVals[int64](c, args[1])
		var buf []byte
		return function.Each(c, func(i int) (_ []byte, err error) {
			buf, err = number.AppendQuotient(buf[:0], a[i], l, b[i], r)
			return buf, err
		})
	}
}

// maxScale is the number above which a scale argument is clamped.
const maxScale = 2000

// numRound rounds to a number of digits. The result for a fixed numeric is written directly in the
// column encoding.
func numRound(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
	digits := func(n int64) int32 { return int32(min(max(n, -maxScale), maxScale)) }
	if at[0].IsFixed() && ret.IsFixed() {
		return fixedPlaces(at[0].Scale, ret.Scale, func(v int64, from, to int) int64 { return Rescale(v, uint8(from), uint8(to)) })
	}
	if !at[0].IsFixed() {
		return function.Strict2(func(d number.Decimal, n int64) number.Decimal { return d.Round(digits(n)) })
	}
	from := int32(at[0].Scale)
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		v, n := compare.SpreadVals[int64](c, args[0]), function.Arg[int64](c, args, 1)
		var buf []byte
		return function.Each(c, func(i int) ([]byte, error) {
			buf = number.AppendRounded(buf[:0], v[i], from, digits(n(i)))
			return buf, nil
		})
	}
}

func numTrunc(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
	if at[0].IsFixed() && ret.IsFixed() {
		return fixedPlaces(at[0].Scale, ret.Scale, func(v int64, from, to int) int64 {
			if to >= from {
				return v * Pow10[to-from]
			}
			return v / Pow10[from-to]
		})
	}
	return function.Strict2(func(d number.Decimal, n int64) number.Decimal {
		return d.Trunc(int32(min(max(n, -maxScale), maxScale)))
	})
}

// fixedPlaces rounds numerics in fixed point to a constant number of places, by a function that brings coefficients to a
// lower scale: of -2 places to hundreds, as if the scale were two more.
func fixedPlaces(from, to uint8, rescale func(v int64, from, to int) int64) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		vals, n := compare.SpreadVals[int64](c, args[0]), function.Arg[int64](c, args, 1)
		out := vector.Alloc[int64](c.Arena, c.N)
		for i, v := range vals {
			if c.Skip(i) {
				continue
			}
			before := int(-min(n(i), 0))
			if int(from)+before >= len(Pow10) {
				out[i] = 0 // less than a half of its last place
				continue
			}
			out[i] = rescale(v, int(from)+before, int(to)) * Pow10[before]
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

// numScale is scale(). Of numerics that are represented as bytes it reads the scale from the bytes,
// without decoding the number.
func numScale(_ *fn.Func, at []types.Type, _ types.Type) function.Impl {
	slow := function.Try1(func(_ *function.Call, d number.Decimal) (int64, error) {
		if !d.IsFinite() {
			return 0, function.ErrNull
		}
		return int64(d.Scale()), nil
	})
	if at[0].IsFixed() {
		return slow
	}
	return function.Try1(func(_ *function.Call, b []byte) (int64, error) {
		scale, ok := number.ScaleOfBytes(b)
		if !ok {
			return 0, function.ErrNull
		}
		return int64(scale), nil
	})
}

// fixedOr picks between a function of a fixed numeric's int64 and one of
// Decimals.
func fixedOr(f func(v int64, t types.Type) int64, g func(number.Decimal) number.Decimal) function.Maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
		if !at[0].IsFixed() || !ret.IsFixed() {
			return function.Strict1(g)
		}
		ty := at[0]
		return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
			out := vector.Alloc[int64](c.Arena, c.N)
			for i, v := range compare.SpreadVals[int64](c, args[0]) {
				out[i] = f(v, ty)
			}
			return vector.NewFixed(vector.I64, out, c.Valid), nil
		}
	}
}

// Rescale brings a coefficient from one scale to another, rounding halves away
// from zero.
func Rescale(v int64, from, to uint8) int64 {
	if to >= from {
		return v * Pow10[to-from]
	}
	p := Pow10[from-to]
	q, r := v/p, v%p
	switch {
	case r >= p-r && r > 0:
		q++
	case -r >= p+r && r < 0:
		q--
	}
	return q
}

// Scaled brings a fixed vec to a larger scale.
func Scaled(c *function.Call, v *vector.Vec, from, to uint8) *vector.Vec {
	if from == to {
		return v
	}
	m := Pow10[to-from]
	src := vector.Values[int64](v)
	dst := vector.Alloc[int64](c.Arena, len(src))
	for i, x := range src {
		dst[i] = x * m
	}
	out := vector.NewFixed(vector.I64, dst, v.Valid)
	out.N, out.One = v.N, v.One
	return out
}

func numArith(op arOp) function.Maker {
	return func(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
		l, r := at[0], at[1]
		if l.IsFixed() && r.IsFixed() && ret.IsFixed() {
			return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
				x, y := args[0], args[1]
				if op != arMul {
					x, y = Scaled(c, x, l.Scale, ret.Scale), Scaled(c, y, r.Scale, ret.Scale)
				}
				out := vector.Alloc[int64](c.Arena, c.N)
				fixedArith(c, op, out, x, y)
				return vector.NewFixed(vector.I64, out, c.Valid), nil
			}
		}
		slow := number.Decimal.Add
		switch op {
		case arSub:
			slow = number.Decimal.Sub
		case arMul:
			slow = number.Decimal.Mul
		}
		return wide(l, r, func(x, y number.Wide) (number.Wide, bool) {
			switch op {
			case arMul:
				return x.Mul(y)
			case arSub:
				y = y.Neg()
			}
			return x.Add(y)
		}, slow)
	}
}

// wide computes numbers of up to two words where they lie, and others by Decimal.
func wide(l, r types.Type, f func(x, y number.Wide) (number.Wide, bool), slow func(x, y number.Decimal) (number.Decimal, error)) function.Impl {
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		a, b := wideReader(args[0], l), wideReader(args[1], r)
		da, db := vector.DecimalReader(args[0], l), vector.DecimalReader(args[1], r)
		var room [40]byte
		return function.Each(c, func(i int) ([]byte, error) {
			if x, ok := a(i); ok {
				if y, ok := b(i); ok {
					if w, ok := f(x, y); ok {
						return w.Append(room[:0]), nil
					}
				}
			}
			d, err := slow(da(i), db(i))
			if err != nil {
				return nil, err
			}
			return d.AppendBinary(room[:0]), nil
		})
	}
}

// wideReader returns numbers of up to two words.
func wideReader(v *vector.Vec, t types.Type) func(int) (number.Wide, bool) {
	if v.Kind == vector.I64 {
		s := int32(t.Scale)
		x := vector.IntReader(v)
		return func(i int) (number.Wide, bool) { return number.WideFromInt64(x(i), s), true }
	}
	return func(i int) (number.Wide, bool) { return number.WideOf(v.Bytes(i)) }
}

// fixedArith is + - * of int64 that cannot overflow.
func fixedArith(c *function.Call, op arOp, out []int64, l, r *vector.Vec) {
	if l.One && !r.One {
		x, y := vector.Values[int64](l)[0], vector.Values[int64](r)[:len(out)]
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
	x := compare.SpreadVals[int64](c, l)[:len(out)]
	if r.One {
		y := vector.Values[int64](r)[0]
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
	y := vector.Values[int64](r)[:len(out)]
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

// SmallReader returns coefficients that fit an int64.
func SmallReader(v *vector.Vec, t types.Type) func(int) (int64, int32, bool) {
	if v.Kind == vector.I64 {
		s := int32(t.Scale)
		x := vector.IntReader(v)
		return func(i int) (int64, int32, bool) { return x(i), s, true }
	}
	return func(i int) (int64, int32, bool) { return number.SmallDecimalBytes(v.Bytes(i)) }
}

func numMod(_ *fn.Func, at []types.Type, ret types.Type) function.Impl {
	l, r := at[0], at[1]
	if !l.IsFixed() || !r.IsFixed() || !ret.IsFixed() {
		return dec2(number.Decimal.Mod)
	}
	return func(c *function.Call, args []*vector.Vec) (*vector.Vec, error) {
		x := compare.SpreadVals[int64](c, Scaled(c, args[0], l.Scale, ret.Scale))
		y := compare.SpreadVals[int64](c, Scaled(c, args[1], r.Scale, ret.Scale))
		out := vector.Alloc[int64](c.Arena, c.N)
		for i := range out {
			switch {
			case c.Skip(i):
				out[i] = 0
			case y[i] == 0:
				return nil, ErrDivZero()
			default:
				out[i] = x[i] % y[i]
			}
		}
		return vector.NewFixed(vector.I64, out, c.Valid), nil
	}
}

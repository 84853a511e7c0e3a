package rewrite

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// Rounding is how a quotient becomes a number of fixed digits.
type Rounding uint8

// The roundings.
const (
	Floor Rounding = iota
	Ceil
	Trunc
	Round
)

var roundings = map[string]Rounding{
	"floor(numeric)": Floor, "ceil(numeric)": Ceil, "ceiling(numeric)": Ceil, "trunc(numeric)": Trunc, "round(numeric)": Round,
	"round(numeric,int4)": Round,
}

// maxPlaces is the greatest number of places to which a quotient is rounded in integers.
const maxPlaces = 6

// RoundedQuotient is a quotient of numerics, rounded to a number of places. Of fixed ones it is fixed too, which
// division of integers makes, while the quotient itself is of variable length.
type RoundedQuotient struct {
	By     Rounding
	A, B   expr.Expr
	Places uint8
}

// RoundedType returns the type of a call that would have another: fixed where it rounds a quotient, or a fixed numeric to a
// constant number of places.
func RoundedType(f *fn.Func, args []expr.Expr, t types.Type) types.Type {
	digits, places := 0, uint8(0)
	if q, ok := RoundingOf(f, args); ok {
		digits, places = q.digits(), q.Places
	} else {
		digits, places = roundedDigits(f, args)
	}
	if digits > 0 {
		mod := t.Mod
		t = types.FixedNumeric(uint8(digits), places, false)
		t.Mod = mod
	}
	return t
}

// roundedDigits returns how many digits a fixed numeric has that is rounded to a constant number of places, and how many of them
// are after the point; no digits for other calls, and where there may be too many.
func roundedDigits(f *fn.Func, args []expr.Expr) (digits int, places uint8) {
	if f.ID != "round(numeric,int4)" && f.ID != "trunc(numeric,int4)" || !args[0].Type().IsFixed() {
		return 0, 0
	}
	k, isConst := args[1].(*expr.Const)
	if !isConst {
		return 0, 0
	}
	n, isInt := k.Val.(int64)
	if !isInt || n < -types.MaxFixedDigits || n > types.MaxFixedDigits {
		return 0, 0
	}
	of := args[0].Type()
	places = uint8(max(n, 0))
	digits = max(int(of.Prec)-int(of.Scale), int(max(-n, 0))) + 1 + int(places) // rounding may make one more before the point
	if digits > types.MaxFixedDigits {
		return 0, 0
	}
	return digits, places
}

// RoundingOf takes floor(a / b), round(a / b, 2) and the like apart.
func RoundingOf(f *fn.Func, args []expr.Expr) (q RoundedQuotient, ok bool) {
	by, ok := roundings[f.ID]
	if !ok {
		return q, false
	}
	q.By = by
	if len(args) == 2 {
		k, isConst := args[1].(*expr.Const)
		if !isConst {
			return q, false
		}
		n, isInt := k.Val.(int64)
		if !isInt || n < 0 || n > maxPlaces {
			return q, false
		}
		q.Places = uint8(n)
	}
	div, isCall := args[0].(*expr.Call)
	if !isCall || div.Fn == nil || div.Fn.ID != "numeric_div(numeric,numeric)" {
		return q, false
	}
	q.A, q.B = fixedConst(div.Args[0]), fixedConst(div.Args[1])
	return q, true
}

// Fixed reports whether the result is a fixed numeric.
func (q RoundedQuotient) Fixed() bool { return q.digits() > 0 }

// digits is how many the result has as a fixed numeric, 0 where it is none.
func (q RoundedQuotient) digits() int {
	a, b := q.A.Type(), q.B.Type()
	if !a.IsFixed() || !b.IsFixed() {
		return 0
	}
	// The divisor is at least its last digit, or a constant.
	whole := int(a.Prec) - int(a.Scale) + int(b.Scale) + 1
	if k, isConst := q.B.(*expr.Const); isConst {
		whole += 1 - digitsOf(k, b.Scale)
	}
	up, down := q.Scales()
	n := max(whole, 1) + int(q.Places)
	if n > types.MaxFixedDigits || int(a.Prec)+up > types.MaxFixedDigits || int(b.Prec)+down > types.MaxFixedDigits {
		return 0
	}
	return n
}

// Scales returns the powers of ten that the coefficients of A and B are multiplied by, so that their quotient is of the
// places wanted.
func (q RoundedQuotient) Scales() (up, down int) {
	n := int(q.B.Type().Scale) + int(q.Places) - int(q.A.Type().Scale)
	return max(n, 0), max(-n, 0)
}

// fixedConst gives a constant the representation of its digits.
func fixedConst(e expr.Expr) expr.Expr {
	k, ok := e.(*expr.Const)
	if !ok {
		return e
	}
	d, ok := k.Val.(number.Decimal)
	if !ok || d.Scale() > maxPlaces || !d.IsFinite() {
		return e
	}
	digits := uint8(digitsOf(k, uint8(d.Scale())))
	if digits == 0 || max(digits, uint8(d.Scale())) > types.MaxFixedDigits {
		return e
	}
	t := types.FixedNumeric(max(digits, uint8(d.Scale())), uint8(d.Scale()), false)
	t.Mod = k.Typ.Mod
	return &expr.Const{Val: d, Typ: t}
}

// digitsOf counts the digits of a constant without the zeros before them, 0 where it is none or has too many.
func digitsOf(k *expr.Const, scale uint8) (n int) {
	d, ok := k.Val.(number.Decimal)
	if !ok {
		return 0
	}
	c, ok := d.Coefficient(int32(scale))
	for ; ok && c != 0; c /= 10 {
		n++
	}
	return n
}

// InverseOf returns 1/d, if that is a number of few digits.
func InverseOf(d number.Decimal) (number.Decimal, bool) {
	c, ok := d.Coefficient(d.Scale())
	if !ok || c == 0 || d.Scale() > 6 {
		return number.Decimal{}, false
	}
	p := int64(1)
	for range d.Scale() {
		p *= 10
	}
	for scale := range int32(7) {
		if p%c == 0 {
			return number.DecimalFromInt64(p/c, scale), true
		}
		p *= 10
	}
	return number.Decimal{}, false
}

// ExactQuotients reports whether no quotient of a number of type t by d is rounded. An exact quotient needs
// places more digits after the point than t has, and division must compute at least as many. How many it
// computes depends on the first digits of both numbers in base 10000, and on which of these is greater
// (number.Decimal.Div). So it is enough to look at the extremes: a number with four digits more before the
// point than t has gets no more digits than any number of t, and the least number that is not 0 must get as
// many as 0.
func ExactQuotients(t types.Type, d number.Decimal, places int32) bool {
	scale := int32(t.Scale)
	digits := func(coef int64, scale int32) int32 {
		q, err := number.DecimalFromInt64(coef, scale).Div(d)
		if err != nil {
			return 0
		}
		return q.Scale()
	}
	greater := int64(10000)
	for range int(t.Prec) - int(t.Scale) {
		if greater > 1e17 {
			return false
		}
		greater *= 10
	}
	return digits(greater, 0) >= scale+places && (scale == 0 || digits(1, scale) == digits(0, scale))
}

// FixedOf returns the type in fixed point that a number has; the variable one where it has none.
func FixedOf(d number.Decimal) types.Type {
	if c, ok := fixedConst(&expr.Const{Val: d, Typ: types.Numeric}).(*expr.Const); ok && c.Typ.IsFixed() {
		return c.Typ
	}
	if d.Sign() == 0 && d.Scale() >= 0 && d.Scale() <= maxPlaces {
		return types.FixedNumeric(max(uint8(d.Scale()), 1), uint8(d.Scale()), false)
	}
	return types.Numeric
}

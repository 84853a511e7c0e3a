package eval

import (
	"math"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/function/mathfn"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// quotientNode compares a quotient of numerics with a constant: a / b > 1. The numeric quotient has
// 16 significant digits or more and takes long to compute; a quotient of floats decides almost all
// rows. The numeric one is computed only for rows that are within near of the constant, and for
// those that may be errors, such as a zero divisor.
type quotientNode struct {
	twoOperands
	op     compare.CmpOp
	c      number.Decimal
	approx float64
}

// twoOperands are a and b of a / b or a - b, and their types.
type twoOperands struct {
	a, b node
	at   [2]types.Type
}

// operands evaluates both; a is nil where all results are NULL, and else valid has the rows of which none is.
func (n *twoOperands) operands(fr *frame) (a, b *vector.Vec, valid []byte, err error) {
	if a, err = n.a.eval(fr); err != nil {
		return nil, nil, nil, err
	}
	if b, err = n.b.eval(fr); err != nil {
		return nil, nil, nil, err
	}
	if a.AllNull() || b.AllNull() {
		return nil, nil, nil, nil
	}
	for _, v := range []*vector.Vec{a, b} {
		if !v.One {
			valid = vector.AndBits(fr.a, valid, v.Valid, fr.n)
		}
	}
	return a, b, valid, nil
}

// near is how close to the constant, relative to it, a quotient of floats does not decide: far more
// than the error of the floats, and of rounding the numeric quotient at its 16th digit.
const near = 1e-9

// quotientCompare is the node of a comparison of a quotient with a constant; nil where e is none. A
// CASE that may return a quotient is compared branch by branch.
func (c *compiler) quotientCompare(e *expr.Call) (node, error) {
	op, ok := comparisonOf(e)
	if !ok || len(e.Args) != 2 {
		return nil, nil
	}
	arg, k := e.Args[0], e.Args[1]
	if _, ok := arg.(*expr.Const); ok {
		arg, k, op = k, arg, op.Swap()
	}
	con, ok := k.(*expr.Const)
	if !ok {
		return nil, nil
	}
	limit, ok := con.Val.(number.Decimal)
	if !ok || !limit.IsFinite() {
		return nil, nil
	}
	if f := math.Abs(limit.Float64()); f < 1e-100 || f > 1e100 {
		return nil, nil
	}
	switch x := arg.(type) {
	case *expr.Call:
		if !isQuotient(x) {
			return nil, nil
		}
		args, err := c.all(x.Args)
		if err != nil {
			return nil, err
		}
		return &quotientNode{twoOperands: twoOperands{args[0], args[1], [2]types.Type{x.Args[0].Type(), x.Args[1].Type()}}, op: op, c: limit, approx: limit.Float64()}, nil
	case *expr.Case:
		some := x.Else != nil && isQuotient(x.Else)
		for _, w := range x.Whens {
			some = some || isQuotient(w.Then)
		}
		if !some {
			return nil, nil
		}
		branch := func(b expr.Expr) expr.Expr {
			out := *e
			out.Args = []expr.Expr{b, k}
			if arg == e.Args[1] {
				out.Args = []expr.Expr{k, b}
			}
			return &out
		}
		out := &expr.Case{Typ: e.Typ}
		for _, w := range x.Whens {
			if w.Then.Type() != x.Typ {
				return nil, nil
			}
			out.Whens = append(out.Whens, expr.When{Cond: w.Cond, Then: branch(w.Then)})
		}
		if x.Else != nil {
			if x.Else.Type() != x.Typ {
				return nil, nil
			}
			out.Else = branch(x.Else)
		}
		return c.compile(out)
	}
	return nil, nil
}

// isQuotient reports whether e divides numerics to one of variable length.
func isQuotient(e expr.Expr) bool {
	x, ok := e.(*expr.Call)
	return ok && x.Fn.ID == "numeric_div(numeric,numeric)" && !x.Typ.IsFixed()
}

func (n *quotientNode) eval(fr *frame) (*vector.Vec, error) {
	a, b, valid, err := n.operands(fr)
	if err != nil || a == nil {
		return vector.NewNull(fr.n), err
	}
	x, y := vector.DecimalReader(a, n.at[0]), vector.DecimalReader(b, n.at[1])
	fx, fy := approximations(a, n.at[0]), approximations(b, n.at[1])
	out := vector.Alloc[uint8](fr.a, fr.n)
	margin := near * math.Abs(n.approx)
	for i := range out {
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		// d is NaN for a number without an approximation and for 0 / 0: both comparisons are false,
		// and the row is not decided.
		d := fx(i)/fy(i) - n.approx
		switch {
		case d > margin && d < math.MaxFloat64:
			out[i] = vector.ByteOf(n.op.Holds(1))
		case d < -margin && d > -math.MaxFloat64:
			out[i] = vector.ByteOf(n.op.Holds(-1))
		default:
			q, err := x(i).Div(y(i))
			if err != nil {
				return nil, err
			}
			out[i] = vector.ByteOf(n.op.Holds(q.Cmp(n.c)))
		}
	}
	return vector.NewFixed(vector.Bool, out, valid), nil
}

// approximations reads numerics as floats, NaN where they have no float near.
func approximations(v *vector.Vec, t types.Type) func(int) float64 {
	if v.One {
		x := approximation(v, t, 0)
		return func(int) float64 { return x }
	}
	return func(i int) float64 { return approximation(v, t, i) }
}

func approximation(v *vector.Vec, t types.Type, i int) float64 {
	if v.Kind == vector.I64 {
		return float64(vector.Values[int64](v)[i]) / math.Pow10(int(t.Scale))
	}
	return number.Approximate(v.Bytes(i))
}

// roundedQuotientNode is floor(a / b), round(a / b, 2) and the like of fixed numerics, by one division of integers.
// The numeric quotient is rounded before it is rounded again: to 16 significant digits or more, which is to 8 places
// after the point or more where it is below 10¹². Only for rows whose remainder is so near to where the result changes
// that the first rounding may decide is the numeric quotient computed.
type roundedQuotientNode struct {
	quotientRounding
	twoOperands
	// The coefficients are multiplied by these before they are divided.
	up, down int64
}

// quotientRounding is how a quotient is rounded.
type quotientRounding struct {
	by     rewrite.Rounding
	places int
}

// roundedQuotient is the node of a call that rounds a quotient; nil where e is none.
func (c *compiler) roundedQuotient(e *expr.Call) (node, error) {
	if e.Fn == nil {
		return nil, nil
	}
	q, ok := rewrite.RoundingOf(e.Fn, e.Args)
	if !ok || e.Typ.IsFixed() && (!q.Fixed() || q.Places != e.Typ.Scale) {
		return nil, nil
	}
	args, err := c.all([]expr.Expr{q.A, q.B})
	if err != nil {
		return nil, err
	}
	by := quotientRounding{q.By, int(q.Places)}
	of := twoOperands{args[0], args[1], [2]types.Type{q.A.Type(), q.B.Type()}}
	if !e.Typ.IsFixed() {
		return &anyQuotientNode{by, of, e.Typ}, nil
	}
	up, down := q.Scales()
	return &roundedQuotientNode{by, of, mathfn.Pow10[up], mathfn.Pow10[down]}, nil
}

func (n *roundedQuotientNode) eval(fr *frame) (*vector.Vec, error) {
	a, b, valid, err := n.operands(fr)
	if err != nil || a == nil {
		return vector.NewNull(fr.n), err
	}
	out := vector.Alloc[int64](fr.a, fr.n)
	x, y := vector.Values[int64](a.Spread(fr.a)), vector.Values[int64](b)
	var by mathfn.Divisor
	reciprocal := b.One && (y[0]*n.down < -1 || y[0]*n.down > 1)
	if reciprocal {
		by = mathfn.NewDivisor(y[0] * n.down)
	}
	scale := int(max(n.at[0].Scale, n.at[1].Scale))
	sure := 0 // rows that are floored already
	for i := 0; i < len(out); i++ {
		if reciprocal && i >= sure {
			if sure = n.floor(out, x, i, y[0]*n.down, &by, scale); sure > i {
				i = sure - 1
				continue
			}
		}
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		divisor := y[0]
		if !b.One {
			divisor = y[i]
		}
		if divisor == 0 {
			return nil, mathfn.ErrDivZero()
		}
		v, d := x[i]*n.up, divisor*n.down
		var q int64
		if reciprocal {
			q = by.Quo(v)
		} else {
			q = v / d
		}
		var ok bool
		if out[i], ok = n.round(q, v-q*d, d, v^d < 0, scale); !ok {
			r, err := n.slow(number.DecimalFromInt64(x[i], int32(n.at[0].Scale)), number.DecimalFromInt64(divisor, int32(n.at[1].Scale)))
			if err != nil {
				return nil, err
			}
			if out[i], ok = r.Coefficient(int32(n.places)); !ok {
				return nil, pgerr.Internal("a rounded quotient of %d digits or more", len(mathfn.Pow10))
			}
		}
	}
	return vector.NewFixed(vector.I64, out, valid), nil
}

// floor divides rows from at on by a constant and rounds down, up to the first row whose quotient is so large, or so near to
// the next whole number, that it needs a closer look. It returns that row. What it writes for NULLs does not matter.
func (n *roundedQuotientNode) floor(out, x []int64, at int, d int64, by *mathfn.Divisor, scale int) int {
	last := max(8, scale) - n.places // the last place that all quotients below the limit have
	if n.by != rewrite.Floor || d < 0 || last < 6 || last >= len(mathfn.Pow10) {
		return at
	}
	limit, near := uint64(mathfn.Pow10[12+n.places]/2), d/mathfn.Pow10[last]
	out, up := out[:len(x)], n.up
	for i := at; i < len(x); i++ {
		v := x[i] * up
		q := by.Quo(v)
		rest := v - q*d
		below := rest >> 63
		q += below
		if rest += d & below; d-rest <= near || uint64(q)+limit >= 2*limit {
			return i
		}
		out[i] = q
	}
	return len(x)
}

// round returns what the quotient of numerics of at most a scale is rounded to, which is q, truncated, and rest / by;
// negative tells its sign. It is not ok where rounding the numeric quotient first may change that.
func (n *quotientRounding) round(q, rest, by int64, negative bool, scale int) (int64, bool) {
	rest, by = max(rest, -rest), max(by, -by)
	last := -1 // the last place of the numeric quotient, in those of the result
	for k := 1; k <= 3; k++ {
		if size := max(q, -q); size < mathfn.Pow10[4*k+n.places] {
			last = max(20-4*k, scale) - n.places
			break
		}
	}
	if last < 0 || last >= len(mathfn.Pow10) {
		return 0, false
	}
	var near int64
	if unit := mathfn.Pow10[last]; by >= unit {
		near = by / unit
	}
	away := int64(1)
	if negative {
		away = -1
	}
	switch {
	case n.by == rewrite.Round:
		over := rest - (by - rest)
		if over >= 0 {
			q += away
		}
		return q, over == 0 || over > 2*near || over < -2*near
	case n.by == rewrite.Floor && negative, n.by == rewrite.Ceil && !negative:
		if rest > 0 {
			q += away
		}
		return q, rest == 0 || rest > near
	}
	return q, by-rest > near
}

// slow rounds the numeric quotient.
func (n *quotientRounding) slow(a, b number.Decimal) (number.Decimal, error) {
	d, err := a.Div(b)
	if err != nil {
		return d, err
	}
	switch n.by {
	case rewrite.Floor:
		return d.Floor(), nil
	case rewrite.Ceil:
		return d.Ceil(), nil
	case rewrite.Trunc:
		return d.Trunc(0), nil
	}
	return d.Round(int32(n.places)), nil
}

// anyQuotientNode is a roundedQuotientNode of numerics of any length, of which most are short.
type anyQuotientNode struct {
	quotientRounding
	twoOperands
	ret types.Type
}

func (n *anyQuotientNode) eval(fr *frame) (*vector.Vec, error) {
	a, b, valid, err := n.operands(fr)
	if err != nil || a == nil {
		return vector.NewNull(fr.n), err
	}
	x, y := mathfn.SmallReader(a, n.at[0]), mathfn.SmallReader(b, n.at[1])
	longX, longY := vector.DecimalReader(a, n.at[0]), vector.DecimalReader(b, n.at[1])
	w := vector.NewWriter[number.Decimal](fr.a, n.ret, fr.n)
	for i := range fr.n {
		if valid != nil && valid[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		d, ok := number.Decimal{}, false
		v, vs, vok := x(i)
		by, bs, bok := y(i)
		if vok && bok {
			d, ok = n.short(v, int(vs), by, int(bs))
		}
		if !ok {
			if d, err = n.slow(longX(i), longY(i)); err != nil {
				return nil, err
			}
		}
		if err := w.Set(i, d); err != nil {
			return nil, err
		}
	}
	out := w.Done()
	out.Valid = valid
	return out, nil
}

// short is the rounded quotient of numbers of few digits; it is not ok of others, of none, and where the numeric quotient
// decides.
func (n *anyQuotientNode) short(v int64, vs int, by int64, bs int) (number.Decimal, bool) {
	up := bs + n.places - vs
	if by == 0 || max(up, -up) >= len(mathfn.Pow10) {
		return number.Decimal{}, false
	}
	scaled := &v
	if up < 0 {
		scaled, up = &by, -up
	}
	hi, lo := mathfn.Mul128(*scaled, mathfn.Pow10[up])
	if hi != lo>>63 || lo < -shortMost || lo > shortMost {
		return number.Decimal{}, false
	}
	*scaled = lo
	if max(v, by) > shortMost || min(v, by) < -shortMost {
		return number.Decimal{}, false
	}
	q := v / by
	r, ok := n.round(q, v-q*by, by, v^by < 0, max(vs, bs))
	return number.DecimalFromInt64(r, int32(n.places)), ok
}

// shortMost is so small that remainders can be doubled.
const shortMost = 1 << 61

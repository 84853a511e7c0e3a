package eval

import (
	"math"

	"github.com/tributarydb/tributary/exec/compare"
	"github.com/tributarydb/tributary/exec/vector"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// quotientNode compares a quotient of numerics with a constant: a / b > 1. The numeric quotient has
// 16 significant digits or more and takes long to compute; a quotient of floats decides almost all
// rows. The numeric one is computed only for rows that are within near of the constant, and for
// those that may be errors, such as a zero divisor.
type quotientNode struct {
	a, b   node
	at     [2]types.Type
	op     compare.CmpOp
	c      number.Decimal
	approx float64
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
		return &quotientNode{a: args[0], b: args[1], at: [2]types.Type{x.Args[0].Type(), x.Args[1].Type()}, op: op, c: limit, approx: limit.Float64()}, nil
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
	a, err := n.a.eval(fr)
	if err != nil {
		return nil, err
	}
	b, err := n.b.eval(fr)
	if err != nil {
		return nil, err
	}
	if a.AllNull() || b.AllNull() {
		return vector.NewNull(fr.n), nil
	}
	var valid []byte
	for _, v := range []*vector.Vec{a, b} {
		if !v.One {
			valid = vector.AndBits(fr.a, valid, v.Valid, fr.n)
		}
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

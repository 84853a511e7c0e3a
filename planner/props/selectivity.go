package props

import (
	"math"
	"strings"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// Shares of rows assumed where nothing is known.
const (
	guessEqual    = 0.005
	guessRange    = 1.0 / 3
	guessLike     = 0.1
	guessPrefix   = 0.05
	guessOther    = 1.0 / 3
	guessDistinct = 200
)

// col looks a column up, through casts that keep the order.
func (r *Relation) col(e expr.Expr) (Column, expr.ColID, bool) {
	for {
		switch x := e.(type) {
		case *expr.Cast:
			e = x.Arg
			continue
		case *expr.Col:
			c, ok := r.lookup(x.ID)
			return c, x.ID, ok
		}
		return Column{}, 0, false
	}
}

// domain returns how many values e had before conditions removed some, in the range of the column
// other of a relation: a value of that finds its partner with the probability that a value of the
// domain is left.
func (r *Relation) domain(e expr.Expr, of *Relation, other expr.Expr) float64 {
	c, _, ok := r.col(e)
	o, _, ok2 := of.col(other)
	if !ok || !ok2 {
		return 0
	}
	return min(c.of, integerSpan(o.min, o.max))
}

// Left returns the share of a column's values that conditions have left; 1 where that is not known.
func (r *Relation) Left(e expr.Expr) float64 {
	c, _, ok := r.col(e)
	if !ok || c.of <= 0 || c.ndv <= 0 {
		return 1
	}
	return min(c.ndv, r.Rows, c.of) / c.of
}

// Ndv estimates the distinct values of an expression.
func (r *Relation) Ndv(e expr.Expr) float64 {
	if c, _, ok := r.col(e); ok && c.ndv > 0 {
		return max(1, min(c.ndv, r.Rows))
	}
	most := r.Rows
	if e.Type().OID == types.BoolOID {
		most = min(most, 3)
	}
	switch x := e.(type) {
	case *expr.Const:
		return 1
	case *expr.Call:
		// A function has at most the product of its arguments' values, as it has of its columns'.
		of := 1.0
		for _, a := range x.Args {
			of *= r.Ndv(a)
		}
		most = min(r.most(x), of)
	case *expr.Cast:
		most = r.Ndv(x.Arg)
	case *expr.Case:
		n := 1.0
		for _, w := range x.Whens {
			n += r.Ndv(w.Then)
		}
		return max(1, min(n, r.Rows))
	}
	p := 1.0
	cols := rewrite.ColumnsOf(e)
	for _, id := range rewrite.SortedIDs(cols) {
		if c := r.Col(id); c.ndv > 0 {
			p *= c.ndv
		} else {
			p *= guessDistinct
		}
	}
	if len(cols) == 0 {
		return 1
	}
	return max(1, min(p, most, r.Rows))
}

// conds estimates the share of rows that meet all conditions. Bounds on the
// same column are taken together: a >= 1 AND a < 2 is a range, not a product.
func (r *Relation) conds(conds []expr.Expr) float64 {
	s := 1.0
	ranges := map[expr.ColID]*interval{}
	var order []expr.ColID
	for _, c := range rewrite.SplitAll(conds) {
		if id, lo, hi, ok := r.bound(c); ok {
			iv := ranges[id]
			if iv == nil {
				iv = &interval{0, 1}
				ranges[id] = iv
				order = append(order, id)
			}
			iv.lo, iv.hi = max(iv.lo, lo), min(iv.hi, hi)
			continue
		}
		s *= r.cond(c)
	}
	for _, id := range order {
		iv := ranges[id]
		c := r.Col(id)
		floor := 1 / max(c.ndv, 200)
		s *= max(iv.hi-iv.lo, floor) * (1 - c.null)
	}
	return clamp(s)
}

type interval struct{ lo, hi float64 }

// bound maps a comparison of a column with a constant to the column's range: the rows between the
// fractions lo and hi meet it.
func (r *Relation) bound(e expr.Expr) (id expr.ColID, lo, hi float64, ok bool) {
	c, isCall := e.(*expr.Call)
	if !isCall || len(c.Args) != 2 {
		return 0, 0, 0, false
	}
	op, l, k := c.Op, c.Args[0], c.Args[1]
	if rewrite.IsConstant(l) {
		op, l, k = rewrite.Mirrored[op], k, l
	}
	ce, id, known := r.col(l)
	if !known || ce.min == nil || ce.max == nil {
		return 0, 0, 0, false
	}
	at, ok := position(ce, k)
	if !ok {
		return 0, 0, 0, false
	}
	switch op {
	case "<", "<=":
		return id, 0, at, true
	case ">", ">=":
		return id, at, 1, true
	}
	return 0, 0, 0, false
}

// position returns where in the column's range a constant lies, as a fraction.
func position(c Column, e expr.Expr) (float64, bool) {
	for {
		if x, ok := e.(*expr.Cast); ok {
			e = x.Arg
			continue
		}
		break
	}
	k, ok := e.(*expr.Const)
	if !ok || k.Val == nil {
		return 0, false
	}
	v, ok1 := scalar(k.Val)
	a, ok2 := scalar(c.min)
	b, ok3 := scalar(c.max)
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	if _, isText := k.Val.(string); isText != isString(c.min) {
		return 0, false
	}
	if f, ok := c.below(k, v); ok {
		return f, true
	}
	// A date column against a timestamp.
	if c.typ.OID == types.DateOID && (k.Typ.OID == types.TimestampOID || k.Typ.OID == types.TimestamptzOID) {
		v /= float64(datetime.MicrosPerDay)
	}
	if b <= a {
		switch {
		case v < a:
			return 0, true
		case v > a:
			return 1, true
		}
		return 0.5, true
	}
	return clamp((v - a) / (b - a)), true
}

func isString(d types.Datum) bool { _, ok := d.(string); return ok }

func clamp(x float64) float64 { return math.Max(0, math.Min(1, x)) }

// cond estimates the share of rows that meet one condition.
func (r *Relation) cond(e expr.Expr) float64 {
	switch e := e.(type) {
	case *expr.Const:
		if e.Val == true {
			return 1
		}
		return 0
	case *expr.And:
		return r.conds(e.Args)
	case *expr.Or:
		s := 0.0
		for _, a := range e.Args {
			s = s + r.cond(a) - s*r.cond(a)
		}
		return clamp(s)
	case *expr.Not:
		return clamp(1 - r.cond(e.Arg))
	case *expr.BoolTest:
		s := guessOther
		switch e.Kind {
		case expr.IsTrue:
			s = r.cond(e.Arg)
		case expr.IsFalse:
			s = 1 - r.cond(e.Arg)
		case expr.IsUnknown:
			s = 0.01
		}
		if e.Not {
			s = 1 - s
		}
		return clamp(s)
	case *expr.IsNull:
		s := 0.01
		if c, _, ok := r.col(e.Arg); ok {
			s = c.null
		}
		if e.Not {
			return 1 - s
		}
		return max(s, 1e-6)
	case *expr.In:
		s := 0.0
		for _, x := range e.List {
			s += r.equal(e.Arg, x)
		}
		s = clamp(s)
		if e.Not {
			s = 1 - s
		}
		return s
	case *expr.Distinct:
		s := r.equal(e.L, e.R)
		if !e.Not {
			s = 1 - s
		}
		return clamp(s)
	case *expr.AnyAll:
		return guessOther
	case *expr.Col:
		return 0.5
	case *expr.Call:
		return r.call(e)
	}
	return guessOther
}

// equal estimates how often two expressions are equal.
func (r *Relation) equal(a, b expr.Expr) float64 {
	if rewrite.IsConstant(a) {
		a, b = b, a
	}
	if k, ok := b.(*expr.Const); ok {
		if k.Val == nil {
			return 0
		}
		c, _, known := r.col(a)
		if !known {
			if n := r.Ndv(a); n > 1 {
				return 1 / n
			}
			return guessEqual
		}
		if c.min != nil && c.max != nil && k.Typ.OID == c.typ.OID {
			if types.Compare(c.typ, k.Val, c.min) < 0 || types.Compare(c.typ, k.Val, c.max) > 0 {
				return 1e-9
			}
		}
		if f, ok := c.share(k); ok {
			return f
		}
		if c.ndv > 0 {
			return (1 - c.null) / c.ndv
		}
		if r.Rows > 0 {
			return max(1/r.Rows, guessEqual)
		}
		return guessEqual
	}
	if len(rewrite.ColumnsOf(b)) == 0 || len(rewrite.ColumnsOf(a)) == 0 {
		n := max(r.Ndv(a), r.Ndv(b))
		if n > 1 {
			return 1 / n
		}
		return guessEqual
	}
	return 1 / max(r.Ndv(a), r.Ndv(b), 1)
}

func (r *Relation) call(c *expr.Call) float64 {
	if len(c.Args) == 2 {
		switch c.Op {
		case "=":
			return clamp(r.equal(c.Args[0], c.Args[1]))
		case "<>":
			return clamp(1 - r.equal(c.Args[0], c.Args[1]))
		case "<", "<=", ">", ">=":
			if id, lo, hi, ok := r.bound(c); ok {
				col := r.Col(id)
				return clamp(max(hi-lo, 1/max(col.ndv, 200)) * (1 - col.null))
			}
			return guessRange
		}
	}
	if c.Op == "~~" || c.Op == "~~*" || c.Fn != nil && (c.Fn.Name == "like" || c.Fn.Name == "ilike") {
		return r.like(c)
	}
	if c.Op == "!~~" || c.Op == "!~~*" || c.Fn != nil && (c.Fn.Name == "notlike" || c.Fn.Name == "notilike") {
		return clamp(1 - r.like(c))
	}
	return guessOther
}

func (r *Relation) like(c *expr.Call) float64 {
	if len(c.Args) == 2 {
		if k, ok := c.Args[1].(*expr.Const); ok {
			if s, ok := k.Val.(string); ok {
				if !strings.ContainsAny(s, "%_") {
					return r.equal(c.Args[0], k)
				}
				if !strings.HasPrefix(s, "%") && !strings.HasPrefix(s, "_") {
					return guessPrefix
				}
			}
		}
	}
	return guessLike
}

// Scan returns the estimate of a table as stored.
func Scan(n *plan.Scan, st Statistics) *Relation {
	out := above(max(n.Rows, 1))
	t := st.Table(n.Table)
	if t == nil {
		if n.Rows == 0 {
			out.Rows = 1000
		}
		out.plain(n.Cols)
		return out
	}
	out.Rows = max(t.Rows, 1)
	for _, c := range n.Cols {
		cs, _ := t.Col(c.Num)
		ndv := cs.NDV
		if ndv == 0 {
			if s := integerSpan(cs.Min, cs.Max); !math.IsInf(s, 1) && (c.Type.OID == types.Int4OID || c.Type.OID == types.Int8OID || c.Type.OID == types.Int2OID || c.Type.OID == types.DateOID) {
				ndv = s
			}
		}
		out.set(c.ID, Column{ndv: min(ndv, out.Rows), of: min(ndv, out.Rows), min: cs.Min, max: cs.Max, null: cs.NullFrac, typ: c.Type, kept: cs.Kept})
	}
	return out
}

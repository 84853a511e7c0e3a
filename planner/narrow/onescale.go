package narrow

import (
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/planner/rule"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

// A CASE of numerics of different scales is a variable numeric, since 0 and 0.00 print differently:
//
//	avg(CASE WHEN late THEN 1.0 ELSE 0 END), sum(CASE WHEN paid THEN amount ELSE 0 END)
//
// But a mean shows nothing of the scales of what it is made of, and a sum has the greatest of them, which the number of
// rows of that scale tells. Both are computed in fixed point.

// meanDigits is the most digits of numbers whose mean has at least as many digits after the point as they,
// whatever their scale: division computes 16 digits that count, less at most seven for where the first one stands.
const meanDigits = 12

// oneScale is a CASE whose branches have one scale.
type oneScale struct {
	all  *expr.Case
	fine *expr.Case // all with NULL for the constants that had another scale
	// coarse is the scale that these had, -1 where there are none, -2 where they had several.
	coarse int32
}

// oneScaleOf represents a CASE in fixed point, of so many digits at most; nil where it has no such representation.
func (w *narrower) oneScaleOf(e expr.Expr, most uint8) *oneScale {
	c, ok := bare(e).(*expr.Case)
	if !ok || c.Typ.OID != types.NumericOID || c.Typ.IsFixed() {
		return nil
	}
	branches := make([]expr.Expr, 0, len(c.Whens)+1)
	for _, when := range c.Whens {
		branches = append(branches, bare(w.expr(when.Then)))
	}
	if c.Else != nil {
		branches = append(branches, bare(w.expr(c.Else)))
	}
	before, scale := uint8(1), uint8(0)
	for _, b := range branches {
		t := b.Type()
		if k := literal(b); k != nil {
			t = rewrite.FixedOf(*k)
		}
		switch {
		case t.OID == types.NumericOID && t.IsFixed():
			before, scale = max(before, t.Prec-t.Scale), max(scale, t.Scale)
		case !rewrite.IsNull(b):
			return nil
		}
	}
	if before+scale > most {
		return nil
	}
	t := types.FixedNumeric(before+scale, scale, false)
	null := &expr.Const{Typ: t}
	o := &oneScale{all: &expr.Case{Typ: t}, fine: &expr.Case{Typ: t}, coarse: -1}
	for i, b := range branches {
		fine := b
		switch k := literal(b); {
		case k != nil:
			coef, _ := k.Coefficient(int32(scale))
			b = &expr.Const{Val: number.DecimalFromInt64(coef, int32(scale)), Typ: t}
			fine = b
			if s := max(k.Scale(), 0); s != int32(scale) {
				fine = null
				if o.coarse != -1 && o.coarse != s {
					s = -2
				}
				o.coarse = s
			}
		case rewrite.IsNull(b):
			b, fine = null, null
		case b.Type().Scale != scale:
			return nil
		}
		if i == len(c.Whens) {
			o.all.Else, o.fine.Else = b, fine
			continue
		}
		cond := w.keep(c.Whens[i].Cond)
		o.all.Whens = append(o.all.Whens, expr.When{Cond: cond, Then: b})
		o.fine.Whens = append(o.fine.Whens, expr.When{Cond: cond, Then: fine})
	}
	return o
}

// scaledSums computes sums of a CASE of two scales in fixed point:
//
//	CASE WHEN n > 0 THEN s ELSE round(s, 0) END   of   n = count(CASE WHEN paid THEN amount END)
func (w *narrower) scaledSums(n *plan.Aggregate) plan.Node {
	var items []plan.Item
	c := *n
	c.Aggs = nil
	made := map[expr.ColID]expr.Expr{}
	for _, a := range n.Aggs {
		var o *oneScale
		if f := a.Call; f.Fn != nil && f.Fn.Name == "sum" && f.Machine == nil && len(f.Args) == 1 && !f.Distinct && len(f.OrderBy) == 0 && !rewrite.IsVolatile(f.Args[0]) {
			o = w.oneScaleOf(f.Args[0], types.MaxFixedDigits)
		}
		if o == nil || o.coarse < 0 {
			c.Aggs = append(c.Aggs, a)
			continue
		}
		add := func(name string, arg expr.Expr) expr.Expr {
			call := rule.Aggregate(name, arg)
			call.Filter = a.Call.Filter
			call = w.sum(call, n.Input)
			col := w.r.NewCol(name, call.Typ)
			c.Aggs = append(c.Aggs, plan.AggItem{Col: col, Call: call})
			return rewrite.ColOf(col)
		}
		sum, fine := rewrite.CastTo(add("sum", o.all), types.Numeric), add("count", o.fine)
		made[a.Col.ID] = &expr.Case{
			Typ: types.Numeric,
			Whens: []expr.When{{
				Cond: rewrite.CallOf(rewrite.Operator(">", types.Int8, types.Int8).Func, ">", fine, &expr.Const{Val: int64(0), Typ: types.Int8}),
				Then: sum,
			}},
			Else: rewrite.CallOf(rewrite.Function("round", types.NumericOID, types.Int4OID), "", sum, &expr.Const{Val: int64(o.coarse), Typ: types.Int4}),
		}
	}
	if len(made) == 0 || !w.fewGroups(n, linearRows) {
		return n
	}
	for _, col := range n.Schema() {
		it := rewrite.PassThrough(col)
		if e, ok := made[col.ID]; ok {
			it.Expr = rewrite.CastTo(e, col.Type)
		}
		items = append(items, it)
	}
	return &plan.Project{Input: &c, Items: items}
}

// choice represents a CASE, COALESCE, GREATEST or LEAST of numerics as what it chooses from is: in fixed point, where
// all of that has one scale. It returns nil where it has not, or is no choice of numerics.
func (w *narrower) choice(e expr.Expr) expr.Expr {
	if t := e.Type(); t.OID != types.NumericOID || t.IsFixed() {
		return nil
	}
	each := func(int) bool { return true } // which children are what is chosen
	switch e := e.(type) {
	case *expr.Case:
		each = func(i int) bool { return i&1 == 1 || i == 2*len(e.Whens) }
	case *expr.Coalesce, *expr.MinMax:
	default:
		return nil
	}
	all := append([]expr.Expr(nil), e.Children()...)
	scale, before := -1, uint8(1)
	for i, x := range all {
		if !each(i) {
			all[i] = w.keep(x)
			continue
		}
		x = bare(w.expr(x))
		t := x.Type()
		switch k := literal(x); {
		case rewrite.IsNull(x):
			all[i] = x
			continue
		case k != nil:
			t = rewrite.FixedOf(*k)
		}
		if t.OID != types.NumericOID || !t.IsFixed() || scale >= 0 && int(t.Scale) != scale {
			return nil
		}
		scale, before = int(t.Scale), max(before, t.Prec-t.Scale)
		all[i] = x
	}
	if scale < 0 || int(before)+scale > types.MaxFixedDigits {
		return nil
	}
	t := types.FixedNumeric(before+uint8(scale), uint8(scale), false)
	t.Mod = e.Type().Mod
	for i, x := range all {
		if c, ok := x.(*expr.Const); ok && each(i) {
			k := *c
			if d := literal(x); d != nil {
				coef, _ := d.Coefficient(int32(scale))
				k.Val = number.DecimalFromInt64(coef, int32(scale))
			}
			k.Typ = t
			all[i] = &k
		}
	}
	switch x := e.(type) {
	case *expr.Case:
		c := x.With(all).(*expr.Case)
		c.Typ = t
		return c
	case *expr.Coalesce:
		return &expr.Coalesce{Args: all, Typ: t}
	case *expr.MinMax:
		return &expr.MinMax{Args: all, Greatest: x.Greatest, Typ: t}
	}
	return nil
}

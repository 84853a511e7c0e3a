package rewrite

import (
	"slices"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/number"
	"github.com/tributarydb/tributary/sql/types"
)

func BoolConst(v bool) expr.Expr             { return &expr.Const{Val: v, Typ: types.Bool} }
func NullConst(t types.Type) expr.Expr       { return &expr.Const{Typ: t} }
func IntConst(v int64) expr.Expr             { return &expr.Const{Val: v, Typ: types.Int8} }
func ColOf(c plan.Column) *expr.Col          { return &expr.Col{ID: c.ID, Typ: c.Type, Name: c.Name} }
func PassThrough(c plan.Column) plan.Item    { return plan.Item{Col: c, Expr: ColOf(c)} }
func IsConstant(e expr.Expr) bool            { _, ok := e.(*expr.Const); return ok }
func AsColumn(e expr.Expr) (*expr.Col, bool) { c, ok := e.(*expr.Col); return c, ok }

// IsTrue reports whether e is the constant true.
func IsTrue(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == true
}

// IsFalse reports whether e is the constant false.
func IsFalse(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == false
}

// IsNull reports whether e is a NULL constant.
func IsNull(e expr.Expr) bool {
	c, ok := e.(*expr.Const)
	return ok && c.Val == nil
}

// PassItems returns Project items that pass cols on.
func PassItems(cols []plan.Column) []plan.Item {
	out := make([]plan.Item, len(cols))
	for i, c := range cols {
		out[i] = PassThrough(c)
	}
	return out
}

// Conjuncts appends the conjuncts of e to dst.
func Conjuncts(dst []expr.Expr, e expr.Expr) []expr.Expr {
	if a, ok := e.(*expr.And); ok {
		for _, x := range a.Args {
			dst = Conjuncts(dst, x)
		}
		return dst
	}
	return append(dst, e)
}

// Disjuncts appends the disjuncts of e to dst.
func Disjuncts(dst []expr.Expr, e expr.Expr) []expr.Expr {
	if a, ok := e.(*expr.Or); ok {
		for _, x := range a.Args {
			dst = Disjuncts(dst, x)
		}
		return dst
	}
	return append(dst, e)
}

func SplitAll(conds []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, c := range conds {
		out = Conjuncts(out, c)
	}
	return out
}

// AndOf returns the conjunction of conds; nil for none.
func AndOf(conds []expr.Expr) expr.Expr {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return &expr.And{Args: conds}
}

func OrOf(args []expr.Expr) expr.Expr {
	if len(args) == 1 {
		return args[0]
	}
	return &expr.Or{Args: args}
}

func ColumnsOf(es ...expr.Expr) plan.ColSet {
	s := plan.ColSet{}
	for _, e := range es {
		if e != nil {
			plan.ExprColumns(e, s)
		}
	}
	return s
}

// Subset reports whether all of a is in b.
func Subset(a, b plan.ColSet) bool {
	for c := range a {
		if !b[c] {
			return false
		}
	}
	return true
}

// Intersects reports whether a and b share a column.
func Intersects(a, b plan.ColSet) bool {
	for c := range a {
		if b[c] {
			return true
		}
	}
	return false
}

// KeepColumns returns those of the columns that are in used, and their elements of with, if that is
// not nil.
func KeepColumns[T any](cols []plan.Column, with []T, used plan.ColSet) ([]plan.Column, []T) {
	out := cols[:0:0]
	w := with[:0:0]
	for i, c := range cols {
		if used[c.ID] {
			out = append(out, c)
			if with != nil {
				w = append(w, with[i])
			}
		}
	}
	return out, w
}

// NarrowScan returns a scan of the columns that are in used or that its filter reads.
func NarrowScan(n *plan.Scan, used plan.ColSet) *plan.Scan {
	cols, missing := KeepColumns(n.Cols, n.Missing, Union(used, ColumnsOf(n.Filter...)))
	if len(cols) == len(n.Cols) {
		return n
	}
	c := *n
	c.Cols, c.Missing = cols, missing
	return &c
}

// Union returns the columns of both.
func Union(a, b plan.ColSet) plan.ColSet {
	out := make(plan.ColSet, len(a)+len(b))
	for c := range a {
		out[c] = true
	}
	for c := range b {
		out[c] = true
	}
	return out
}

// SortedIDs returns a set's members in order: nothing that reaches a plan may
// depend on the order of a map.
func SortedIDs(s plan.ColSet) []expr.ColID {
	out := make([]expr.ColID, 0, len(s))
	for c := range s {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

// Filter puts a Filter over n, or adds to the one that is there.
func Filter(n plan.Node, conds []expr.Expr) plan.Node {
	if len(conds) == 0 {
		return n
	}
	if f, ok := n.(*plan.Filter); ok {
		return &plan.Filter{Input: f.Input, Conds: append(f.Conds[:len(f.Conds):len(f.Conds)], conds...)}
	}
	return &plan.Filter{Input: n, Conds: conds}
}

// Subst replaces columns by expressions.
func Subst(e expr.Expr, by map[expr.ColID]expr.Expr) expr.Expr {
	if len(by) == 0 {
		return e
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if c, ok := x.(*expr.Col); ok {
			if r, ok := by[c.ID]; ok {
				return r
			}
		}
		return x
	})
}

// SubstAll is Subst of each.
func SubstAll(es []expr.Expr, by map[expr.ColID]expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(es))
	for i, e := range es {
		out[i] = Subst(e, by)
	}
	return out
}

// has reports whether e or something in it satisfies p. Plans of subqueries are searched, too.
func has(e expr.Expr, p func(expr.Expr) bool) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		if found {
			return false
		}
		if p(x) {
			found = true
			return false
		}
		if s, ok := x.(*expr.Subquery); ok {
			if n, ok := s.Plan.(plan.Node); ok && planHas(n, p) {
				found = true
			}
		}
		return !found
	})
	return found
}

func planHas(n plan.Node, p func(expr.Expr) bool) bool {
	for _, e := range plan.Exprs(n) {
		if has(e, p) {
			return true
		}
	}
	switch n := n.(type) {
	case *plan.FuncScan:
		for _, c := range n.Calls {
			if p(&expr.Call{Fn: c.Fn, Args: c.Args}) {
				return true
			}
		}
	case *plan.ProjectSet:
		for _, c := range n.Calls {
			if p(&expr.Call{Fn: c.Fn, Args: c.Args}) {
				return true
			}
		}
	}
	for _, k := range n.Children() {
		if planHas(k, p) {
			return true
		}
	}
	return false
}

func volatileNode(x expr.Expr) bool {
	c, ok := x.(*expr.Call)
	return ok && c.Fn != nil && c.Fn.Vol == fn.Volatile
}

// IsVolatile reports whether e may have another value each time it is evaluated.
func IsVolatile(e expr.Expr) bool { return has(e, volatileNode) }

func PlanVolatile(n plan.Node) bool { return planHas(n, volatileNode) }

// PlanCanFail reports whether some expression of a plan raises an error for some values.
func PlanCanFail(n plan.Node) bool { return planHas(n, canFail) }

// CanFail reports whether e raises an error for some values.
func CanFail(e expr.Expr) bool { return has(e, canFail) }

func canFail(x expr.Expr) bool {
	switch x := x.(type) {
	case *expr.Call:
		return x.Fn != nil && (x.Fn.CanFail || x.Fn.Vol == fn.Volatile)
	case *expr.Cast:
		return !x.Typ.IsString() || !x.Arg.Type().IsString()
	}
	return false
}

// HasSubquery reports whether e holds a subquery.
func HasSubquery(e expr.Expr) bool {
	return has(e, func(x expr.Expr) bool { _, ok := x.(*expr.Subquery); return ok })
}

// Costly reports whether computing e twice instead of once matters.
func Costly(e expr.Expr) bool {
	return has(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Predict, *expr.Subquery:
			return true
		}
		return false
	})
}

// Same reports whether two expressions compute the same, positions aside.
func Same(a, b expr.Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch x := a.(type) {
	case *expr.Col:
		y, ok := b.(*expr.Col)
		return ok && x.ID == y.ID
	case *expr.Const:
		y, ok := b.(*expr.Const)
		return ok && x.Typ == y.Typ && (x.Val == nil) == (y.Val == nil) && types.Compare(x.Typ, x.Val, y.Val) == 0 && sameText(x, y)
	case *expr.Param:
		y, ok := b.(*expr.Param)
		return ok && x.N == y.N && x.Typ == y.Typ
	case *expr.Call:
		y, ok := b.(*expr.Call)
		return ok && x.Fn == y.Fn && x.Typ == y.Typ && x.Fn.Vol != fn.Volatile && sameList(x.Args, y.Args)
	case *expr.Cast:
		y, ok := b.(*expr.Cast)
		return ok && x.Typ == y.Typ && x.Explicit == y.Explicit && Same(x.Arg, y.Arg)
	case *expr.Case:
		y, ok := b.(*expr.Case)
		return ok && x.Typ == y.Typ && (x.Else == nil) == (y.Else == nil) && sameList(x.Children(), y.Children())
	case *expr.And:
		y, ok := b.(*expr.And)
		return ok && sameList(x.Args, y.Args)
	case *expr.Or:
		y, ok := b.(*expr.Or)
		return ok && sameList(x.Args, y.Args)
	case *expr.Not:
		y, ok := b.(*expr.Not)
		return ok && Same(x.Arg, y.Arg)
	case *expr.IsNull:
		y, ok := b.(*expr.IsNull)
		return ok && x.Not == y.Not && Same(x.Arg, y.Arg)
	case *expr.BoolTest:
		y, ok := b.(*expr.BoolTest)
		return ok && x.Not == y.Not && x.Kind == y.Kind && Same(x.Arg, y.Arg)
	case *expr.Distinct:
		y, ok := b.(*expr.Distinct)
		return ok && x.Not == y.Not && Same(x.L, y.L) && Same(x.R, y.R)
	case *expr.In:
		y, ok := b.(*expr.In)
		return ok && x.Not == y.Not && x.Eq == y.Eq && sameList(x.Children(), y.Children())
	case *expr.AnyAll:
		y, ok := b.(*expr.AnyAll)
		return ok && x.Fn == y.Fn && x.All == y.All && Same(x.Arg, y.Arg) && Same(x.Array, y.Array)
	case *expr.Coalesce:
		y, ok := b.(*expr.Coalesce)
		return ok && x.Typ == y.Typ && sameList(x.Args, y.Args)
	case *expr.MinMax:
		y, ok := b.(*expr.MinMax)
		return ok && x.Typ == y.Typ && x.Greatest == y.Greatest && sameList(x.Args, y.Args)
	case *expr.ArrayCtor:
		y, ok := b.(*expr.ArrayCtor)
		return ok && x.Typ == y.Typ && sameList(x.Elems, y.Elems)
	case *expr.RowCtor:
		y, ok := b.(*expr.RowCtor)
		return ok && x.Typ == y.Typ && sameList(x.Elems, y.Elems)
	case *expr.Subscript:
		y, ok := b.(*expr.Subscript)
		return ok && x.Slice == y.Slice && Same(x.Array, y.Array) && Same(x.Index, y.Index) && Same(x.Upper, y.Upper)
	case *expr.Field:
		y, ok := b.(*expr.Field)
		return ok && x.Index == y.Index && Same(x.Arg, y.Arg)
	case *expr.Predict:
		y, ok := b.(*expr.Predict)
		return ok && x.Ref == y.Ref && x.Mode == y.Mode && x.Output == y.Output && x.Rank == y.Rank && slices.Equal(x.Parts, y.Parts) && sameList(x.Args, y.Args)
	}
	return false
}

// sameText distinguishes equal values that print differently: 1.0 and 1.00.
func sameText(x, y *expr.Const) bool {
	d, ok := x.Val.(number.Decimal)
	if !ok {
		return true
	}
	e, ok := y.Val.(number.Decimal)
	return ok && d.Scale() == e.Scale()
}

func sameList(a, b []expr.Expr) bool {
	return slices.EqualFunc(a, b, Same)
}

// ContainsSame reports whether list has an expression that is the Same as e.
func ContainsSame(list []expr.Expr, e expr.Expr) bool {
	return slices.ContainsFunc(list, func(x expr.Expr) bool { return Same(x, e) })
}

// Equality returns the sides of a binary "=".
func Equality(e expr.Expr) (l, r expr.Expr, ok bool) {
	c, ok := e.(*expr.Call)
	if !ok || c.Op != "=" || len(c.Args) != 2 {
		return nil, nil, false
	}
	return c.Args[0], c.Args[1], true
}

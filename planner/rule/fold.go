package rule

import (
	"math"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/planner/rewrite"
	"github.com/tributarydb/tributary/sql/datetime"
	"github.com/tributarydb/tributary/sql/types"
)

// Fold evaluates constant expressions and simplifies boolean algebra.
//
// Three-valued logic limits what is allowed: x AND NULL is not NULL (x may be false), but as a
// whole condition of a filter, where NULL and false are one, it is false. x = x is not true (x may
// be NULL). A call that fails, such as 1/0, is left for execution: the row that would raise it may
// never come.
func Fold(r *Run, n plan.Node, _ plan.ColSet) (plan.Node, error) {
	f := &Constants{R: r}
	return f.tree(n), nil
}

type Constants struct{ R *Run }

func (f *Constants) tree(n plan.Node) plan.Node {
	n = f.R.MapChildren(n, f.tree)
	n = plan.MapExprs(n, f.Expr)
	switch n := n.(type) {
	case *plan.Filter:
		conds, changed := f.conds(n.Conds)
		if !changed {
			return n
		}
		if len(conds) == 0 {
			return n.Input
		}
		if rewrite.IsFalse(conds[0]) {
			return EmptyOf(n)
		}
		return &plan.Filter{Input: n.Input, Conds: conds}
	case *plan.Join:
		if conds, changed := f.conds(n.On); changed && n.Kind != plan.Mark && n.Kind != plan.AntiNull {
			c := *n
			c.On = conds
			return &c
		}
	case *plan.Apply:
		if conds, changed := f.conds(n.On); changed && n.Kind != plan.Mark && n.Kind != plan.AntiNull {
			c := *n
			c.On = conds
			return &c
		}
	}
	return n
}

// conds splits conjunctions and simplifies them as conditions of a filter,
// where NULL is as good as false.
func (f *Constants) conds(in []expr.Expr) (out []expr.Expr, changed bool) {
	all := rewrite.SplitAll(in)
	changed = len(all) != len(in)
	var set rewrite.ExprSet
	for _, c := range all {
		switch {
		case rewrite.IsTrue(c):
			changed = true
		case rewrite.IsFalse(c), rewrite.IsNull(c):
			return []expr.Expr{rewrite.BoolConst(false)}, true
		case !set.Add(c):
			changed = true
		}
	}
	return set.List, changed
}

// EmptyOf returns a relation with n's columns and no rows.
func EmptyOf(n plan.Node) plan.Node { return &plan.Values{Cols: n.Schema()} }

func IsEmpty(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Rows) == 0
}

func (f *Constants) Expr(e expr.Expr) expr.Expr {
	f.R.Poll()
	return expr.Rewrite(e, f.one)
}

func (f *Constants) one(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Subquery:
		p, ok := e.Plan.(plan.Node)
		if !ok {
			return e
		}
		if m := f.tree(p); m != p {
			c := *e
			c.Plan = m
			return &c
		}
	case *expr.Param:
		if p := f.R.Env.Params; e.N >= 1 && e.N <= len(p) {
			return &expr.Const{Val: p[e.N-1], Typ: e.Typ}
		}
	case *expr.And:
		return foldAnd(e)
	case *expr.Or:
		return foldOr(e)
	case *expr.Not:
		return FoldNot(e)
	case *expr.IsNull:
		if c, ok := e.Arg.(*expr.Const); ok && c.Typ.OID != types.RecordOID {
			return rewrite.BoolConst((c.Val == nil) != e.Not)
		}
	case *expr.BoolTest:
		if c, ok := e.Arg.(*expr.Const); ok {
			return rewrite.BoolConst(truth(c.Val, e.Kind) != e.Not)
		}
	case *expr.Case:
		return foldCase(e)
	case *expr.Coalesce:
		return foldCoalesce(e)
	case *expr.Cast:
		if c, ok := e.Arg.(*expr.Const); ok {
			if c.Val == nil {
				return rewrite.NullConst(e.Typ)
			}
			if !stableCast(c.Typ, e.Typ) {
				return f.constant(e)
			}
		}
	case *expr.Call:
		return f.call(e)
	case *expr.In:
		if len(e.List) == 0 {
			return rewrite.BoolConst(e.Not)
		}
		return f.allConstant(e, e.Children())
	case *expr.AnyAll, *expr.MinMax, *expr.Subscript, *expr.ArrayCtor, *expr.Distinct:
		return f.allConstant(e, e.Children())
	}
	return e
}

func truth(v types.Datum, k expr.TruthKind) bool {
	switch k {
	case expr.IsTrue:
		return v == true
	case expr.IsFalse:
		return v == false
	}
	return v == nil
}

func (f *Constants) allConstant(e expr.Expr, args []expr.Expr) expr.Expr {
	for _, a := range args {
		if !rewrite.IsConstant(a) {
			return e
		}
	}
	return f.constant(e)
}

// constant evaluates e, which reads only constants; where that fails e stays.
func (f *Constants) constant(e expr.Expr) expr.Expr {
	if f.R.Env.Folder == nil {
		return e
	}
	v, err := f.R.Env.Folder.Fold(e)
	if err != nil {
		return e
	}
	return &expr.Const{Val: v, Typ: e.Type()}
}

func (f *Constants) call(e *expr.Call) expr.Expr {
	if e.Fn == nil || e.Fn.Kind != fn.Scalar || e.Fn.Vol == fn.Volatile {
		return e
	}
	all := true
	for _, a := range e.Args {
		if rewrite.IsNull(a) && e.Fn.Strict {
			return rewrite.NullConst(e.Typ)
		}
		all = all && rewrite.IsConstant(a)
	}
	if all && e.Fn.Vol == fn.Immutable {
		return f.constant(e)
	}
	if m := dateCompare(e); m != nil {
		return m
	}
	return e
}

// stableCast reports whether it is one of the casts whose result depends on the session's settings;
// the gateway folds those when execution starts.
func stableCast(from, to types.Type) bool {
	zoned := func(t types.Type) bool { return t.OID == types.TimestamptzOID || t.OID == types.TimetzOID }
	dated := func(t types.Type) bool {
		return t.IsTime() || t.IsFloat() || t.Class() == types.ClassBytes || t.Form() == types.FormNested
	}
	switch {
	case from.OID == to.OID:
		return false
	case zoned(from) || zoned(to):
		return true
	case from.IsString() && dated(to), to.IsString() && dated(from):
		return true
	}
	return types.IsReg(from.OID) || types.IsReg(to.OID)
}

func foldAnd(e *expr.And) expr.Expr {
	var set rewrite.ExprSet
	for _, a := range rewrite.Conjuncts(nil, e) {
		switch {
		case rewrite.IsTrue(a):
		case rewrite.IsFalse(a):
			return a
		default:
			set.Add(a)
		}
	}
	out := set.List
	if len(out) == 0 {
		return rewrite.BoolConst(true)
	}
	if len(out) == len(e.Args) && SameHeads(out, e.Args) {
		return e
	}
	return rewrite.AndOf(out)
}

func foldOr(e *expr.Or) expr.Expr {
	var set rewrite.ExprSet
	for _, a := range rewrite.Disjuncts(nil, e) {
		switch {
		case rewrite.IsFalse(a):
		case rewrite.IsTrue(a):
			return a
		default:
			set.Add(a)
		}
	}
	out := set.List
	if len(out) == 0 {
		return rewrite.BoolConst(false)
	}
	if len(out) == len(e.Args) && SameHeads(out, e.Args) {
		return e
	}
	return rewrite.OrOf(out)
}

func SameHeads(a, b []expr.Expr) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// FoldNot moves NOT to the leaves, where comparisons have negators that zone
// maps and statistics understand. De Morgan's laws hold for three values.
func FoldNot(e *expr.Not) expr.Expr {
	switch a := e.Arg.(type) {
	case *expr.Const:
		switch a.Val {
		case true:
			return rewrite.BoolConst(false)
		case false:
			return rewrite.BoolConst(true)
		case nil:
			return a
		}
	case *expr.Not:
		return a.Arg
	case *expr.And:
		return foldOr(&expr.Or{Args: negateAll(a.Args)})
	case *expr.Or:
		return foldAnd(&expr.And{Args: negateAll(a.Args)})
	case *expr.IsNull:
		// For rows IS NOT NULL is not the negation of IS NULL.
		if a.Arg.Type().OID != types.RecordOID {
			return &expr.IsNull{Arg: a.Arg, Not: !a.Not}
		}
	case *expr.BoolTest:
		return &expr.BoolTest{Arg: a.Arg, Kind: a.Kind, Not: !a.Not}
	case *expr.Distinct:
		m := *a
		m.Not = !a.Not
		return &m
	case *expr.In:
		m := *a
		m.Not = !a.Not
		return &m
	case *expr.Subquery:
		if a.Kind == expr.SubExists || a.Kind == expr.SubAny || a.Kind == expr.SubAll {
			m := *a
			m.Not = !a.Not
			return &m
		}
	case *expr.Call:
		if n := rewrite.Negate(a); n != nil {
			return n
		}
	}
	return e
}

func negateAll(args []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = FoldNot(&expr.Not{Arg: a})
	}
	return out
}

func foldCase(e *expr.Case) expr.Expr {
	whens := make([]expr.When, 0, len(e.Whens))
	els := e.Else
	for _, w := range e.Whens {
		if rewrite.IsFalse(w.Cond) || rewrite.IsNull(w.Cond) {
			continue
		}
		if rewrite.IsTrue(w.Cond) {
			els = w.Then
			break
		}
		whens = append(whens, w)
	}
	if len(whens) == len(e.Whens) {
		return e
	}
	if len(whens) == 0 {
		switch {
		case els == nil:
			return rewrite.NullConst(e.Typ)
		case els.Type() == e.Typ:
			return els
		case els.Type().OID == e.Typ.OID:
			return &expr.Cast{Arg: els, Typ: e.Typ}
		}
		return e
	}
	return &expr.Case{Whens: whens, Else: els, Typ: e.Typ}
}

func foldCoalesce(e *expr.Coalesce) expr.Expr {
	var out []expr.Expr
	for _, a := range e.Args {
		if rewrite.IsNull(a) {
			continue
		}
		out = append(out, a)
		if rewrite.IsConstant(a) {
			break
		}
	}
	switch {
	case len(out) == 0:
		return rewrite.NullConst(e.Typ)
	case len(out) == 1 && out[0].Type() == e.Typ:
		return out[0]
	case len(out) == len(e.Args):
		return e
	}
	return &expr.Coalesce{Args: out, Typ: e.Typ}
}

// dateCompare turns a comparison of a date with a constant timestamp, the type of date '1998-12-01'
// - interval '90 days', into one of dates: they compare as 32-bit numbers and zone maps know them.
// It returns nil where e is something else.
//
//	d <  ts    d <  day(ts) at midnight, else d <= day(ts)
//	d >= ts    d >= day(ts) at midnight, else d >  day(ts)
func dateCompare(e *expr.Call) expr.Expr {
	if rewrite.Mirrored[e.Op] == "" || len(e.Args) != 2 {
		return nil
	}
	l, r, op := e.Args[0], e.Args[1], e.Op
	if rewrite.IsConstant(l) {
		l, r, op = r, l, rewrite.Mirrored[op]
	}
	c, ok := r.(*expr.Const)
	if !ok || c.Typ.OID != types.TimestampOID {
		return nil
	}
	if cast, ok := l.(*expr.Cast); ok && cast.Typ.OID == types.TimestampOID {
		l = cast.Arg
	}
	ts, ok := c.Val.(int64)
	if !ok || l.Type().OID != types.DateOID || ts == math.MaxInt64 || ts == math.MinInt64 {
		return nil
	}
	day, rest := ts/datetime.MicrosPerDay, ts%datetime.MicrosPerDay
	if rest < 0 {
		day, rest = day-1, rest+datetime.MicrosPerDay
	}
	if rest != 0 {
		switch op {
		case "<", "<=":
			op = "<="
		case ">", ">=":
			op = ">"
		default:
			return nil
		}
	}
	return rewrite.Compare(op, l, &expr.Const{Val: day, Typ: types.Date})
}

// NotFalse is the condition under which NOT IN drops a row.
func NotFalse(on []expr.Expr) []expr.Expr {
	return []expr.Expr{&expr.BoolTest{Arg: rewrite.AndOf(on), Kind: expr.IsFalse, Not: true}}
}

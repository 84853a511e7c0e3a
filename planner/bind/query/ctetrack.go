package query

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// tracker adds the columns of SEARCH and CYCLE to a recursive CTE. Each row has them, computed from those of
// its predecessor; * does not include them:
//
//	SEARCH DEPTH FIRST BY a SET s       s      ARRAY[ROW(a)], then old s || ROW(a)
//	SEARCH BREADTH FIRST BY a SET s     s      ROW(0, a), then ROW(depth of old s + 1, a)
//	CYCLE a SET mark USING path         mark   false, then ROW(a) = ANY (old path)
//	                                    path   ARRAY[ROW(a)], then old path || ROW(a)
//
// and rows of a cycle, whose old mark is set, have no successors.
type tracker struct {
	b              *scope.Binder
	breadth        bool
	by, over       []int // ordinals of the columns to search by and to find cycles in
	names          []string
	seq, cyc, path int // ordinals of the columns added, -1 for none
	mark, unmarked expr.Expr
}

// newTracker checks the clauses; own are the CTE's own columns. It returns nil
// where there are none.
func newTracker(sc *scope.Scope, c *scope.CTE, own []string) (*tracker, error) {
	if c.Search == nil && c.Cycle == nil {
		return nil, nil
	}
	b := sc.Binder
	t := &tracker{b: b, seq: -1, cyc: -1, path: -1}
	columns := func(what string, list *ast.NodeList) (out []int, err error) {
		for _, name := range typing.Strs(list) {
			i := slices.Index(own, name)
			switch {
			case i < 0:
				return nil, pgerr.New(pgerr.SyntaxError, "%s column \"%s\" not in WITH query column list", what, name).At(b.PosIdent(name))
			case slices.Contains(out, i):
				return nil, pgerr.New(pgerr.DuplicateColumn, "%s column \"%s\" specified more than once", what, name).At(b.PosIdent(name))
			}
			out = append(out, i)
		}
		return out, nil
	}
	add := func(what, name string) (int, error) {
		if slices.Contains(own, name) || slices.Contains(t.names, name) {
			return 0, pgerr.New(pgerr.SyntaxError, "%s column name \"%s\" already used in WITH query column list", what, name).At(b.PosIdent(name))
		}
		t.names = append(t.names, name)
		return len(own) + len(t.names) - 1, nil
	}
	var err error
	if s := c.Search; s != nil {
		t.breadth = s.SearchBreadthFirst
		if t.by, err = columns("search", s.SearchColList); err != nil {
			return nil, err
		}
		if t.seq, err = add("search sequence", s.SearchSeqColumn); err != nil {
			return nil, err
		}
	}
	if y := c.Cycle; y != nil {
		if t.over, err = columns("cycle", y.CycleColList); err != nil {
			return nil, err
		}
		if t.cyc, err = add("cycle mark", y.CycleMarkColumn); err != nil {
			return nil, err
		}
		if t.path, err = add("cycle path", y.CyclePathColumn); err != nil {
			return nil, err
		}
		t.mark, t.unmarked = &expr.Const{Val: true, Typ: types.Bool}, &expr.Const{Val: false, Typ: types.Bool}
		if y.CycleMarkValue != nil {
			return t, t.marks(sc, y)
		}
	}
	return t, nil
}

// marks binds the values written for the mark.
func (t *tracker) marks(sc *scope.Scope, y *ast.CTECycleClause) error {
	var vals []expr.Expr
	for _, n := range []ast.Node{y.CycleMarkValue, y.CycleMarkDefault} {
		e, err := sc.Expr(n, scope.Place{Name: "CYCLE"})
		if err != nil {
			return err
		}
		vals = append(vals, e)
	}
	vals, _, err := t.b.Unify("CYCLE", vals, t.b.SpotExpr(y.CycleMarkDefault))
	if err != nil {
		return err
	}
	if _, err := t.b.Operator("<>", vals[0], vals[1], typing.Position{}); err != nil {
		return err
	}
	t.mark, t.unmarked = vals[0], vals[1]
	return nil
}

// widen adds the tracked columns of the recursive reference to the recursive
// term's own.
func (t *tracker) widen(c *scope.CTE) (*ast.SelectStmt, error) {
	for i, arm := range []*ast.SelectStmt{c.Sel.Larg, c.Sel.Rarg} {
		if arm == nil || arm.Op != ast.SETOP_NONE {
			return nil, pgerr.New(pgerr.SyntaxError, "with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT", []string{"left", "right"}[i]).
				At(t.b.PosIdent(c.Name))
		}
	}
	ref := ""
	var look func(n ast.Node)
	look = func(n ast.Node) {
		switch n := n.(type) {
		case *ast.RangeVar:
			if n.RelName == c.Name && n.SchemaName == "" {
				ref = n.RelName
				if n.Alias != nil && n.Alias.AliasName != "" {
					ref = n.Alias.AliasName
				}
			}
		case *ast.JoinExpr:
			look(n.Larg)
			look(n.Rarg)
		}
	}
	for _, n := range typing.Items(c.Sel.Rarg.FromClause) {
		look(n)
	}
	if ref == "" {
		return nil, pgerr.Unsupported("with a SEARCH or CYCLE clause, the recursive reference to WITH query \"%s\" must be at the top level of its right-hand SELECT", c.Name).
			At(t.b.PosIdent(c.Name))
	}
	arm := *c.Sel.Rarg
	targets := slices.Clone(typing.Items(arm.TargetList))
	for _, name := range t.names {
		targets = append(targets, ast.NewResTarget("", ast.NewColumnRef(ast.NewString(ref), ast.NewString(name))))
	}
	arm.TargetList = ast.NewNodeList(targets...)
	return &arm, nil
}

func (t *tracker) row(es []expr.Expr, of []int, first ...expr.Expr) (expr.Expr, error) {
	for _, i := range of {
		first = append(first, es[i])
	}
	return t.b.Row(first)
}

// start adds the columns to a row without a predecessor.
func (t *tracker) start(es []expr.Expr) ([]expr.Expr, error) {
	list := func(of []int) error {
		row, err := t.row(es, of)
		if err != nil {
			return err
		}
		at, _ := types.ArrayOf(row.Type())
		es = append(es, &expr.ArrayCtor{Elems: []expr.Expr{row}, Typ: at})
		return nil
	}
	if t.seq >= 0 && t.breadth {
		row, err := t.row(es, t.by, &expr.Const{Val: int64(0), Typ: types.Int8})
		if err != nil {
			return nil, err
		}
		es = append(es, row)
	} else if t.seq >= 0 {
		if err := list(t.by); err != nil {
			return nil, err
		}
	}
	if t.cyc >= 0 {
		es = append(es, t.unmarked)
		if err := list(t.over); err != nil {
			return nil, err
		}
	}
	return es, nil
}

// step makes the columns of a row from those of the row before, which stand in
// their places in es.
func (t *tracker) step(node plan.Node, es []expr.Expr, cols []plan.Column) (plan.Node, []expr.Expr, error) {
	b := t.b
	out := slices.Clone(es)
	put := func(at int, e expr.Expr, err error) error {
		if err != nil {
			return err
		}
		want := cols[at].Type
		if e, err = b.Coerce(e, types.Type{OID: want.OID, Mod: -1, Rec: want.Rec}, fn.ImplicitCast, typing.Position{}); err != nil {
			return err
		}
		out[at] = b.AsPhysical(e, want)
		return nil
	}
	longer := func(at int, of []int) error {
		row, err := t.row(es, of)
		if err != nil {
			return err
		}
		e, err := b.Call("array_append", typing.Position{}, es[at], row)
		return put(at, e, err)
	}
	if t.seq >= 0 && t.breadth {
		var depth expr.Expr = &expr.Field{Arg: es[t.seq], Index: 0, Typ: types.Int8}
		depth, err := b.Operator("+", depth, &expr.Const{Val: int64(1), Typ: types.Int8}, typing.Position{})
		if err != nil {
			return nil, nil, err
		}
		row, err := t.row(es, t.by, depth)
		if err := put(t.seq, row, err); err != nil {
			return nil, nil, err
		}
	} else if t.seq >= 0 {
		if err := longer(t.seq, t.by); err != nil {
			return nil, nil, err
		}
	}
	if t.cyc < 0 {
		return node, out, nil
	}
	row, err := t.row(es, t.over)
	if err != nil {
		return nil, nil, err
	}
	equal := &expr.AnyAll{Arg: row, Array: es[t.path], Fn: fn.FindOperator("=", types.RecordOID, types.RecordOID).Func, Op: "="}
	mark := &expr.Case{Whens: []expr.When{{Cond: equal, Then: t.mark}}, Else: t.unmarked, Typ: t.mark.Type()}
	if err := put(t.cyc, mark, nil); err != nil {
		return nil, nil, err
	}
	if err := longer(t.path, t.over); err != nil {
		return nil, nil, err
	}
	open, err := b.Operator("<>", es[t.cyc], t.mark, typing.Position{})
	if err != nil {
		return nil, nil, err
	}
	return &plan.Filter{Input: node, Conds: []expr.Expr{open}}, out, nil
}

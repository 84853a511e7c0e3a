package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// mergeWhen is a WHEN clause: its action, and the new row it makes.
type mergeWhen struct {
	matched bool
	cond    expr.Expr // nil: always
	action  int64     // of plan.DML.Action
	vals    []expr.Expr
}

// merge binds MERGE. The source left-joins the table; a first projection chooses the WHEN clause of
// a row, a second computes its action and values:
//
//	source ⟕ target ─▶ which := CASE WHEN matched AND … THEN 1 … END
//	                ─▶ action, values := CASE which WHEN 1 THEN … END
func (w *dmlBinder) merge(n *ast.MergeStmt) error {
	b, sc := w.b, w.sc
	w.d.Kind = plan.MergeRows
	if len(typing.Items(n.ReturningList)) > 0 {
		return pgerr.Unsupported("MERGE … RETURNING is not supported").At(b.PosWord("returning"))
	}
	if n.WithClause != nil && n.WithClause.Recursive {
		return pgerr.New(pgerr.SyntaxError, "WITH RECURSIVE is not supported for MERGE statement").At(b.PosWord("with"))
	}
	src, err := query.FromItem(sc, n.SourceRelation, nil)
	if err != nil {
		return err
	}
	scan, err := w.scanTarget()
	if err != nil {
		return err
	}
	if err := query.DistinctNames(sc, []*scope.Item{w.target}, src.Items); err != nil {
		return err
	}
	both := append([]*scope.Item{w.target}, src.Items...)
	on, err := query.Conditions(sc.WithItems(both), n.JoinCondition, scope.Place{Name: "JOIN/ON"})
	if err != nil {
		return err
	}
	hidden := *w.target
	hidden.Blocked = true
	whens, err := w.whens(n, sc.WithItems(both), sc.WithItems(append([]*scope.Item{&hidden}, src.Items...)))
	if err != nil {
		return err
	}
	node := query.Joined(plan.Left, src.Node, scan, on)
	rowid := &expr.Col{ID: w.d.RowID, Typ: types.Int8, Name: "rowid"}
	which := &expr.Case{Typ: types.Int4}
	for i, x := range whens {
		conds := []expr.Expr{&expr.IsNull{Arg: rowid, Not: x.matched}}
		if x.cond != nil {
			conds = append(conds, x.cond)
		}
		c := conds[0]
		if len(conds) > 1 {
			c = &expr.And{Args: conds}
		}
		which.Whens = append(which.Whens, expr.When{Cond: c, Then: typing.IntLit(int64(i + 1))})
	}
	node, wc := w.extend(node, "which", which)
	node = &plan.Filter{Input: node, Conds: []expr.Expr{&expr.IsNull{Arg: wc, Not: true}}}
	choose := func(t types.Type, f func(x *mergeWhen) expr.Expr) (expr.Expr, error) {
		c := &expr.Case{Typ: t}
		for i := range whens {
			v := f(&whens[i])
			if v == nil {
				continue
			}
			eq, err := b.Operator("=", wc, typing.IntLit(int64(i+1)), typing.Position{})
			if err != nil {
				return nil, err
			}
			c.Whens = append(c.Whens, expr.When{Cond: eq, Then: v})
		}
		if len(c.Whens) == 0 {
			return &expr.Const{Typ: t}, nil
		}
		return c, nil
	}
	act, err := choose(types.Int4, func(x *mergeWhen) expr.Expr { return typing.IntLit(x.action) })
	if err != nil {
		return err
	}
	node, ac := w.extend(node, "action", act)
	w.d.Action = ac.ID
	some, err := b.Operator("<>", ac, typing.IntLit(0), typing.Position{})
	if err != nil {
		return err
	}
	node = &plan.Filter{Input: node, Conds: []expr.Expr{some}}
	vals := make([]expr.Expr, len(w.live))
	for i := range w.live {
		if w.live[i].Generated != "" {
			continue
		}
		if vals[i], err = choose(w.live[i].Type, func(x *mergeWhen) expr.Expr {
			if x.vals == nil {
				return nil
			}
			return x.vals[i]
		}); err != nil {
			return err
		}
	}
	if w.d.Source, err = w.newRow(node, vals, true); err != nil {
		return err
	}
	// A deleted row has no new row to check.
	writes, err := b.Operator("<>", ac, typing.IntLit(3), typing.Position{})
	if err != nil {
		return err
	}
	for i := range w.d.Checks {
		c := &w.d.Checks[i]
		c.Expr = &expr.Case{Whens: []expr.When{{Cond: writes, Then: c.Expr}}, Typ: types.Bool}
	}
	return nil
}

// extend adds a computed column to a plan.
func (w *dmlBinder) extend(node plan.Node, name string, e expr.Expr) (plan.Node, *expr.Col) {
	p := &plan.Project{Input: node}
	for _, c := range node.Schema() {
		p.Items = append(p.Items, plan.Item{Col: c, Expr: scope.Col(c)})
	}
	c := w.b.NewCol(w.sc.Level, name, e.Type())
	p.Items = append(p.Items, plan.Item{Col: c, Expr: e})
	return p, scope.Col(c)
}

// whens binds the WHEN clauses. In WHEN MATCHED both sides are visible, in WHEN NOT MATCHED only the source.
func (w *dmlBinder) whens(n *ast.MergeStmt, both, source *scope.Scope) ([]mergeWhen, error) {
	b := w.b
	var out []mergeWhen
	always := map[bool]bool{}
	for _, x := range typing.Items(n.MergeWhenClauses) {
		c := x.(*ast.MergeWhenClause)
		if c.MatchKind == ast.MERGE_WHEN_NOT_MATCHED_BY_SOURCE {
			return nil, pgerr.Unsupported("WHEN NOT MATCHED BY SOURCE is not supported").At(b.PosWord("source"))
		}
		m := mergeWhen{matched: c.MatchKind == ast.MERGE_WHEN_MATCHED}
		sc := source
		if m.matched {
			sc = both
		}
		if always[m.matched] {
			return nil, pgerr.New(pgerr.SyntaxError, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		always[m.matched] = c.Condition == nil
		conds, err := query.Conditions(sc, c.Condition, scope.InMergeWhen)
		if err != nil {
			return nil, err
		}
		if len(conds) == 1 {
			m.cond = conds[0]
		} else if len(conds) > 1 {
			m.cond = &expr.And{Args: conds}
		}
		switch c.CommandType {
		case ast.CMD_NOTHING:
		case ast.CMD_DELETE:
			m.action = 3
			w.noteColumns('d', nil)
		case ast.CMD_UPDATE:
			m.action = 2
			list := make([]ast.Node, len(c.TargetList))
			for i, t := range c.TargetList {
				list[i] = t
			}
			set, at, err := w.assignments(sc, list, nil)
			if err != nil {
				return nil, err
			}
			w.noteColumns('w', at)
			m.vals = make([]expr.Expr, len(w.live))
			for i, lc := range w.live {
				m.vals[i] = &expr.Col{ID: w.d.Old[i], Typ: lc.Type, Name: lc.Name}
				if set[i] != nil {
					m.vals[i] = set[i]
				}
			}
		case ast.CMD_INSERT:
			m.action = 1
			if m.vals, err = w.mergeInsert(c, sc); err != nil {
				return nil, err
			}
		default:
			return nil, pgerr.Internal("MERGE action %v", c.CommandType)
		}
		out = append(out, m)
	}
	return out, nil
}

// mergeInsert binds the INSERT of a WHEN clause.
func (w *dmlBinder) mergeInsert(c *ast.MergeWhenClause, sc *scope.Scope) ([]expr.Expr, error) {
	b := w.b
	ins := &ast.InsertStmt{}
	if len(c.TargetList) > 0 {
		ins.Cols = ast.NewNodeList()
		for _, t := range c.TargetList {
			ins.Cols.Append(t)
		}
	}
	cols, err := w.insertColumns(ins)
	if err != nil {
		return nil, err
	}
	given := typing.Items(c.Values)
	if c.Values == nil {
		cols = nil // DEFAULT VALUES
	} else if cols, err = w.fitColumns(cols, len(given), ins, typing.Position{}); err != nil {
		return nil, err
	}
	w.noteColumns('a', cols)
	vals := make([]expr.Expr, len(w.live))
	for i, at := range cols {
		lc := &w.live[at]
		if _, ok := typing.Unparen(given[i]).(*ast.SetToDefault); ok {
			continue
		}
		keep, err := w.given(lc, c.Override)
		if err != nil {
			return nil, err
		}
		e, err := sc.Expr(given[i], scope.InValues)
		if err != nil {
			return nil, err
		}
		if e, err = b.Assign(e, lc.Name, lc.Type, b.SpotExpr(given[i])); err != nil {
			return nil, err
		}
		if keep {
			vals[at] = e
		}
	}
	for i := range w.live {
		if vals[i] == nil {
			if vals[i], err = w.defaultOf(&w.live[i]); err != nil {
				return nil, err
			}
		}
	}
	return vals, nil
}

package query

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sortList binds ORDER BY, and with another place DISTINCT ON.
func (s *selectBinder) sortList(list []ast.Node, p scope.Place) ([]sortItem, error) {
	var out []sortItem
	for _, n := range list {
		sb, ok := n.(*ast.SortBy)
		if !ok {
			sb = &ast.SortBy{Node: n}
		}
		it := sortItem{target: -1, node: sb.Node}
		var err error
		if it.target, err = s.outputRef(sb.Node, p.Name, false); err != nil {
			return nil, err
		}
		if it.target >= 0 {
			if it.e, err = s.sc.Binder.ResolveUnknown(s.targets[it.target].E); err != nil {
				return nil, err
			}
			s.retarget(it.target, it.e)
		} else {
			if it.e, err = s.sc.Expr(sb.Node, p); err != nil {
				return nil, err
			}
			if it.e, err = s.sc.Binder.ResolveUnknown(it.e); err != nil {
				return nil, err
			}
			it.target = s.targetOf(it.e)
		}
		if it.order, err = s.sc.Binder.Order(it.e, sb); err != nil {
			return nil, err
		}
		it.order.Expr = nil
		out = append(out, it)
	}
	return out, nil
}

// outputRef finds the target that an item of ORDER BY or GROUP BY names by
// position or by alias; -1 if it does neither. In GROUP BY an input column of
// that name comes first.
func (s *selectBinder) outputRef(n ast.Node, clause string, group bool) (int, error) {
	b := s.sc.Binder
	if c, sign := signedConst(n); c != nil {
		v, ok := c.Val.(*ast.Integer)
		if !ok {
			return -1, pgerr.New(pgerr.SyntaxError, "non-integer constant in %s", clause).At(b.PosConst(c))
		}
		if at := sign * v.IVal; at < 1 || at > len(s.targets) {
			return -1, pgerr.New(pgerr.InvalidColumnReference, "%s position %d is not in select list", clause, at).At(b.PosConst(c))
		}
		return sign*v.IVal - 1, nil
	}
	switch n := typing.Unparen(n).(type) {
	case *ast.ColumnRef:
		names, rest := typing.SplitFields(n)
		if len(names) != 1 || len(rest) > 0 {
			return -1, nil
		}
		if group {
			f, err := s.sc.Lookup(names[0])
			if err != nil {
				return -1, err
			}
			if f.Col != nil {
				return -1, nil
			}
		}
		hit := -1
		for i := range s.targets {
			if s.targets[i].Name != names[0] {
				continue
			}
			if hit >= 0 && !scope.EqualExpr(s.targets[hit].E, s.targets[i].E) {
				return -1, pgerr.New(pgerr.AmbiguousColumn, "%s \"%s\" is ambiguous", clause, names[0]).At(b.PosIdent(names[0]))
			}
			if hit < 0 {
				hit = i
			}
		}
		return hit, nil
	}
	return -1, nil
}

// signedConst recognises constants as PostgreSQL's grammar does, where a sign before a number is
// part of it.
func signedConst(n ast.Node) (c *ast.A_Const, sign int) {
	for sign = 1; ; sign = -sign {
		switch x := typing.Unparen(n).(type) {
		case *ast.A_Const:
			return x, sign
		case *ast.A_Expr:
			if x.Kind != ast.AEXPR_OP || x.Lexpr != nil || typing.OpName(x.Name) != "-" {
				return nil, 0
			}
			n = x.Rexpr
		default:
			return nil, 0
		}
	}
}

// distinctClause checks DISTINCT against ORDER BY and binds DISTINCT ON.
func (s *selectBinder) distinctClause() error {
	b := s.sc.Binder
	if s.sel.DistinctClause == nil {
		return nil
	}
	on := typing.Items(s.sel.DistinctClause)
	if len(on) == 0 {
		if len(s.targets) == 0 {
			return pgerr.New(pgerr.SyntaxError, "SELECT DISTINCT must have at least one column").At(b.PosWord("distinct"))
		}
		for _, it := range s.sort {
			if it.target < 0 {
				return pgerr.New(pgerr.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(b.PosExpr(it.node))
			}
		}
		for _, t := range s.targets {
			if err := b.Comparable(t.E.Type(), false, b.SpotExpr(t.node)); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if s.on, err = s.sortList(on, scope.InDistinct); err != nil {
		return err
	}
	// ORDER BY must begin with the keys, in any order.
	same := func(a, c sortItem) bool { return a.target >= 0 && a.target == c.target || scope.EqualExpr(a.e, c.e) }
	skipped := false
	for i, it := range s.sort {
		if slices.ContainsFunc(s.sort[:i], func(a sortItem) bool { return same(a, it) }) {
			continue // which orders nothing
		}
		in := false
		for _, k := range s.on {
			in = in || same(k, it)
		}
		if in && skipped {
			return pgerr.New(pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(b.PosExpr(it.node))
		}
		skipped = skipped || !in
	}
	if skipped {
		for _, k := range s.on {
			in := false
			for _, it := range s.sort {
				in = in || same(k, it)
			}
			if !in {
				return pgerr.New(pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(b.PosExpr(k.node))
			}
		}
	}
	return nil
}

// outputOrder binds the ORDER BY and LIMIT of a query that has no select list of its own: a set
// operation or VALUES. exprs: expressions over the columns are allowed.
func outputOrder(sc *scope.Scope, sel *ast.SelectStmt, r *scope.Query, exprs bool) (*scope.Query, error) {
	s := &selectBinder{sc: sc, sel: sel}
	rl := &scope.Item{Open: true}
	for _, c := range r.Out {
		s.targets = append(s.targets, Target{Name: c.Name, E: scope.Col(c.Column)})
		rl.Cols = append(rl.Cols, scope.Column{Name: c.Name, Expr: scope.Col(c.Column)})
		sc.Binder.Stmt.Owner[c.ID] = sc.Level
	}
	list := typing.Items(sel.SortClause)
	if exprs {
		sc.Items = []*scope.Item{rl}
	} else {
		for _, n := range list {
			at, err := s.outputRef(n.(*ast.SortBy).Node, "ORDER BY", false)
			if err != nil {
				return nil, err
			}
			if at < 0 {
				node := n.(*ast.SortBy).Node
				if c, ok := node.(*ast.ColumnRef); ok {
					if names, rest := typing.SplitFields(c); len(names) == 1 && len(rest) == 0 {
						return nil, sc.NoColumn("", names[0])
					}
				}
				return nil, pgerr.Unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
					WithDetail("Only result column names can be used, not expressions or functions.").
					WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.").At(sc.Binder.PosExpr(node))
			}
		}
	}
	sort, err := s.sortList(list, scope.InOrderBy)
	if err != nil {
		return nil, err
	}
	l, err := limit(sc, sel)
	if err != nil {
		return nil, err
	}
	pr := NewProjector(sc.Binder, sc.Level, r.Node)
	for i := range r.Out {
		pr.Emit(scope.Col(r.Out[i].Column), r.Out[i].Name)
	}
	keys := s.orders(sort, pr, r.Out)
	node := sorted(pr.Node(), keys, l)
	return &scope.Query{Node: node, Out: r.Out}, nil
}

// setOp binds UNION, INTERSECT and EXCEPT.
func setOp(sc *scope.Scope, sel *ast.SelectStmt) (*scope.Query, error) {
	if len(typing.Items(sel.LockingClause)) > 0 {
		return nil, pgerr.Unsupported("FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT")
	}
	r, err := setTree(sc, sel)
	if err != nil {
		return nil, err
	}
	if len(typing.Items(sel.SortClause)) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil {
		return outputOrder(sc, sel, r, false)
	}
	return r, nil
}

// setTree binds the tree of operands; each node types its own two sides.
func setTree(sc *scope.Scope, sel *ast.SelectStmt) (*scope.Query, error) {
	b := sc.Binder
	name := map[ast.SetOperation]string{ast.SETOP_UNION: "UNION", ast.SETOP_INTERSECT: "INTERSECT", ast.SETOP_EXCEPT: "EXCEPT"}[sel.Op]
	kind := map[ast.SetOperation]plan.SetOpKind{ast.SETOP_UNION: plan.Union, ast.SETOP_INTERSECT: plan.Intersect, ast.SETOP_EXCEPT: plan.Except}[sel.Op]
	l, err := operand(sc, sel.Larg)
	if err != nil {
		return nil, err
	}
	if sel.Op == ast.SETOP_EXCEPT || sel.Op == ast.SETOP_INTERSECT && sel.All {
		b.Stmt.Except++
		defer func() { b.Stmt.Except-- }()
	}
	r, err := operand(sc, sel.Rarg)
	if err != nil {
		return nil, err
	}
	if len(l.Out) != len(r.Out) {
		return nil, pgerr.New(pgerr.SyntaxError, "each %s query must have the same number of columns", name).At(FirstTarget(b, sel.Rarg).At())
	}
	n := len(l.Out)
	le, re, names := make([]expr.Expr, n), make([]expr.Expr, n), make([]string, n)
	ts := make([]types.Type, n)
	for i := range l.Out {
		pair := []expr.Expr{l.Out[i].Value(), r.Out[i].Value()}
		pos := TargetPos(b, sel.Rarg, i)
		pair, t, err := b.Unify(name, pair, pos)
		if err != nil {
			return nil, err
		}
		if !sel.All || kind != plan.Union {
			if err := b.Comparable(t, false, pos); err != nil {
				return nil, err
			}
		}
		le[i], re[i], ts[i], names[i] = pair[0], pair[1], t, l.Out[i].Name
	}
	op := &plan.SetOp{Kind: kind, All: sel.All}
	if s, ok := l.Node.(*plan.SetOp); ok && s.Kind == plan.Union && kind == plan.Union && s.All == sel.All && passColumns(le, l.Out) {
		op.Inputs = append(op.Inputs, s.Inputs...)
	} else {
		ln, _ := shape(b, sc.Level, l.Node, le, names)
		op.Inputs = append(op.Inputs, ln)
	}
	rn, _ := shape(b, sc.Level, r.Node, re, names)
	op.Inputs = append(op.Inputs, rn)
	out := &scope.Query{Node: op}
	for i := range ts {
		c := b.NewCol(sc.Level, names[i], ts[i])
		op.Cols = append(op.Cols, c)
		out.Out = append(out.Out, scope.Output{Column: c})
	}
	return out, nil
}

// operand binds one side; an inner set operation without clauses of its own
// joins the tree.
func operand(sc *scope.Scope, sel *ast.SelectStmt) (*scope.Query, error) {
	if sel.Op != ast.SETOP_NONE && sel.WithClause == nil && len(typing.Items(sel.SortClause)) == 0 && sel.LimitCount == nil && sel.LimitOffset == nil {
		return setTree(sc, sel)
	}
	return Bind(sc, sel, sc.Place, false)
}

// passColumns reports whether expressions are just the columns.
func passColumns(es []expr.Expr, out []scope.Output) bool {
	for i, e := range es {
		c, ok := e.(*expr.Col)
		if !ok || c.ID != out[i].ID {
			return false
		}
	}
	return true
}

// FirstTarget and TargetPos point into an operand's select list.
func FirstTarget(b *scope.Binder, sel *ast.SelectStmt) typing.Position { return TargetPos(b, sel, 0) }

func TargetPos(b *scope.Binder, sel *ast.SelectStmt, i int) typing.Position {
	for sel.Op != ast.SETOP_NONE {
		sel = sel.Larg
	}
	list := typing.Items(sel.TargetList)
	if i < len(list) {
		return b.SpotExpr(list[i])
	}
	return typing.Position{}
}

// values binds VALUES as a query.
func values(sc *scope.Scope, sel *ast.SelectStmt) (*scope.Query, error) {
	b := sc.Binder
	rows, err := valueRows(sc, sel, scope.InValues)
	if err != nil {
		return nil, err
	}
	n := len(rows[0])
	v := &plan.Values{Rows: rows}
	out := &scope.Query{Node: v}
	for i := 0; i < n; i++ {
		column := make([]expr.Expr, len(rows))
		for k := range rows {
			column[k] = rows[k][i]
		}
		column, t, err := b.Unify("VALUES", column, b.SpotWord("values"))
		if err != nil {
			return nil, err
		}
		for k := range rows {
			rows[k][i] = column[k]
		}
		c := b.NewCol(sc.Level, "column"+typing.Itoa(i+1), t)
		v.Cols = append(v.Cols, c)
		out.Out = append(out.Out, scope.Output{Column: c})
	}
	if len(sc.Level.Aggs) > 0 {
		return nil, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in VALUES")
	}
	if len(typing.Items(sel.SortClause)) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil {
		return outputOrder(sc, sel, out, true)
	}
	return out, nil
}

// valueRows binds the rows of VALUES, which must be of one length.
func valueRows(sc *scope.Scope, sel *ast.SelectStmt, p scope.Place) ([][]expr.Expr, error) {
	var rows [][]expr.Expr
	for _, n := range sel.ValuesLists.Items {
		l, ok := n.(*ast.NodeList)
		if !ok {
			return nil, pgerr.Internal("a %T in VALUES", n)
		}
		row, err := sc.RowItems(l.Items, p)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 && len(rows[0]) != len(row) {
			var pos typing.Position
			if len(l.Items) > 0 {
				pos = sc.Binder.SpotExpr(l.Items[0])
			}
			return nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length").At(pos.At())
		}
		rows = append(rows, row)
	}
	return rows, nil
}

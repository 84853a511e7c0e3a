package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// sortList binds ORDER BY, and with another place DISTINCT ON.
func (s *selecting) sortList(list []ast.Node, p place) ([]sortItem, error) {
	var out []sortItem
	for _, n := range list {
		sb, ok := n.(*ast.SortBy)
		if !ok {
			sb = &ast.SortBy{Node: n}
		}
		it := sortItem{target: -1, node: sb.Node}
		var err error
		if it.target, err = s.outputRef(sb.Node, p.name, false); err != nil {
			return nil, err
		}
		if it.target >= 0 {
			t := &s.targets[it.target]
			if t.e, err = s.sc.b.known(t.e); err != nil {
				return nil, err
			}
			it.e = t.e
		} else {
			if it.e, err = s.sc.expr(sb.Node, p); err != nil {
				return nil, err
			}
			if it.e, err = s.sc.b.known(it.e); err != nil {
				return nil, err
			}
			for i := range s.targets {
				if equalExpr(s.targets[i].e, it.e) {
					it.target = i
					break
				}
			}
		}
		if it.order, err = s.sc.b.order(it.e, sb); err != nil {
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
func (s *selecting) outputRef(n ast.Node, clause string, group bool) (int, error) {
	b := s.sc.b
	if c, sign := signedConst(n); c != nil {
		v, ok := c.Val.(*ast.Integer)
		if !ok {
			return -1, pgerr.New(pgerr.SyntaxError, "non-integer constant in %s", clause).At(b.posConst(c))
		}
		if at := sign * v.IVal; at < 1 || at > len(s.targets) {
			return -1, pgerr.New(pgerr.InvalidColumnReference, "%s position %d is not in select list", clause, at).At(b.posConst(c))
		}
		return sign*v.IVal - 1, nil
	}
	switch n := unparen(n).(type) {
	case *ast.ColumnRef:
		names, rest := splitFields(n)
		if len(names) != 1 || len(rest) > 0 {
			return -1, nil
		}
		if group {
			f, err := s.sc.lookup(names[0])
			if err != nil {
				return -1, err
			}
			if f.col != nil {
				return -1, nil
			}
		}
		hit := -1
		for i := range s.targets {
			if s.targets[i].name != names[0] {
				continue
			}
			if hit >= 0 && !equalExpr(s.targets[hit].e, s.targets[i].e) {
				return -1, pgerr.New(pgerr.AmbiguousColumn, "%s \"%s\" is ambiguous", clause, names[0]).At(b.posIdent(names[0]))
			}
			if hit < 0 {
				hit = i
			}
		}
		return hit, nil
	}
	return -1, nil
}

// signedConst takes an expression for a constant as the grammar does, to which a
// sign before a number is part of it.
func signedConst(n ast.Node) (c *ast.A_Const, sign int) {
	for sign = 1; ; sign = -sign {
		switch x := unparen(n).(type) {
		case *ast.A_Const:
			return x, sign
		case *ast.A_Expr:
			if x.Kind != ast.AEXPR_OP || x.Lexpr != nil || opName(x.Name) != "-" {
				return nil, 0
			}
			n = x.Rexpr
		default:
			return nil, 0
		}
	}
}

// distinctClause checks DISTINCT against ORDER BY and binds DISTINCT ON.
func (s *selecting) distinctClause() error {
	b := s.sc.b
	if s.sel.DistinctClause == nil {
		return nil
	}
	on := items(s.sel.DistinctClause)
	if len(on) == 0 {
		if len(s.targets) == 0 {
			return pgerr.New(pgerr.SyntaxError, "SELECT DISTINCT must have at least one column").At(b.posWord("distinct"))
		}
		for _, it := range s.sort {
			if it.target < 0 {
				return pgerr.New(pgerr.InvalidColumnReference, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").At(b.posExpr(it.node))
			}
		}
		for _, t := range s.targets {
			if err := b.comparable(t.e.Type(), false, b.spotExpr(t.node)); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if s.on, err = s.sortList(on, inDistinct); err != nil {
		return err
	}
	// ORDER BY must begin with the keys, in any order.
	same := func(a, c sortItem) bool { return a.target >= 0 && a.target == c.target || equalExpr(a.e, c.e) }
	skipped := false
	for _, it := range s.sort {
		in := false
		for _, k := range s.on {
			in = in || same(k, it)
		}
		if in && skipped {
			return pgerr.New(pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(b.posExpr(it.node))
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
				return pgerr.New(pgerr.InvalidColumnReference, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(b.posExpr(k.node))
			}
		}
	}
	return nil
}

// outputOrder binds the ORDER BY and LIMIT of a query that has no select list
// of its own: a set operation or VALUES. exprs says whether expressions over
// the columns are allowed.
func (sc *scope) outputOrder(sel *ast.SelectStmt, r *bound, exprs bool) (*bound, error) {
	s := &selecting{sc: sc, sel: sel}
	rl := &rel{open: true}
	for _, c := range r.out {
		s.targets = append(s.targets, target{name: c.Name, e: col(c.Column)})
		rl.cols = append(rl.cols, relCol{name: c.Name, e: col(c.Column)})
		sc.b.st.owner[c.ID] = sc.lv
	}
	list := items(sel.SortClause)
	if exprs {
		sc.rels = []*rel{rl}
	} else {
		for _, n := range list {
			at, err := s.outputRef(n.(*ast.SortBy).Node, "ORDER BY", false)
			if err != nil {
				return nil, err
			}
			if at < 0 {
				node := n.(*ast.SortBy).Node
				if c, ok := node.(*ast.ColumnRef); ok {
					if names, rest := splitFields(c); len(names) == 1 && len(rest) == 0 {
						return nil, sc.noColumn("", names[0])
					}
				}
				return nil, pgerr.Unsupported("invalid UNION/INTERSECT/EXCEPT ORDER BY clause").
					WithDetail("Only result column names can be used, not expressions or functions.").
					WithHint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.").At(sc.b.posExpr(node))
			}
		}
	}
	sort, err := s.sortList(list, inOrderBy)
	if err != nil {
		return nil, err
	}
	l, err := sc.limit(sel)
	if err != nil {
		return nil, err
	}
	pr := newProjector(sc.b, sc.lv, r.node)
	for i := range r.out {
		pr.emit(col(r.out[i].Column), r.out[i].Name)
	}
	keys := s.orders(sort, pr, r.out)
	node := sorted(pr.node(), keys, l)
	return &bound{node: node, out: r.out}, nil
}

// setOp binds UNION, INTERSECT and EXCEPT.
func (sc *scope) setOp(sel *ast.SelectStmt) (*bound, error) {
	if len(items(sel.LockingClause)) > 0 {
		return nil, pgerr.Unsupported("FOR UPDATE is not allowed with UNION/INTERSECT/EXCEPT")
	}
	r, err := sc.setTree(sel)
	if err != nil {
		return nil, err
	}
	if len(items(sel.SortClause)) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil {
		return sc.outputOrder(sel, r, false)
	}
	return r, nil
}

// setTree binds the tree of operands; each node types its own two sides.
func (sc *scope) setTree(sel *ast.SelectStmt) (*bound, error) {
	b := sc.b
	name := map[ast.SetOperation]string{ast.SETOP_UNION: "UNION", ast.SETOP_INTERSECT: "INTERSECT", ast.SETOP_EXCEPT: "EXCEPT"}[sel.Op]
	kind := map[ast.SetOperation]plan.SetOpKind{ast.SETOP_UNION: plan.Union, ast.SETOP_INTERSECT: plan.Intersect, ast.SETOP_EXCEPT: plan.Except}[sel.Op]
	l, err := sc.operand(sel.Larg)
	if err != nil {
		return nil, err
	}
	if sel.Op == ast.SETOP_EXCEPT || sel.Op == ast.SETOP_INTERSECT && sel.All {
		b.st.except++
		defer func() { b.st.except-- }()
	}
	r, err := sc.operand(sel.Rarg)
	if err != nil {
		return nil, err
	}
	if len(l.out) != len(r.out) {
		return nil, pgerr.New(pgerr.SyntaxError, "each %s query must have the same number of columns", name).At(b.firstTarget(sel.Rarg).at())
	}
	n := len(l.out)
	le, re, names := make([]expr.Expr, n), make([]expr.Expr, n), make([]string, n)
	ts := make([]types.Type, n)
	for i := range l.out {
		pair := []expr.Expr{l.out[i].value(), r.out[i].value()}
		pos := b.targetPos(sel.Rarg, i)
		pair, t, err := b.unify(name, pair, pos)
		if err != nil {
			return nil, err
		}
		if !sel.All || kind != plan.Union {
			if err := b.comparable(t, false, pos); err != nil {
				return nil, err
			}
		}
		le[i], re[i], ts[i], names[i] = pair[0], pair[1], t, l.out[i].Name
	}
	op := &plan.SetOp{Kind: kind, All: sel.All}
	if s, ok := l.node.(*plan.SetOp); ok && s.Kind == plan.Union && kind == plan.Union && s.All == sel.All && passes(le, l.out) {
		op.Inputs = append(op.Inputs, s.Inputs...)
	} else {
		ln, _ := b.shape(sc.lv, l.node, le, names)
		op.Inputs = append(op.Inputs, ln)
	}
	rn, _ := b.shape(sc.lv, r.node, re, names)
	op.Inputs = append(op.Inputs, rn)
	out := &bound{node: op}
	for i := range ts {
		c := b.newCol(sc.lv, names[i], ts[i])
		op.Cols = append(op.Cols, c)
		out.out = append(out.out, outCol{Column: c})
	}
	return out, nil
}

// operand binds one side; an inner set operation without clauses of its own
// joins the tree.
func (sc *scope) operand(sel *ast.SelectStmt) (*bound, error) {
	if sel.Op != ast.SETOP_NONE && sel.WithClause == nil && len(items(sel.SortClause)) == 0 && sel.LimitCount == nil && sel.LimitOffset == nil {
		return sc.setTree(sel)
	}
	return sc.query(sel, sc.at, false)
}

// value is a result column as an expression: a literal stays one.
func (c *outCol) value() expr.Expr {
	if c.lit != nil {
		return c.lit
	}
	return col(c.Column)
}

// passes tells whether expressions are just the columns.
func passes(es []expr.Expr, out []outCol) bool {
	for i, e := range es {
		c, ok := e.(*expr.Col)
		if !ok || c.ID != out[i].ID {
			return false
		}
	}
	return true
}

// firstTarget and targetPos point into an operand's select list.
func (b *binder) firstTarget(sel *ast.SelectStmt) spot { return b.targetPos(sel, 0) }

func (b *binder) targetPos(sel *ast.SelectStmt, i int) spot {
	for sel.Op != ast.SETOP_NONE {
		sel = sel.Larg
	}
	list := items(sel.TargetList)
	if i < len(list) {
		return b.spotExpr(list[i])
	}
	return spot{}
}

// values binds VALUES as a query.
func (sc *scope) values(sel *ast.SelectStmt) (*bound, error) {
	b := sc.b
	rows, err := sc.valueRows(sel, inValues)
	if err != nil {
		return nil, err
	}
	n := len(rows[0])
	v := &plan.Values{Rows: rows}
	out := &bound{node: v}
	for i := 0; i < n; i++ {
		column := make([]expr.Expr, len(rows))
		for k := range rows {
			column[k] = rows[k][i]
		}
		column, t, err := b.unify("VALUES", column, b.spotWord("values"))
		if err != nil {
			return nil, err
		}
		for k := range rows {
			rows[k][i] = column[k]
		}
		c := b.newCol(sc.lv, "column"+itoa(i+1), t)
		v.Cols = append(v.Cols, c)
		out.out = append(out.out, outCol{Column: c})
	}
	if len(sc.lv.aggs) > 0 {
		return nil, pgerr.New(pgerr.GroupingError, "aggregate functions are not allowed in VALUES")
	}
	if len(items(sel.SortClause)) > 0 || sel.LimitCount != nil || sel.LimitOffset != nil {
		return sc.outputOrder(sel, out, true)
	}
	return out, nil
}

// valueRows binds the rows of VALUES, which must be of one length.
func (sc *scope) valueRows(sel *ast.SelectStmt, p place) ([][]expr.Expr, error) {
	var rows [][]expr.Expr
	for _, n := range sel.ValuesLists.Items {
		l, ok := n.(*ast.NodeList)
		if !ok {
			return nil, pgerr.Internal("a %T in VALUES", n)
		}
		row, err := sc.rowItems(l.Items, p)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 && len(rows[0]) != len(row) {
			var pos spot
			if len(l.Items) > 0 {
				pos = sc.b.spotExpr(l.Items[0])
			}
			return nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length").At(pos.at())
		}
		rows = append(rows, row)
	}
	return rows, nil
}

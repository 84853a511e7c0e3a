package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// subLink binds a subquery in an expression.
func (sc *scope) subLink(n *ast.SubLink, p place) (expr.Expr, error) {
	b := sc.b
	sel, ok := n.Subselect.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T as a subquery", n.Subselect)
	}
	switch p.name {
	case inDefault.name, inCheck.name, inGenerated.name, inIndex.name:
		return nil, pgerr.Unsupported("cannot use subquery in %s", map[string]string{
			inDefault.name: "DEFAULT expression", inCheck.name: "check constraint",
			inGenerated.name: "column generation expression", inIndex.name: "index expression"}[p.name])
	}
	switch n.SubLinkType {
	case ast.EXISTS_SUBLINK:
		r, err := sc.query(sel, p, true)
		if err != nil {
			return nil, err
		}
		return &expr.Subquery{Kind: expr.SubExists, Plan: r.node, Typ: types.Bool}, nil
	case ast.EXPR_SUBLINK, ast.ARRAY_SUBLINK:
		r, err := sc.query(sel, p, true)
		if err != nil {
			return nil, err
		}
		if len(r.out) != 1 {
			return nil, pgerr.New(pgerr.SyntaxError, "subquery must return only one column").At(b.firstTarget(sel).at())
		}
		s := &expr.Subquery{Kind: expr.SubScalar, Plan: r.node, Cols: []expr.ColID{r.out[0].ID}, Typ: r.out[0].Type}
		if n.SubLinkType == ast.ARRAY_SUBLINK {
			s.Kind = expr.SubArray
			a, ok := b.arrayOf(s.Typ)
			if b.isArray(s.Typ) {
				return nil, pgerr.Unsupported("multidimensional arrays are not supported").At(b.posWord("array"))
			}
			if !ok {
				return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.typeName(s.Typ)).At(b.posWord("array"))
			}
			s.Typ = a
		}
		return s, nil
	case ast.ANY_SUBLINK, ast.ALL_SUBLINK:
		op := "="
		if n.OperName != nil {
			op = opName(n.OperName)
		}
		var args []expr.Expr
		var err error
		if row, ok := unparen(n.Testexpr).(*ast.RowExpr); ok {
			args, err = sc.rowItems(items(row.Args), p)
		} else {
			args, err = sc.exprs([]ast.Node{n.Testexpr}, p)
		}
		if err != nil {
			return nil, err
		}
		r, err := sc.query(sel, p, true)
		if err != nil {
			return nil, err
		}
		kind := expr.SubAny
		if n.SubLinkType == ast.ALL_SUBLINK {
			kind = expr.SubAll
		}
		return sc.quantified(kind, op, args, r)
	}
	return nil, pgerr.Unsupported("this kind of subquery is not supported")
}

// quantified compares args with the columns of a query.
func (sc *scope) quantified(kind expr.SubKind, op string, args []expr.Expr, r *bound) (expr.Expr, error) {
	b := sc.b
	pos := b.spotOp(op)
	if op == "=" {
		pos = b.spotWord("in")
	}
	switch {
	case len(args) < len(r.out):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too many columns").At(pos.at())
	case len(args) > len(r.out):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too few columns").At(pos.at())
	case len(args) > 1 && op != "=" && op != "<>":
		// The comparison is not one of columns apart: the query makes it, and
		// what is asked is whether it is true.
		cmp, err := b.compareRows(op, args, columnsOf(r.columns()))
		if err != nil {
			return nil, err
		}
		node, cols := b.shape(sc.lv, r.node, []expr.Expr{cmp}, []string{"compare"})
		return sc.quantified(kind, "=", []expr.Expr{&expr.Const{Val: true, Typ: types.Bool}}, &bound{node: node, out: []outCol{{Column: cols[0]}}})
	}
	s := &expr.Subquery{Kind: kind, Op: op, Typ: types.Bool}
	right := make([]expr.Expr, len(args))
	names := make([]string, len(args))
	for i := range args {
		e, err := b.operator(op, args[i], col(r.out[i].Column), pos)
		if err != nil {
			return nil, err
		}
		c := e.(*expr.Call)
		if c.Typ.OID != types.BoolOID {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "operator %s must return type boolean, not type %s", op, b.typeName(c.Typ)).At(pos.at())
		}
		s.Args, s.Cmp = append(s.Args, c.Args[0]), append(s.Cmp, c.Fn)
		right[i], names[i] = c.Args[1], r.out[i].Name
	}
	if passes(right, r.out) {
		s.Plan = r.node
		for _, c := range r.out {
			s.Cols = append(s.Cols, c.ID)
		}
		return s, nil
	}
	node, cols := b.shape(sc.lv, r.node, right, names)
	s.Plan = node
	for _, c := range cols {
		s.Cols = append(s.Cols, c.ID)
	}
	return s, nil
}

// rowSubquery compares a row with the one row of a subquery. No row is a row
// of NULLs.
func (sc *scope) rowSubquery(op string, row *ast.RowExpr, n *ast.SubLink, p place) (expr.Expr, error) {
	args, err := sc.rowItems(items(row.Args), p)
	if err != nil {
		return nil, err
	}
	sel, ok := n.Subselect.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T as a subquery", n.Subselect)
	}
	r, err := sc.query(sel, p, true)
	if err != nil {
		return nil, err
	}
	empty := &plan.Values{Rows: [][]expr.Expr{{}}}
	r.node = &plan.Join{Kind: plan.Left, L: empty, R: &plan.Max1Row{Input: r.node}}
	return sc.quantified(expr.SubAny, op, args, r)
}

package query

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Subquery binds a subquery in an expression.
func Subquery(sc *scope.Scope, n *ast.SubLink, p scope.Place) (expr.Expr, error) {
	b := sc.Binder
	sel, ok := n.Subselect.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T as a subquery", n.Subselect)
	}
	switch p.Name {
	case scope.InDefault.Name, scope.InCheck.Name, scope.InGenerated.Name, scope.InIndex.Name, scope.InPredicate.Name, scope.InUsing.Name:
		return nil, pgerr.Unsupported("cannot use subquery in %s", strings.TrimSuffix(p.Name, "s")).At(b.PosSubquery(n))
	}
	switch n.SubLinkType {
	case ast.EXISTS_SUBLINK:
		r, err := Bind(sc, sel, p, true)
		if err != nil {
			return nil, err
		}
		return &expr.Subquery{Kind: expr.SubExists, Plan: r.Node, Typ: types.Bool}, nil
	case ast.EXPR_SUBLINK, ast.ARRAY_SUBLINK:
		r, err := Bind(sc, sel, p, true)
		if err != nil {
			return nil, err
		}
		if len(r.Out) != 1 {
			return nil, pgerr.New(pgerr.SyntaxError, "subquery must return only one column").At(FirstTarget(b, sel).At())
		}
		s := &expr.Subquery{Kind: expr.SubScalar, Plan: r.Node, Cols: []expr.ColID{r.Out[0].ID}, Typ: r.Out[0].Type}
		if n.SubLinkType == ast.ARRAY_SUBLINK {
			s.Kind = expr.SubArray
			a, ok := b.ArrayOf(s.Typ)
			if b.IsArray(s.Typ) {
				return nil, pgerr.Unsupported("multidimensional arrays are not supported").At(b.PosWord("array"))
			}
			if !ok {
				return nil, pgerr.New(pgerr.UndefinedObject, "could not find array type for data type %s", b.TypeName(s.Typ)).At(b.PosWord("array"))
			}
			s.Typ = a
		}
		return s, nil
	case ast.ANY_SUBLINK, ast.ALL_SUBLINK:
		op := "="
		if n.OperName != nil {
			op = typing.OpName(n.OperName)
		}
		var args []expr.Expr
		var err error
		if row, ok := typing.Unparen(n.Testexpr).(*ast.RowExpr); ok {
			args, err = sc.RowItems(typing.Items(row.Args), p)
		} else {
			args, err = sc.Exprs([]ast.Node{n.Testexpr}, p)
		}
		if err != nil {
			return nil, err
		}
		r, err := Bind(sc, sel, p, true)
		if err != nil {
			return nil, err
		}
		kind := expr.SubAny
		if n.SubLinkType == ast.ALL_SUBLINK {
			kind = expr.SubAll
		}
		return quantified(sc, kind, op, args, r)
	}
	return nil, pgerr.Unsupported("this kind of subquery is not supported")
}

// quantified compares args with the columns of a query.
func quantified(sc *scope.Scope, kind expr.SubKind, op string, args []expr.Expr, r *scope.Query) (expr.Expr, error) {
	b := sc.Binder
	pos := b.SpotOp(op)
	if op == "=" {
		pos = b.SpotWord("in")
	}
	switch {
	case len(args) < len(r.Out):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too many columns").At(pos.At())
	case len(args) > len(r.Out):
		return nil, pgerr.New(pgerr.SyntaxError, "subquery has too few columns").At(pos.At())
	case len(args) > 1 && op != "=" && op != "<>":
		// The comparison is not column by column: the query computes it, and the test is whether it is
		// true.
		cmp, err := b.CompareRows(op, args, scope.ColumnsOf(r.Columns()))
		if err != nil {
			return nil, err
		}
		node, cols := shape(b, sc.Level, r.Node, []expr.Expr{cmp}, []string{"compare"})
		return quantified(sc, kind, "=", []expr.Expr{&expr.Const{Val: true, Typ: types.Bool}}, &scope.Query{Node: node, Out: []scope.Output{{Column: cols[0]}}})
	}
	s := &expr.Subquery{Kind: kind, Op: op, Typ: types.Bool}
	right := make([]expr.Expr, len(args))
	names := make([]string, len(args))
	for i := range args {
		e, err := b.Operator(op, args[i], scope.Col(r.Out[i].Column), pos)
		if err != nil {
			return nil, err
		}
		c := e.(*expr.Call)
		if c.Typ.OID != types.BoolOID {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "operator %s must return type boolean, not type %s", op, b.TypeName(c.Typ)).At(pos.At())
		}
		s.Args, s.Cmp = append(s.Args, c.Args[0]), append(s.Cmp, c.Fn)
		right[i], names[i] = c.Args[1], r.Out[i].Name
	}
	if passColumns(right, r.Out) {
		s.Plan = r.Node
		for _, c := range r.Out {
			s.Cols = append(s.Cols, c.ID)
		}
		return s, nil
	}
	node, cols := shape(b, sc.Level, r.Node, right, names)
	s.Plan = node
	for _, c := range cols {
		s.Cols = append(s.Cols, c.ID)
	}
	return s, nil
}

// RowSubquery compares a row with the one row of a subquery. An empty result is a row of NULLs.
func RowSubquery(sc *scope.Scope, op string, row *ast.RowExpr, n *ast.SubLink, p scope.Place) (expr.Expr, error) {
	args, err := sc.RowItems(typing.Items(row.Args), p)
	if err != nil {
		return nil, err
	}
	sel, ok := n.Subselect.(*ast.SelectStmt)
	if !ok {
		return nil, pgerr.Internal("a %T as a subquery", n.Subselect)
	}
	r, err := Bind(sc, sel, p, true)
	if err != nil {
		return nil, err
	}
	empty := &plan.Values{Rows: [][]expr.Expr{{}}}
	r.Node = &plan.Join{Kind: plan.Left, L: empty, R: &plan.Max1Row{Input: r.Node}}
	return quantified(sc, expr.SubAny, op, args, r)
}

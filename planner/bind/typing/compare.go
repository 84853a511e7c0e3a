package typing

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/expr"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// Order returns a sort key with the direction as written.
func (b *Resolver) Order(e expr.Expr, s *ast.SortBy) (expr.Order, error) {
	o := expr.Order{Expr: e}
	switch s.SortbyDir {
	case ast.SORTBY_DESC:
		o.Desc = true
	case ast.SORTBY_USING:
		switch OpName(s.UseOp) {
		case "<":
		case ">":
			o.Desc = true
		default:
			return o, pgerr.New(pgerr.WrongObjectType, "operator %s is not a valid ordering operator", OpName(s.UseOp)).
				WithHint("Ordering operators must be \"<\" or \">\" members of btree operator families.").At(b.PosOp(OpName(s.UseOp)))
		}
	}
	if err := b.Comparable(e.Type(), true, b.SpotExpr(s.Node)); err != nil {
		return o, err
	}
	switch s.SortbyNulls {
	case ast.SORTBY_NULLS_FIRST:
		o.NullsFirst = true
	case ast.SORTBY_NULLS_DEFAULT:
		o.NullsFirst = o.Desc
	}
	return o, nil
}

func (b *Resolver) CompareRows(op string, ls, rs []expr.Expr) (expr.Expr, error) {
	pos := b.SpotOp(op)
	if len(ls) != len(rs) {
		return nil, pgerr.New(pgerr.SyntaxError, "unequal number of entries in row expressions").At(pos.At())
	}
	if len(ls) == 0 {
		return nil, pgerr.Unsupported("cannot compare rows of zero length").At(pos.At())
	}
	each := func(op string, i int) (expr.Expr, error) {
		e, err := b.Operator(op, ls[i], rs[i], pos)
		if err != nil {
			return nil, err
		}
		if e.Type().OID != types.BoolOID {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "row comparison operator must yield type boolean, not type %s", b.TypeName(e.Type())).At(pos.At())
		}
		return e, nil
	}
	if len(ls) == 1 {
		return each(op, 0)
	}
	switch op {
	case "=", "<>":
		args := make([]expr.Expr, len(ls))
		for i := range ls {
			e, err := each(op, i)
			if err != nil {
				return nil, err
			}
			args[i] = e
		}
		if op == "=" {
			return &expr.And{Args: args}, nil
		}
		return &expr.Or{Args: args}, nil
	case "<", "<=", ">", ">=":
		// a < x OR (a = x AND (b < y OR …)); only the last keeps the equality.
		n := len(ls) - 1
		out, err := each(op, n)
		if err != nil {
			return nil, err
		}
		for i := n - 1; i >= 0; i-- {
			strict, err := each(op[:1], i)
			if err != nil {
				return nil, err
			}
			eq, err := each("=", i)
			if err != nil {
				return nil, err
			}
			out = &expr.Or{Args: []expr.Expr{strict, &expr.And{Args: []expr.Expr{eq, out}}}}
		}
		return out, nil
	}
	return nil, pgerr.Unsupported("could not determine interpretation of row comparison operator %s", op).
		WithHint("Row comparison operators must be associated with btree operator families.").At(pos.At())
}

func (b *Resolver) DistinctFrom(l, r expr.Expr, not bool, pos Position) (expr.Expr, error) {
	if IsNullConst(r) {
		return &expr.IsNull{Arg: l, Not: !not}, nil
	}
	if IsNullConst(l) {
		return &expr.IsNull{Arg: r, Not: !not}, nil
	}
	eq, l, r, err := b.Equality(l, r, pos)
	if err != nil {
		return nil, err
	}
	return &expr.Distinct{L: l, R: r, Eq: eq, Not: not}, nil
}

package model

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// take takes a named argument out of args and returns its value, nil if it is not there.
func take(args []ast.Node, name string) (rest []ast.Node, val ast.Node) {
	at := slices.IndexFunc(args, func(a ast.Node) bool {
		na, ok := a.(*ast.NamedArgExpr)
		return ok && strings.EqualFold(na.Name, name)
	})
	if at < 0 {
		return args, nil
	}
	return slices.Delete(slices.Clone(args), at, at+1), args[at].(*ast.NamedArgExpr).Arg
}

// hasFeature reports whether an argument of this name may be a feature.
func (m *model) hasFeature(name string) bool {
	return slices.ContainsFunc(m.v.Features, func(f catalog.ModelFeature) bool { return strings.EqualFold(f.Name, name) })
}

// constant is the value of an argument on which the result's columns or its query depend.
func constant(sc *scope.Scope, val ast.Node, fun string) (types.Datum, error) {
	e, err := sc.Expr(val, scope.InFromClause)
	if err != nil {
		return nil, err
	}
	d, _, err := query.ConstArg(sc.Binder, e, fun, val)
	return d, err
}

// integer is an argument that is a whole number.
func integer(sc *scope.Scope, val ast.Node, fun, name string, least, most int64) (int64, error) {
	d, err := constant(sc, val, fun)
	if err != nil {
		return 0, err
	}
	n, ok := d.(int64)
	if !ok || n < least || n > most {
		return 0, pgerr.New(pgerr.InvalidParameterValue, "the argument %s of %s is a number from %d to %d", name, fun, least, most).At(sc.Binder.PosExpr(val))
	}
	return n, nil
}

// queryOf is an argument that is a query, nil if it is none.
func queryOf(args []ast.Node, at int) *ast.SubLink {
	if at >= len(args) {
		return nil
	}
	if sub, ok := typing.Unparen(args[at]).(*ast.SubLink); ok && sub.SubLinkType == ast.EXPR_SUBLINK {
		return sub
	}
	return nil
}

// byArgument is the named argument of evaluations that says by which columns of the query they are made.
const byArgument = "by"

// takeBy takes the argument out of args and keeps it in the model.
func takeBy(sc *scope.Scope, m *model, args []ast.Node, fun string) ([]ast.Node, error) {
	rest, val := take(args, byArgument)
	if val == nil {
		return args, nil
	}
	d, err := constant(sc, val, fun)
	if err != nil {
		return nil, err
	}
	list := []types.Datum{d}
	if a, ok := d.(types.Array); ok {
		list = a.Elems
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok || s == "" {
			return nil, pgerr.New(pgerr.DatatypeMismatch, "the argument by of %s is the name of a column, or an array of names", fun).At(sc.Binder.PosExpr(val))
		}
		m.by = append(m.by, s)
	}
	if len(rest) == 1 {
		return nil, pgerr.New(pgerr.UndefinedFunction, "%s by a column needs rows", fun).
			WithHint("Write %s('model', (SELECT …), by => 'column').", fun).At(sc.Binder.PosExpr(val))
	}
	return rest, nil
}

// front are the columns that stand in front of an evaluation, with a row for each of their values: the keys of
// the model's groups, and those of the argument by.
func (m *model) front() (out []string) {
	for _, k := range m.groupKeys() {
		out = append(out, k.Name)
	}
	for _, c := range m.by {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

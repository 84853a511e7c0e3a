package scope

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
)

// OutputName is ColumnName for packages that print queries.
func OutputName(n ast.Node) string { return ColumnName(n) }

// ColumnName returns the name that PostgreSQL gives an output column that has none.
func ColumnName(n ast.Node) string {
	if s, _ := figure(n); s != "" {
		return s
	}
	return "?column?"
}

// figure returns a name and its strength, as PostgreSQL's FigureColname: 2 for a definite name, 1
// for one that a better one may replace.
func figure(n ast.Node) (string, int) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return figure(n.Expr)
	case *ast.ColumnRef:
		names, _ := typing.SplitFields(n)
		if len(names) > 0 {
			return names[len(names)-1], 2
		}
	case *ast.A_Indirection:
		ind := typing.Items(n.Indirection)
		for i := len(ind) - 1; i >= 0; i-- {
			if s, ok := ind[i].(*ast.String); ok {
				return s.SVal, 2
			}
		}
		return figure(n.Arg)
	case *ast.FuncCall:
		_, name := typing.Qualified(n.Funcname)
		return name, 2
	case *ast.A_Expr:
		if n.Kind == ast.AEXPR_NULLIF {
			return "nullif", 2
		}
	case *ast.TypeCast:
		if s, good := figure(n.Arg); good > 1 {
			return s, good
		}
		if n.TypeName != nil {
			_, name := typing.Qualified(n.TypeName.Names)
			return name, 1
		}
	case *ast.CollateClause:
		return figure(n.Arg)
	case *ast.GroupingFunc:
		return "grouping", 2
	case *ast.SubLink:
		switch n.SubLinkType {
		case ast.EXISTS_SUBLINK:
			return "exists", 2
		case ast.ARRAY_SUBLINK:
			return "array", 2
		case ast.EXPR_SUBLINK:
			if sel, ok := n.Subselect.(*ast.SelectStmt); ok {
				for sel.Op != ast.SETOP_NONE {
					sel = sel.Larg
				}
				if sel.ValuesLists != nil {
					return "column1", 2
				}
				if ts := typing.Items(sel.TargetList); len(ts) > 0 {
					rt := ts[0].(*ast.ResTarget)
					if rt.Name != "" {
						return rt.Name, 2
					}
					return ColumnName(rt.Val), 2
				}
			}
		}
	case *ast.CaseExpr:
		if n.Defresult != nil {
			if s, good := figure(n.Defresult); good > 1 {
				return s, good
			}
		}
		return "case", 1
	case *ast.ArrayExpr, *ast.A_ArrayExpr:
		return "array", 2
	case *ast.RowExpr:
		return "row", 2
	case *ast.CoalesceExpr:
		return "coalesce", 2
	case *ast.MinMaxExpr:
		if n.Op == ast.IS_LEAST {
			return "least", 2
		}
		return "greatest", 2
	case *ast.SQLValueFunction:
		return map[ast.SQLValueFunctionOp]string{
			ast.SVFOP_CURRENT_DATE: "current_date", ast.SVFOP_CURRENT_TIME: "current_time", ast.SVFOP_CURRENT_TIME_N: "current_time",
			ast.SVFOP_CURRENT_TIMESTAMP: "current_timestamp", ast.SVFOP_CURRENT_TIMESTAMP_N: "current_timestamp",
			ast.SVFOP_LOCALTIME: "localtime", ast.SVFOP_LOCALTIME_N: "localtime",
			ast.SVFOP_LOCALTIMESTAMP: "localtimestamp", ast.SVFOP_LOCALTIMESTAMP_N: "localtimestamp",
			ast.SVFOP_CURRENT_ROLE: "current_role", ast.SVFOP_CURRENT_USER: "current_user", ast.SVFOP_USER: "user",
			ast.SVFOP_SESSION_USER: "session_user", ast.SVFOP_CURRENT_CATALOG: "current_catalog", ast.SVFOP_CURRENT_SCHEMA: "current_schema",
		}[n.Op], 2
	}
	return "", 0
}

package typing

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// SplitFields splits a column reference into its names and what follows them: subscripts, or a
// star.
func SplitFields(n *ast.ColumnRef) (names []string, rest []ast.Node) {
	for i, f := range Items(n.Fields) {
		s, ok := f.(*ast.String)
		if !ok {
			return names, n.Fields.Items[i:]
		}
		names = append(names, s.SVal)
	}
	return names, nil
}

func ParseExpr(text string) (ast.Node, error) {
	list, err := parse.Parse("SELECT "+text, parse.Postgres)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		if sel, ok := list[0].Node.(*ast.SelectStmt); ok {
			if ts := Items(sel.TargetList); len(ts) == 1 {
				if rt, ok := ts[0].(*ast.ResTarget); ok {
					return rt.Val, nil
				}
			}
		}
	}
	return nil, pgerr.New(pgerr.SyntaxError, "\"%s\" is not an expression", text)
}

// Unparen removes parentheses; PostgreSQL's tree has none.
func Unparen(n ast.Node) ast.Node {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			return n
		}
		n = p.Expr
	}
}

// OpName returns the operator's name without its schema.
func OpName(l *ast.NodeList) string {
	_, name := Qualified(l)
	return name
}

// Strs returns the String items of a list.
func Strs(l *ast.NodeList) []string {
	if l == nil {
		return nil
	}
	out := make([]string, 0, len(l.Items))
	for _, n := range l.Items {
		if s, ok := n.(*ast.String); ok {
			out = append(out, s.SVal)
		}
	}
	return out
}

// Items returns a list's nodes; nil for no list.
func Items(l *ast.NodeList) []ast.Node {
	if l == nil {
		return nil
	}
	return l.Items
}

// Texts are the texts of a list's constants and names.
func Texts(l *ast.NodeList) []string {
	var out []string
	for _, n := range Items(l) {
		out = append(out, parse.ConstText(n))
	}
	return out
}

package parse

import (
	"regexp"
	"strings"

	"github.com/multigres/multigres/go/common/parser"
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// simpleName is a name that reads as itself. Those of the grammar's own functions, such as coalesce, stay as they are.
var simpleName = regexp.MustCompile(`^[a-z_][a-z0-9_$]*$`)

// Text writes a tree as SQL with every nested operation in parentheses, as PostgreSQL shows kept
// expressions: operations without parentheses would otherwise depend on the printer's precedence,
// and two signs in a row would read as a comment. It adds the parentheses to the tree. Names of functions are
// quoted where they must be, which the printer does for other names only.
func Text(n ast.Node) string {
	plain := map[*ast.NodeList][]ast.Node{}
	defer func() {
		for l, items := range plain {
			l.Items = items
		}
	}()
	n = ast.Rewrite(n, nil, func(c *ast.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.FuncCall:
			if x.Funcname == nil || plain[x.Funcname] != nil {
				break
			}
			quoted, differs := make([]ast.Node, len(x.Funcname.Items)), false
			for i, part := range x.Funcname.Items {
				name := ConstText(part)
				quoted[i] = ast.NewString(lex.QuoteName(name))
				differs = differs || !simpleName.MatchString(name)
			}
			if differs {
				plain[x.Funcname], x.Funcname.Items = x.Funcname.Items, quoted
			}
		case *ast.A_Expr:
			x.Lexpr, x.Rexpr = inParens(x.Lexpr, false), inParens(x.Rexpr, x.Lexpr == nil)
		case *ast.BoolExpr:
			if x.Args != nil {
				for i, a := range x.Args.Items {
					x.Args.Items[i] = inParens(a, false)
				}
			}
		case *ast.NullTest:
			if a, ok := inParens(x.Arg, false).(ast.Expression); ok {
				x.Arg = a
			}
		}
		return true
	})
	return n.SqlString()
}

// inParens puts an operation into parentheses, and after a sign whatever begins
// with one.
func inParens(n ast.Node, sign bool) ast.Node {
	switch n := n.(type) {
	case *ast.A_Expr, *ast.BoolExpr, *ast.NullTest, *ast.BooleanTest:
		return ast.NewParenExpr(n, -1)
	case *ast.A_Const:
		if sign && strings.HasPrefix(n.SqlString(), "-") {
			return ast.NewParenExpr(n, -1)
		}
	}
	return n
}

// Keep is Text for a query or an expression that is stored as text, such as a view or a default. It
// is an error if the text would not parse to the same tree. The database is left out of relations'
// names: it has been checked, and the grammar alone would not parse it.
func Keep(n ast.Node) (string, error) {
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if rv, ok := c.Node().(*ast.RangeVar); ok {
			rv.CatalogName = ""
		}
		return true
	}, nil)
	text := Text(n)
	head := ""
	if _, ok := n.(ast.Stmt); !ok {
		head = "SELECT "
	}
	// The printer leaves out the length of char, the parser puts it in.
	same := func(a, b string) bool {
		return strings.ReplaceAll(a, "CHAR(1)", "CHAR") == strings.ReplaceAll(b, "CHAR(1)", "CHAR")
	}
	list, err := parser.ParseSQL(head + text)
	if err == nil && len(list) == 1 {
		flattenAll(list[0]) // as a long tree was (checkDepth); in a short one parentheses keep the chains apart
	}
	if err != nil || len(list) != 1 || !same(Text(list[0]), head+text) {
		return "", pgerr.Unsupported("this cannot be kept in the catalog: %s", text)
	}
	return text, nil
}

package parse

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/lex"
)

// checkDepth measures a tree without going deeper than the limit itself: chains such as 1+1+1+…
// nest without a bracket, so tokens alone do not show the depth. Chains of AND and OR are made flat
// on the way, as Postgres's grammar makes them.
func checkDepth(n ast.Node) error {
	depth, deep := 0, false
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if deep {
			return false
		}
		if b, ok := c.Node().(*ast.BoolExpr); ok {
			flatten(b)
		}
		if depth++; depth > lex.MaxDepth {
			deep = true
			return false
		}
		return true
	}, func(*ast.Cursor) bool {
		depth--
		return !deep
	})
	if deep {
		return lex.TooDeep()
	}
	return nil
}

// flattenAll makes all chains of AND and OR flat.
func flattenAll(n ast.Node) {
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if b, ok := c.Node().(*ast.BoolExpr); ok {
			flatten(b)
		}
		return true
	}, nil)
}

// flatten turns ((a AND b) AND c) into AND(a, b, c).
func flatten(b *ast.BoolExpr) {
	if b.Boolop == ast.NOT_EXPR || b.Args == nil || len(b.Args.Items) == 0 {
		return
	}
	var tail []ast.Node // right operands, last first
	at := b
	for {
		items := at.Args.Items
		left, ok := items[0].(*ast.BoolExpr)
		if !ok || left.Boolop != b.Boolop || left.Args == nil || len(left.Args.Items) == 0 {
			break
		}
		for i := len(items) - 1; i > 0; i-- {
			tail = append(tail, items[i])
		}
		at = left
	}
	if at == b {
		return
	}
	all := append([]ast.Node(nil), at.Args.Items...)
	for i := len(tail) - 1; i >= 0; i-- {
		all = append(all, tail[i])
	}
	b.Args = ast.NewNodeList(all...)
}

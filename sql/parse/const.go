package parse

import "github.com/multigres/multigres/go/common/parser/ast"

// ConstText returns the text of a constant, or the last part of a name; "" for other nodes.
func ConstText(n ast.Node) string {
	switch n := n.(type) {
	case *ast.A_Const:
		if n.Isnull || n.Val == nil {
			return ""
		}
		return ConstText(n.Val)
	case *ast.String:
		return n.SVal
	case *ast.Integer:
		return n.SqlString()
	case *ast.Float:
		return n.FVal
	case *ast.Boolean:
		if n.BoolVal {
			return "true"
		}
		return "false"
	case *ast.TypeCast:
		return ConstText(n.Arg)
	case *ast.TypeName:
		return last(n.Names)
	case *ast.ColumnRef:
		return last(n.Fields)
	case *ast.NodeList:
		return last(n)
	}
	return ""
}

func last(l *ast.NodeList) string {
	if l == nil || len(l.Items) == 0 {
		return ""
	}
	return ConstText(l.Items[len(l.Items)-1])
}

package parse

import "github.com/multigres/multigres/go/common/parser/ast"

// ConstText returns a constant node's text, for SET and options; "" for other nodes.
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
			return "on"
		}
		return "off"
	case *ast.TypeCast:
		return ConstText(n.Arg)
	case *ast.TypeName:
		if n.Names != nil && len(n.Names.Items) > 0 {
			return ConstText(n.Names.Items[len(n.Names.Items)-1])
		}
	case *ast.ColumnRef:
		if n.Fields != nil && len(n.Fields.Items) > 0 {
			return ConstText(n.Fields.Items[len(n.Fields.Items)-1])
		}
	}
	return ""
}

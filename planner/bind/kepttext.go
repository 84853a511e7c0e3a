package bind

import (
	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/planner/fn"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
)

// KeptText is the text of an expression for a descriptor of the catalog. Users' functions and types get their
// schemas, as the text is bound under the path of whoever uses the table, the function or the model.
func KeptText(s *Session, n ast.Node) (string, error) {
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		if t, ok := c.Node().(*ast.TypeName); ok && len(typing.Items(t.Names)) == 1 {
			if of, err := TypeName(s, t); err == nil {
				if e := s.State.EnumByOID(of.OID); e != nil {
					t.Names = ast.NewNodeList(ast.NewString(s.State.Schema(e.Schema).Name), t.Names.Items[0])
				}
			}
			return true
		}
		call, ok := c.Node().(*ast.FuncCall)
		if !ok || len(typing.Items(call.Funcname)) != 1 {
			return true
		}
		name := parse.ConstText(call.Funcname.Items[0])
		var home *catalog.Schema
		for _, path := range s.SearchPath {
			sc := s.State.SchemaByName(path)
			if sc == nil || len(s.State.FunctionsNamed(sc.OID, name)) == 0 {
				continue
			}
			if home != nil {
				return true // overloads of several schemas: the name alone says which
			}
			home = sc
		}
		if home != nil && len(fn.Lookup(name)) == 0 {
			call.Funcname = ast.NewNodeList(ast.NewString(home.Name), ast.NewString(name))
		}
		return true
	}, nil)
	return parse.Keep(n)
}

package eval

import (
	"maps"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// viewDef is a view's query. Its text was read under the search path of its
// creation; where the session's path would find other relations or types, or
// none, their names get their schemas.
func viewDef(h Host, r *catalog.Relation) string {
	list, err := parse.Parse(r.Query, parse.Dialect(r.Dialect))
	if err != nil || len(list) != 1 || list[0].Node == nil {
		return r.Query
	}
	path := []string{"pg_catalog"}
	if t := h.Catalog().Schema(h.Session().Temp); t != nil {
		path = append([]string{t.Name}, path...)
	}
	path = append(path, r.SearchPath...)
	q := &qualifier{h: h, path: path}
	q.query(list[0].Node, nil)
	return parse.Text(list[0].Node)
}

// qualifier puts schemas to the names of relations and types in a query.
type qualifier struct {
	h    Host
	path []string
}

// query walks a query; ctes are the names that WITH gives around it.
func (q *qualifier) query(n ast.Node, ctes map[string]bool) {
	if sel, ok := n.(*ast.SelectStmt); ok && sel.WithClause != nil {
		ctes = maps.Clone(ctes)
		if ctes == nil {
			ctes = map[string]bool{}
		}
		if sel.WithClause.Recursive {
			for _, c := range sel.WithClause.Ctes.Items {
				ctes[c.(*ast.CommonTableExpr).Ctename] = true
			}
		}
		for _, c := range sel.WithClause.Ctes.Items {
			cte := c.(*ast.CommonTableExpr)
			q.query(cte.Ctequery, ctes)
			ctes[cte.Ctename] = true
		}
	}
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.WithClause:
			return false // done above
		case *ast.SelectStmt:
			if x.WithClause != nil && x != n {
				q.query(x, ctes)
				return false
			}
		case *ast.RangeVar:
			if x.SchemaName == "" && !ctes[x.RelName] {
				x.SchemaName = q.relation(x.RelName)
			}
		case *ast.TypeName:
			if x.Names != nil && len(x.Names.Items) == 1 {
				if t, ok := x.Names.Items[0].(*ast.String); ok {
					if s := q.enum(t.SVal); s != "" {
						x.Names.Items = append([]ast.Node{ast.NewString(s)}, x.Names.Items...)
					}
				}
			}
		}
		return true
	}, nil)
}

// relation gives the schema that a relation's name needs, "" for none.
func (q *qualifier) relation(name string) string {
	st := q.h.Catalog()
	for _, p := range q.path {
		var oid types.OID
		if sc := st.SchemaByName(p); sc != nil {
			if r := st.Relation(sc.OID, name); r != nil {
				oid = r.OID
			}
		}
		if oid == 0 {
			oid, _ = systemRelation(q.h, p, name)
		}
		if oid != 0 {
			if findRelation(q.h, []string{name}) == oid {
				return ""
			}
			return p
		}
	}
	return ""
}

// enum gives the schema that the name of a user's type needs, "" for none.
func (q *qualifier) enum(name string) string {
	st := q.h.Catalog()
	in := func(s types.OID) *catalog.EnumType { return st.Enum(s, name) }
	for _, p := range q.path {
		sc := st.SchemaByName(p)
		if sc == nil || in(sc.OID) == nil {
			continue
		}
		for _, o := range schemaPath(q.h.Session()) {
			if e := in(o); e != nil {
				if o == sc.OID {
					return ""
				}
				break
			}
		}
		return p
	}
	return ""
}

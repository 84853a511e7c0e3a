package deparse

import (
	"maps"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/exec/function"
	"github.com/tributarydb/tributary/exec/objname"
	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/scope"
	"github.com/tributarydb/tributary/planner/plan"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/types"
)

// ViewDef is a view's query as PostgreSQL prints it: a clause a line, pretty
// without the parentheses that are not needed, lists in lines up to a width. Its
// text was read under the search path of its creation; where the session's path
// would find other relations or types, or none, their names get their schemas.
// What has a form that is not written here is printed in one line.
func ViewDef(h function.Host, r *catalog.Relation, pretty bool, wrap int) string {
	list, err := parse.Parse(r.Query, parse.Dialect(r.Dialect))
	if err != nil || len(list) != 1 || list[0].Node == nil || h == nil {
		return " " + r.Query + ";"
	}
	path := []string{"pg_catalog"}
	if t := h.Catalog().Schema(h.Session().Temp); t != nil {
		path = append([]string{t.Name}, path...)
	}
	path = append(path, r.SearchPath...)
	q := &qualifier{h: h, path: path}
	q.query(list[0].Node, nil)
	if s, ok := viewLines(q, r, list[0].Node, pretty, wrap); ok {
		return s
	}
	return " " + parse.Text(list[0].Node) + ";"
}

// viewLines writes a view's query from what binding finds it to mean.
func viewLines(q *qualifier, r *catalog.Relation, n ast.Node, pretty bool, wrap int) (string, bool) {
	sel, ok := n.(*ast.SelectStmt)
	if !ok {
		return "", false
	}
	d := &deparser{h: q.h, names: q, pretty: pretty, wrap: wrap, trace: scope.NewTrace()}
	d.bind = &bind.Session{Names: bind.Names{State: q.h.Catalog(), SearchPath: r.SearchPath, TempSchema: q.h.Session().Temp, Role: q.h.Session().User, Trusted: true}, Trace: d.trace}
	bound, err := bind.ViewSelect(d.bind, r, sel)
	if err != nil {
		return "", false
	}
	var names []string
	for _, c := range r.Live() {
		names = append(names, c.Name)
	}
	out, err := d.query(sel, names, true)
	if err != nil {
		return "", false
	}
	out = lines(out) + ";"
	return out, q.means(out, bound)
}

// means reports whether a text, parsed and bound in the session, has the columns of a query.
// Where it has not, the view is printed as its kept text in one line.
func (q *qualifier) means(text string, want *plan.Query) bool {
	list, err := parse.Parse(text, parse.Postgres)
	if err != nil || len(list) != 1 {
		return false
	}
	sel, ok := list[0].Node.(*ast.SelectStmt)
	if !ok {
		return false
	}
	s := &bind.Session{Names: bind.Names{State: q.h.Catalog(), TempSchema: q.h.Session().Temp, Role: q.h.Session().User, Trusted: true}}
	for _, o := range objname.SchemaPath(q.h.Session()) {
		if sc := q.h.Catalog().Schema(o); sc != nil {
			s.SearchPath = append(s.SearchPath, sc.Name)
		}
	}
	got, err := bind.Query(s, sel)
	if err != nil || len(got.Cols) != len(want.Cols) || len(got.Tables) != len(want.Tables) {
		return false
	}
	for i, c := range got.Cols {
		if c.Type.OID != want.Cols[i].Type.OID {
			return false
		}
	}
	for i, t := range got.Tables {
		if t.OID != want.Tables[i].OID {
			return false
		}
	}
	return true
}

// oid is the relation of a schema that has a name; 0 for none.
func (q *qualifier) oid(schema, name string) types.OID {
	if sc := q.h.Catalog().SchemaByName(schema); sc != nil {
		if r := q.h.Catalog().Relation(sc.OID, name); r != nil {
			return r.OID
		}
	}
	oid, _ := objname.SystemRelation(q.h, schema, name)
	return oid
}

// qualifier adds schemas to the names of relations and types in a query.
type qualifier struct {
	h    function.Host
	path []string
}

// query walks a query; ctes are the names that enclosing WITH clauses define.
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

// relation returns the schema that a relation's name needs, "" for none.
func (q *qualifier) relation(name string) string {
	for _, p := range q.path {
		if oid := q.oid(p, name); oid != 0 {
			if objname.FindRelation(q.h, []string{name}) == oid {
				return ""
			}
			return p
		}
	}
	return ""
}

// enum returns the schema that the name of a user's type needs, "" for none.
func (q *qualifier) enum(name string) string {
	st := q.h.Catalog()
	in := func(s types.OID) *catalog.EnumType { return st.Enum(s, name) }
	for _, p := range q.path {
		sc := st.SchemaByName(p)
		if sc == nil || in(sc.OID) == nil {
			continue
		}
		for _, o := range objname.SchemaPath(q.h.Session()) {
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

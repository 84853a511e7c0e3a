package kept

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/planner/bind/query"
	"github.com/tributarydb/tributary/planner/bind/typing"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/lex"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

// SchemaRenamed changes the name of a schema in all texts, and in the paths under which they are bound.
func (p Texts) SchemaRenamed(sc *catalog.Schema, now string) error {
	for _, m := range p.State().Models() {
		for _, v := range m.Versions {
			for _, oid := range bind.CalledByModel(p.Bind(), &v) {
				if f := p.State().Function(oid); f != nil && f.Schema == sc.OID {
					return pgerr.Unsupported("schema %s cannot be renamed, as model %s calls function %s", lex.QuoteName(sc.Name), p.NameIn(m.Schema, m.Name), p.Signature(f))
				}
			}
		}
	}
	return p.all(func(n ast.Node, _ []string) bool { return InSchema(n, sc.Name, now) }, func(path []string) []string { return InPath(path, sc.Name, now) })
}

// InSchema gives names in a parsed text another schema, and reports whether there were some of the old one.
func InSchema(n ast.Node, old, now string) (changed bool) {
	in := func(l *ast.NodeList, names int) {
		if l != nil && len(l.Items) == names && parse.ConstText(l.Items[0]) == old {
			l.Items[0], changed = ast.NewString(now), true
		}
	}
	ast.Rewrite(n, func(c *ast.Cursor) bool {
		switch x := c.Node().(type) {
		case *ast.RangeVar:
			if x.SchemaName == old {
				x.SchemaName, changed = now, true
			}
		case *ast.ColumnRef: // schema.table.column
			in(x.Fields, 3)
		case *ast.FuncCall:
			in(x.Funcname, 2)
		case *ast.TypeName:
			in(x.Names, 2)
		}
		return true
	}, nil)
	return changed
}

// InPath is a search path with another name for a schema.
func InPath(path []string, old, now string) []string {
	path = slices.Clone(path)
	for i := range path {
		if path[i] == old {
			path[i] = now
		}
	}
	return path
}

// TypeRenamed changes the name of a type in all texts.
func (p Texts) TypeRenamed(e *catalog.EnumType, now string) error {
	return p.all(func(n ast.Node, path []string) (changed bool) {
		s := *p.Bind()
		if path != nil {
			s.SearchPath = path
		}
		ast.Rewrite(n, func(c *ast.Cursor) bool {
			if t, ok := c.Node().(*ast.TypeName); ok && len(typing.Items(t.Names)) > 0 {
				if is, err := bind.TypeName(&s, t); err == nil && p.State().EnumByOID(is.OID) == e {
					t.Names.Items[len(t.Names.Items)-1], changed = ast.NewString(now), true
				}
			}
			return true
		}, nil)
		return changed
	}, nil)
}

// inFunctions changes the name of a relation in the bodies of functions that name it, as it was when they were made.
func (p Texts) inFunctions(old, now *catalog.Relation, column int16) error {
	named := func(rv *ast.RangeVar, path []string) bool {
		if rv.SchemaName != "" {
			path = []string{rv.SchemaName}
		}
		for _, s := range path {
			if sc := p.State().SchemaByName(s); sc != nil {
				if r := p.State().Relation(sc.OID, rv.RelName); r != nil {
					return r.OID == old.OID
				}
			}
		}
		return false
	}
	for _, f := range p.State().Functions() {
		if !f.Parsed || !slices.Contains(f.DependsOn, catalog.Dep{OID: old.OID, Column: column}) {
			continue
		}
		if column != 0 {
			return pgerr.Unsupported("column %s cannot be renamed, as function %s names it", lex.QuoteName(old.ColumnNum(column).Name), p.Signature(f))
		}
		schema := p.State().Schema(old.Schema).Name
		up, changed, err := functionTexts(f, func(n ast.Node, path []string) (changed bool) {
			ctes := map[string]bool{}
			ast.Rewrite(n, func(c *ast.Cursor) bool {
				if w, ok := c.Node().(*ast.CommonTableExpr); ok {
					ctes[w.Ctename] = true
				}
				return true
			}, nil)
			ast.Rewrite(n, func(c *ast.Cursor) bool {
				switch x := c.Node().(type) {
				case *ast.RangeVar:
					if named(x, path) && (x.SchemaName != "" || !ctes[x.RelName]) {
						changed = true
						if x.Alias == nil {
							x.Alias = ast.NewAlias(old.Name, nil)
						}
						x.RelName = now.Name
						if !now.Temp { // a CTE may have the new name
							x.SchemaName = p.State().Schema(now.Schema).Name
						}
					}
				case *ast.ColumnRef: // an alias takes the place of a name with a schema
					if l := typing.Items(x.Fields); len(l) > 2 && parse.ConstText(l[0]) == schema && parse.ConstText(l[1]) == old.Name {
						x.Fields, changed = ast.NewNodeList(l[1:]...), true
					}
				}
				return true
			}, nil)
			return changed
		})
		if err != nil {
			return err
		}
		if changed {
			if err := p.Add(&catalog.PutFunction{Function: up}); err != nil {
				return err
			}
		}
	}
	return nil
}

// all lets with change each text of the catalog, which is parsed, and path the search paths of texts that have one;
// with has the path under which a text is bound, nil where that is the session's, and says whether it
// changed the text.
func (p Texts) all(with func(n ast.Node, path []string) bool, path func([]string) []string) error {
	for _, r := range p.State().Relations() {
		up, changed, err := p.relationTexts(r, with)
		if err != nil {
			return err
		}
		if len(r.SearchPath) > 0 && path != nil {
			up.SearchPath = path(r.SearchPath)
			changed = changed || !slices.Equal(up.SearchPath, r.SearchPath)
		}
		if !changed {
			continue
		}
		if err := p.Add(&catalog.PutRelation{Rel: up, ExpectVersion: r.Version}); err != nil {
			return err
		}
	}
	for _, f := range p.State().Functions() {
		up, changed, err := functionTexts(f, with)
		if err != nil {
			return err
		}
		if f.Parsed && path != nil {
			up.Path = path(f.Path)
			changed = changed || !slices.Equal(up.Path, f.Path)
		}
		if !changed {
			continue
		}
		if err := p.Add(&catalog.PutFunction{Function: up}); err != nil {
			return err
		}
	}
	return nil
}

// relationTexts is all for a relation; what it returns is a copy.
func (p Texts) relationTexts(r *catalog.Relation, with func(n ast.Node, path []string) bool) (up *catalog.Relation, changed bool, err error) {
	up = r.Clone()
	in := func(s *string) {
		if err == nil {
			changed, err = inExpr(s, with, changed)
		}
	}
	switch r.Kind {
	case catalog.KindView, catalog.KindMatView:
		sel, err := query.ViewText(r)
		if err != nil {
			return nil, false, err
		}
		if changed = with(sel, r.SearchPath); changed {
			up.Query, err = parse.Keep(sel)
		}
		return up, changed, err
	case catalog.KindIndex:
		x := *r.Index
		x.Exprs = slices.Clone(x.Exprs)
		up.Index = &x
		for i := range x.Exprs {
			in(&x.Exprs[i])
		}
		in(&x.Where)
	default:
		for i := range up.Columns {
			in(&up.Columns[i].Default)
			in(&up.Columns[i].Generated)
		}
		for i := range up.Constraints {
			in(&up.Constraints[i].Check)
		}
	}
	return up, changed, err
}

// functionTexts is all for a function; what it returns is a copy. A body in quotes is bound anew by each call.
func functionTexts(f *catalog.Function, with func(n ast.Node, path []string) bool) (*catalog.Function, bool, error) {
	up := *f
	up.Args = slices.Clone(f.Args)
	changed := false
	var err error
	for i := range up.Args {
		if changed, err = inExpr(&up.Args[i].Default, with, changed); err != nil {
			return nil, false, err
		}
	}
	if !f.Parsed {
		return &up, changed, nil
	}
	list, err := parse.Parse(f.Body, parse.Postgres)
	if err != nil {
		return nil, false, err
	}
	texts, mine := make([]string, len(list)), false
	for i, s := range list {
		mine = with(s.Node, f.Path) || mine
		if texts[i], err = parse.Keep(s.Node); err != nil {
			return nil, false, err
		}
	}
	if mine {
		up.Body = strings.Join(texts, ";\n")
	}
	return &up, changed || mine, nil
}

// inExpr lets with change an expression kept as text; changed is what was so far.
func inExpr(s *string, with func(n ast.Node, path []string) bool, changed bool) (bool, error) {
	if *s == "" {
		return changed, nil
	}
	n, err := typing.ParseExpr(*s)
	if err != nil {
		return changed, err
	}
	if !with(n, nil) {
		return changed, nil
	}
	*s, err = parse.Keep(n)
	return true, err
}

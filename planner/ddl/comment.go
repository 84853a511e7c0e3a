package ddl

import (
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
)

func (p *planner) comment(n *ast.CommentStmt) error {
	p.res.Tag = "COMMENT"
	put := func(d catalog.Dep) error { return p.add(&catalog.PutComment{On: d, Text: n.Comment}) }
	switch n.Objtype {
	case ast.OBJECT_TABLE, ast.OBJECT_VIEW, ast.OBJECT_MATVIEW, ast.OBJECT_INDEX, ast.OBJECT_SEQUENCE:
		rel, err := p.existingNamed(n.Object)
		if err != nil {
			return err
		}
		if err := p.owned(rel); err != nil {
			return err
		}
		is := kindOf(n.Objtype)
		if is == 0 {
			is = catalog.KindTable
		}
		if is != rel.Kind {
			return notOfKind(rel, is)
		}
		return put(catalog.Dep{OID: rel.OID})
	case ast.OBJECT_COLUMN:
		l, ok := n.Object.(*ast.NodeList)
		if !ok {
			return pgerr.Unsupported("COMMENT ON COLUMN needs a column")
		}
		parts := texts(l)
		if len(parts) < 2 {
			return pgerr.New(pgerr.SyntaxError, "column name must be qualified")
		}
		rel, column, err := p.columnOf(parts)
		if err != nil {
			return err
		}
		if err := p.owned(rel); err != nil {
			return err
		}
		c := rel.Column(column)
		if c == nil {
			return pgerr.New(pgerr.UndefinedColumn, "column %q of relation %q does not exist", column, rel.Name)
		}
		return put(catalog.Dep{OID: rel.OID, Column: c.Num})
	case ast.OBJECT_SCHEMA:
		sc := p.st.SchemaByName(text(n.Object))
		if sc == nil {
			return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(n.Object))
		}
		if err := p.mustOwn(sc.Owner, "schema", sc.Name); err != nil {
			return err
		}
		return put(catalog.Dep{OID: sc.OID})
	case ast.OBJECT_DATABASE:
		if err := p.mustOwn(p.st.Database().Owner, "database", catalog.DatabaseName); err != nil {
			return err
		}
		return put(catalog.Dep{OID: catalog.DatabaseOID})
	case ast.OBJECT_ROLE:
		r := p.st.RoleByName(text(n.Object))
		if r == nil {
			return pgerr.New(pgerr.UndefinedObject, "role %q does not exist", text(n.Object))
		}
		if r.Super && !p.env.Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser")
		}
		if err := p.mayRoles("must have CREATEROLE privilege"); err != nil {
			return err
		}
		return put(catalog.Dep{OID: r.OID})
	case parse.ObjectModel:
		m, err := p.model(n.Object)
		if err == nil {
			err = p.mustOwn(m.Owner, "model", m.Name)
		}
		if err != nil {
			return err
		}
		return put(catalog.Dep{OID: m.OID})
	case ast.OBJECT_FUNCTION, ast.OBJECT_ROUTINE, ast.OBJECT_AGGREGATE:
		f, err := p.functions.Owned(n.Object, n.Objtype == ast.OBJECT_AGGREGATE)
		if err != nil {
			return err
		}
		return put(catalog.Dep{OID: f.OID})
	case ast.OBJECT_TYPE:
		e, err := p.ownedEnum(n.Object)
		if err != nil {
			return err
		}
		return put(catalog.Dep{OID: e.OID})
	case ast.OBJECT_TABCONSTRAINT:
		l, ok := n.Object.(*ast.NodeList)
		if !ok || len(l.Items) < 2 {
			break
		}
		rel, name, err := p.columnOf(texts(l))
		if err != nil {
			return err
		}
		if err := p.owned(rel); err != nil {
			return err
		}
		for _, c := range rel.Constraints {
			if c.Name == name {
				return put(catalog.Dep{OID: c.OID})
			}
		}
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", name, rel.Name)
	case ast.OBJECT_DOMCONSTRAINT:
		if l, ok := n.Object.(*ast.NodeList); ok && len(l.Items) > 0 {
			if t, ok := l.Items[0].(*ast.TypeName); ok {
				return pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", strings.Join(texts(t.Names), "."))
			}
		}
	}
	return pgerr.Unsupported("COMMENT on this kind of object is not supported")
}

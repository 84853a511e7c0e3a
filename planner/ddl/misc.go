package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/parse"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

// acceptable refuses a schema's name that is the system's.
func acceptable(schema string) error {
	if strings.HasPrefix(schema, "pg_") {
		return pgerr.New(pgerr.ReservedName, "unacceptable schema name %q", schema).WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	return nil
}

func (p *planner) createSchema(n *ast.CreateSchemaStmt) error {
	p.res.Tag = "CREATE SCHEMA"
	owner, err := p.roleSpec(n.Authrole)
	if err != nil {
		return err
	}
	name := n.Schemaname
	if name == "" {
		if r := p.st.Role(owner); r != nil {
			name = r.Name
		}
	}
	if err := acceptable(name); err != nil {
		return err
	}
	if p.st.SchemaByName(name) != nil {
		if n.IfNotExists {
			p.res.Notices = append(p.res.Notices, pgerr.New(pgerr.DuplicateSchema, "schema %q already exists, skipping", name).WithSeverity(pgerr.SevNotice))
			return nil
		}
		return pgerr.New(pgerr.DuplicateSchema, "schema %q already exists", name)
	}
	if err := p.mayMakeSchemas(p.env.Bind.Role); err != nil {
		return err
	}
	if err := p.mustBe(owner); err != nil {
		return err
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	if err := p.add(&catalog.PutSchema{Schema: &catalog.Schema{OID: oid, Name: name, Owner: owner, ACL: p.st.NewACL(catalog.ClassSchema, owner, 0)}}); err != nil {
		return err
	}
	path := p.env.Bind.SearchPath
	p.env.Bind.SearchPath = append([]string{name}, path...)
	for _, e := range items(n.SchemaElts) {
		if err := p.statement(e.(ast.Stmt)); err != nil {
			return err
		}
	}
	p.env.Bind.SearchPath = path
	p.res.Tag = "CREATE SCHEMA"
	return nil
}

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

// enum finds a user's type or fails with 42704.
func (p *planner) enum(n ast.Node) (*catalog.EnumType, error) {
	rv, err := typeName(n)
	return onPath(p, rv, err, "type", p.st.Enum)
}

// onPath finds what a name means along the search path or fails with 42704; err
// is of reading the name.
func onPath[T any](p *planner, rv *ast.RangeVar, err error, what string, find func(schema types.OID, name string) *T) (*T, error) {
	if err == nil {
		err = p.env.Bind.MayLookIn(rv.SchemaName)
	}
	if err != nil {
		return nil, err
	}
	path := p.env.Bind.SearchPath
	if rv.SchemaName != "" {
		path = []string{rv.SchemaName}
	}
	for _, name := range path {
		if sc := p.st.SchemaByName(name); sc != nil {
			if x := find(sc.OID, rv.RelName); x != nil {
				return x, nil
			}
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "%s \"%s\" does not exist", what, rangeName(rv))
}

// ownedEnum is enum for what only its owner may do.
func (p *planner) ownedEnum(n ast.Node) (*catalog.EnumType, error) {
	e, err := p.enum(n)
	if err == nil {
		err = p.mustOwn(e.Owner, "type", p.nameOfType(e))
	}
	return e, err
}

// usableType resolves the type of a column that is made, which the role must be
// allowed to use.
func (p *planner) usableType(n *ast.TypeName) (types.Type, error) {
	t, err := bind.TypeName(p.env.Bind, n)
	if err != nil {
		return t, err
	}
	if e := p.st.EnumByOID(t.OID); e != nil && !p.may(e.Object(), 'U') {
		return t, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for type %s", p.nameOfType(e))
	}
	return t, nil
}

// nameOfType is a type's name as messages have it: with its schema, where that is
// not on the search path.
func (p *planner) nameOfType(e *catalog.EnumType) string { return p.nameIn(e.Schema, e.Name) }

// nameIn qualifies a name where the search path does not lead to it.
func (p *planner) nameIn(schema types.OID, name string) string {
	sc := p.st.Schema(schema)
	if sc == nil || schema == p.env.Bind.TempSchema || schema == p.res.TempSchema || sc.Name == "pg_catalog" || slices.Contains(p.env.Bind.SearchPath, sc.Name) {
		return name
	}
	return sc.Name + "." + name
}

// described names a relation as dependencies are told.
func (p *planner) described(r *catalog.Relation) string {
	return kindName(r.Kind) + " " + p.nameIn(r.Schema, r.Name)
}

// mayMakeSchemas fails with 42501 unless a role may make schemas.
func (p *planner) mayMakeSchemas(role types.OID) error {
	if p.st.May(role, p.st.Database().Object(), 'C') {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for database %s", catalog.DatabaseName)
}

func (p *planner) createEnum(n *ast.CreateEnumStmt) error {
	p.res.Tag = "CREATE TYPE"
	rv, err := typeName(n.TypeName)
	if err != nil {
		return err
	}
	sc, err := p.schemaFor(rv)
	if err != nil {
		return err
	}
	if p.st.Enum(sc.OID, rv.RelName) != nil {
		return pgerr.New(pgerr.DuplicateObject, "type %q already exists", rv.RelName)
	}
	labels := texts(n.Vals)
	for i, l := range labels {
		if slices.Contains(labels[:i], l) {
			return pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"")
		}
		if len(l) > 63 {
			return pgerr.New(pgerr.InvalidName, "invalid enum label %q", l).WithDetail("Labels must be 63 bytes or less.")
		}
	}
	oid, err := p.env.NewOID()
	if err != nil {
		return err
	}
	return p.add(&catalog.PutEnum{Enum: &catalog.EnumType{OID: oid, ArrayOID: oid | types.UserArrayBit, Schema: sc.OID, Name: rv.RelName, Owner: p.env.Bind.Role, Labels: labels,
		ACL: p.st.NewACL(catalog.ClassType, p.env.Bind.Role, sc.OID)}})
}

func (p *planner) alterEnum(n *ast.AlterEnumStmt) error {
	p.res.Tag = "ALTER TYPE"
	e, err := p.ownedEnum(n.TypeName)
	if err != nil {
		return err
	}
	up := *e
	up.Labels = slices.Clone(e.Labels)
	if n.OldVal != "" {
		return pgerr.Unsupported("renaming an enum label is not supported")
	}
	if slices.Contains(up.Labels, n.NewVal) {
		if n.SkipIfNewValExists {
			p.notice("enum label %q already exists, skipping", n.NewVal)
			return nil
		}
		return pgerr.New(pgerr.DuplicateObject, "enum label %q already exists", n.NewVal)
	}
	at := len(up.Labels)
	if n.NewValNeighbor != "" {
		i := slices.Index(up.Labels, n.NewValNeighbor)
		if i < 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "%q is not an existing enum label", n.NewValNeighbor)
		}
		if at = i; n.NewValIsAfter {
			at++
		}
	}
	up.Labels = slices.Insert(up.Labels, at, n.NewVal)
	return p.add(&catalog.PutEnum{Enum: &up})
}

func (p *planner) dropTypes(n *ast.DropStmt, cascade bool) error {
	for _, o := range items(n.Objects) {
		e, err := p.enum(o)
		if err != nil {
			if rv, bad := typeName(o); bad == nil && n.MissingOk {
				p.notice("type %q does not exist, skipping", rangeName(rv))
				continue
			}
			return err
		}
		if sc := p.st.Schema(e.Schema); sc == nil || !p.owns(sc.Owner) {
			if err := p.mustOwn(e.Owner, "type", p.nameOfType(e)); err != nil {
				return err
			}
		}
		gone, err := p.dropUses(e, cascade)
		if err != nil {
			return err
		}
		p.cascadeNotice(gone)
		if err := p.add(&catalog.DropEnum{OID: e.OID}); err != nil {
			return err
		}
	}
	return nil
}

// createExtension knows the one extension of PostgreSQL's whose relation is always there.
func (p *planner) createExtension(n *ast.CreateExtensionStmt) error {
	p.res.Tag = "CREATE EXTENSION"
	switch {
	case n.Extname != "pg_stat_statements":
		return pgerr.Unsupported("extensions are not supported")
	case !n.IfNotExists:
		return pgerr.New(pgerr.DuplicateObject, "extension %q already exists", n.Extname)
	}
	p.notice("extension %q already exists, skipping", n.Extname)
	return nil
}

// dropUses drops the columns of a type, and then the views that still have one, and describes them.
func (p *planner) dropUses(e *catalog.EnumType, cascade bool) (gone []string, err error) {
	was := len(p.res.Notices)
	for _, tables := range []bool{true, false} {
		for _, r := range p.st.Relations() {
			for r = p.st.RelationByOID(r.OID); r != nil && (r.Kind == catalog.KindTable) == tables; r = p.st.RelationByOID(r.OID) {
				cols := r.Live()
				i := slices.IndexFunc(cols, func(c catalog.Column) bool { return c.Type.OID == e.OID || c.Type.OID == e.ArrayOID })
				if i < 0 {
					break
				}
				desc := "column " + cols[i].Name + " of " + p.described(r)
				if !cascade {
					return nil, dependent("type "+p.nameOfType(e), desc+" depends on type "+p.nameOfType(e))
				}
				if !tables {
					gone = append(gone, p.described(r))
					if err := p.dropRelations([]*catalog.Relation{r}, true); err != nil {
						return nil, err
					}
					continue
				}
				a := &alteration{p: p, old: r, t: &tableBuilder{p: p, rel: r.Clone(), schema: p.st.Schema(r.Schema), alter: true}}
				if err := a.dropColumn(&ast.AlterTableCmd{Name: cols[i].Name, Behavior: ast.DropCascade}); err != nil {
					return nil, err
				}
				gone = append(append(gone, desc), a.cascaded...)
				if err := a.finish(); err != nil {
					return nil, err
				}
			}
		}
	}
	p.res.Notices = p.res.Notices[:was] // what they drop is told with the type
	return gone, nil
}

package ddl

import (
	"slices"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/bind"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

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

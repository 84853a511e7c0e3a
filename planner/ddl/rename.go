package ddl

import (
	"slices"
	"strings"

	"github.com/multigres/multigres/go/common/parser/ast"

	"github.com/tributarydb/tributary/planner/ddl/function"
	"github.com/tributarydb/tributary/planner/ddl/kept"
	"github.com/tributarydb/tributary/sql/catalog"
	"github.com/tributarydb/tributary/sql/pgerr"
	"github.com/tributarydb/tributary/sql/types"
)

func textsOf(p *planner) kept.Texts { return kept.Texts{Host: p.functions} }

func (p *planner) rename(n *ast.RenameStmt) error {
	if yes, aggregate := function.Is(n.RenameType); yes {
		return p.functions.Rename(n, aggregate)
	}
	switch n.RenameType {
	case ast.OBJECT_SCHEMA:
		p.res.Tag = "ALTER SCHEMA"
		sc := p.st.SchemaByName(n.Subname)
		if sc == nil {
			return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", n.Subname)
		}
		if p.st.SchemaByName(n.Newname) != nil {
			return pgerr.New(pgerr.DuplicateSchema, "schema %q already exists", n.Newname)
		}
		if err := p.mustOwn(sc.Owner, "schema", sc.Name); err != nil {
			return err
		}
		if err := p.mayMakeSchemas(p.env.Bind.Role); err != nil {
			return err
		}
		if err := acceptable(n.Newname); err != nil {
			return err
		}
		if err := textsOf(p).SchemaRenamed(sc, n.Newname); err != nil {
			return err
		}
		up := *sc
		up.Name = n.Newname
		return p.add(&catalog.PutSchema{Schema: &up})
	case ast.OBJECT_ROLE:
		p.res.Tag = "ALTER ROLE"
		r := p.st.RoleByName(n.Subname)
		if r == nil {
			return pgerr.New(pgerr.UndefinedObject, "role %q does not exist", n.Subname)
		}
		if r.Super && !p.env.Super {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to rename superusers")
		}
		if err := p.mayRoles("permission denied to rename role"); err != nil {
			return err
		}
		up := *r
		up.Name = n.Newname
		return p.add(&catalog.PutRole{Role: &up})
	case ast.OBJECT_TYPE:
		p.res.Tag = "ALTER TYPE"
		e, err := p.ownedEnum(n.Object)
		if err != nil {
			return err
		}
		if err := textsOf(p).TypeRenamed(e, n.Newname); err != nil {
			return err
		}
		up := *e
		up.Name = n.Newname
		return p.add(&catalog.PutEnum{Enum: &up})
	case ast.OBJECT_TABLE, ast.OBJECT_VIEW, ast.OBJECT_MATVIEW, ast.OBJECT_INDEX, ast.OBJECT_SEQUENCE, ast.OBJECT_COLUMN, ast.OBJECT_TABCONSTRAINT, ast.OBJECT_ATTRIBUTE:
	default:
		return pgerr.Unsupported("renaming this kind of object is not supported")
	}
	of := n.RenameType
	if of == ast.OBJECT_COLUMN {
		of = n.RelationType
	}
	rel, err := p.changed(n.Relation, of, n.MissingOk)
	if rel == nil {
		return err
	}
	if is := kindOf(n.RenameType); is != 0 && is != rel.Kind && is != catalog.KindIndex {
		return notOfKind(rel, is)
	}
	up := rel.Clone()
	switch n.RenameType {
	case ast.OBJECT_COLUMN, ast.OBJECT_ATTRIBUTE:
		c := up.Column(n.Subname)
		if c == nil {
			return pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", n.Subname)
		}
		if up.Column(n.Newname) != nil {
			return pgerr.New(pgerr.DuplicateColumn, "column %q of relation %q already exists", n.Newname, rel.Name)
		}
		if err := p.renameInExprs(up, n.Subname, n.Newname); err != nil {
			return err
		}
		if err := p.renameInIndexes(rel, n.Subname, n.Newname); err != nil {
			return err
		}
		c.Name = n.Newname
	case ast.OBJECT_TABCONSTRAINT:
		found := false
		for i := range up.Constraints {
			if k := &up.Constraints[i]; k.Name == n.Subname {
				found, k.Name = true, n.Newname
				if idx := p.st.RelationByOID(k.Index); idx != nil && k.Kind != 'f' {
					ni := idx.Clone()
					ni.Name = n.Newname
					if err := p.add(&catalog.PutRelation{Rel: ni, ExpectVersion: idx.Version}); err != nil {
						return err
					}
				}
			}
		}
		if !found {
			return pgerr.New(pgerr.UndefinedObject, "constraint %q for table %q does not exist", n.Subname, rel.Name)
		}
	default:
		if p.st.Relation(rel.Schema, n.Newname) != nil {
			return pgerr.New(pgerr.DuplicateTable, "relation %q already exists", n.Newname)
		}
		up.Name = n.Newname
		if rel.Kind == catalog.KindIndex {
			if t := p.st.RelationByOID(rel.Index.Table); t != nil {
				nt := t.Clone()
				for i := range nt.Constraints {
					if nt.Constraints[i].Index == rel.OID && nt.Constraints[i].Kind != 'f' {
						nt.Constraints[i].Name = n.Newname
						if err := p.add(&catalog.PutRelation{Rel: nt, ExpectVersion: t.Version}); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	if n.RenameType != ast.OBJECT_TABCONSTRAINT {
		column := int16(0)
		if n.RenameType == ast.OBJECT_COLUMN || n.RenameType == ast.OBJECT_ATTRIBUTE {
			column = rel.Column(n.Subname).Num
		}
		if err := textsOf(p).RelationRenamed(rel, up, column); err != nil {
			return err
		}
	}
	return p.add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version})
}

// renameInExprs refuses to rename what a kept expression names by text.
func (p *planner) renameInExprs(rel *catalog.Relation, from, to string) error {
	c := rel.Column(from)
	for i := range rel.Constraints {
		k := &rel.Constraints[i]
		if k.Kind != 'c' {
			continue
		}
		for _, num := range k.Columns {
			if num == c.Num {
				text, err := kept.Column(k.Check, from, to)
				if err != nil {
					return err
				}
				k.Check = text
			}
		}
	}
	for i := range rel.Columns {
		if g := &rel.Columns[i]; g.Generated != "" && !g.Dropped {
			text, err := kept.Column(g.Generated, from, to)
			if err != nil {
				return err
			}
			g.Generated = text
		}
	}
	return nil
}

// renameInIndexes renames a column in the expressions of a table's indexes.
func (p *planner) renameInIndexes(rel *catalog.Relation, from, to string) error {
	for _, x := range p.st.Relations() {
		if x.Kind != catalog.KindIndex || x.Index.Table != rel.OID {
			continue
		}
		up := x.Clone()
		ix := *x.Index
		ix.Exprs = slices.Clone(ix.Exprs)
		up.Index = &ix
		changed := false
		rename := func(s *string) error {
			if *s == "" {
				return nil
			}
			out, err := kept.Column(*s, from, to)
			if err == nil && out != *s {
				*s, changed = out, true
			}
			return err
		}
		for i := range ix.Exprs {
			if err := rename(&ix.Exprs[i]); err != nil {
				return err
			}
		}
		if err := rename(&ix.Where); err != nil {
			return err
		}
		if changed {
			if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: x.Version}); err != nil {
				return err
			}
		}
	}
	return nil
}

// changed is an existing relation that the role owns; nil with a notice where
// there is none and it need not exist.
func (p *planner) changed(rv *ast.RangeVar, of ast.ObjectType, missingOk bool) (*catalog.Relation, error) {
	p.res.Tag = "ALTER TABLE"
	if is := kindOf(of); is != 0 {
		p.res.Tag = "ALTER " + strings.ToUpper(kindName(is))
	}
	rel, err := p.relation(rv)
	if err != nil {
		return nil, err
	}
	if rel == nil && missingOk {
		p.notice("relation %q does not exist, skipping", rangeName(rv))
		return nil, nil
	}
	if rel == nil {
		return p.existing(rv)
	}
	if err := p.owned(rel); err != nil {
		return nil, err
	}
	return rel, nil
}

// kindOf is the kind of relation that a statement asks for; 0 for ALTER TABLE, which
// takes all.
func kindOf(o ast.ObjectType) catalog.RelKind {
	switch o {
	case ast.OBJECT_VIEW:
		return catalog.KindView
	case ast.OBJECT_MATVIEW:
		return catalog.KindMatView
	case ast.OBJECT_SEQUENCE:
		return catalog.KindSequence
	case ast.OBJECT_INDEX:
		return catalog.KindIndex
	}
	return 0
}

func notOfKind(rel *catalog.Relation, is catalog.RelKind) error {
	article := "a"
	if is == catalog.KindIndex {
		article = "an"
	}
	return pgerr.New(pgerr.WrongObjectType, "%q is not %s %s", rel.Name, article, kindName(is))
}

func (p *planner) setSchema(n *ast.AlterObjectSchemaStmt) error {
	if yes, aggregate := function.Is(n.ObjectType); yes {
		return p.functions.SetSchema(n, aggregate)
	}
	if n.Relation == nil {
		return pgerr.Unsupported("SET SCHEMA is supported for tables, views and sequences only")
	}
	rel, err := p.changed(n.Relation, n.ObjectType, n.MissingOk)
	if rel == nil {
		return err
	}
	if is := kindOf(n.ObjectType); is != 0 && is != rel.Kind {
		return notOfKind(rel, is)
	}
	sc := p.st.SchemaByName(n.NewSchema)
	if sc == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", n.NewSchema)
	}
	if err := p.mayCreate(sc); err != nil {
		return err
	}
	move := []*catalog.Relation{rel}
	for _, x := range p.st.Relations() {
		if x.Kind == catalog.KindIndex && x.Index.Table == rel.OID || x.Kind == catalog.KindSequence && x.Seq.OwnedTable == rel.OID {
			move = append(move, x)
		}
	}
	for _, x := range move {
		up := x.Clone()
		up.Schema = sc.OID
		if err := textsOf(p).RelationRenamed(x, up, 0); err != nil {
			return err
		}
		if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: x.Version}); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) setOwner(n *ast.AlterOwnerStmt) error {
	oid, err := p.roleSpec(n.Newowner)
	if err != nil {
		return err
	}
	if yes, aggregate := function.Is(n.ObjectType); yes {
		return p.functions.SetOwner(n, oid, aggregate)
	}
	switch n.ObjectType {
	case ast.OBJECT_SCHEMA:
		p.res.Tag = "ALTER SCHEMA"
		sc := p.st.SchemaByName(text(n.Object))
		if sc == nil {
			return pgerr.New(pgerr.InvalidSchemaName, "schema %q does not exist", text(n.Object))
		}
		if err := p.mustOwn(sc.Owner, "schema", sc.Name); err != nil {
			return err
		}
		if err := p.mustBe(oid); err != nil {
			return err
		}
		if err := p.mayMakeSchemas(p.env.Bind.Role); err != nil {
			return err
		}
		up := *sc
		up.ACL, up.Owner = sc.Object().Reown(oid), oid
		return p.add(&catalog.PutSchema{Schema: &up})
	case ast.OBJECT_TYPE:
		p.res.Tag = "ALTER TYPE"
		e, err := p.ownedEnum(n.Object)
		if err != nil {
			return err
		}
		if err := p.mayReceive(oid, p.st.Schema(e.Schema)); err != nil {
			return err
		}
		up := *e
		up.ACL, up.Owner = e.Object().Reown(oid), oid
		return p.add(&catalog.PutEnum{Enum: &up})
	}
	if n.Relation == nil {
		return pgerr.Unsupported("OWNER TO is not supported for this kind of object")
	}
	p.res.Tag = "ALTER TABLE"
	rel, err := p.existing(n.Relation)
	if err != nil {
		return err
	}
	if err := p.owned(rel); err != nil {
		return err
	}
	if err := p.mayReceive(oid, p.st.Schema(rel.Schema)); err != nil {
		return err
	}
	up := rel.Clone()
	reown(up, oid)
	if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: rel.Version}); err != nil {
		return err
	}
	return p.ownSequences(rel.OID, oid)
}

// ownSequences returns the sequences of a table's columns the table's new owner.
func (p *planner) ownSequences(table, owner types.OID) error {
	for _, r := range p.st.Relations() {
		if r.Kind == catalog.KindSequence && r.Seq.OwnedTable == table && r.Owner != owner {
			up := r.Clone()
			reown(up, owner)
			if err := p.add(&catalog.PutRelation{Rel: up, ExpectVersion: r.Version}); err != nil {
				return err
			}
		}
	}
	return nil
}

// reown gives a relation to a new owner.
func reown(r *catalog.Relation, owner types.OID) {
	r.ACL = r.Object().Reown(owner)
	for i := range r.Columns {
		r.Columns[i].ACL = r.Columns[i].Object(r).Reown(owner)
	}
	r.Owner = owner
}
